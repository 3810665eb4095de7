"""Arrays with other values in a part of them: `mx.nd._internal._slice_assign`, and methods of arrays."""

import itertools

from .. import nd
from .._invoke import written


def _slice_assign(lhs, rhs, begin, end, step=(), out=None, name=None):
    """`lhs` with `rhs` in the slice from `begin` to `end`; None is an end of an axis."""
    result = lhs.copy()
    result[tuple(itertools.starmap(slice, itertools.zip_longest(begin, end, step)))] = rhs
    return result if out is None else written("_slice_assign", [result], out)[0]


def _slice_assign_scalar(data, scalar=0.0, begin=(), end=(), step=(), out=None, name=None):
    """`data` with a number in the slice from `begin` to `end`."""
    return _slice_assign(data, scalar, begin, end, step, out)


def _set_value(src=0.0, out=None, name=None):
    """Writes a number to all elements of `out`."""
    out[...] = src
    return out


def slice_assign(self, rhs, begin, end, step=()):
    """Writes `rhs` to the slice from `begin` to `end`, tuples in which None is an end of an axis; returns the array.

    >>> amp.nd.zeros((2, 2)).slice_assign(amp.nd.ones((2, 1)), begin=(None, 0), end=(None, 1))
    [[1. 0.]
     [1. 0.]]
    <NDArray float32[2,2]>
    """
    return _slice_assign(self, rhs, begin, end, step, out=self)


def slice_assign_scalar(self, value, begin, end, step=()):
    """Writes a number as `slice_assign` does.

    >>> amp.nd.zeros((4,)).slice_assign_scalar(2, begin=(0,), end=(None,), step=(2,))
    [2. 0. 2. 0.]
    <NDArray float32[4]>
    """
    return _slice_assign(self, value, begin, end, step, out=self)


def install():
    """Completes the class NDArray and `mx.nd._internal`."""
    for function in (_slice_assign, _slice_assign_scalar):
        setattr(nd._internal, function.__name__, function)
        setattr(nd._internal, function.__name__.replace("slice", "crop"), function)
    nd._internal._set_value = _set_value
    for method in (slice_assign, slice_assign_scalar):
        method.__qualname__ = f"NDArray.{method.__name__}"
        setattr(nd.NDArray, method.__name__, method)
