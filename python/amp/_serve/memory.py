"""How many bytes of bodies a service holds: many long ones at once are more than a machine has."""

from __future__ import annotations

import contextlib
import threading


class Memory:
    """Bytes of bodies that are read, wait or run, at most `limit` of all requests together."""

    def __init__(self, limit):
        self._free, self._lock = limit, threading.Lock()

    @contextlib.contextmanager
    def holding(self):
        """What one request holds. It is given back at the end of the block, or of a run that goes on without it."""
        held = Held(self)
        try:
            yield held
        finally:
            held.give_back()

    def take(self, count):
        """Whether so many bytes were free, and are now the caller's."""
        with self._lock:
            is_free = count <= self._free
            self._free -= count * is_free
        return is_free

    def give_back(self, count):
        """Makes so many bytes free."""
        with self._lock:
            self._free += count


class Held:
    """Bytes that one request holds; `run` is the future of its run."""

    def __init__(self, memory):
        self._memory, self._count, self.run = memory, 0, None

    def take(self, count):
        """Whether so many more bytes were free."""
        is_free = self._memory.take(count)
        self._count += count * is_free
        return is_free

    def give_back(self):
        """Makes all of its bytes free, when the run is done: until then a session has the arrays."""
        if self.run is None:
            self._memory.give_back(self._count)
        else:
            self.run.add_done_callback(lambda _: self._memory.give_back(self._count))
