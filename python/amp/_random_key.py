"""What the random numbers of training depend on: a seed, and how many runs have drawn from it."""

import contextlib
import secrets
import threading

_thread = threading.local()
_lock = threading.Lock()
_seed, _runs = secrets.randbits(63), 0


def begin(seed, runs=0):
    """From now on runs draw the numbers that follow an integer, as if `runs` runs had been."""
    global _seed, _runs
    with _lock:
        _seed, _runs = seed & (2**63 - 1), runs


def draw():
    """(seed, number of the run): those of the next run."""
    global _runs
    with _lock:
        number = _runs
        _runs += not getattr(_thread, "is_trying", False)
        return _seed, number


def state():
    """(seed, runs), what `begin` takes to go on from here."""
    with _lock:
        return _seed, _runs


@contextlib.contextmanager
def trial():
    """Runs of this thread leave no trace: the next run outside draws what it would have drawn without them."""
    before = getattr(_thread, "is_trying", False)
    _thread.is_trying = True
    try:
        yield
    finally:
        _thread.is_trying = before
