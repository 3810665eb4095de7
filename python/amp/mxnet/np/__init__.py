"""Arrays in NumPy's style: `mx.np.ndarray` and functions with NumPy's names and rules.

Numbers become float32 where nothing else is said, as in MXNet. Functions run the operators that MXNet names `_npi_*`;
what has no operator is computed by NumPy itself (`numpy_fallback`), and a hybridized block with one has no graph.

It imports autograd and random numbers; neither operators in Python nor blocks.
"""

import math as _math

import numpy as _numpy

from ... import _core, _trace
from ..._namespace import Namespace as _Namespace
from ...nd.operators import find_function as _find_operator
from ...sym.operators import function_names as _function_names
from . import fallback, fallback_linalg, linalg, protocols, random  # noqa: F401 - MXNet's modules
from . import functions as _functions
from . import numpy_fallback as _numpy_fallback
from . import operators_of_mxnet as _operators_of_mxnet
from .array_class import ndarray
from .create import (
    arange,
    array,
    asarray,
    blackman,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    hamming,
    hanning,
    identity,
    linspace,
    logspace,
    ones,
    ones_like,
    tri,
    zeros,
    zeros_like,
)

pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
# Names of NumPy 1 that MXNet has.
PINF, NINF, NAN, NaN, PZERO, NZERO = inf, -inf, nan, nan, 0.0, -0.0
finfo, iinfo = _numpy.finfo, _numpy.iinfo
float16, float32, float64 = _numpy.float16, _numpy.float32, _numpy.float64
int8, int16, int32, int64, uint8 = _numpy.int8, _numpy.int16, _numpy.int32, _numpy.int64, _numpy.uint8
bool_ = _numpy.bool_
bool = _numpy.bool_  # noqa: A001 - NumPy's and MXNet's name
dtype = _numpy.dtype
# What tests go through, as in MXNet 2: the dtypes that arrays may have.
integer_dtypes = [_numpy.dtype(name) for name in ("int8", "int32", "int64", "uint8")]
floating_dtypes = [_numpy.dtype(name) for name in ("float16", "float32", "float64")]
numeric_dtypes = [*integer_dtypes, *floating_dtypes]
boolean_dtypes = [_numpy.dtype(_numpy.bool_)]

__all__ = [
    "arange",
    "array",
    "asarray",
    "blackman",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "hamming",
    "hanning",
    "identity",
    "inf",
    "linalg",
    "linspace",
    "logspace",
    "nan",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "pi",
    "random",
    "tri",
    "zeros",
    "zeros_like",
]


# Methods of arrays that are functions of this module with the array as first argument.
_METHODS = (
    "all any argmax argmin argsort clip cumsum diagonal dot max mean min prod ravel repeat round sort squeeze std sum "
    "swapaxes take trace var"
).split()


def _find(name):
    """The function of the module that has an operator, or that NumPy computes; None where there is neither."""
    return _functions.find(name) or _numpy_fallback.find(name)


def _method(name):
    def method(self, *args, **kwargs):
        return _find(name)(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"`mx.np.{name}` of this array."
    return method


for _name in _METHODS:
    setattr(ndarray, _name, _method(_name))


def _transpose(self, *axes):
    """`mx.np.transpose` of this array; `axes` may be one tuple, or numbers."""
    if len(axes) == 1 and not isinstance(axes[0], int):
        (axes,) = axes
    return _find("transpose")(self, axes or None)


def _clip(self, min=None, max=None, out=None, **named):  # noqa: A002 - NumPy's names
    """`mx.np.clip` of this array."""
    return _find("clip")(self, named.pop("a_min", min), named.pop("a_max", max), out=out, **named)


ndarray.transpose, ndarray.clip, ndarray.nonzero = _transpose, _clip, _method("nonzero")


def _bitwise(name, is_reflected=False):
    def operation(self, other):
        return _find(name)(other, self) if is_reflected else _find(name)(self, other)

    return operation


def _bitwise_in_place(name):
    def operation(self, other):
        result = _find(name)(self, other)
        if result is NotImplemented or _trace.current() is not None:
            return result  # in a graph the name stands for the new tensor from now on
        self[...] = result
        return self

    return operation


for _symbol, _name in {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}.items():
    setattr(ndarray, f"__{_symbol}__", _bitwise(_name))
    setattr(ndarray, f"__r{_symbol}__", _bitwise(_name, is_reflected=True))
    setattr(ndarray, f"__i{_symbol}__", _bitwise_in_place(_name))
ndarray.__invert__ = lambda self: _find("invert")(self)
ndarray.reshape_view = lambda self, *shape, **options: self.reshape(*shape, **options)  # shares memory, too
for _name in ("floor", "ceil", "trunc"):
    setattr(ndarray, f"__{_name}__", _method(_name))
ndarray.__pos__ = lambda self: self.copy()
ndarray.__round__ = lambda self, n=0: _find("round")(self, n)

protocols.install()


def _find_npi(name):
    function = _operators_of_mxnet.find(name[5:]) if name.startswith("_npi_") else None
    return function or _find_operator(name)


def _npi_names():
    return [*_function_names(), *(f"_npi_{name}" for name in _operators_of_mxnet.names())]


_internal = _Namespace(f"{__name__}._internal", ("_npi_", "_np_", "_"), _find_npi, _npi_names, "Operators by name.")


def __getattr__(name):
    value = _core.numpy_dtype(name) if name == "bfloat16" else _find(name)
    if value is None:
        raise _numpy_fallback.unknown(name, _functions.names())
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_functions.names(), "bfloat16"})
