"""MXNet's switches between its classic and NumPy's semantics, for each thread: 'shape', 'array', 'default_dtype'.

`amp.mxnet.util` sets them and says what they mean.
"""

import threading

_state = threading.local()


def is_on(switch):
    """Whether this thread has switched to NumPy's semantics."""
    return getattr(_state, switch, False)


def set_switch(switch, active):
    """Returns what the switch was."""
    previous = is_on(switch)
    setattr(_state, switch, bool(active))
    return previous
