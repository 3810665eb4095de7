"""Batches that are made ahead of time."""

import concurrent.futures
import weakref

from ...base import ArgumentError
from .data_iter import DataBatch, DataDesc, DataIter


class PrefetchingIter(DataIter):
    """PrefetchingIter(iters, rename_data=None, rename_label=None): a thread makes the next batch while one is used.

    Several iterators are joined: their batches' arrays follow each other. `rename_data` and `rename_label` are lists
    of {name: other name}, one for each iterator. Raises ArgumentError where some end earlier than others.

    >>> batches = mx.io.PrefetchingIter(mx.io.NDArrayIter(np.ones((5, 4)), batch_size=2))
    >>> [batch.data[0].shape for batch in batches]
    [(2, 4), (2, 4), (2, 4)]
    """

    def __init__(self, iters, rename_data=None, rename_label=None):
        self.iters = iters if isinstance(iters, list) else [iters]
        if not self.iters:
            raise ArgumentError("PrefetchingIter: expected an iterator")
        self.n_iter, self.rename_data, self.rename_label = len(self.iters), rename_data, rename_label
        super().__init__(self.provide_data[0][1][0])
        self.current_batch = None
        self._threads = concurrent.futures.ThreadPoolExecutor(len(self.iters), "amp-prefetch")
        weakref.finalize(self, self._threads.shutdown, wait=False)
        self._ask()

    @property
    def provide_data(self):
        """[DataDesc] of the inputs."""
        return self._described("provide_data", self.rename_data)

    @property
    def provide_label(self):
        """[DataDesc] of the labels."""
        return self._described("provide_label", self.rename_label)

    def _described(self, what, names):
        names = names or [{}] * len(self.iters)
        found = []
        for iterator, other in zip(self.iters, names):
            for desc in getattr(iterator, what):
                desc = desc if isinstance(desc, DataDesc) else DataDesc(*desc)
                found.append(DataDesc(other.get(desc.name, desc.name), desc.shape, desc.dtype, desc.layout))
        return found

    def _ask(self):
        self._coming = [self._threads.submit(_next_of, iterator) for iterator in self.iters]

    def reset(self):
        """Begins again."""
        concurrent.futures.wait(self._coming)
        for iterator in self.iters:
            iterator.reset()
        self._ask()

    def iter_next(self):
        """Goes to the next batch; False at the end."""
        batches = [future.result() for future in self._coming]
        if any(batch is None for batch in batches):
            if not all(batch is None for batch in batches):
                raise ArgumentError("PrefetchingIter: some iterators ended earlier than others")
            return False
        if len({batch.pad for batch in batches}) != 1:
            raise ArgumentError("PrefetchingIter: batches differ in their padding")
        self.current_batch = DataBatch(
            [array for batch in batches for array in batch.data],
            [array for batch in batches for array in batch.label or []],
            batches[0].pad,
            batches[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._ask()
        return True

    def next(self):
        """The next DataBatch; raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return self.current_batch

    def getdata(self):
        """Arrays of the current batch."""
        return self.current_batch.data

    def getlabel(self):
        """Labels of the current batch."""
        return self.current_batch.label

    def getindex(self):
        """Numbers of the current batch's rows."""
        return self.current_batch.index

    def getpad(self):
        """How many rows at the end of the current batch do not count."""
        return self.current_batch.pad


def _next_of(iterator):
    """None at the end."""
    try:
        return iterator.next()
    except StopIteration:
        return None
