"""Gradients of one model that several ranks train, each on its part of the data."""

from concurrent.futures import ThreadPoolExecutor

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


class GradientReducer:
    """Adds gradients over ranks in a thread of its own, bucket by bucket.

    Buckets begin with the last parameters, whose gradients backward knows first; all ranks have the same ones.
    """

    def __init__(self, comm, dtype):
        self._comm = comm.duplicate()  # programs may use theirs while sums are under way
        self._dtype = dtype
        self._thread = None

    def buckets(self, parameters):
        """Yields lists of indices of parameters, as soon as their gradients are sums over all ranks."""
        planned = _buckets_of(parameters)
        sums = [self._submit(self._sum, [parameters[i].grad() for i in bucket]) for bucket in planned]
        for bucket, total in zip(planned, sums):
            _write(total.result(), [parameters[i].grad() for i in bucket])
            yield bucket

    def agreed(self, parameters, fresh):
        """The pairs (index, parameter) that are fresh on any rank: all ranks update the same parameters.

        A gradient that is fresh on other ranks alone is zero here.
        """
        is_fresh = np.zeros(len(parameters), np.float32)
        is_fresh[[index for index, _ in fresh]] = 1
        ranks = self._submit(self._comm.all_reduce, is_fresh).result().asnumpy()
        for index in np.flatnonzero((ranks > 0) & (is_fresh == 0)):
            parameters[index].grad()[...] = 0
        return [(int(index), parameters[index]) for index in np.flatnonzero(ranks)]

    def _submit(self, work, *arguments):
        """A future of what is done in the thread, in the order of calls."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, initializer=_core.set_default_threads, initargs=(1,))
        return self._thread.submit(work, *arguments)

    def _sum(self, gradients):
        joined = np.concatenate([np.asarray(gradient).reshape(-1) for gradient in gradients])
        loses = self._dtype == "float32" and joined.dtype == np.float64
        return self._comm.all_reduce(joined, dtype="float64" if loses else self._dtype).asnumpy()


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
