"""Requests that wait for a session of a pool: first come, first served, and no more of them than were asked for."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from itertools import islice, takewhile

from ..base import ArgumentError, Error


class Request:
    """One call of an executor, and the future of its results. Of a joinable one `args` are the arrays of all inputs."""

    __slots__ = ("args", "kwargs", "is_joinable", "future", "since")

    def __init__(self, args, kwargs, is_joinable):
        self.args, self.kwargs, self.is_joinable = args, kwargs, is_joinable
        self.future = Future()
        self.since = None  # when it was put into the queue


class RequestQueue:
    """Has `places` for requests that wait. The caller of `put` holds a place, which `take_place` gives at once, or
    `reserve` in turn. A request whose future is cancelled leaves its place, and a ticket that is cancelled its turn.

    A session takes joinable requests that follow each other together: so many as the largest of `sizes` says, or, when
    the first has waited for `delay` seconds, the largest of `sizes` that can be filled.
    """

    def __init__(self, places, sizes, delay):
        self._changed = threading.Condition()
        # {future: request} and {ticket: None}, the oldest first. A future has a callback for as long as its owner keeps
        # it: that knows the queue alone, and no request, whose arrays would live as long.
        self._requests, self._tickets = OrderedDict(), OrderedDict()
        self._free, self._sizes, self._delay = places, sizes, delay
        self._is_closed, self._process = False, os.getpid()
        self._counts = {"running": 0, "done": 0, "failed": 0, "cancelled": 0}
        self._seconds = {"seconds_waited": 0.0, "seconds_run": 0.0}

    # ---- callers ----

    def take_place(self):
        """Whether there was a place, which is now the caller's: for `put`."""
        self.require_open()
        with self._changed:
            is_free = self._free > 0  # and then there are no tickets
            self._free -= is_free
        return is_free

    def reserve(self):
        """A future, the ticket, that is done once a place is the caller's: for `put`, or for `give_up`."""
        self.require_open()
        ticket = Future()
        ticket.add_done_callback(self._drop_ticket)
        with self._changed:
            self._tickets[ticket] = None
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
                request.since = time.monotonic()
                self._requests[request.future] = request
                request.future.add_done_callback(self._drop_request)
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
                taken = [self._requests.popitem(last=False)[1] for _ in range(self._num_together())]
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
            refused, self._tickets = self._tickets, OrderedDict()
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
        for future in cancelled:
            future.cancel()
            future.set_running_or_notify_cancel()

    # ---- callbacks of futures ----

    def _drop_request(self, future):
        """Takes a cancelled request, unless a session took it before, out of the queue."""
        if not future.cancelled() or self.is_foreign():
            return
        with self._changed:
            if self._requests.pop(future, None) is None:
                return
            self._counts["cancelled"] += 1
        future.set_running_or_notify_cancel()  # for `concurrent.futures.wait`; once, by the code that took it out
        self._give_back(1)

    def _drop_ticket(self, ticket):
        if ticket.cancelled() and not self.is_foreign():
            with self._changed:
                self._tickets.pop(ticket, None)

    # ---- with the lock ----

    def _is_over(self):
        return self._is_closed and not self._requests

    def _seconds_until_due(self):
        """Seconds until requests at the head are to be run; None where none waits."""
        if not self._requests:
            return None
        first = next(iter(self._requests.values()))
        if self._is_closed or not first.is_joinable or self._num_joinable() == self._sizes[-1]:
            return 0
        return max(0, first.since + self._delay - time.monotonic())

    def _num_joinable(self):
        """The number of joinable requests at the head, up to the largest size."""
        first = islice(self._requests.values(), self._sizes[-1])
        return sum(1 for _ in takewhile(lambda request: request.is_joinable, first))

    def _num_together(self):
        count = max(1, self._num_joinable())
        return max(size for size in self._sizes if size <= count)

    def _grant(self):
        """Places for those who wait for one longest; returns their tickets, which are to be told."""
        granted = []
        while self._free and self._tickets:
            ticket, _ = self._tickets.popitem(last=False)
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
