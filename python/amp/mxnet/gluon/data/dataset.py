"""Samples by number."""

import os

from ...._core import NDArray
from ....base import ArgumentError
from ... import recordio
from ..._missing import getter
from .sampler import FilterSampler, Sampler, SequentialSampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


class Dataset:
    """Samples by number. Subclasses define `__getitem__` and `__len__`.

    >>> class Squares(mx.gluon.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares()[3], list(Squares().filter(lambda x: x > 1)), list(Squares().shard(2, 1))
    (9, [4, 9], [4, 9])
    """

    def __getitem__(self, idx):
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")

    def filter(self, fn):
        """The samples for which `fn(sample)` is true; it is called for all of them now."""
        return _Sampled(self, FilterSampler(fn, self))

    def shard(self, num_shards, index):
        """One of `num_shards` parts that follow each other; the first ones have a sample more where they must."""
        if not 0 <= index < num_shards:
            raise ArgumentError(f"shard: expected an index below {num_shards}, got {index}")
        share, more = divmod(len(self), num_shards)
        begin = share * index + min(index, more)
        return _Sampled(self, SequentialSampler(share + (index < more), begin))

    def take(self, count):
        """The first `count` samples; all where it is None or more than there are."""
        if count is not None and count < 0:
            raise ArgumentError(f"take: expected a number from 0, got {count}")
        return _Sampled(self, SequentialSampler(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler):
        """The samples in the order of a Sampler, which is asked once."""
        if not isinstance(sampler, Sampler):
            raise ArgumentError(f"sample: expected a Sampler, got {type(sampler).__name__}")
        return _Sampled(self, sampler)

    def transform(self, fn, lazy=True):
        """A dataset of `fn(*sample)`: computed when a sample is asked for, or now for all."""
        transformed = _Transformed(self, fn)
        return transformed if lazy else SimpleDataset([transformed[i] for i in range(len(transformed))])

    def transform_first(self, fn, lazy=True):
        """A dataset in which `fn` has changed the first element of every sample."""
        return self.transform(_OfFirst(fn), lazy)

    def __mx_handle__(self):
        return self  # MXNet 2 has another form of a dataset in C++; there is one form here


class SimpleDataset(Dataset):
    """SimpleDataset(data): anything with `len` and indices.

    >>> len(mx.gluon.data.SimpleDataset([5, 6, 7]))
    3
    """

    def __init__(self, data):
        self._data = data

    def __getitem__(self, idx):
        return self._data[idx]

    def __len__(self):
        return len(self._data)


class ArrayDataset(Dataset):
    """ArrayDataset(*arrays): samples are tuples of an element of each array, or elements where there is one array.

    Elements of an NDArray with one axis are NumPy numbers. Raises ArgumentError where lengths differ, or without
    arrays.

    >>> mx.gluon.data.ArrayDataset([10, 20], [0, 1])[1]
    (20, 1)
    """

    def __init__(self, *args):
        if not args or len({len(part) for part in args}) != 1:
            raise ArgumentError(f"ArrayDataset: expected arrays of one length, got {[len(part) for part in args]}")
        self._data = [part.asnumpy() if isinstance(part, NDArray) and part.ndim == 1 else part for part in args]

    def __getitem__(self, idx):
        return self._data[0][idx] if len(self._data) == 1 else tuple(part[idx] for part in self._data)

    def __len__(self):
        return len(self._data[0])


class RecordFileDataset(Dataset):
    """RecordFileDataset(filename): the records of a file with an index beside it, `.idx` in place of `.rec`.

    Samples are bytes. Raises ArgumentError without the index.

    >>> writer = mx.recordio.MXIndexedRecordIO("some.idx", "some.rec", "w")
    >>> writer.write_idx(0, b"first")
    >>> writer.close()
    >>> mx.gluon.data.RecordFileDataset("some.rec")[0]
    b'first'
    """

    def __init__(self, filename):
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        if not os.path.isfile(self.idx_file):
            raise ArgumentError(f"{self.filename} has no index {self.idx_file}; MXIndexedRecordIO writes one")
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, idx):
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self):
        return len(self._record.keys)


class _Sampled(Dataset):
    def __init__(self, dataset, sampler):
        self._dataset, self._numbers = dataset, list(sampler)

    def __getitem__(self, idx):
        return self._dataset[self._numbers[idx]]

    def __len__(self):
        return len(self._numbers)


class _Transformed(Dataset):
    def __init__(self, dataset, fn):
        self._dataset, self._fn = dataset, fn

    def __getitem__(self, idx):
        sample = self._dataset[idx]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def __len__(self):
        return len(self._dataset)


class _OfFirst:
    def __init__(self, fn):
        self._fn = fn

    def __call__(self, first, *others):
        return (self._fn(first), *others) if others else self._fn(first)


__getattr__ = getter(__name__)
