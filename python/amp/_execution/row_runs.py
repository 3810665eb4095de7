"""Runs of a batch row by row: each row is computed as at batch 1, whatever the batch is."""

from __future__ import annotations

import numpy as np

from .. import _random_key
from ..base import ArgumentError, dtype_name
from .gradient_runs import array_of

_OPTION = "batch_invariant"
# How far the first row of a batch of two may be from the same row alone, of what results are like: sums are cut in
# other places, and so low precision rounds other numbers.
_ALIKE = 0.05


class RowRuns:
    """In the place of the extension's executor for a batch: one run of the plan for batch 1 for each row.

    All that it does not define is that plan's. `one` is the extension's executor for batch 1, `axes` are the batch axes
    of inputs, {name: axis}, and `output_axes` those of outputs, which `_checked_rows` finds.
    """

    def __init__(self, one, axes, batch, output_axes):
        self._one, self._axes, self._batch, self._output_axes = one, axes, batch, output_axes

    def __getattr__(self, name):
        return getattr(self._one, name)

    def input_types(self):
        types = zip(self._one.input_names(), self._one.input_types())
        return [(dtype, _with_size(shape, self._axes[name], self._batch)) for name, (dtype, shape) in types]

    def output_types(self):
        types = zip(self._output_axes, self._one.output_types())
        return [(dtype, _with_size(shape, axis, self._batch * shape[axis])) for axis, (dtype, shape) in types]

    def run(self, arrays):
        outputs = [np.empty(shape, dtype) for dtype, shape in self.output_types()]
        self._run_rows(arrays, outputs)
        return [array_of(output, "output") for output in outputs]

    def run_into(self, arrays, outputs):
        views, expected = [_view_of(output) for output in outputs], self.output_types()
        if len(views) != len(expected) or not all(map(_is_writable, views, expected)):
            types = ", ".join(f"{dtype_name(dtype)} {tuple(shape)}" for dtype, shape in expected)
            raise ArgumentError(f"out: expected writable, C-contiguous arrays of these types: {types}")
        self._run_rows(arrays, views)

    def _run_rows(self, arrays, outputs):
        inputs = self._checked(arrays)
        axes = [self._axes[name] for name in self._one.input_names()]
        for row in range(self._batch):
            given = [np.ascontiguousarray(_part(array, axis, row, 1)) for array, axis in zip(inputs, axes)]
            for output, axis, result in zip(outputs, self._output_axes, self._one.run(given)):
                _part(output, axis, row, result.shape[axis])[...] = result.asnumpy()

    def _checked(self, arrays):
        """The arrays as NumPy has them. Raises ArgumentError for every one that does not fit."""
        found, problems = [], []
        for name, array, (dtype, shape) in zip(self._one.input_names(), arrays, self.input_types()):
            array = array_of(array, f"input '{name}'")
            if (array.dtype, array.shape) != (dtype, tuple(shape)):
                problems.append(
                    f"\n  input '{name}': expected {dtype_name(dtype)} {tuple(shape)}, "
                    f"got {dtype_name(array.dtype)} {array.shape}"
                )
            found.append(array.asnumpy())
        if problems:
            raise ArgumentError(f"the arrays do not fit the bound model:{''.join(problems)}")
        return found

    def profile(self, arrays, runs):
        """Of runs of one row."""
        axes = [self._axes[name] for name in self._one.input_names()]
        first = [_part(array, axis, 0, 1) for array, axis in zip(self._checked(arrays), axes)]
        return self._one.profile([np.ascontiguousarray(array) for array in first], runs)

    def reshape(self, shapes):
        types = dict(zip(self._one.input_names(), self.input_types()))
        shapes = {**{name: shape for name, (_, shape) in types.items()}, **shapes}
        batch = batch_of(shapes, self._axes)
        single = {name: _with_size(shape, self._axes[name], 1) for name, shape in shapes.items()}
        if single == {name: _with_size(shape, self._axes[name], 1) for name, (_, shape) in types.items()}:
            return RowRuns(self._one, self._axes, batch, self._output_axes)
        one = self._one.reshape(single)
        return RowRuns(one, self._axes, batch, _checked_rows(one, self._axes))

    def run_monitored(self, *_):
        raise ArgumentError(f"{_OPTION}: runs of single rows are not monitored; bind the model for batch 1")


