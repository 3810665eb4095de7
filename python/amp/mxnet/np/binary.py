"""Functions with NumPy's signatures that take two arrays, or an array and a number, and run operators `_npi_*`."""

import numbers

import numpy as np

from ..._core import NDArray
from ...nd import methods
from .array_class import ndarray
from .create import asarray
from .invoke import ANY, FLOATS, INTEGERS, common, run

_NUMBERS = (*FLOATS, *INTEGERS)
_BITS = (*INTEGERS, "bool")

# Name: the operator's name, and the dtypes of which it gives what NumPy does. Others are left to NumPy.
_OPERATORS = {
    "arctan2": ("arctan2", FLOATS),
    "atan2": ("arctan2", FLOATS),
    "copysign": ("copysign", FLOATS),
    "hypot": ("hypot", FLOATS),
    "ldexp": ("ldexp", FLOATS),
    "logaddexp": ("logaddexp", FLOATS),
    "fmax": ("fmax", _NUMBERS),
    "fmin": ("fmin", _NUMBERS),
    "fmod": ("fmod", _NUMBERS),
    "logical_and": ("logical_and", ANY),
    "logical_or": ("logical_or", ANY),
    "logical_xor": ("logical_xor", ANY),
    "bitwise_and": ("bitwise_and", _BITS),
    "bitwise_or": ("bitwise_or", _BITS),
    "bitwise_xor": ("bitwise_xor", _BITS),
    "bitwise_left_shift": ("bitwise_left_shift", INTEGERS),
    "bitwise_right_shift": ("bitwise_right_shift", INTEGERS),
    "gcd": ("gcd", INTEGERS),
    "lcm": ("lcm", INTEGERS),
    "left_shift": ("bitwise_left_shift", INTEGERS),
    "right_shift": ("bitwise_right_shift", INTEGERS),
}
NAMES = tuple(_OPERATORS)
_OF_ARRAYS = ("gcd", "lcm")  # a number is an array without axes for them
_REFLECTED = ("arctan2", "copysign", "ldexp", "fmod", "bitwise_left_shift", "bitwise_right_shift")


def pair(name):
    """NumPy's function of two arrays, or of an array and a number."""
    op, dtypes = _OPERATORS[name]

    def function(x1, x2, out=None):
        if not isinstance(x1, NDArray) and not isinstance(x2, NDArray):
            return NotImplemented
        for array, number, is_reflected in ((x1, x2, False), (x2, x1, True)):
            if methods.scalar_text(number) is not None:
                return _with_number(op, dtypes, array, number, is_reflected, out)
        x1, x2 = (ndarray(x) if isinstance(x, np.ndarray) else asarray(x) for x in (x1, x2))  # NumPy's keep their dtype
        if op == "ldexp" and x1.dtype.name in FLOATS and x2.dtype.name in INTEGERS:
            x2 = x2.astype(x1.dtype)
        arrays = common([x1, x2], dtypes)
        return NotImplemented if arrays is None else run(f"_npi_{op}", arrays, {}, out)

    function.__name__ = function.__qualname__ = name
    return function


def _with_number(op, dtypes, array, number, is_reflected, out):
    """The operator on an array and a number, which makes float64 of integers where one of both asks for floats."""
    if dtypes in (_BITS, INTEGERS) and not _holds(array.dtype, number):
        return NotImplemented
    if op in _OF_ARRAYS:
        return run(f"_npi_{op}", [array, asarray(np.asarray(number, array.dtype), array.dtype)], {}, out)
    reflection = "r" if is_reflected and op in _REFLECTED else ""
    is_int = "False" if dtypes is FLOATS else methods.is_integer_text(number)
    if dtypes is FLOATS and isinstance(number, numbers.Integral) and array.dtype.itemsize < 4:
        array = array.astype(np.result_type(array.dtype, np.float16), copy=False)  # NumPy's, for small integers
    attributes = {"scalar": methods.scalar_text(number), "is_int": is_int}
    return run(f"_npi_{reflection}{op}_scalar", [array], attributes, out)


def _holds(dtype, number):
    is_integer = isinstance(number, numbers.Integral) and not isinstance(number, bool) and dtype.name in INTEGERS
    return is_integer and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
