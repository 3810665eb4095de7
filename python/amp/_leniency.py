"""What operators take that MXNet takes and `amp` refuses: `import amp.mxnet` asks for it.

Operators without attributes ignore those that they are given, attributes of nodes (`attr=`) may be any objects, which
become text, and `nd.array` copies arrays with swapped bytes.
"""

from . import _arrays

is_on = False


def turn_on():
    """From now on, in the whole process."""
    global is_on
    is_on = True


def native(value):
    """What `_arrays.native` makes of a value, where such arrays are taken."""
    return _arrays.native(value) if is_on else value
