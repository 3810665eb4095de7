"""Sessions of a pool: executors that share packed weights, each for one thread of the pool."""

from __future__ import annotations

import time

import numpy as np

from .._core import NDArray
from .._execution.gradient_runs import array_of
from .._execution.rows import batch_axis, batch_of, checked_rows, grown_shapes, part_of
from ..base import ArgumentError, cpu_info


def default_sessions(executor, processes=1):
    """How many sessions keep this machine busy, in each of so many processes."""
    return max(1, cpu_info()["threads"] // executor.summary.num_threads // processes)


def sizes_up_to(batch):
    """How many requests are joined: powers of two, and the largest number."""
    return [*(2**i for i in range((batch - 1).bit_length())), batch]


class Joining:
    """How up to `batch` requests of an executor are joined. `runs` are executors, {number of requests: executor}.

    Raises ArgumentError where rows depend on each other, and PlanMismatch where a plan has to be made again from a
    source and has none.
    """

    def __init__(self, executor, batch):
        if executor._draws:
            raise ArgumentError("batch: the model draws random numbers, which differ from row to row")
        self._types = {name: (executor.input_dtypes[name], shape) for name, shape in executor.input_shapes.items()}
        self._axes = {name: batch_axis(executor.symbol, name) for name in self._types}
        batch_of(executor.input_shapes, self._axes, "batch")
        # What a plan file lacks for larger shapes, this one reads from the source; the others share it.
        largest = executor.reshape(self._shapes(batch))
        self.runs = {size: largest.reshape(self._shapes(size)) for size in sizes_up_to(batch)[:-1]}
        self.runs[batch] = largest
        self._output_axes = checked_rows(self.runs[1]._handle, self.runs[2]._handle, self._axes, "batch")

    def _shapes(self, size):
        """{input: shape} of so many requests."""
        return grown_shapes({name: shape for name, (_, shape) in self._types.items()}, self._axes, size)

    def fits(self, arrays):
        """Whether these are arrays of the bound types: all else runs alone, so that its error is its own."""
        return all(
            isinstance(array, (np.ndarray, NDArray)) and (array.dtype, array.shape) == (dtype, tuple(shape))
            for array, (dtype, shape) in zip(arrays, self._types.values())
        )

    def run(self, executor, requests):
        """The results of each request, of one run of all. `requests` are lists of arrays."""
        joined = [
            np.concatenate([array_of(array, name).asnumpy() for array in arrays], axis=self._axes[name])
            for name, arrays in zip(self._types, zip(*requests))
        ]
        outputs = [output.asnumpy() for output in executor(*joined)]
        return [
            [self._part(output, axis, i, len(requests)) for output, axis in zip(outputs, self._output_axes)]
            for i in range(len(requests))
        ]

    @staticmethod
    def _part(output, axis, index, count):
        return NDArray(np.array(part_of(output, axis, index, output.shape[axis] // count)))


class Session:
    """Answers requests, one after the other or joined. `runs` is {number of requests: executor}."""

    def __init__(self, runs, joining):
        self._runs, self._joining = runs, joining

    def another(self):
        """A session that shares the weights, and nothing that runs change."""
        return Session({size: run.reshape() for size, run in self._runs.items()}, self._joining)

    def serve(self, queue):
        """Answers what the queue gives until it is closed and empty."""
        while requests := queue.take():
            if len(requests) == 1 or not self._answer_joined(requests, queue):
                self._answer_each(requests, queue)
            del requests  # while none comes, what they hold is free

    def _answer_each(self, requests, queue):
        for request in requests:
            self._answer(request, queue)

    def _answer(self, request, queue):
        begin = time.monotonic()
        try:
            results, error = self._runs[1](*request.args, **request.kwargs), None
        except BaseException as raised:
            results, error = None, raised
        queue.count_done(error is None, error is not None, time.monotonic() - begin)
        try:
            if error is None:
                request.future.set_result(results)
            else:
                request.future.set_exception(error)
        finally:
            del request, results, error  # the error's traceback has this frame

    def _answer_joined(self, requests, queue):
        """Whether the requests were answered together. What goes wrong is found, and told, of each alone."""
        run = self._runs.get(len(requests))  # some may have been cancelled
        if run is None:
            return False
        begin = time.monotonic()
        try:
            results = self._joining.run(run, [request.args for request in requests])
        except Exception:
            return False
        queue.count_done(len(requests), 0, time.monotonic() - begin)
        for request, result in zip(requests, results):
            request.future.set_result(result)
        return True


def first_session(executor, batch):
    """(Session, Joining or None) of an executor that joins up to `batch` requests."""
    if batch == 1:
        return Session({1: executor}, None), None
    joining = Joining(executor, batch)
    return Session(joining.runs, joining), joining
