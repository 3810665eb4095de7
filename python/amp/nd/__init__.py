"""Arrays in MXNet's legacy style, and files of arrays.

Every operator of the registry is a function of this module, under its name and its aliases: it takes NDArrays where
the function of `amp.sym` takes symbols, and `out=`, an array to write to. Results are complete when a call returns.
"""

from .. import _core
from .._core import NDArray
from .._missing import missing as _missing
from .._namespace import Namespace as _Namespace
from ..sym.operators import function_names as _function_names
from . import methods as _methods  # noqa: F401 - it completes NDArray
from .create import (
    arange,
    array,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    get_dtype_name,
    get_dtype_type,
    linspace,
    moveaxis,
    ones,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
    zeros,
)
from .files import load, save
from .operators import find_function as _find_function
from .scalars import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)

__all__ = [
    "NDArray",
    "add",
    "arange",
    "array",
    "concatenate",
    "divide",
    "empty",
    "equal",
    "eye",
    "from_dlpack",
    "from_numpy",
    "full",
    "get_dtype_name",
    "get_dtype_type",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "linspace",
    "load",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "moveaxis",
    "multiply",
    "not_equal",
    "ones",
    "power",
    "save",
    "subtract",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
    "true_divide",
    "waitall",
    "zeros",
]

# Namespace -> what names of operators begin with.
_NAMESPACES = {
    "contrib": ("_contrib_",),
    "image": ("_image_",),
    "linalg": ("_linalg_",),
    "op": ("",),
    "_internal": ("", "_"),
    "sparse": ("_sparse_", ""),
}

for _name, _prefixes in _NAMESPACES.items():
    globals()[_name] = _Namespace(
        f"{__name__}.{_name}",
        _prefixes,
        _find_function,
        _function_names,
        f"Operators on arrays whose names begin with {' or '.join(map(repr, _prefixes))}.",
    )


def __getattr__(name):
    if name == "bfloat16":  # the numpy.dtype of bfloat16 arrays; ml_dtypes is imported when it is asked for
        value = _core.numpy_dtype(name)
    else:
        value = _find_function(name)
        if value is None:
            raise _missing(__name__, name, _function_names())
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_function_names()})
