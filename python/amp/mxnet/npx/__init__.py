"""Neural-network functions beside NumPy's: operators of the registry on `mx.np` arrays.

Names are those of MXNet 2's `npx`; `activation` is the operator `_npx_activation`, which is `Activation`. Results are
`mx.np.ndarray`s.
"""

import functools

from ... import _core
from ..._core import NDArray
from ..._namespace import Namespace as _Namespace
from ...nd import from_dlpack as _from_dlpack
from ...nd import load as _load
from ...nd import to_dlpack_for_read, to_dlpack_for_write
from ...nd.operators import run as _run
from ...sym.operators import Operator as _Operator
from ...sym.operators import function_names as _function_names
from .. import _generation as _generations
from .._missing import missing as _missing
from ..context import cpu, cpu_pinned, current_context, current_device, gpu, num_gpus
from ..control_flow import foreach, while_loop
from ..np.array_class import ndarray
from ..util import is_np_array, is_np_default_dtype, is_np_shape, reset_np, set_np
from . import random
from ._places import index_add, index_update
from ._python_functions import cond, constraint_check, deconvolution, from_numpy, nonzero, save, savez
from .random import scalar_poisson, tensor_poisson

__all__ = [
    "cond",
    "constraint_check",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "deconvolution",
    "foreach",
    "from_dlpack",
    "from_numpy",
    "gpu",
    "index_add",
    "index_update",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "load",
    "nonzero",
    "num_gpus",
    "random",
    "reset_np",
    "save",
    "savez",
    "scalar_poisson",
    "set_np",
    "tensor_poisson",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "waitall",
    "while_loop",
]

_PREFIXES = ("_npx_", "_contrib_", "")


def load(fname):
    """Reads a file of arrays as `amp.nd.load` does; the arrays are `mx.np.ndarray`s.

    A `.npy` file has one array; after `mx.install("1.9.1")` that is a list of one, as there.

    >>> mx.npx.load("model-0000.params")["arg:fc_weight"].shape
    (3, 4)
    """
    loaded = _load(fname)
    if _is_npy(fname) and _generations.chosen() != 1:
        return ndarray(loaded[0])
    if isinstance(loaded, list):
        return [ndarray(array) for array in loaded]
    return {name: None if array is None else ndarray(array) for name, array in loaded.items()}


def _is_npy(path):
    with open(path, "rb") as file:
        return file.read(6) == b"\x93NUMPY"


def from_dlpack(dlpack):
    """An `ndarray` of what `to_dlpack_for_read` gives, or of an array that has `__dlpack__`; memory is shared.

    Raises ArgumentError for what is no DLPack producer.

    >>> mx.npx.from_dlpack(mx.npx.to_dlpack_for_read(mx.np.ones((2,))))
    array([1., 1.])
    """
    return ndarray(_from_dlpack(dlpack))


def waitall():
    """Does nothing: results are complete when a call returns.

    >>> mx.npx.waitall()
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
    function.__doc__ = f"The operator `{full_name}` on `mx.np` arrays; see `amp.sym.{full_name}`."
    return function


_internal = _Namespace(f"{__name__}._internal", ("_npx_", "_npi_", "_"), _find, _function_names, "Operators by name.")


def __getattr__(name):
    value = _find(name)
    if value is None:
        raise _missing(__name__, name, [known.replace("_npx_", "") for known in _function_names()])
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *(n[5:] for n in _function_names() if n.startswith("_npx_"))})
