"""What the random numbers of training depend on: a seed, and how many runs have drawn from it."""

import secrets
import threading


class _Stream:
    """Numbered runs of a seed."""

    def __init__(self, seed, runs=0):
        self.seed, self.runs = seed & (2**63 - 1), runs
        self._lock = threading.Lock()

    def draw(self):
        with self._lock:
            self.runs += 1
            return self.seed, self.runs - 1


_stream = _Stream(secrets.randbits(63))


def begin(seed, runs=0):
    """From now on runs draw the numbers that follow an integer; the first `runs` of them have drawn already."""
    global _stream
    _stream = _Stream(seed, runs)


def draw():
    """(seed, number of the run): those of the next run."""
    return _stream.draw()


def peek():
    """What `draw` would give; nothing is drawn. `begin(*peek())` changes nothing."""
    return _stream.seed, _stream.runs
