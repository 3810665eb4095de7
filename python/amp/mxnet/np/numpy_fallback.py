"""Functions and calls that NumPy computes: they have no operator here. Hybridized blocks with one have no graph."""

import functools

import numpy as np

from ... import _recording, _trace
from ..._arrays import flattened
from ..._core import NDArray
from ...base import UnsupportedError, did_you_mean
from . import graph_nodes
from .array_class import ndarray
from .graph_nodes import as_node

# Those of NumPy 1.
_OLD_NAMES = {"atan2": "arctan2", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}

# The operators of those that graphs can have, and what they read.
_NODES = {
    "mx.np.gcd": ("_npi_gcd_scalar", graph_nodes.with_number),
    "mx.np.interp": ("_npi_interp", graph_nodes.interp),
    "mx.np.lcm": ("_npi_lcm_scalar", graph_nodes.with_number),
    "mx.np.linalg.eig": ("_npi_eig", graph_nodes.alone),
    "mx.np.linalg.eigvals": ("_npi_eigvals", graph_nodes.alone),
}

_WITH_METHODS = ("nanpercentile", "nanquantile", "percentile", "quantile")  # whose `method` was `interpolation` before


_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


class OptionError(UnsupportedError, TypeError):
    """An option of NumPy that MXNet has in some functions, with its default alone, and in others not at all."""


def require_defaults(name, options):
    """MXNet takes these options of NumPy with their defaults alone: OptionError, TypeError for what is none."""
    for key, value in options.items():
        if key not in _DEFAULTS:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
        if key == "casting" and value not in _CASTINGS:
            raise TypeError(f"{name}: casting is one of {', '.join(_CASTINGS)}, got {value!r}")
        if key == "dtype" and value is not None:
            np.dtype(value)
        default = _DEFAULTS[key]
        if value is not default and not (isinstance(value, str) and value == default):
            raise OptionError(f"{name}: {key}={value!r:.60} is not supported, nor is it in MXNet")


def _without_defaults(name, kwargs):
    """The arguments that are not NumPy's options of elementwise functions, which must have their defaults."""
    require_defaults(name, {key: value for key, value in kwargs.items() if key in _DEFAULTS})
    return {key: value for key, value in kwargs.items() if key not in _DEFAULTS}


@functools.cache
def find(name):
    """NumPy's function `name` on the arrays of this package; None where NumPy has none."""
    return wrapped(getattr(np, name, None), f"mx.np.{name}")


def wrapped(function, name):
    """`function` with its arrays and results as `ndarray`s; None for what is no function of arrays."""
    if not callable(function) or isinstance(function, type) or name.rpartition(".")[2].startswith("_"):
        return None

    def function_on_host(*args, **kwargs):
        return on_host(name, function, args, kwargs, _ours)

    function_on_host.__name__ = function_on_host.__qualname__ = name.rpartition(".")[2]
    function_on_host.__doc__ = f"`{name.replace('mx.np', 'numpy')}` on `ndarray`s, computed by NumPy."
    return as_node(*_NODES[name])(function_on_host) if name in _NODES else function_on_host


def on_host(name, function, args, kwargs, converted=None):
    """The result of a function of NumPy for arrays of `mx.np`: `converted(result)`, by default arrays as `ndarray`s.

    Raises UnsupportedError in graphs, and where gradients of arguments are recorded.
    """
    given = flattened([args, list(kwargs.values())])
    if any(isinstance(value, NDArray) for value in given):  # else the result is a constant
        _trace.refuse(name)
    if isinstance(function, np.ufunc):
        kwargs = _without_defaults(name, kwargs)
    if "interpolation" in kwargs and name.rpartition(".")[2] in _WITH_METHODS:
        kwargs["method"] = kwargs.pop("interpolation")
    result = (converted or _arrays)(function(*_theirs(args), **{key: _theirs(value) for key, value in kwargs.items()}))
    results = [value for value in flattened([result]) if isinstance(value, (NDArray, np.generic))]
    if any(value.dtype.kind not in "iub" for value in results):
        _recording.refuse(name, *given)  # integers and truths have no gradient
    return result


def otherwise(function, module=np):
    """`function`, and NumPy's of its name for calls that it answers with NotImplemented: operators do not express them.

    Then NumPy's raises UnsupportedError in graphs and for arrays whose gradients are recorded.
    """
    name = function.__name__
    numpys = getattr(module, name, None) or getattr(module, _OLD_NAMES.get(name, name), None)
    numpys_on_host = wrapped(numpys, f"mx.np.{name}" if module is np else f"mx.np.linalg.{name}")

    is_ufunc = isinstance(numpys, np.ufunc)

    @functools.wraps(function)
    def either(*args, **kwargs):
        if kwargs and is_ufunc:
            kwargs = _without_defaults(name, kwargs)
        result = function(*args, **kwargs)
        return numpys_on_host(*args, **kwargs) if result is NotImplemented else result

    return either


def linalg_otherwise(function):
    """`otherwise` for functions of `np.linalg`."""
    return otherwise(function, np.linalg)


def unknown(name, candidates):
    """The AttributeError for a name that neither operators nor NumPy have."""
    hint = did_you_mean(name, [*candidates, *dir(np)])
    return AttributeError(f"module 'amp.mxnet.np' has no attribute {name!r}{hint}")


def _theirs(value):
    if isinstance(value, NDArray):
        return np.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_theirs(item) for item in value)
    return value


def _ours(value, classes=(np.ndarray, np.generic)):
    if isinstance(value, classes) and value.dtype.kind in "fiubV":
        return ndarray(np.asarray(value))
    if isinstance(value, (list, tuple)):
        items = (_ours(item, classes) for item in value)
        return list(items) if type(value) is list else tuple(items)
    return value


def _arrays(value):
    return _ours(value, np.ndarray)
