"""Functions of `mx.npx` that are no operators."""

import numpy as np

from ... import _recording, _trace, nd
from ...base import ArgumentError
from .. import control_flow
from ..np.array_class import ndarray
from ..np.create import asarray


def from_numpy(array, zero_copy=True):
    """An `ndarray` of a NumPy array's elements; with `zero_copy` it shares memory where that is row-major.

    Raises ArgumentError for what is no array of numbers.

    >>> source = np.zeros((2,), "float32")
    >>> mx.npx.from_numpy(source)[:] = 5
    >>> source.tolist()
    [5.0, 5.0]
    """
    return ndarray(nd.from_numpy(array, zero_copy))


def savez(file, *args, **kwds):
    """Writes arrays as an .npz file: those without a name as arr_0, arr_1 and so on.

    Raises ArgumentError for a name that occurs twice and for what cannot be written.

    >>> mx.npx.savez("own.npz", mx.np.ones((2,)), bias=mx.np.zeros((1,)))
    >>> sorted(mx.npx.load("own.npz"))
    ['arr_0', 'bias']
    """
    unnamed = {f"arr_{i}": array for i, array in enumerate(args)}
    twice = sorted(unnamed.keys() & kwds)
    if twice:
        raise ArgumentError(f"savez: {twice[0]} is the name of two arrays")
    nd.save(file, {**unnamed, **kwds}, format="npz")


def nonzero(x):
    """The indices of the elements that are not 0, one row for each, int64.

    A hybridized block with it runs without a graph: the shape depends on the elements.

    >>> mx.npx.nonzero(mx.np.array([[1, 0], [0, 2]]))
    array([[0, 0],
           [1, 1]])
    """
    _trace.refuse("mx.npx.nonzero")
    _recording.refuse("mx.npx.nonzero", x)
    return ndarray(np.ascontiguousarray(np.argwhere(asarray(x).asnumpy()), np.int64))


def cond(pred, then_func, else_func, inputs=(), name=None):
    """What `then_func(*inputs)` gives where `pred` is not 0, else what `else_func(*inputs)` gives.

    `pred` is an array of one element, or a function that gives one from the inputs.

    >>> mx.npx.cond(lambda x: x < 3, lambda x: x + 1, lambda x: x - 1, [mx.np.array(2)])
    array(3.)
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    pred = pred(*inputs) if callable(pred) else pred
    return control_flow.cond(pred, lambda: then_func(*inputs), lambda: else_func(*inputs))
