"""Functions of `mx.nd` that are no operators here: random arrays, updates of weights, loops."""

import os
import tempfile

import numpy as np

from .. import nd
from . import control_flow, random
from .optimizer.updates import FUNCTIONS as UPDATES

__all__ = ["fill_element_0index", "load_frombuffer", "onehot_encode", "reset_arrays", "split_v2"]

_SAMPLERS = ("uniform", "normal", "poisson", "exponential", "negative_binomial", "generalized_negative_binomial")


def reset_arrays(*arrays, num_arrays=None):
    """Writes zeros to arrays.

    >>> gradient = amp.nd.ones((2,))
    >>> mx.nd.reset_arrays(gradient, num_arrays=1)
    >>> gradient.asnumpy()
    array([0., 0.], dtype=float32)
    """
    for array in arrays:
        array[...] = 0


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Splits an array into a number of equal parts, or at the indices of a tuple: a list, or the array of one part.

    >>> [part.shape for part in mx.nd.split_v2(amp.nd.zeros((5, 2)), (1, 3))]
    [(1, 2), (2, 2), (2, 2)]
    """
    return nd.op._split_v2(ary, axis=axis, squeeze_axis=squeeze_axis, indices_or_sections=indices_or_sections)


def onehot_encode(indices, out):
    """Writes a row of zeros with a one at the index, for each index, to `out` of shape (N, classes); returns it.

    >>> mx.nd.onehot_encode(amp.nd.array([1, 0]), out=amp.nd.ones((2, 3)))
    [[0. 1. 0.]
     [1. 0. 0.]]
    <NDArray float32[2,3]>
    """
    return nd.op.one_hot(indices, depth=out.shape[1], dtype=out.dtype, out=out)


def fill_element_0index(lhs, mhs, rhs):
    """`lhs` (N, M) with the numbers of `mhs` (N,) in the columns that `rhs` (N,) says, one in each row.

    >>> mx.nd.fill_element_0index(amp.nd.zeros((2, 2)), amp.nd.array([5, 6]), amp.nd.array([1, 0]))
    [[0. 5.]
     [6. 0.]]
    <NDArray float32[2,2]>
    """
    values = lhs.asnumpy().copy()
    values[np.arange(len(values)), rhs.asnumpy().astype(np.int64)] = mhs.asnumpy()
    return nd.array(values, dtype=values.dtype)


def load_frombuffer(buf):
    """What `nd.load` gives for a file with these bytes.

    >>> amp.nd.save("arrays.params", {"x": amp.nd.ones((2,))})
    >>> with open("arrays.params", "rb") as file:
    ...     print(list(mx.nd.load_frombuffer(file.read())))
    ['x']
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "arrays")
        with open(path, "wb") as file:
            file.write(buf)
        return nd.load(path)


def install():
    """Puts them there."""
    for name in _SAMPLERS:  # under both names of MXNet's operators
        setattr(nd, name, getattr(random, name))
        setattr(nd, f"random_{name}", getattr(random, name))
    nd.random_gamma, nd.random_randint = random.gamma, random.randint
    for name, function in UPDATES.items():
        setattr(nd, name, function)
    for function in (fill_element_0index, load_frombuffer, onehot_encode, reset_arrays, split_v2):
        setattr(nd, function.__name__, function)
    nd.NDArray.split_v2 = split_v2
    nd.NDArray.to_dlpack_for_read, nd.NDArray.to_dlpack_for_write = nd.to_dlpack_for_read, nd.to_dlpack_for_write
    for name in control_flow.__all__:
        setattr(nd.contrib, name, getattr(control_flow, name))
