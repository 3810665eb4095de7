"""Functions of `mx.npx` that change an array at places, and leave the array itself as it is."""

import math

import numpy as np

from ...sym.attributes import attribute_text
from ..np.create import asarray, ones
from ..np.elementwise import where
from ..np.invoke import run
from ..np.numpy_fallback_gradients import computed
from ..np.shapes import broadcast_to, reshape


def index_add(a, ind, val):
    """A copy of an array with `val` added at places; what comes to one place several times adds up.

    `ind` has a row for each of the first axes and a column for each place; a line is one row. `val` broadcasts to the
    places followed by the other axes. A hybridized block with it runs without a graph. Raises IndexError for places
    that do not exist, ValueError for values that do not fit.

    >>> mx.npx.index_add(mx.np.zeros((3,)), mx.np.array([[0, 2, 2]], dtype="int32"), mx.np.array([1, 2, 3]))
    array([1., 0., 5.])
    """
    a, val = asarray(a), asarray(val)
    places = tuple(np.atleast_2d(asarray(ind, "int64").asnumpy()))

    def add(array, values):
        result = array.copy()
        np.add.at(result, places, np.broadcast_to(values.astype(array.dtype), result[places].shape))
        return (result,)

    def gradients(inputs, results, heads):
        return [heads[0], _summed_to(heads[0][places], inputs[1].shape)]

    return computed("mx.npx.index_add", add, gradients, a, val)[0]


def _summed_to(gradient, shape):
    """The gradient of what was broadcast from a shape."""
    own = (*[1] * (gradient.ndim - len(shape)), *shape)
    axes = tuple(i for i, size in enumerate(own) if size == 1 and gradient.shape[i] != 1)
    return gradient.sum(axes, keepdims=True).reshape(shape)


def index_update(a, ind, val):
    """A copy of an array with `val` written to places, which are given as for `index_add`; the last one counts.

    The gradient reaches all values for a place, as in MXNet. Raises GraphError for values that do not fit.

    >>> mx.npx.index_update(mx.np.zeros((3,)), mx.np.array([[0, 2]], dtype="int32"), mx.np.array([1, 2]))
    array([1., 0., 2.])
    """
    a, val, ind = asarray(a), asarray(val), asarray(ind)
    axes, count = ind.shape if ind.ndim == 2 else (1, math.prod(ind.shape))
    ind = reshape(ind, (axes, count))
    values = broadcast_to(val.astype(a.dtype, copy=False), (count, *a.shape[axes:]))
    written = run("scatter_nd", [values, ind], {"shape": attribute_text(a.shape)})
    marks = run("scatter_nd", [ones((count,)), ind], {"shape": attribute_text(a.shape[:axes])})
    return where(reshape(marks, (*a.shape[:axes], *[1] * (a.ndim - axes))), written, a)
