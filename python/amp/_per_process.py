"""Values that a forked child makes anew: threads do not survive a fork, and plans of several threads need theirs."""

import os


def per_process(make):
    """A decorator: the function is called once in each process, and gives that value from then on.

    The value of the parent is kept: what frees it might need a lock that another thread held during the fork.
    """
    values = {}

    def get():
        process = os.getpid()
        if process not in values:
            values.setdefault(process, make())
        return values[process]

    get.__doc__ = make.__doc__
    return get
