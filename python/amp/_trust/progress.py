"""How far a measurement is, for whoever watches it."""

import contextlib
import contextvars

_watcher = contextvars.ContextVar("amp_progress", default=None)


@contextlib.contextmanager
def watched(update):
    """`update` is called with the part that is done, from 0 to 1, of what is measured inside; None: nobody is."""
    token = _watcher.set(update)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextlib.contextmanager
def part(before, size):
    """What is measured inside is a part of the work of this size, from 0 to 1, behind another one."""
    update = _watcher.get()
    with watched(update and (lambda done: update(before + size * done))):
        yield


def tell(done):
    """This part of the work is done."""
    update = _watcher.get()
    if update:
        update(done)


def told(batches, count):
    """Yields the batches and tells, behind each, how many of `count` are done; None: how many there are is unknown."""
    for number, batch in enumerate(batches):
        yield batch
        if count:
            tell(min((number + 1) / count, 1.0))
    tell(1.0)
