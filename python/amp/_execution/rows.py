"""Rows of a batch: which axis they are along, and whether they depend on each other.

`option` is the name of the option that needs them, which errors begin with.
"""

from __future__ import annotations

import numpy as np

from ..base import ArgumentError, dtype_name

# How far the first row of a batch of two may be from the same row alone, of what results are like: sums are cut in
# other places, and so low precision rounds other numbers.
_ALIKE = 0.05


def batch_of(shapes, axes, option):
    """The size that all inputs have along their batch axes."""
    sizes = {name: shape[axes[name]] if len(shape) > axes[name] else None for name, shape in shapes.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        found = ", ".join(f"'{name}' {shapes[name]} (axis {axes[name]})" for name in shapes)
        raise ArgumentError(
            f"{option}: expected inputs with as many rows each, got {found}; the attribute __layout__ of a variable, "
            "such as 'TNC', says which axis the batch is"
        )
    return next(iter(sizes.values()))


def batch_axis(symbol, name):
    """The axis of a variable that its layout calls N; 0 without one."""
    layout = symbol.attr_dict().get(name, {}).get("__layout__", "")
    return layout.find("N") if "N" in layout else 0


def with_size(shape, axis, size):
    return (*shape[:axis], size, *shape[axis + 1 :])


def grown_shapes(shapes, axes, factor):
    """The shapes, {name: shape}, of so many times the rows."""
    return {name: with_size(shape, axes[name], factor * shape[axes[name]]) for name, shape in shapes.items()}


def part_of(array, axis, index, size):
    """The view of part number `index` along the axis, of that size."""
    return array[(slice(None),) * axis + (slice(index * size, (index + 1) * size),)]


def checked_rows(one, two, axes, option):
    """The batch axes of the outputs of `one` and `two`, the extension's executors for a row and for two.

    `axes` are those of inputs, by name. A trial decides: `two` runs with other second rows, on numbers of several
    sizes. Where the first row of an output changes with the second, or is something else than the same row alone, rows
    are not what a batch consists of. What depends on other rows for none of these numbers is not found.
    """
    names, types = one.input_names(), one.input_types()
    pairs = zip(one.output_names(), one.output_types(), two.output_types())
    output_axes = [_grown_axis(name, tuple(small[1]), tuple(large[1]), option) for name, small, large in pairs]
    for draw in _DRAWS:
        row, *others = ([_numbers(dtype, shape, seed, draw) for dtype, shape in types] for seed in range(3))
        in_batch = [two.run([_joined(*both, axes[name]) for name, *both in zip(names, row, other)]) for other in others]
        alone = one.run(row) if draw is _DRAWS[0] else None
        for i, name in enumerate(one.output_names()):
            size = one.output_types()[i][1][output_axes[i]]
            first, again = (part_of(outputs[i].asnumpy(), output_axes[i], 0, size) for outputs in in_batch)
            if first.tobytes() != again.tobytes() or not (alone is None or _are_alike(alone[i].asnumpy(), first)):
                raise ArgumentError(f"{option}: a row of output '{name}' depends on the other rows of the batch")
    return output_axes


def _grown_axis(name, small, large, option):
    grown = [axis for axis, (a, b) in enumerate(zip(small, large)) if b == 2 * a and a > 0]
    if len(small) != len(large) or len(grown) != 1:
        raise ArgumentError(f"{option}: output '{name}' has no rows: {small} at batch 1, {large} at batch 2")
    return grown[0]


# Numbers that are indices and lengths, too; usual ones; large ones, which reach bounds.
_DRAWS = (
    lambda random, shape: random.uniform(0.5, 2, shape),
    lambda random, shape: random.standard_normal(shape),
    lambda random, shape: 100 * random.standard_normal(shape),
)


def _numbers(dtype, shape, seed, draw):
    if "float" in dtype_name(dtype):
        return draw(np.random.default_rng(seed), shape).astype(dtype)
    return np.full(shape, 1 if seed != 1 else 0).astype(dtype)


def _joined(first, second, axis):
    return np.concatenate([first, second], axis=axis)


def _are_alike(a, b):
    a, b = (np.nan_to_num(array.astype("float64")) for array in (a, b))
    return np.sqrt(np.mean((a - b) ** 2)) <= _ALIKE * np.sqrt(np.mean(a**2))
