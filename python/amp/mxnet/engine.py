"""MXNet's engine: operators run when they are called, so there is nothing to collect."""

import contextlib

__all__ = ["bulk", "set_bulk_size"]

_size = 0


def set_bulk_size(size):
    """Returns the size that was set before; it has no effect.

    >>> _ = mx.engine.set_bulk_size(15)
    >>> mx.engine.set_bulk_size(0)
    15
    """
    global _size
    before, _size = _size, int(size)
    return before


@contextlib.contextmanager
def bulk(size):
    """A `with` block in which MXNet runs operators together; here it has no effect.

    >>> with mx.engine.bulk(10):
    ...     x = mx.np.ones((2,)) + 1
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
