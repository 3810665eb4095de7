"""What toolkits build loaders of their own from: batches that a pool of `multiprocessing` makes."""

import multiprocessing.pool
import pickle
from multiprocessing.reduction import ForkingPickler

from ...._core import NDArray


def _as_in_context(data, ctx):
    """Arrays in nested lists, on another device, of which there is one here."""
    if isinstance(data, NDArray):
        return data.as_in_context(ctx)
    return [_as_in_context(each, ctx) for each in data] if isinstance(data, (list, tuple)) else data


_worker_dataset = None


def _worker_initializer(dataset, active_shape=False, active_array=False):
    """For processes of a pool: the dataset that `_worker_fn` reads, and the semantics of arrays."""
    global _worker_dataset
    from ...util import set_np

    _worker_dataset = dataset
    if active_shape:
        set_np(active_shape, active_array)


def _worker_fn(samples, batchify_fn, dataset=None):
    return bytes(ForkingPickler.dumps(batchify_fn([_worker_dataset[number] for number in samples])))


def _thread_worker_fn(samples, batchify_fn, dataset):
    return batchify_fn([dataset[number] for number in samples])


class _MultiWorkerIter:
    """Batches that `worker_fn(samples, batchify_fn, dataset)` makes in a pool, `prefetch` of them ahead of time.

    Without a `dataset` the workers are processes, which know theirs, and pickle batches.
    """

    def __init__(
        self,
        worker_pool,
        batchify_fn,
        batch_sampler,
        pin_memory=False,
        pin_device_id=0,
        worker_fn=_worker_fn,
        prefetch=0,
        dataset=None,
        data_loader=None,
        timeout=120,
    ):
        self._worker_pool, self._worker_fn, self._timeout = worker_pool, worker_fn, timeout
        self._batchify_fn, self._batch_sampler, self._dataset = batchify_fn, batch_sampler, dataset
        self._pin_memory, self._pin_device_id, self._data_loader = pin_memory, pin_device_id, data_loader
        self._data_buffer, self._rcvd_idx, self._sent_idx = {}, 0, 0
        self._iter = iter(batch_sampler)
        for _ in range(prefetch):
            self._push_next()

    def __len__(self):
        return len(self._batch_sampler)

    def _push_next(self):
        for samples in self._iter:
            task = samples, self._batchify_fn, self._dataset
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(self._worker_fn, task)
            self._sent_idx += 1
            return

    def __next__(self):
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        result = self._data_buffer.pop(self._rcvd_idx)
        try:
            batch = result.get(self._timeout)
        except multiprocessing.TimeoutError:
            raise
        except Exception:
            self._worker_pool.terminate()
            raise
        self._rcvd_idx += 1
        return pickle.loads(batch) if self._dataset is None else batch

    next = __next__

    def __iter__(self):
        return self
