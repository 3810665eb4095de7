"""Neural-network functions beside NumPy's: operators of the registry on `amp.np` arrays.

Names are those of MXNet 2's `npx`; `activation` is the operator `_npx_activation`, which is `Activation`. Results are
`amp.np.ndarray`s.
"""

import functools

from .. import _core
from .._core import NDArray
from .._namespace import Namespace
from ..base import did_you_mean
from ..nd import load as _load
from ..nd import save
from ..nd.methods import ndarray
from ..nd.operators import run as _run
from ..sym.operators import Operator as _Operator
from ..sym.operators import function_names

__all__ = ["load", "save", "waitall"]

_PREFIXES = ("_npx_", "_contrib_", "")
_UTIL = "cpu gpu cpu_pinned num_gpus current_context current_device set_np reset_np is_np_array is_np_shape " + (
    "is_np_default_dtype"
)


def load(fname):
    """Reads a file of arrays as `amp.nd.load` does; the arrays are `amp.np.ndarray`s.

    >>> amp.npx.load("model-0000.params")["arg:fc_weight"].shape
    (3, 4)
    """
    loaded = _load(fname)
    if isinstance(loaded, list):
        return [ndarray(array) for array in loaded]
    return {name: None if array is None else ndarray(array) for name, array in loaded.items()}


def waitall():
    """Does nothing: results are complete when a call returns.

    >>> amp.npx.waitall()
    """


@functools.cache
def _find(name):
    operators = _core.operator_names()
    full_name = next((prefix + name for prefix in _PREFIXES if prefix + name in operators), None)
    if full_name is None:
        return None
    operator = _Operator(name, _core.operator_info(full_name), NDArray)

    def function(*args, **kwargs):
        return _run(operator, args, kwargs, ndarray)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The operator `{full_name}` on `amp.np` arrays; see `amp.sym.{full_name}`."
    return function


def __getattr__(name):
    if name in _UTIL.split():
        from .. import context, util

        value = getattr(util, name, None) or getattr(context, name)
    elif name == "random":
        from ..np import random as value
    elif name == "_internal":
        value = Namespace("amp.npx._internal", ("_npx_", "_npi_", "_"), _find, function_names, "Operators by name.")
    else:
        value = _find(name)
        if value is None:
            hint = did_you_mean(name, [known.replace("_npx_", "") for known in function_names()])
            raise AttributeError(f"module 'amp.npx' has no attribute {name!r}{hint}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_UTIL.split(), *(n[5:] for n in function_names() if n.startswith("_npx_"))})
