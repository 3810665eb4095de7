"""Arrays that callers pass."""

import numpy as np

from . import _core
from ._core import NDArray
from .base import ArgumentError


def given(value):
    """`value`, which is not None: NDArray(None) is what pickles of MXNet begin with, and no array of a program."""
    if value is None:
        raise ArgumentError("expected an array, got None")
    return value


def readable(value, what="array"):
    """`value` as an NDArray or a NumPy array, without a copy where that is possible.

    Takes those, DLPack producers, arrays of MXNet (through their `asnumpy`) and what NumPy makes an array of
    numbers from. Raises ArgumentError, beginning with `what`, for anything else.
    """
    if isinstance(value, (NDArray, np.ndarray)):
        return value
    if callable(getattr(value, "asnumpy", None)):
        return value.asnumpy()
    if hasattr(value, "__dlpack__"):
        return _core.from_dlpack(value)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = None
    if array is None or array.dtype.kind not in "biuf":
        raise ArgumentError(f"{what}: expected an array, got {type(value).__name__}")
    return array


def native(value):
    """A NumPy array with swapped bytes as a copy in the machine's order; anything else as it is."""
    if isinstance(value, np.ndarray) and not value.dtype.isnative:
        return value.astype(value.dtype.newbyteorder("="))
    return value


def readable_dict(arrays, what):
    """{name: array} with arrays that the extension reads; None is an empty dict."""
    if arrays is None:
        return {}
    if not hasattr(arrays, "items"):
        raise ArgumentError(f"{what}: expected a dict {{name: array}}, got {type(arrays).__name__}")
    return {name: readable(array, f"{what}[{name!r}]") for name, array in arrays.items()}


def flattened(values):
    """The arrays of a nested list or tuple, depth first; one array is a list of one."""
    if not isinstance(values, (list, tuple)):
        return [values]
    return [array for value in values for array in flattened(value)]


def mapped(values, function):
    """Nested lists and tuples with `function(leaf)` in place of each leaf."""
    if isinstance(values, (list, tuple)):
        return type(values)(mapped(value, function) for value in values)
    return function(values)
