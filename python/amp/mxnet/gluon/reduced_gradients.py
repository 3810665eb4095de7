"""Gradients of one model that several ranks train, each on its part of the data."""

import functools
import queue
import threading
import weakref
from concurrent.futures import Future

import numpy as np

from ... import _core
from ...base import ArgumentError

_DTYPES = {"fp32": "float32", "bf16": "bfloat16"}
_BUCKET_BYTES = 4 << 20


def dtype_of(weight_grad_reduce):
    """The dtype of sums that 'fp32' or 'bf16' stands for."""
    if weight_grad_reduce not in _DTYPES:
        raise ArgumentError(f"weight_grad_reduce: expected 'fp32' or 'bf16', got {weight_grad_reduce!r}")
    return _DTYPES[weight_grad_reduce]


def begin_alike(parameters, comm):
    """Gives all ranks the parameters of rank 0, now or when their shapes are known."""
    for parameter in parameters:
        if parameter._data is None:
            parameter.when_filled = comm.broadcast
        else:
            comm.broadcast(parameter.data())


class StoreReducer:
    """Adds gradients by the store of a program, a `KVStoreBase`."""

    def __init__(self, store):
        self._store = store

    def begin_alike(self, parameters):
        """Gives all ranks the parameters of the first one, now or when their shapes are known."""
        for index, parameter in enumerate(parameters):
            fill = functools.partial(self._broadcast, index, parameter)
            if parameter._data is None:
                parameter.when_filled = fill
            else:
                fill()

    def _broadcast(self, index, parameter, array=None):
        arrays = [array] if array is not None else parameter.list_data()
        self._store.broadcast(index, arrays[0], out=arrays)

    def buckets(self, parameters):
        """Yields the index of each parameter with a gradient, in a list, as soon as its gradients are sums."""
        for index, parameter in enumerate(parameters):
            if parameter.grad_req != "null":
                self._store.pushpull(index, parameter.list_grad(), priority=-index)
                yield [index]

    def agreed(self, parameters, fresh):
        """Those that are fresh here: a store tells nothing of other ranks."""
        return fresh


class GradientReducer:
    """Adds gradients over ranks in a thread of its own, bucket by bucket.

    Buckets begin with the last parameters, whose gradients backward knows first; all ranks have the same ones. From the
    second step on a bucket is sent while backward still computes others: as soon as its gradients, and those of all
    buckets in front of it, are written. What a program does to gradients between backward and the step counts: before
    the step ranks agree on the buckets whose gradients are not those that were sent, and add them once more.
    """

    def __init__(self, comm, dtype):
        self._comm = comm.duplicate()  # programs may use theirs while sums are under way
        self._agreement = comm.duplicate()  # its messages are not behind those of buckets
        self._dtype = dtype
        self._thread = None
        self._ahead = None

    def buckets(self, parameters):
        """Yields lists of indices of parameters, as soon as their gradients are sums over all ranks."""
        planned = _buckets_of(parameters)
        arrays = [[parameters[i].grad() for i in bucket] for bucket in planned]
        for bucket, gradients, total in zip(planned, arrays, self._sums(planned, arrays)):
            _write(total.result(), gradients)
            yield bucket
        self._send_ahead(planned, arrays, parameters)

    def agreed(self, parameters, fresh):
        """The pairs (index, parameter) that are fresh on any rank: all ranks update the same parameters.

        A gradient that is fresh on other ranks alone is zero here.
        """
        is_fresh = np.zeros(len(parameters), np.float32)
        is_fresh[[index for index, _ in fresh]] = 1
        ranks = np.asarray(self._agreement.all_reduce(is_fresh))
        for index in np.flatnonzero((ranks > 0) & (is_fresh == 0)):
            parameters[index].grad()[...] = 0
        return [(int(index), parameters[index]) for index in np.flatnonzero(ranks)]

    def _sums(self, planned, arrays):
        """Futures of the sums."""
        ahead, self._ahead = self._ahead, None
        if ahead is None:
            return [self._submit(gradients)[0] for gradients in arrays]
        snapshots = [snapshot for _, snapshot in ahead.sent]  # of what was sent before this step
        ahead.send_all()
        if ahead.planned != planned:  # the same on all ranks; what was sent is of no use
            return [self._submit(gradients)[0] for gradients in arrays]
        sums = [total for total, _ in ahead.sent]
        others = np.zeros(len(planned), np.float32)
        others[: len(snapshots)] = [bool(snapshot.result().changed()) for snapshot in snapshots]
        for i in np.flatnonzero(np.asarray(self._agreement.all_reduce(others))):
            sums[i] = self._submit(arrays[i])[0]
        return sums

    def _send_ahead(self, planned, arrays, parameters):
        self._ahead = _Ahead(planned, arrays, self._submit)
        for i, bucket in enumerate(planned):
            for index in bucket:
                parameters[index].data()._place.on_stored = functools.partial(self._ahead.stored, i, index)

    def _submit(self, gradients):
        """Futures of the sum, and of a snapshot, which is made first: later writes differ from it."""
        if self._thread is None:
            self._thread = _Worker()
        snapshot = self._thread.submit(_core.Snapshot, gradients)
        return self._thread.submit(self._sum, gradients), snapshot

    def _sum(self, gradients):
        joined = np.concatenate([np.asarray(gradient).reshape(-1) for gradient in gradients])
        loses = self._dtype == "float32" and joined.dtype == np.float64
        return np.asarray(self._comm.all_reduce(joined, dtype="float64" if loses else self._dtype))


