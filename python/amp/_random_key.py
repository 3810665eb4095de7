"""What the random numbers of training depend on: a seed, and how many runs have drawn from it."""

import itertools
import secrets

_seed = secrets.randbits(63)
_runs = itertools.count()


def begin(seed):
    """From now on runs draw the numbers that follow an integer."""
    global _seed, _runs
    _seed, _runs = seed & (2**63 - 1), itertools.count()


def draw():
    """(seed, number of the run): those of the next run."""
    return _seed, next(_runs)
