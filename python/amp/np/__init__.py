"""Arrays in NumPy's style: `amp.np.ndarray` and functions with NumPy's names and rules.

Numbers become float32 where nothing else is said, as in MXNet. Functions run the operators that MXNet names `_npi_*`;
what has no operator is computed by NumPy itself (`amp.np.host`) and cannot be part of a hybridized block.
"""

import importlib as _importlib
import math as _math

import numpy as _numpy

from .. import _core
from ..nd.methods import ndarray
from ..nd.operators import find_function as _find_operator
from . import functions as _functions
from . import host as _host
from .create import (
    arange,
    array,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    identity,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
float16, float32, float64 = _numpy.float16, _numpy.float32, _numpy.float64
int8, int16, int32, int64, uint8 = _numpy.int8, _numpy.int16, _numpy.int32, _numpy.int64, _numpy.uint8
bool_ = _numpy.bool_
bool = _numpy.bool_  # noqa: A001 - NumPy's and MXNet's name
dtype = _numpy.dtype

__all__ = [
    "arange",
    "array",
    "asarray",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "identity",
    "inf",
    "linspace",
    "nan",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "pi",
    "zeros",
    "zeros_like",
]


def __getattr__(name):
    if name == "bfloat16":
        value = _core.numpy_dtype(name)
    elif name == "random":
        value = _importlib.import_module("amp.np.random")
    elif name == "linalg":
        value = _importlib.import_module("amp.np.linalg")
    elif name == "_internal":
        from .._namespace import Namespace
        from ..sym.operators import function_names

        value = Namespace(
            "amp.np._internal", ("_npi_", "_np_", "_"), _find_operator, function_names, "Operators by name."
        )
    else:
        value = _functions.find(name) or _host.find(name)
        if value is None:
            raise _host.unknown(name, _functions.names())
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_functions.names(), "bfloat16", "linalg", "random"})
