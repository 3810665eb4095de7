"""Ranks that are threads of this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .. import _core
from .._per_process import values_of_this_thread
from ..base import ArgumentError
from ._checks import checked_timeout, is_integer_in
from ._comm import Comm

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from ._comm import Comm

    Result = TypeVar("Result")

_MOST = 1024  # ranks, and threads of one


def run_local(
    size: int, function: Callable[[Comm], Result], *, num_threads: int = 1, timeout: float = 300
) -> list[Result]:
    """Calls `function(comm)` in `size` threads, one for each rank, and returns the results by rank.

    What a rank raises first is raised here, when all have ended: those that wait for it raise as well. So do all where
    one waits for longer than `timeout` seconds. Whatever a rank runs uses `num_threads` threads unless it is told.

    >>> amp.distributed.run_local(2, lambda comm: 10 * comm.rank)
    [0, 10]
    """
    if not callable(function):
        raise ArgumentError(f"run_local: expected a function of a communicator, got {type(function).__name__}")
    for what, count in (("size", size), ("num_threads", num_threads)):
        if not is_integer_in(range(1, _MOST + 1), count):
            raise ArgumentError(f"{what}: expected a number from 1 to {_MOST}, got {count!r}")
    return _Ranks(_core.local_comms(size, checked_timeout(timeout)), function, int(num_threads)).run()


class _Ranks:
    def __init__(self, engines, function, num_threads):
        self._engines, self._function, self._num_threads = engines, function, num_threads
        self._results = [None] * len(engines)
        self._error = None
        self._num_ended, self._has_ended = 0, threading.Condition()

    def run(self):
        threads = [threading.Thread(target=self._run_rank, args=(engine,)) for engine in self._engines]
        started = []
        try:
            for thread in threads:
                thread.start()
                started.append(thread)
            self._await_end(len(threads))
        except BaseException:  # the user's Ctrl-C, or no more threads
            self._engines[0].fail("the run was interrupted")
            self._await_end(len(started))
            raise
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error
        return self._results

    def _await_end(self, count):
        """Returns when so many ranks have ended, or more: `join`, once interrupted, takes threads for ended."""
        with self._has_ended:
            self._has_ended.wait_for(lambda: self._num_ended >= count)

    def _run_rank(self, engine):
        try:
            _core.set_default_threads(self._num_threads)
            with values_of_this_thread():
                self._results[engine.rank] = self._function(Comm(engine))
            engine.leave()
        except BaseException as error:  # every kind of it ends the others
            with self._has_ended:
                self._error = error if self._error is None else self._error
            engine.fail(f"rank {engine.rank} failed: {type(error).__name__}: {error}")
        finally:
            with self._has_ended:
                self._num_ended += 1
                self._has_ended.notify_all()
