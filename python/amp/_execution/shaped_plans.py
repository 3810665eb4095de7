"""Plans of one model for the shapes that calls bring: the most recently used ones are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..base import ArgumentError, UnsupportedError, dtype_name
from .gradient_runs import array_of


class ShapedPlans:
    """In the place of the extension's executor where sizes of inputs are not known: one executor for each shape.

    All that it does not define is that of the plan of the last call. `types` are {input: (NumPy dtype, shape)} in the
    order of arguments, with None for sizes that each call chooses; `ignored` are names that a call may pass and
    `outputs` those of the results; `bind` makes the extension's executor for known types; at most `count` plans are
    kept. They share what they have packed.
    """

    def __init__(self, types, ignored, outputs, bind, count):
        self._types, self._ignored, self._outputs = types, ignored, outputs
        self._bind, self._count = bind, count
        self._plans = OrderedDict()  # {shapes: executor}, the last used one at the end
        self._lock = threading.Lock()  # of the plans
        self._making = threading.Lock()  # one plan is made after the other; known sizes do not wait for it

    def __getattr__(self, name):
        return getattr(self._last(), name)

    def _last(self):
        plan = self._newest()
        if plan is None:
            raise ArgumentError("sizes of inputs are not known yet: call the executor, then ask")
        return plan

    def _newest(self):
        with self._lock:
            return next(reversed(self._plans.values()), None)

    def input_names(self):
        return list(self._types)

    def ignored_names(self):
        return list(self._ignored)

    def output_names(self):
        return list(self._outputs)

    def input_types(self):
        return list(self._types.values())

    def run(self, arrays):
        plan, arrays = self._plan_for(arrays)
        return plan.run(arrays)

    def run_into(self, arrays, outputs):
        plan, arrays = self._plan_for(arrays)
        plan.run_into(arrays, outputs)

    def run_monitored(self, callback, arrays):
        plan, arrays = self._plan_for(arrays)
        return plan.run_monitored(callback, arrays)

    def profile(self, arrays, runs):
        plan, arrays = self._plan_for(arrays)
        return plan.profile(arrays, runs)

    def reshape(self, shapes):
        """The extension's executor for known shapes."""
        unknown = [name for name in shapes if name not in self._types]
        if unknown:
            raise ArgumentError(f"the model has no input {unknown[0]!r}; its inputs are {', '.join(self._types)}")
        whole = {name: tuple(shapes.get(name, shape)) for name, (_, shape) in self._types.items()}
        for name, shape in whole.items():
            if None in shape:
                raise ArgumentError(f"{name!r} is {shape}: `reshape` needs all sizes")
        return self._made_for(tuple(whole.values()))

    def save(self, path, note):
        raise UnsupportedError("save: sizes of inputs are not known; `reshape` gives an executor of known ones")

    def note(self):
        return ""

    def notice(self):
        return ""  # `bind` tells it

    def _plan_for(self, arrays):
        """(the plan for arrays, the arrays as NDArrays)"""
        arrays = self._checked(arrays)
        shapes = tuple(tuple(array.shape) for array in arrays)
        plan = self._known(shapes)
        if plan is None:
            with self._making:
                plan = self._known(shapes) or self._kept(shapes, self._made_for(shapes))
        return plan, arrays

    def _known(self, shapes):
        with self._lock:
            if shapes not in self._plans:
                return None
            self._plans.move_to_end(shapes)
            return self._plans[shapes]

    def _kept(self, shapes, plan):
        with self._lock:
            self._plans[shapes] = plan
            if len(self._plans) > self._count:
                self._plans.popitem(last=False)
        return plan

    def _made_for(self, shapes):
        base = self._newest()
        if base is not None:
            return base.reshape(dict(zip(self._types, shapes)))
        return self._bind({name: (dtype, shape) for (name, (dtype, _)), shape in zip(self._types.items(), shapes)})

    def _checked(self, arrays):
        """The arrays as NDArrays. Raises ArgumentError for every one that does not fit."""
        found, problems = [], []
        for (name, (dtype, pattern)), array in zip(self._types.items(), arrays):
            array = array_of(array, f"input '{name}'")
            found.append(array)
            if array.dtype != dtype or not _fits(array.shape, pattern):
                problems.append(
                    f"\n  input '{name}': expected {dtype_name(dtype)} {pattern}, where None is any size, got "
                    f"{dtype_name(array.dtype)} {tuple(array.shape)}"
                )
        if problems:
            raise ArgumentError(f"the arrays do not fit the bound model:{''.join(problems)}")
        return found


def _fits(shape, pattern):
    return len(shape) == len(pattern) and all(known in (None, size) for known, size in zip(pattern, shape))
