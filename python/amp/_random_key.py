"""What the random numbers of graphs depend on: a seed, and how many runs have drawn from it."""

import contextlib
import secrets
import threading

NAME = "__random_key__"  # the input of graphs that draw random numbers

_thread = threading.local()


class _Stream:
    """Numbered runs of a seed. `begin` makes a new one: a forked process never waits for a lock of its parent's."""

    def __init__(self, seed, runs=0):
        self.seed, self.runs = seed & (2**63 - 1), runs
        self._lock = threading.Lock()

    def draw(self):
        with self._lock:
            number = self.runs
            self.runs += not getattr(_thread, "is_trying", False)
            return self.seed, number


_stream = _Stream(secrets.randbits(63))


def begin(seed, runs=0):
    """From now on runs draw the numbers that follow an integer, as if `runs` runs had been."""
    global _stream
    _stream = _Stream(seed, runs)


def draw():
    """(seed, number of the run): those of the next run."""
    return _stream.draw()


def state():
    """(seed, runs), what `begin` takes to go on from here."""
    return _stream.seed, _stream.runs


@contextlib.contextmanager
def trial():
    """Runs of this thread leave no trace: the next run outside draws what it would have drawn without them."""
    before = getattr(_thread, "is_trying", False)
    _thread.is_trying = True
    try:
        yield
    finally:
        _thread.is_trying = before
