"""Shapes of the results of operators that run in Python, from those of their inputs: each rule is `shapes` of a row."""

import itertools
import math

import numpy as np

from ...base import ArgumentError


def _axis(axis, rank):
    if not -rank <= axis < rank:
        raise ArgumentError(f"axis {axis} does not exist in an array of {rank} axes")
    return axis % rank


def like_first(first, *others, **attributes):
    """The shape of the first input."""
    return [first]


def kron(a, b):
    """The product of both shapes, aligned at their last axes."""
    pairs = itertools.zip_longest(reversed(a), reversed(b), fillvalue=1)
    return [tuple(x * y for x, y in reversed(list(pairs)))]


def cross(a, b, axisa=-1, axisb=-1, axisc=-1):
    """Vectors of three elements, or numbers where both have two."""
    a, b = list(a), list(b)
    sizes = a.pop(_axis(axisa, len(a))), b.pop(_axis(axisb, len(b)))
    if not set(sizes) <= {2, 3}:
        raise ArgumentError(f"expected vectors of two or three elements, got {sizes}")
    result = list(np.broadcast_shapes(tuple(a), tuple(b)))
    if 3 in sizes:
        result.insert(_axis(axisc, len(result) + 1), 3)
    return [tuple(result)]


def rollaxis(data, axis, start=0):
    """The axes in their new order."""
    return [np.rollaxis(np.broadcast_to(np.float32(0), data), axis, start).shape]


def interp(xp, fp, x=(), **attributes):
    """The shape of the places."""
    return [x]


def polyval(p, x):
    """The shape of the places."""
    return [x]


def ediff1d(data, *ends, to_begin_scalar=None, to_end_scalar=None, **attributes):
    """One element less than the data, and those of the ends."""
    numbers = (to_begin_scalar is not None) + (to_end_scalar is not None)
    return [(max(math.prod(data) - 1, 0) + sum(map(math.prod, ends)) + numbers,)]


def tri(N, M=None, **attributes):  # noqa: N803 - MXNet's name
    """Rows and columns."""
    return [(N, N if M is None else M)]


def tril_indices(n, m, k=0):
    """How many elements are at or below the diagonal: i + k + 1 of row i, from none to all of its m."""
    first, full = min(max(0, -k), n), min(max(0, m - k), n)
    ramp = max(full - first, 0) * (first + full - 1 + 2 * (k + 1)) // 2
    return [(ramp + (n - max(full, first)) * m,)] * 2


def repeats(data, repeats, axis=None):
    """Each element so many times."""
    dims = [math.prod(data)] if axis is None else list(data)
    axis = 0 if axis is None else _axis(axis, len(dims))
    if len(repeats) not in (1, dims[axis]):
        raise ArgumentError(f"expected 1 or {dims[axis]} counts, got {len(repeats)}")
    dims[axis] = sum(repeats) if len(repeats) == dims[axis] else dims[axis] * repeats[0]
    return [tuple(dims)]


def advanced_indexing(data, indices):
    """A part of the data for each index."""
    return [(*indices, *data[1:])]


def _inserted(data, values, count, axis):
    """`count` places, or one of which nothing but a number says how many elements it takes: None."""
    dims = [math.prod(data)] if axis is None else list(data)
    axis = 0 if axis is None else _axis(axis, len(dims))
    if count in (None, 1):
        aligned = (1,) * (len(dims) - len(values)) + tuple(values)
        count = aligned[0 if count is None else axis]
    dims[axis] += count
    return [tuple(dims)]


def insert(data, values=(), start=None, stop=None, step=None, int_ind=None, axis=None, val=None):
    """The data, larger by the values along the axis."""
    if int_ind is not None:
        return _inserted(data, values, None, axis)
    size = math.prod(data) if axis is None else data[_axis(axis, len(data))]
    return _inserted(data, values, len(range(*slice(start, stop, step).indices(size))), axis)


def insert_at(data, *others, axis=None, **attributes):
    """The data, larger by as many elements as there are places, the last input."""
    return _inserted(data, others[0] if len(others) > 1 else (), math.prod(others[-1]), axis)


def solve(a, b):
    """The shape of the right-hand sides, with the batches of both."""
    if len(a) < 2 or a[-1] != a[-2] or not b or a[-1] != (b[0] if len(b) == 1 else b[-2]):
        raise ArgumentError(f"expected square matrices and as many rows, got shapes {a} and {b}")
    return [b] if len(b) == 1 and len(a) == 2 else [(*np.broadcast_shapes(a[:-2], b[:-2]), *b[-2:])]


def tensorsolve(a, b, a_axes=()):
    """What is left of the axes of a behind those of b."""
    last = [_axis(axis, len(a)) for axis in a_axes]
    order = [*(axis for axis in range(len(a)) if axis not in last), *last]
    return [tuple(a[axis] for axis in order[len(b) :])]
