"""Many calls at once of one model: a pool of sessions that share packed weights.

with amp.Pool("net.plan") as pool:
    future = pool.submit(image)
    (scores,) = future.result()
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING

from ..base import ArgumentError, PoolFull, UnsupportedError
from ..executor import Executor
from ._request_queue import Request, RequestQueue
from ._sessions import default_sessions, first_session, sizes_up_to

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Any

    from .._core import NDArray
    from .._types import ArrayLike, Path

_MAX_SESSIONS = 1024
_MAX_WAITING = 1_000_000
_MAX_BATCH = 1024


class Pool:
    """Runs a model for many callers at once: sessions of one model, each with a thread, that share packed weights.

    plan: a plan file (`Executor.save`), or an Executor, which stays open as long as the pool is used.
    sessions: how many run at once; by default as many as keep this machine busy: `cpu_info()["threads"]` divided by
        the threads of a run. Most calls a second come from runs of one thread (num_threads=1).
    waiting: how many requests may wait for a session.
    batch, delay: up to `batch` requests are joined into one run, where they are arrays of the bound shapes and dtypes;
        the first waits at most `delay` seconds for others. A joined run may round otherwise than a run alone. It needs
        memory of its own, and on CPUs it is hardly faster. Not for models whose rows depend on each other.

    Arrays must not change until their results are available. A pool that is dropped without `close` answers what was
    submitted; what still waits at the end of the process is cancelled. After fork() the child gets an Error.

    Raises what `Executor.load` raises for the plan file, and ArgumentError for numbers out of range and for rows that
    cannot be joined; UnsupportedError for executors whose calls choose sizes (None); PlanMismatch where joined shapes
    need the source of a plan.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> amp.Executor(sym, args, aux, {"data": (1, 4)}, num_threads=1).save("model.plan")
    >>> with amp.Pool("model.plan", sessions=2) as pool:
    ...     [scores.shape for (scores,) in pool.map(np.ones((3, 1, 4), "float32"))]
    [(1, 3), (1, 3), (1, 3)]
    """

    def __init__(
        self,
        plan: Path | Executor,
        *,
        sessions: int | None = None,
        waiting: int = 64,
        batch: int = 1,
        delay: float = 0.0,
    ) -> None:
        if not isinstance(plan, (Executor, str, bytes, os.PathLike)):
            raise ArgumentError(f"plan: expected a plan file or an Executor, got {type(plan).__name__}")
        executor = plan if isinstance(plan, Executor) else Executor.load(plan)
        _require_sizes(executor)
        count = default_sessions(executor) if sessions is None else _number("sessions", sessions, _MAX_SESSIONS)
        places = _number("waiting", waiting, _MAX_WAITING)
        batch = _number("batch", batch, _MAX_BATCH)
        self._arrange = executor._arrange
        first, self._joining = first_session(executor, batch)
        self._queue = RequestQueue(places, sizes_up_to(batch), _seconds("delay", delay))
        self._ahead = 2 * count * batch
        each = [first, *(first.another() for _ in range(count - 1))]
        self._threads = [
            threading.Thread(target=session.serve, args=(self._queue,), name=f"amp.Pool-{i}", daemon=True)
            for i, session in enumerate(each)
        ]
        for thread in self._threads:
            thread.start()
        weakref.finalize(self, self._queue.close).atexit = False
        _open_pools[self._queue] = self._threads

    def submit(
        self, *args: ArrayLike | dict[str, ArrayLike], timeout: float | None = None, **kwargs: ArrayLike
    ) -> Future[list[NDArray]]:
        """The future of one call: its `result()` is what a call of the executor returns, or raises what it raises.

        Inputs are passed as in a call of an Executor; one that is named `timeout` in a dict. While `waiting` requests
        wait, the call waits for a place, at most `timeout` seconds. Raises PoolFull after that (timeout=0: at once),
        and ArgumentError for a closed pool. `cancel()` of the future takes back what still waits.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> with amp.Pool(amp.Executor(sym, args, aux, {"data": (2, 4)}), sessions=1) as pool:
        ...     pool.submit(data=np.ones((2, 4), "float32")).result()[0].shape
        (2, 3)
        """
        seconds = None if timeout is None else _seconds("timeout", timeout)
        request = self._request(args, kwargs)
        if not self._queue.take_place() and not self._wait_for_place(seconds):
            raise PoolFull("as many requests wait as the pool has places for; try again later")
        self._queue.put(request)
        return request.future

    def map(self, requests: Iterable[Any]) -> Iterator[list[NDArray]]:
        """The results of many calls, in their order.

        A request is an array, a tuple of all inputs, or a dict {input: array}. They are taken from the iterable while
        results are asked for, 2 * sessions * batch at most ahead of the results. An error of a request is raised in
        its place and ends the iteration.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> images = (np.full((1, 4), i, "float32") for i in range(100))
        >>> with amp.Pool(amp.Executor(sym, args, aux, {"data": (1, 4)})) as pool:
        ...     sum(1 for (scores,) in pool.map(images))
        100
        """
        self._queue.require_open()
        return self._results(iter(requests))

    async def run(self, *args: ArrayLike | dict[str, ArrayLike], **kwargs: ArrayLike) -> list[NDArray]:
        """One call from an asyncio program: waits for a place and for the results, and never blocks the loop.

        Inputs, results and errors are those of `submit`. A task that is cancelled takes back what still waits.

        >>> import asyncio
        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> with amp.Pool(amp.Executor(sym, args, aux, {"data": (2, 4)})) as pool:
        ...     asyncio.run(pool.run(np.ones((2, 4), "float32")))[0].shape
        (2, 3)
        """
        import asyncio  # for programs that have it

        request = self._request(args, kwargs)
        if not self._queue.take_place():
            place = self._queue.reserve()
            try:
                await asyncio.wrap_future(place)
            except BaseException:
                self._queue.give_up(place)
                raise
        self._queue.put(request)
        return await asyncio.wrap_future(request.future)

    def stats(self) -> dict[str, float]:
        """What the pool does and did.

        'sessions': how many there are. 'waiting', 'running': requests now. 'done', 'failed', 'cancelled': requests
        since the pool was made. 'seconds_waited': of all requests together until their runs; 'seconds_run': of all
        runs.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> with amp.Pool(amp.Executor(sym, args, aux, {"data": (2, 4)}), sessions=2) as pool:
        ...     _ = pool.submit(np.ones((2, 4), "float32")).result()
        ...     [pool.stats()[key] for key in ("sessions", "waiting", "done", "failed")]
        [2, 0, 1, 0]
        """
        if self._queue.is_foreign():
            self._queue.require_open()
        return {"sessions": len(self._threads), **self._queue.stats()}

    def close(self) -> None:
        """Takes no more requests, and returns when all that wait were run. Interrupted (ctrl-C), it cancels them.

        Callers of `submit` that wait for a place get an ArgumentError. `with amp.Pool(...) as pool:` closes it at the
        end of the block; where an interruption ends the block, what waits is cancelled.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> pool = amp.Pool(amp.Executor(sym, args, aux, {"data": (2, 4)}))
        >>> future = pool.submit(np.ones((2, 4), "float32"))
        >>> pool.close()
        >>> future.done()
        True
        """
        self._queue.close()
        try:
            self._join()
        except BaseException:
            self._queue.cancel()
            raise

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not issubclass(kind, Exception):
            self._queue.cancel()
        self.close()

    def __repr__(self) -> str:
        return f"<Pool of {len(self._threads)} sessions>"

    def _wait_for_place(self, seconds):
        """Whether there was a place within so many seconds, which is now the caller's."""
        if seconds == 0:
            return False
        place = self._queue.reserve()
        try:
            place.result(seconds)
        except FutureTimeout:
            if place.cancel():
                return False
            place.result()
        except BaseException:
            self._queue.give_up(place)
            raise
        return True

    def _request(self, args, kwargs):
        if self._joining is not None:
            with contextlib.suppress(Exception):  # the run raises it
                arrays = self._arrange(args, kwargs)
                if self._joining.fits(arrays):
                    return Request(arrays, {}, True)
        return Request(args, kwargs, False)

    def _results(self, requests):
        ahead = deque()
        try:
            for request in requests:
                ahead.append(self.submit(*request) if isinstance(request, tuple) else self.submit(request))
                if len(ahead) >= self._ahead:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def _join(self):
        if self._queue.is_foreign():
            return
        for thread in self._threads:
            if thread is not threading.current_thread():  # which a callback of a future runs on
                thread.join()


# {queue: threads} of pools that were not closed: threads that outlive the interpreter would run into its end.
_open_pools: weakref.WeakKeyDictionary[RequestQueue, list[threading.Thread]] = weakref.WeakKeyDictionary()


@atexit.register
def _end_open_pools():
    for queue, threads in list(_open_pools.items()):
        if not queue.is_foreign():
            queue.cancel()
            for thread in threads:
                thread.join()


def _require_sizes(executor):
    for name, shape in executor.input_shapes.items():
        if None in shape:
            raise UnsupportedError(
                f"plan: {name!r} is {shape}: a pool needs all sizes; `reshape` gives an Executor of them"
            )


def _number(name, value, largest):
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise ArgumentError(f"{name}: expected a number from 1 to {largest}, got {value!r}")
    return value


def _seconds(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ArgumentError(f"{name}: expected seconds, 0 or more, got {value!r}")
    return min(value, threading.TIMEOUT_MAX)


__all__ = ["Pool"]
