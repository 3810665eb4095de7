"""Runs of a batch row by row: each row is computed as at batch 1, whatever the batch is."""

from __future__ import annotations

import numpy as np

from .. import _random_key
from ..base import ArgumentError, dtype_name
from .gradient_runs import array_of
from .rows import batch_axis, batch_of, checked_rows, grown_shapes, part_of, with_size

_OPTION = "batch_invariant"


class RowRuns:
    """In the place of the extension's executor for a batch: one run of the plan for batch 1 for each row.

    All that it does not define is that plan's. `one` is the extension's executor for batch 1, `axes` are the batch axes
    of inputs, {name: axis}, and `output_axes` those of outputs.
    """

    def __init__(self, one, axes, batch, output_axes):
        self._one, self._axes, self._batch, self._output_axes = one, axes, batch, output_axes

    def __getattr__(self, name):
        return getattr(self._one, name)

    def input_types(self):
        types = zip(self._one.input_names(), self._one.input_types())
        return [(dtype, with_size(shape, self._axes[name], self._batch)) for name, (dtype, shape) in types]

    def output_types(self):
        types = zip(self._output_axes, self._one.output_types())
        return [(dtype, with_size(shape, axis, self._batch * shape[axis])) for axis, (dtype, shape) in types]

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
            given = [np.ascontiguousarray(part_of(array, axis, row, 1)) for array, axis in zip(inputs, axes)]
            for output, axis, result in zip(outputs, self._output_axes, self._one.run(given)):
                part_of(output, axis, row, result.shape[axis])[...] = result.asnumpy()

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
        first = [part_of(array, axis, 0, 1) for array, axis in zip(self._checked(arrays), axes)]
        return self._one.profile([np.ascontiguousarray(array) for array in first], runs)

    def reshape(self, shapes):
        types = {name: shape for name, (_, shape) in zip(self._one.input_names(), self.input_types())}
        shapes = {**types, **shapes}
        batch = batch_of(shapes, self._axes, _OPTION)
        if shapes == types:  # which asks for runs that do not wait for these
            return RowRuns(self._one.reshape({}), self._axes, batch, self._output_axes)
        single, before = (
            {name: with_size(shape, self._axes[name], 1) for name, shape in each.items()} for each in (shapes, types)
        )
        if single == before:
            return RowRuns(self._one, self._axes, batch, self._output_axes)
        one = self._one.reshape(single)
        return RowRuns(one, self._axes, batch, _output_axes(one, self._axes))

    def run_monitored(self, *_):
        raise ArgumentError(f"{_OPTION}: runs of single rows are not monitored; bind the model for batch 1")


def row_runs(symbol, types, options, bind):
    """The RowRuns of a model for inputs of `types`, {name: (dtype, shape)}; `bind(types)` binds it.

    Raises ArgumentError where inputs have no common batch, an output has no rows, or rows depend on each other.
    """
    if options.get("mode") != "exact":
        raise ArgumentError(f"{_OPTION}: needs mode='exact', which gives a row the same bits on any number of threads")
    axes = {name: batch_axis(symbol, name) for name in types}
    batch = batch_of({name: shape for name, (_, shape) in types.items() if shape is not None}, axes, _OPTION)
    one = bind({name: (dtype, shape and with_size(shape, axes[name], 1)) for name, (dtype, shape) in types.items()})
    if _random_key.NAME in one.input_names() and _random_key.NAME not in types:
        raise ArgumentError(f"{_OPTION}: the model draws random numbers, which differ from row to row")
    return RowRuns(one, axes, batch, _output_axes(one, axes))


def _output_axes(one, axes):
    shapes = {name: shape for name, (_, shape) in zip(one.input_names(), one.input_types())}
    return checked_rows(one, one.reshape(grown_shapes(shapes, axes, 2)), axes, _OPTION)


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
