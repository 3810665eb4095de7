"""Orders in which samples are taken from a dataset."""

import numpy as np

from ....base import ArgumentError
from ..._missing import getter

__all__ = [
    "BatchSampler",
    "FilterSampler",
    "IntervalSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SplitSampler",
]


class Sampler:
    """An order of samples: an iterable of numbers with `len`.

    >>> isinstance(mx.gluon.data.SequentialSampler(3), mx.gluon.data.Sampler)
    True
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")


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
    """RandomSampler(length): the numbers below `length` in random order, by `numpy.random.seed` as in MXNet.

    `mx.random.get_state` and `set_state` bring an order back.

    >>> np.random.seed(5)
    >>> order = list(mx.gluon.data.RandomSampler(4))
    >>> np.random.seed(5)
    >>> order == list(mx.gluon.data.RandomSampler(4)) and sorted(order) == [0, 1, 2, 3]
    True
    """

    def __init__(self, length):
        self._length = length

    def __iter__(self):
        numbers = np.arange(self._length)
        np.random.shuffle(numbers)
        return iter(numbers)

    def __len__(self):
        return self._length


class FilterSampler(Sampler):
    """FilterSampler(fn, dataset): numbers of the samples for which `fn(sample)` is true. It looks at all of them now.

    >>> list(mx.gluon.data.FilterSampler(lambda x: x > 6, mx.gluon.data.SimpleDataset([5, 6, 7, 8])))
    [2, 3]
    """

    def __init__(self, fn, dataset):
        self._numbers = [number for number in range(len(dataset)) if fn(dataset[number])]

    def __iter__(self):
        return iter(self._numbers)

    def __len__(self):
        return len(self._numbers)


class IntervalSampler(Sampler):
    """IntervalSampler(length, interval, rollover=True): every `interval`-th number; then those that were left out.

    Without `rollover` the numbers that were left out stay so. Raises ArgumentError for an interval above the length.

    >>> list(mx.gluon.data.IntervalSampler(5, 3)), list(mx.gluon.data.IntervalSampler(5, 3, rollover=False))
    ([0, 3, 1, 4, 2], [0, 3])
    """

    def __init__(self, length, interval, rollover=True):
        if not 0 < interval <= length:
            raise ArgumentError(f"interval: expected 1 to the length, {length}, got {interval}")
        self._numbers = [n for start in range(interval if rollover else 1) for n in range(start, length, interval)]

    def __iter__(self):
        return iter(self._numbers)

    def __len__(self):
        return len(self._numbers)


class SplitSampler(Sampler):
    """SplitSampler(sampler, num_parts, part_index): one rank's part of an order (a sampler, or a length).

    Part p has the numbers at places p, p + num_parts, and so on, and all parts are equally long: up to num_parts - 1
    last numbers are left out. So the batches of all ranks together are those of one rank with num_parts times the
    batch. Orders that are drawn have to be the same on all ranks: seed them alike.

    >>> [list(mx.gluon.data.SplitSampler(7, 3, part)) for part in range(3)]
    [[0, 3], [1, 4], [2, 5]]
    """

    def __init__(self, sampler, num_parts, part_index):
        if not isinstance(num_parts, (int, np.integer)) or num_parts < 1:
            raise ArgumentError(f"num_parts: expected a number of ranks, got {num_parts!r}")
        if not isinstance(part_index, (int, np.integer)) or not 0 <= part_index < num_parts:
            raise ArgumentError(f"part_index: expected 0 to {num_parts - 1}, got {part_index!r}")
        if not hasattr(type(sampler), "__len__") and not isinstance(sampler, (int, np.integer)):
            raise ArgumentError(f"sampler: expected a sampler or a length, got {type(sampler).__name__}")
        self._sampler = SequentialSampler(sampler) if isinstance(sampler, (int, np.integer)) else sampler
        self._num_parts, self._part_index = int(num_parts), int(part_index)

    def __iter__(self):
        whole = len(self) * self._num_parts
        for place, number in zip(range(whole), self._sampler):
            if place % self._num_parts == self._part_index:
                yield number

    def __len__(self):
        return len(self._sampler) // self._num_parts


class BatchSampler(Sampler):
    """BatchSampler(sampler, batch_size, last_batch='keep'): lists of numbers; a smaller last one is kept or discarded.

    With 'rollover' its numbers begin the next round. Raises ArgumentError for another `last_batch`.

    >>> list(mx.gluon.data.BatchSampler(mx.gluon.data.SequentialSampler(5), 2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, last_batch="keep"):
        if last_batch not in ("keep", "discard", "rollover"):
            raise ArgumentError(f"last_batch: expected 'keep', 'discard' or 'rollover', got {last_batch!r}")
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ArgumentError(f"batch_size: expected a number of samples, got {batch_size!r}")
        self._sampler, self._size, self._last = sampler, int(batch_size), last_batch
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


__getattr__ = getter(__name__)
