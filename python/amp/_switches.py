"""MXNet's switches between its classic and NumPy's semantics, for each thread: 'shape', 'array', 'default_dtype'.

`amp.mxnet.util` sets them and says what they mean.
"""

import threading

_state = threading.local()


def is_on(switch):
    """Whether this thread has switched to NumPy's semantics."""
    return getattr(_state, switch, None) is True


def is_off(switch):
    """Whether this thread has switched to classic semantics, which MXNet 2 does not begin with."""
    return getattr(_state, switch, None) is False


def set_switch(switch, active):
    """Returns the previous value; None means unset, as a value and as a result."""
    previous = getattr(_state, switch, None)
    setattr(_state, switch, None if active is None else bool(active))
    return previous
