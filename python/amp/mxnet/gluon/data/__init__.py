"""Datasets and loaders of batches. Work is done in the calling thread: `num_workers` has no effect."""

import numpy as np

from .... import nd
from ...._core import NDArray
from ....base import ArgumentError
from ... import random

__all__ = [
    "ArrayDataset",
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SimpleDataset",
]


class Dataset:
    """Samples by number. Subclasses define `__getitem__` and `__len__`.

    >>> class Squares(mx.gluon.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")

    def transform(self, fn, lazy=True):
        """A dataset of `fn(*sample)`."""
        transformed = _Transformed(self, fn)
        return transformed if lazy else SimpleDataset(list(transformed))

    def transform_first(self, fn, lazy=True):
        """A dataset in which `fn` has changed the first element of every sample."""
        return self.transform(lambda first, *others: (fn(first), *others) if others else fn(first), lazy)

    def take(self, count):
        """The first `count` samples."""
        return SimpleDataset([self[i] for i in range(min(count, len(self)))])


class SimpleDataset(Dataset):
    """SimpleDataset(data): anything with `len` and indices.

    >>> len(mx.gluon.data.SimpleDataset([5, 6, 7]))
    3
    """

    def __init__(self, data):
        self._data = data

    def __getitem__(self, index):
        return self._data[index]

    def __len__(self):
        return len(self._data)


class ArrayDataset(Dataset):
    """ArrayDataset(*data): samples are tuples of an element of each array, or elements where there is one array.

    Raises ArgumentError where lengths differ, or without arrays.

    >>> mx.gluon.data.ArrayDataset([10, 20], [0, 1])[1]
    (20, 1)
    """

    def __init__(self, *data):
        if not data or len({len(part) for part in data}) != 1:
            raise ArgumentError(f"ArrayDataset: expected arrays of one length, got {[len(part) for part in data]}")
        self._data = data

    def __getitem__(self, index):
        return self._data[0][index] if len(self._data) == 1 else tuple(part[index] for part in self._data)

    def __len__(self):
        return len(self._data[0])


class _Transformed(Dataset):
    def __init__(self, dataset, fn):
        self._dataset, self._fn = dataset, fn

    def __getitem__(self, index):
        sample = self._dataset[index]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def __len__(self):
        return len(self._dataset)


class Sampler:
    """An order of samples: an iterable of numbers with `len`.

    >>> isinstance(mx.gluon.data.SequentialSampler(3), mx.gluon.data.Sampler)
    True
    """


class SequentialSampler(Sampler):
    """SequentialSampler(length, start=0): numbers from `start`, in order.

    >>> list(mx.gluon.data.SequentialSampler(3))
    [0, 1, 2]
    """

    def __init__(self, length, start=0):
        self._numbers = range(start, start + length)

    def __iter__(self):
        return iter(self._numbers)

    def __len__(self):
        return len(self._numbers)


class RandomSampler(Sampler):
    """RandomSampler(length): the numbers below `length` in random order, by `mx.random`'s seed.

    >>> sorted(mx.gluon.data.RandomSampler(3))
    [0, 1, 2]
    """

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        return iter(random.generator().permutation(self._length).tolist())

    def __len__(self):
        return self._length


class BatchSampler(Sampler):
    """BatchSampler(sampler, batch_size, last_batch='keep'): lists of numbers; a smaller last one is kept or discarded.

    With 'rollover' its numbers begin the next round. Raises ArgumentError for another `last_batch`.

    >>> list(mx.gluon.data.BatchSampler(mx.gluon.data.SequentialSampler(5), 2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, last_batch="keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise ArgumentError(f"last_batch: expected 'keep', 'discard' or 'rollover', got {last_batch!r}")
        self._sampler, self._size, self._last = sampler, batch_size, last_batch
        self._left = []

    def __iter__(self):
        batch, self._left = self._left, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._size:
                yield batch
                batch = []
        if batch and self._last == "keep":
            yield batch
        elif self._last == "rollover":
            self._left = batch

    def __len__(self):
        count = len(self._sampler) + len(self._left)
        return -(-count // self._size) if self._last == "keep" else count // self._size


class DataLoader:
    """DataLoader(dataset, batch_size, shuffle=False, last_batch='keep'): batches of arrays from a dataset.

    `sampler` gives the order, `batch_sampler` whole batches of numbers; `batchify_fn(samples)` makes a batch of a list
    of samples, by default one array of each element of the samples. `num_workers`, `pin_memory` and the like have no
    effect. Raises ArgumentError without `batch_size` and `batch_sampler`.

    >>> loader = mx.gluon.data.DataLoader(np.ones((5, 3), "float32"), batch_size=2)
    >>> [batch.shape for batch in loader]
    [(2, 3), (2, 3), (1, 3)]
    """

    def __init__(
        self,
        dataset,
        batch_size=None,
        shuffle=False,
        sampler=None,
        last_batch="keep",
        batch_sampler=None,
        batchify_fn=None,
        num_workers=0,
        **kwargs,
    ):
        if batch_sampler is None:
            if batch_size is None:
                raise ArgumentError("DataLoader: batch_size is needed unless batch_sampler is given")
            if sampler is None:
                sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
            batch_sampler = BatchSampler(sampler, batch_size, last_batch)
        elif batch_size is not None or shuffle or sampler is not None:
            raise ArgumentError("DataLoader: batch_sampler excludes batch_size, shuffle and sampler")
        self._dataset, self._batches = dataset, batch_sampler
        self._batchify = batchify_fn or default_batchify_fn

    def __iter__(self):
        for numbers in self._batches:
            yield self._batchify([self._dataset[number] for number in numbers])

    def __len__(self):
        return len(self._batches)


def default_batchify_fn(samples):
    """One array of a list of samples, which are arrays or numbers; of tuples a list, one array for each place."""
    first = samples[0]
    if isinstance(first, (tuple, list)):
        return [default_batchify_fn(list(part)) for part in zip(*samples)]
    if isinstance(first, NDArray):
        stacked = np.stack([sample.asnumpy() for sample in samples])
        return type(first)(stacked)
    array = np.asarray(samples)
    return nd.array(array, dtype=array.dtype if array.dtype != np.float64 else "float32")


def __getattr__(name):
    what = "; datasets of images are not supported, read files with another library" if name == "vision" else ""
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}{what}")
