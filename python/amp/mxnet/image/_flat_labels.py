"""Labels of pictures with boxes as records have them: one list of numbers."""

import numpy as np

from ...base import ArgumentError

BOX = 5  # numbers of a box: class and four edges
_HEADER = 2  # the widths of the header and of a box


class LabelError(ArgumentError, RuntimeError):
    """A list of numbers that are no boxes; MXNet raises a RuntimeError."""


def boxes_of(label):
    """The boxes of a label, (number of boxes, width of a box), float32.

    A label is the width of its header, the width of a box, the rest of the header, then boxes: class, left, top, right
    and bottom, then anything. Raises LabelError.
    """
    numbers = np.asarray(label, np.float32).ravel()
    if numbers.size < _HEADER + BOX:
        raise LabelError(f"a label has {_HEADER + BOX} numbers at least, got {numbers.size}")
    if not np.isfinite(numbers[:_HEADER]).all() or numbers[0] < _HEADER or numbers[1] < BOX:
        raise LabelError(f"a header of {_HEADER} numbers or more and boxes of {BOX} or more, got {numbers[:_HEADER]}")
    header, width = int(numbers[0]), int(numbers[1])
    if numbers.size < header + width or (numbers.size - header) % width:
        raise LabelError(f"boxes of {width} numbers do not fit into {numbers.size} behind a header of {header}")
    return numbers[header:].reshape(-1, width)