def row_runs(symbol, types, options, bind):
    """The RowRuns of a model for inputs of `types`, {name: (dtype, shape)}; `bind(types)` binds it.

    Raises ArgumentError where inputs have no common batch, an output has no rows, or rows depend on each other.
    """
    if options.get("mode") != "exact":
        raise ArgumentError(f"{_OPTION}: needs mode='exact', which gives a row the same bits on any number of threads")
    axes = {name: _batch_axis(symbol, name) for name in types}
    batch = batch_of({name: shape for name, (_, shape) in types.items() if shape is not None}, axes)
    one = bind({name: (dtype, shape and _with_size(shape, axes[name], 1)) for name, (dtype, shape) in types.items()})
    if _random_key.NAME in one.input_names() and _random_key.NAME not in types:
        raise ArgumentError(f"{_OPTION}: the model draws random numbers, which differ from row to row")
    return RowRuns(one, axes, batch, _checked_rows(one, axes))


def batch_of(shapes, axes):
    """The size that all inputs have along their batch axes."""
    sizes = {name: shape[axes[name]] if len(shape) > axes[name] else None for name, shape in shapes.items()}
    if len(set(sizes.values())) != 1 or None in sizes.values():
        found = ", ".join(f"'{name}' {shapes[name]} (axis {axes[name]})" for name in shapes)
        raise ArgumentError(
            f"{_OPTION}: expected inputs with as many rows each, got {found}; the attribute __layout__ of a variable, "
            "such as 'TNC', says which axis the batch is"
        )
    return next(iter(sizes.values()))


def _batch_axis(symbol, name):
    layout = symbol.attr_dict().get(name, {}).get("__layout__", "")
    return layout.find("N") if "N" in layout else 0


def _with_size(shape, axis, size):
    return (*shape[:axis], size, *shape[axis + 1 :])


def _part(array, axis, index, size):
    """The view of part number `index` along the axis, of that size."""
    return array[(slice(None),) * axis + (slice(index * size, (index + 1) * size),)]


def _view_of(output):
    """The memory of an array as NumPy sees it; None for what NumPy cannot see."""
    if isinstance(output, np.ndarray):
        return output
    try:
        return np.from_dlpack(output)
    except (AttributeError, TypeError, BufferError, RuntimeError):
        return None


def _is_writable(view, expected):
    dtype, shape = expected
    is_open = view is not None and view.flags.writeable and view.flags.c_contiguous
    return is_open and (view.dtype, view.shape) == (dtype, tuple(shape))


# ---- rows that do not depend on each other ----


def _checked_rows(one, axes):
    """The batch axes of the outputs.

    A trial decides: a plan for two rows runs with other second rows, on numbers of several sizes. Where the first row
    of an output changes with the second, or is something else than the same row alone, rows are not what a batch
    consists of. What depends on other rows for none of these numbers is not found.
    """
    names, types = one.input_names(), one.input_types()
    two = one.reshape({name: _with_size(shape, axes[name], 2) for name, (_, shape) in zip(names, types)})
    pairs = zip(one.output_names(), one.output_types(), two.output_types())
    output_axes = [_grown_axis(name, tuple(small[1]), tuple(large[1])) for name, small, large in pairs]
    for draw in _DRAWS:
        row, *others = ([_numbers(dtype, shape, seed, draw) for dtype, shape in types] for seed in range(3))
        in_batch = [two.run([_joined(*both, axes[name]) for name, *both in zip(names, row, other)]) for other in others]
        alone = one.run(row) if draw is _DRAWS[0] else None
        for i, name in enumerate(one.output_names()):
            size = one.output_types()[i][1][output_axes[i]]
            first, again = (_part(outputs[i].asnumpy(), output_axes[i], 0, size) for outputs in in_batch)
            if first.tobytes() != again.tobytes() or not (alone is None or _are_alike(alone[i].asnumpy(), first)):
                raise ArgumentError(f"{_OPTION}: a row of output '{name}' depends on the other rows of the batch")
    return output_axes


def _grown_axis(name, small, large):
    grown = [axis for axis, (a, b) in enumerate(zip(small, large)) if b == 2 * a and a > 0]
    if len(small) != len(large) or len(grown) != 1:
        raise ArgumentError(f"{_OPTION}: output '{name}' has no rows: {small} at batch 1, {large} at batch 2")
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