class _Worker:
    """A thread that makes calls one after the other. A process ends without waiting for it, unlike for a pool's."""

    def __init__(self):
        calls = queue.SimpleQueue()
        self._calls = calls
        threading.Thread(target=_make_calls, args=(calls,), daemon=True).start()
        weakref.finalize(self, calls.put, None)

    def submit(self, function, *arguments):
        """The future of a call."""
        future = Future()
        self._calls.put((future, function, arguments))
        return future


def _make_calls(calls):
    _core.set_default_threads(1)
    while (call := calls.get()) is not None:
        future, function, arguments = call
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # whoever asks for the result raises it
            future.set_exception(error)
        del call, future, function, arguments


class _Ahead:
    """Buckets that are sent while backward goes on, always in the same order."""

    def __init__(self, planned, arrays, submit):
        self.planned, self.sent = planned, []  # [(future of the sum, future of the snapshot)] of the first buckets
        self._arrays, self._submit = arrays, submit
        self._missing = [set(bucket) for bucket in planned]

    def stored(self, bucket, index):
        """Backward has written this gradient."""
        self._missing[bucket].discard(index)
        while len(self.sent) < len(self.planned) and not self._missing[len(self.sent)]:
            self._send_next()

    def send_all(self):
        """Sends what has not been sent."""
        while len(self.sent) < len(self.planned):
            self._send_next()

    def _send_next(self):
        self.sent.append(self._submit(self._arrays[len(self.sent)]))


def _buckets_of(parameters):
    """Indices of those that have gradients: in each list of one dtype, and together not much more than a bucket."""
    buckets, room, dtype = [], 0, None
    for index in reversed(range(len(parameters))):
        if parameters[index].grad_req == "null":
            continue
        gradient = parameters[index].grad()
        if room <= 0 or gradient.dtype != dtype:
            buckets.append([])
            room, dtype = _BUCKET_BYTES, gradient.dtype
        buckets[-1].append(index)
        room -= gradient.nbytes
    return buckets


def _write(total, gradients):
    begin = 0
    for gradient in gradients:
        gradient[...] = total[begin : begin + gradient.size].reshape(gradient.shape).astype(gradient.dtype, copy=False)
        begin += gradient.size
