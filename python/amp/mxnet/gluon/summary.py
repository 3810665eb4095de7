"""The table of a block's parts."""

import math

from ..._arrays import flattened
from ...base import ArgumentError


class SummaryError(ArgumentError, AssertionError):
    """A summary of a block whose parts do not run one by one."""


def print_summary(block, inputs):
    """Calls `block` and prints each block inside of it: place and class, shapes of its outputs, new parameters."""
    if getattr(block, "_active", False):
        raise SummaryError("summary: a hybridized block runs as one graph; call it before hybridize()")
    rows, counted, handles = [("Input", _shapes(inputs), 0)], set(), []
    for name, part in _parts(block, ""):
        handles.append(part.register_forward_hook(_reporter(name, rows, counted)))
    try:
        block(*inputs)
    finally:
        for handle in handles:
            handle.detach()
    total = sum(count for _, _, count in rows)
    width = max(len(label) for label in ("Layer (type)", "All parameters", *(row[0] for row in rows))) + 2
    shape_width = max(len(shape) for shape in ("Output shape", *(row[1] for row in rows))) + 2
    print(f"{'Layer (type)':<{width}}{'Output shape':<{shape_width}}{'Parameters':>12}")
    for label, shape, count in rows:
        print(f"{label:<{width}}{shape:<{shape_width}}{count:>12,}")
    print(f"{'All parameters':<{width + shape_width}}{total:>12,}")


def _parts(block, prefix):
    """(place, block) of all blocks inside, then the block itself: the order in which calls end."""
    for name, child in block._children.items():
        yield from _parts(child, f"{prefix}{name}.")
    yield prefix[:-1], block


def _reporter(name, rows, counted):
    def report(block, inputs, outputs):
        count = 0
        for parameter in block._reg_params.values():
            if id(parameter) not in counted:
                counted.add(id(parameter))
                count += math.prod(parameter.shape)
        rows.append((f"{name} ({type(block).__name__})" if name else type(block).__name__, _shapes(outputs), count))

    return report


def _shapes(values):
    shapes = [str(tuple(leaf.shape)) for leaf in flattened(values) if hasattr(leaf, "shape")]
    return ", ".join(shapes)
