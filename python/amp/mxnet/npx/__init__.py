"""Neural-network functions beside NumPy's: operators of the registry on `mx.np` arrays.

Names are those of MXNet 2's `npx`; `activation` is the operator `_npx_activation`, which is `Activation`. Results are
`mx.np.ndarray`s.

It imports `np` and control flow, never blocks.
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


# Arguments of MXNet 2's functions where operators have others: their order, and what `a:lhs` is the name of here.
_ARGUMENTS = {
    "batch_dot": "a:lhs b:rhs transpose_a transpose_b forward_stype",
    "convolution": """data weight bias kernel stride dilate pad num_filter num_group workspace no_bias cudnn_tune
        cudnn_off layout""",
    "log_softmax": "data axis length temperature use_length dtype",
    "one_hot": "data:indices depth on_value off_value dtype",
    "pick": "data index axis mode keepdims",
    "reshape": "a:data newshape reverse order",
    "rnn": """data parameters state state_cell sequence_length mode state_size num_layers bidirectional state_outputs p
        use_sequence_length projection_size lstm_state_clip_min lstm_state_clip_max lstm_state_clip_nan""",
    "softmax": "data length axis temperature use_length dtype",
}


def _with_own_arguments(operator):
    def function(*args, **kwargs):
        return _run(operator, args, kwargs, ndarray)

    return function


def _with_arguments(operator, arguments):
    own = {name: other or name for name, _, other in (part.partition(":") for part in arguments.split())}
    renamed = {name for name, other in own.items() if name != other}
    alike = next((i for i, pair in enumerate(zip(own.values(), operator.order)) if len(set(pair)) > 1), len(own))

    def function(*args, **kwargs):
        if len(args) <= alike and renamed.isdisjoint(kwargs):
            return _run(operator, args, kwargs, ndarray)
        if len(args) > len(own):
            raise TypeError(f"{operator.name}() takes {len(own)} arguments, got {len(args)}")
        given = dict(zip(own.values(), args))
        for name, value in kwargs.items():
            if own.get(name, name) in given:
                raise TypeError(f"{operator.name}() got several values for the argument {name!r}")
            given[own.get(name, name)] = value
        return _run(operator, (), {name: value for name, value in given.items() if value is not None}, ndarray)

    return function


@functools.cache
def _find(name):
    operators = _core.operator_names()
    full_name = next((prefix + name for prefix in _PREFIXES if prefix + name in operators), None)
    if full_name is None:
        return None
    operator = _Operator(name, _core.operator_info(full_name), NDArray)
    function = _with_arguments(operator, _ARGUMENTS[name]) if name in _ARGUMENTS else _with_own_arguments(operator)
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
