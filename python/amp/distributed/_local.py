"""Ranks that are threads of this process."""

import threading

from .. import _core
from .._per_process import values_of_this_thread
from ..base import ArgumentError
from ._comm import Comm


def run_local(size, function, *, num_threads=1, timeout=300):
    """Calls `function(comm)` in `size` threads, one for each rank, and returns the results by rank.

    What a rank raises first is raised here, when all have ended: those that wait for it raise as well. So do all where
    one waits for longer than `timeout` seconds. Whatever a rank runs uses `num_threads` threads unless it is told.

    >>> amp.distributed.run_local(2, lambda comm: 10 * comm.rank)
    [0, 10]
    """
    if not callable(function):
        raise ArgumentError(f"run_local: expected a function of a communicator, got {type(function).__name__}")
    if num_threads < 1:
        raise ArgumentError(f"num_threads: expected a number above 0, got {num_threads!r}")
    ranks = _Ranks(_core.local_comms(size, timeout), function, num_threads)
    return ranks.run()


class _Ranks:
    def __init__(self, engines, function, num_threads):
        self._engines, self._function, self._num_threads = engines, function, num_threads
        self._results = [None] * len(engines)
        self._error = None
        self._lock = threading.Lock()

    def run(self):
        threads = [threading.Thread(target=self._run_rank, args=(engine,)) for engine in self._engines]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:  # the user's Ctrl-C
            self._engines[0].fail("the run was interrupted")
            for thread in threads:
                thread.join()
            raise
        if self._error is not None:
            raise self._error
        return self._results

    def _run_rank(self, engine):
        _core.set_default_threads(self._num_threads)
        try:
            with values_of_this_thread():
                self._results[engine.rank] = self._function(Comm(engine))
            engine.leave()
        except BaseException as error:  # every kind of it ends the others
            with self._lock:
                self._error = self._error or error
            engine.fail(f"rank {engine.rank} failed: {type(error).__name__}: {error}")
