"""NumPy's functions on arrays of `mx.np`: `numpy.concatenate([a, b])` is `mx.np.concatenate([a, b])`.

What `mx.np` has no operator for NumPy computes. Arrays of NumPy beside keep their dtypes.
"""

import functools
import sys

import numpy as np

from ..._core import NDArray
from . import functions, numpy_fallback
from .array_class import ndarray


def array_function(self, function, types, args, kwargs):
    """What NumPy calls in the place of one of its functions: NumPy enhancement proposal 18."""
    if not all(issubclass(each, (ndarray, np.ndarray)) for each in types):
        return NotImplemented
    own = _own(function)
    if own is None or _is_numpys(kwargs.get("out")):
        return numpy_fallback.on_host(f"numpy.{function.__name__}", function, args, kwargs)
    return own(*_ours(args), **{key: _ours(value) for key, value in kwargs.items()})


@functools.cache
def _own(function):
    """The function of `mx.np` or `mx.np.linalg` in the place of NumPy's; None where NumPy computes."""
    name = function.__name__
    package = sys.modules[__package__]
    if getattr(np, name, None) is function:
        return functions.find(name) or (getattr(package, name) if name.endswith("_like") else None)
    is_linear_algebra = getattr(np.linalg, name, None) is function and name in package.linalg.__all__
    return getattr(package.linalg, name) if is_linear_algebra else None


_of_classic_arrays = NDArray.__array_ufunc__


def array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """What NumPy calls in the place of one of its universal functions: NumPy enhancement proposal 13."""
    (out,) = kwargs["out"] if len(kwargs.get("out", ())) == 1 else (None,)
    is_plain = method == "__call__" and not kwargs.keys() - {"out"} and ufunc.nout == 1
    is_number = not isinstance(inputs[0], (NDArray, np.ndarray)) and out is None  # numpy.float32(2) * array
    own = _own(ufunc) if is_plain and not is_number and not _is_numpys(out) else None
    if own is None:
        return _of_classic_arrays(self, ufunc, method, *inputs, **kwargs)
    return own(*_ours(inputs)) if out is None else own(*_ours(inputs), out=out)


def _is_numpys(out):
    return isinstance(out, np.ndarray) or isinstance(out, tuple) and any(map(_is_numpys, out))


def _ours(value):
    if type(value) in (list, tuple):
        return type(value)(map(_ours, value))
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    return ndarray(np.ascontiguousarray(value).reshape(value.shape)) if is_numeric else value


def install():
    """Gives both protocols to `ndarray`."""
    ndarray.__array_function__, ndarray.__array_ufunc__ = array_function, array_ufunc
