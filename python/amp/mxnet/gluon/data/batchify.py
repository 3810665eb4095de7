"""Functions that make a batch of a list of samples, with MXNet 2's names.

Batches are NDArrays, or `mx.np.ndarray`s where `mx.util.set_np` says so.
"""

import numpy as np

from .... import nd
from ...._core import NDArray
from ....base import ArgumentError, dtype_name
from ... import np as mx_np
from ... import util
from ..._missing import getter

__all__ = ["Append", "AsList", "Group", "Pad", "Stack"]


def _host(sample):
    return np.asarray(sample)


def _array(values):
    return (mx_np.ndarray if util.is_np_array() else nd.NDArray)(np.ascontiguousarray(values))


class _Batchify:
    def __mx_handle__(self):
        return self  # MXNet 2 has another form in C++; there is one form here


class Stack(_Batchify):
    """Stack(use_shared_mem=False): one array of samples of one shape; of tuples a list, one array for each place.

    `use_shared_mem` has no effect: workers hand over all arrays in shared memory.

    >>> mx.gluon.data.batchify.Stack()([[1, 2], [3, 4], [5, 6]]).shape
    (3, 2)
    """

    def __init__(self, use_shared_mem=False):
        self._use_shared_mem = use_shared_mem

    def __call__(self, data):
        if isinstance(data[0], NDArray):
            return type(data[0])(np.stack([_host(sample) for sample in data]))
        if isinstance(data[0], tuple):
            return [self(list(part)) for part in zip(*data)]
        return _array([_host(sample) for sample in data])


class Pad(_Batchify):
    """Pad(val=None, dtype=None, round_to=None): one array of samples that differ in size; all axes are filled up.

    `val`, by default 0, is what fills them. Sizes become multiples of `round_to`.

    >>> mx.gluon.data.batchify.Pad(val=-1)([[1, 2, 3], [4, 5]]).asnumpy().tolist()
    [[1, 2, 3], [4, 5, -1]]
    """

    def __init__(self, val=None, dtype=None, round_to=None, use_shared_mem=False):
        self._val, self._dtype, self._round_to = 0 if val is None else val, dtype, round_to or 1
        self._use_shared_mem = use_shared_mem

    def __call__(self, data):
        if not isinstance(data[0], (NDArray, np.ndarray, list, tuple)):
            raise ArgumentError(f"Pad: expected arrays or lists, got {type(data[0]).__name__}")
        samples = [_host(sample) for sample in data]
        if len({sample.ndim for sample in samples}) != 1:
            raise ArgumentError(f"Pad: samples have different numbers of axes: {sorted({s.ndim for s in samples})}")
        shape = np.max([sample.shape for sample in samples], axis=0)
        shape = -(-shape // self._round_to) * self._round_to
        dtype = samples[0].dtype if self._dtype is None else dtype_name(self._dtype)
        padded = np.full((len(samples), *shape), self._val, dtype)
        for row, sample in zip(padded, samples):
            row[tuple(map(slice, sample.shape))] = sample
        return _array(padded)


class Append(_Batchify):
    """Append(expand=True, batch_axis=0): a list of arrays, each with an axis of size 1 for the batch.

    >>> [array.shape for array in mx.gluon.data.batchify.Append()([[1, 2, 3], [4, 5]])]
    [(1, 3), (1, 2)]
    """

    def __init__(self, expand=True, batch_axis=0, use_shared_mem=False):
        self._expand, self._batch_axis = expand, batch_axis
        self._use_shared_mem = use_shared_mem

    def __call__(self, data):
        samples = [_host(sample) for sample in data]
        return [_array(np.expand_dims(s, self._batch_axis) if self._expand else s) for s in samples]


class Group(_Batchify):
    """Group(fn, *args): a function for each place of the samples; batches are tuples.

    Takes the functions as a list, too. Raises ArgumentError for samples of another length.

    >>> batchify = mx.gluon.data.batchify
    >>> words, labels = batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2], 0), ([3], 1)])
    >>> words.shape, labels.shape
    ((2, 2), (2,))
    """

    def __init__(self, fn, *args):
        self._functions = [*fn, *args] if isinstance(fn, (list, tuple)) else [fn, *args]
        if not all(map(callable, self._functions)):
            raise ArgumentError("Group: expected functions")

    def __call__(self, data):
        if len(data[0]) != len(self._functions):
            raise ArgumentError(f"Group: samples have {len(data[0])} places, and there are {len(self._functions)}")
        return tuple(function(list(part)) for function, part in zip(self._functions, zip(*data)))


class AsList(_Batchify):
    """The samples as they are, in a list.

    >>> mx.gluon.data.batchify.AsList()(["some", "words"])
    ['some', 'words']
    """

    def __call__(self, data):
        return list(data)


__getattr__ = getter(__name__)
