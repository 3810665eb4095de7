"""Measures how fast this machine runs the steps of plans; _machine_file.py says of it what a machine file holds."""

import numpy as np

from . import _calibration_models, _core, sym
from ._execution.handles import bind
from ._machine_file import ONEDNN

_RUNS, _ROUNDS = 3, 4
_PLANNING = 0.3  # of the time that a model takes


def steps_of(model, reduce_precision, kernels, progress=lambda done: None):
    """What profiles know of the steps that oneDNN computes, and of those that each own kernel can.

    Plans take turns, and the least time of several rounds counts: other programs slow a machine for seconds.
    `progress` is called with the part that is done.
    """
    runs, plans = [], ("", *kernels)
    for number, kernel in enumerate(plans):
        run = _Run(model, reduce_precision, kernel)
        if run.has_samples():  # the others give their memory back: a plan takes some hundred MB
            runs.append(run)
        progress(_PLANNING * (number + 1) / len(plans))
    random = np.random.default_rng(1)
    arrays = [random.standard_normal(shape, dtype=np.float32) for shape in model.inputs.values()]
    for number in range(_ROUNDS):
        for place, run in enumerate(runs):
            run.profile(dict(zip(model.inputs, arrays)))
            progress(_PLANNING + (1 - _PLANNING) * (number + (place + 1) / len(runs)) / _ROUNDS)
    return [step for run in runs for step in run.steps]


def with_least_times(known, again):
    """The steps, each with the lesser of two times of the same; `known` is empty the first time."""
    for step, before in zip(again, known or again, strict=True):
        step["median_seconds"] = min(step["median_seconds"], before["median_seconds"])
    return again


class _Run:
    """A plan of a model. `kernel`, where one is named, computes whatever it can.

    Where oneDNN does not compute in bfloat16, its steps are known in float32, and other steps count.
    """

    def __init__(self, model, reduce_precision, kernel):
        self.kernel, self.steps = kernel, []
        self.emulates = bool(reduce_precision) and reduce_precision["emulate"]
        self._handle = bind(
            sym.Group(model.outputs),
            model.params,
            model.params,
            {name: ("float32", shape) for name, shape in model.inputs.items()},
            machine="any",
            reduce_precision=reduce_precision,
            forced_kernel=kernel or (ONEDNN if self.emulates else ""),
        )

    def has_samples(self):
        return not self.kernel or any(step.choice == self.kernel for step in self._handle.summary().steps)

    def profile(self, inputs):
        arrays = [inputs[name] for name in self._handle.input_names()]
        steps = [step for step in self._handle.profile(arrays, _RUNS).steps if self._is_sample(step)]
        self.steps = with_least_times(self.steps, steps)

    def _is_sample(self, step):
        if step["node"].startswith(_calibration_models.NO_SAMPLE):
            return False
        if self.kernel:
            return step["choice"] == self.kernel
        return not self.emulates or " bfloat16" in step["group"]


def measure(progress=lambda done: None, rounds=1, kept=None):
    """Profiled steps of many small graphs and some networks; takes some minutes a round. `progress` is called with the
    part that is done.

    Each graph is run as oneDNN computes it, and once more with each own kernel wherever it can take its place.
    The least time of all rounds counts: a plan may be slow for as long as it lives, because of where its memory lies.
    `kept` is a mapping that gets the steps of each model by the name of the measurement; what it has is not measured.
    """
    steps, kept = [], {} if kept is None else kept
    for number in range(rounds):
        again = _measure_once(_part_of(progress, number / rounds, 1 / rounds), kept, number)
        steps = with_least_times(steps, again)
    return steps


def precisions():
    """Those that graphs are measured in, as `reduce_precision`: float32, and bfloat16 where the CPU gains by it."""
    info = _core.cpu_info()
    low = {
        "target_dtype": "bfloat16",
        "output_dtypes": "bfloat16",  # or the last step of each branch would widen
        "emulate": not info["native_bfloat16"],
    }
    return (None, low) if info["native_bfloat16"] or info["multiplies_int16"] else (None,)


def _measure_once(progress, kept, number_of_round):
    steps, done, in_each = [], 0.0, precisions()
    costs = _calibration_models.costs()
    whole = sum(costs) * len(in_each)
    for number, (model, has_choice) in enumerate(_calibration_models.models()):
        cost = costs[number] / whole
        for precision in in_each:
            name = f"round {number_of_round}, model {number}, {precision['target_dtype'] if precision else 'float32'}"
            if name not in kept:
                progress(done)
                kernels = _core.kernel_names() if has_choice else ()
                kept[name] = steps_of(model, precision, kernels, _part_of(progress, done, cost))
            steps += kept[name]
            done += cost
    progress(1.0)
    return steps


def _part_of(progress, before, size):
    """The progress of a part of the work."""
    return lambda done: progress(before + size * done)
