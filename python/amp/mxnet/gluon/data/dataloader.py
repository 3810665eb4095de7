"""Batches of a dataset, made in the calling thread, by other threads or by forked processes."""

import functools
import weakref
from collections import deque

from ...._core import NDArray
from ....base import ArgumentError
from ... import random
from ..._missing import getter
from . import batchify
from ._pool_batches import (  # noqa: F401 - toolkits build loaders of their own from them
    ForkingPickler,
    _as_in_context,
    _MultiWorkerIter,
    _thread_worker_fn,
    _worker_fn,
    _worker_initializer,
)
from ._workers import ProcessPool, ThreadPool
from .sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_batchify_fn", "default_mp_batchify_fn"]


class DataLoader:
    """DataLoader(dataset, batch_size, shuffle=False, last_batch='keep'): batches of arrays from a dataset.

    `sampler` gives the order, `batch_sampler` whole batches of numbers; `batchify_fn(samples)` makes a batch of a list
    of samples, by default `default_batchify_fn`.

    With `num_workers` batches are made ahead of time, `prefetch` of them, 2 for each worker by default. Workers are
    processes, forked here, or with `thread_pool` threads. They hand arrays over in shared memory. Operators run in
    them on one thread. An error in a worker is raised in the caller, with its traceback; a worker that ends is an
    error, as is a batch that takes longer than `timeout` seconds. Random numbers in a process follow from
    `mx.random.seed`, or else `numpy.random.seed`, and from the number of the batch: neither the number of processes
    nor their speed changes them. With `auto_reload` the next round begins when one ends. `pin_memory`,
    `pin_device_id` and `try_nopython` have no effect.

    Raises ArgumentError without `batch_size` and `batch_sampler`.

    >>> loader = mx.gluon.data.DataLoader(np.ones((5, 3), "float32"), batch_size=2, num_workers=2)
    >>> [batch.shape for batch in loader]
    [(2, 3), (2, 3), (1, 3)]
    """

    _pool = _next_round = None
    _num_workers = 0

    def __init__(
        self,
        dataset,
        batch_size=None,
        shuffle=False,
        sampler=None,
        last_batch=None,
        batch_sampler=None,
        batchify_fn=None,
        num_workers=0,
        pin_memory=False,
        pin_device_id=0,
        prefetch=None,
        thread_pool=False,
        timeout=120,
        auto_reload=False,
        try_nopython=None,
    ):
        if timeout <= 0:
            raise ArgumentError(f"timeout: expected a number of seconds above 0, got {timeout}")
        self._dataset, self._timeout, self._auto_reload = dataset, timeout, auto_reload
        self._batch_sampler = batch_sampler or _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch)
        if batch_sampler is not None and (batch_size is not None or shuffle or sampler is not None or last_batch):
            raise ArgumentError("DataLoader: batch_sampler excludes batch_size, shuffle, sampler and last_batch")
        self._batchify_fn = batchify_fn or default_batchify_fn
        self._num_workers, self._thread_pool = max(0, int(num_workers)), thread_pool
        self._prefetch = max(1, 2 * self._num_workers if prefetch is None else int(prefetch))
        if self._num_workers:
            self._start_workers()

    def _start_workers(self):
        make = functools.partial(_make, self._dataset, self._batchify_fn)
        if self._thread_pool:
            self._pool = ThreadPool(self._num_workers, make)
        else:
            self._pool = ProcessPool(self._num_workers, functools.partial(_make_seeded, make))
        weakref.finalize(self, self._pool.close)

    def __iter__(self):
        if not self._num_workers:
            return (_make(self._dataset, self._batchify_fn, samples) for samples in self._batch_sampler)
        if not self._pool.is_usable():
            self._start_workers()
            self._next_round = None
        batches, self._next_round = self._next_round or self._begin_round(), None
        batches.loader = self
        return batches

    def _begin_round(self):
        tasks = iter(self._batch_sampler) if self._thread_pool else _seeded(self._batch_sampler)
        return _Round(self, self._pool, tasks, self._prefetch, self._timeout)

    def _end_round(self):
        if self._auto_reload and self._next_round is None:
            self._next_round = self._begin_round()
            self._next_round.loader = None  # else the two would keep each other alive

    def __len__(self):
        return len(self._batch_sampler)


class _Round:
    """The batches of one round: an iterator. Some of them are made ahead of time."""

    def __init__(self, loader, pool, tasks, ahead, timeout):
        self.loader = loader  # keeps the workers alive
        self._batches = loader._batch_sampler  # which need not have a length
        self._pool, self._tasks, self._timeout = pool, tasks, timeout
        self._under_way = deque()
        for _ in range(ahead):
            self._submit()

    def _submit(self):
        for task in self._tasks:
            self._under_way.append(self._pool.submit(task))
            return

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._batches)

    def __next__(self):
        if not self._under_way:
            if self.loader is not None:
                self.loader._end_round()
                self.loader = None
            raise StopIteration
        batch = self._pool.result(self._under_way.popleft(), self._timeout)
        self._submit()
        return batch

    next = __next__

    def __del__(self):
        self._pool.forget(self._under_way)


def _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch):
    if batch_size is None:
        raise ArgumentError("DataLoader: batch_size is needed unless batch_sampler is given")
    if sampler is not None and shuffle:
        raise ArgumentError("DataLoader: sampler excludes shuffle")
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    return BatchSampler(sampler, batch_size, last_batch or "keep")


def _make(dataset, batchify_fn, samples):
    return batchify_fn([dataset[number] for number in samples])


def _seeded(batches):
    """(samples, seed) of each batch."""
    seed = random.spawn_seed()
    for number, samples in enumerate(batches):
        yield samples, [*seed, number]


def _make_seeded(make, task):
    samples, seed = task
    random.begin_in_worker(seed)
    return make(samples)


def default_batchify_fn(data):
    """One array of a list of samples, which are arrays or numbers; of tuples a list, one array for each place.

    The dtype is that of the samples.

    >>> [array.shape for array in mx.gluon.data.default_batchify_fn([(np.ones(3), 0), (np.ones(3), 1)])]
    [(2, 3), (2,)]
    """
    if isinstance(data[0], tuple):
        return [default_batchify_fn(list(part)) for part in zip(*data)]
    if isinstance(data[0], NDArray):
        return batchify.Stack()(data)
    return batchify._array(data)


default_mp_batchify_fn = default_batchify_fn
__getattr__ = getter(__name__)
