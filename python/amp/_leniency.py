"""What operators take that MXNet takes and `amp` refuses: `import amp.mxnet` asks for it.

Operators without attributes ignore those that they are given, and attributes of nodes (`attr=`) may be any objects,
which become text.
"""

is_on = False


def turn_on():
    """From now on, in the whole process."""
    global is_on
    is_on = True
