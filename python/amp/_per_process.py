"""Values that a forked child makes anew: threads do not survive a fork, and plans of several threads need theirs.

A thread may have values of its own: then what it runs waits for no other thread's runs of the same plan.
"""

import contextlib
import os
import threading


class _Thread(threading.local):
    values = None  # {function: value} of this thread alone


_thread = _Thread()


def per_process(make):
    """A decorator: the function is called once in each process, and gives that value from then on.

    The value of the parent is kept: what frees it might need a lock that another thread held during the fork.
    """
    of_processes = {}

    def get():
        own = _thread.values
        values, key = (of_processes, os.getpid()) if own is None else (own, make)
        if key not in values:
            values.setdefault(key, make())
        return values[key]

    get.__doc__ = make.__doc__
    return get


@contextlib.contextmanager
def values_of_this_thread():
    """Inside of the block the calling thread makes values of its own."""
    before = _thread.values
    _thread.values = {}
    try:
        yield
    finally:
        _thread.values = before
