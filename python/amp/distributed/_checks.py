"""Arguments of calls that ranks make together."""

import numbers

from ..base import ArgumentError


def is_integer_in(numbers_allowed, value):
    """Whether `value` is an integer, and no bool, of a range."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool) and value in numbers_allowed


def checked_rank(what, value, size):
    """`value`, which is one of `size` ranks. Raises ArgumentError for anything else."""
    if not is_integer_in(range(size), value):
        raise ArgumentError(f"{what}: expected a rank from 0 to {size - 1}, got {value!r}")
    return int(value)


def checked_timeout(value):
    """`value`, which is seconds, also infinitely many. Raises ArgumentError for anything else."""
    if not isinstance(value, numbers.Real) or not value > 0:
        raise ArgumentError(f"timeout: expected seconds above 0, got {value!r}")
    return float(value)
