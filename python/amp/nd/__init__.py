"""Arrays in MXNet's legacy style, and files of arrays.

Every operator of the registry is a function of this module, under its name and its aliases: it takes NDArrays where
the function of `amp.sym` takes symbols, and `out=`, an array to write to. Results are complete when a call returns.
"""

import importlib

from .. import _core
from .._core import NDArray
from .._namespace import Namespace
from ..sym.operators import function_names
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
    unknown_name,
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

_NAMESPACES = {
    "contrib": ("_contrib_",),
    "image": ("_image_",),
    "linalg": ("_linalg_",),
    "op": ("",),
    "_internal": ("", "_"),
    "sparse": ("_sparse_", ""),
}


def __getattr__(name):
    if name == "bfloat16":  # the numpy.dtype of bfloat16 arrays; ml_dtypes is imported when it is asked for
        value = _core.numpy_dtype(name)
    elif name == "random":
        value = importlib.import_module("amp.random")
    elif name in _NAMESPACES:
        doc = f"Operators on arrays whose names begin with {' or '.join(map(repr, _NAMESPACES[name]))}."
        value = Namespace(f"amp.nd.{name}", _NAMESPACES[name], _find_function, function_names, doc)
    else:
        value = _find_function(name)
        if value is None:
            raise unknown_name("amp.nd", name, function_names())
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_NAMESPACES, *function_names()})
