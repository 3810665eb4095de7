"""Requests that wait for a session of a pool: first come, first served, and no more of them than were asked for."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from concurrent.futures import Future
from itertools import islice, takewhile

from ..base import ArgumentError, Error


class Request:
    """One call of an executor, and the future of its results."""

    __slots__ = ("args", "kwargs", "is_joinable", "future", "since")

    def __init__(self, args, kwargs, is_joinable):
        self.args, self.kwargs, self.is_joinable = args, kwargs, is_joinable
        self.future = Future()
        self.since = time.monotonic()


class RequestQueue:
    """Has `places` for requests that wait. Whoever puts a request holds a place, which `reserve` gives in turn.

    A session takes joinable requests that follow each other together: so many as the largest of `sizes` says, or, when
    the first has waited for `delay` seconds, the largest of `sizes` that are there.
    """

    def __init__(self, places, sizes, delay):
        self._changed = threading.Condition()
        self._requests, self._tickets = deque(), deque()
        self._free, self._sizes, self._delay = places, sizes, delay
        self._is_closed, self._process = False, os.getpid()
        self._counts = {"running": 0, "done": 0, "failed": 0, "cancelled": 0}
        self._seconds = {"seconds_waited": 0.0, "seconds_run": 0.0}

    # ---- who asks ----

    def reserve(self):
        """A future that is done once a place is the caller's: for `put`, or for `give_up`."""
        self.require_open()
        ticket = Future()
        with self._changed:
            self._tickets.append(ticket)
            granted = self._grant()
        _tell(granted)
        return ticket

    def give_up(self, ticket):
        """Gives a place back, or no longer waits for one."""
        if not ticket.cancel() and ticket.exception() is None:
            self._give_back(1)

    def put(self, request):
        """Takes a request into the place that the caller holds. Raises ArgumentError where the queue is closed."""
        with self._changed:
            if not self._is_closed:
                self._requests.append(request)
                self._changed.notify()
                return
        self._give_back(1)
        self.require_open()

    def require_open(self):
        """Raises ArgumentError for a closed pool, and Error in a child process."""
        if self.is_foreign():
            raise Error(
                "this process was forked from the one that made the pool, and sessions do not survive that; "
                "make a pool here"
            )
        if self._is_closed:
            raise ArgumentError("the pool is closed; make another one")

    def is_foreign(self):
        """Whether this is a child of the process that made the queue: another thread may hold its lock for good."""
        return os.getpid() != self._process

    def stats(self):
        """What `Pool.stats` says."""
        with self._changed:
            return {"waiting": len(self._requests), **self._counts, **self._seconds}

    # ---- sessions ----

    def take(self):
        """Requests to run together, which then are running. None where the queue is closed and empty."""
        while True:
            with self._changed:
                while (seconds := self._seconds_until_due()) != 0 and not self._is_over():
                    self._changed.wait(seconds)
                if self._is_over():
                    return None
                taken = [self._requests.popleft() for _ in range(self._num_together())]
                if self._requests:
                    self._changed.notify()  # another session looks at what is left
            self._give_back(len(taken))
            running = [request for request in taken if request.future.set_running_or_notify_cancel()]
            self._count_taken(running, len(taken) - len(running))
            if running:
                return running

    def count_done(self, num_done, num_failed, seconds):
        """Counts requests that `take` gave and that are no longer running, and the seconds that they took."""
        with self._changed:
            self._counts["running"] -= num_done + num_failed
            self._counts["done"] += num_done
            self._counts["failed"] += num_failed
            self._seconds["seconds_run"] += seconds

    # ---- its end ----

    def close(self):
        """No request comes any more; those that wait are run. In a child process nothing is done."""
        if self.is_foreign():
            return
        with self._changed:
            self._is_closed = True
            refused, self._tickets = self._tickets, deque()
            self._changed.notify_all()
        for ticket in refused:
            if ticket.set_running_or_notify_cancel():
                ticket.set_exception(ArgumentError("the pool was closed"))

    def cancel(self):
        """Cancels what waits."""
        if self.is_foreign():
            return
        self.close()
        with self._changed:
            cancelled = list(self._requests)
            self._requests.clear()
            self._counts["cancelled"] += len(cancelled)
            self._changed.notify_all()
        for request in cancelled:
            request.future.cancel()
            request.future.set_running_or_notify_cancel()

    # ---- with the lock ----

    def _is_over(self):
        return self._is_closed and not self._requests

    def _seconds_until_due(self):
        """Seconds until requests at the head are to be run; None where none waits."""
        if not self._requests:
            return None
        first = self._requests[0]
        if self._is_closed or not first.is_joinable or self._num_joinable() == self._sizes[-1]:
            return 0
        return max(0, first.since + self._delay - time.monotonic())

    def _num_joinable(self):
        """The number of joinable requests at the head, up to the largest size."""
        first = islice(self._requests, self._sizes[-1])
        return sum(1 for _ in takewhile(lambda request: request.is_joinable, first))

    def _num_together(self):
        count = max(1, self._num_joinable())
        return max(size for size in self._sizes if size <= count)

    def _grant(self):
        """Places for those who wait for one longest; returns their tickets, which are to be told."""
        granted = []
        while self._free and self._tickets:
            ticket = self._tickets.popleft()
            if ticket.set_running_or_notify_cancel():
                self._free -= 1
                granted.append(ticket)
        return granted

    def _give_back(self, count):
        with self._changed:
            self._free += count
            granted = self._grant()
        _tell(granted)

    def _count_taken(self, running, num_cancelled):
        now = time.monotonic()
        with self._changed:
            self._counts["running"] += len(running)
            self._counts["cancelled"] += num_cancelled
            self._seconds["seconds_waited"] += sum(now - request.since for request in running)


def _tell(tickets):
    for ticket in tickets:
        ticket.set_result(None)
