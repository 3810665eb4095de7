"""The recorded cases (AMP_SHARED), and times of several callables that take turns."""

import importlib.util
import os
import time
from pathlib import Path
from statistics import median

import amp

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[2] / "shared") / "cases"
TRAINING = ("grad_nets", "grad_ops", "train")  # recorded in training mode


def names(groups=(), filters=()):
    """Names such as 'zoo/alexnet', of these groups (default: all of inference) that contain one of `filters`."""
    found = sorted(str(file.parent.relative_to(SHARED)) for file in SHARED.rglob("symbol.json"))
    kept = [name for name in found if (name.split("/")[0] in groups if groups else name.split("/")[0] not in TRAINING)]
    return [name for name in kept if not filters or any(text in name for text in filters)]


def _case(name):
    spec = importlib.util.spec_from_file_location("case", SHARED / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Case(str(SHARED / name))


class SharedModel:
    """(symbol, arguments, auxiliary states) of a case and its inputs. Raises amp.UnsupportedError."""

    def __init__(self, name):
        case = _case(name)
        self.name, self.inputs = name, case.inputs()
        if case.param_file:
            self.model = amp.load(case.symbol_file, case.param_file)
        else:
            symbol, arrays = amp.sym.load(case.symbol_file), case.params()
            states = set(symbol.list_auxiliary_states())
            args = {key: array for key, array in arrays.items() if key not in states}
            self.model = symbol, args, {key: array for key, array in arrays.items() if key in states}
        self.shapes = {key: array.shape for key, array in self.inputs.items()}
        self.dtypes = {key: array.dtype for key, array in self.inputs.items()}

    def convert(self, **options):
        """(symbol, arguments, auxiliary states, report)"""
        known = set(self.model[0].list_arguments()) - set(self.model[1])
        types = {key: dtype for key, dtype in self.dtypes.items() if key in known}
        shapes = {key: shape for key, shape in self.shapes.items() if key in known}
        given = {"cast_params_offline": True, "input_shapes": shapes, "return_report": True}
        return amp.convert_model(*self.model, types, **given, **options)

    def bind(self, model=None, **options):
        """An Executor of the case, or of `model` in its place."""
        return amp.Executor(*(model or self.model), self.shapes, input_dtypes=self.dtypes, **options)


TURN = 0.1


def interleaved_medians(calls, seconds):
    """[median seconds] of callables that take turns until each has had so many seconds; at least three turns.

    Short calls are repeated until a turn has lasted a tenth of a second: threads of the one before, which wait for its
    next call in a loop, take time from the first of them alone.
    """
    for call in calls:
        call()
    times = [[] for _ in calls]
    begin = time.perf_counter()
    turn = 0
    while turn < 3 or time.perf_counter() - begin < seconds * len(calls):
        for i in range(len(calls)):
            k = (turn + i) % len(calls)  # who follows whom must not decide
            end = time.perf_counter() + TURN
            while True:
                start = time.perf_counter()
                calls[k]()
                now = time.perf_counter()
                times[k].append(now - start)
                if now >= end:
                    break
        turn += 1
    return [median(each) for each in times]


def plan_of(executor):
    """What it runs and how much memory that takes, whatever the nodes are called."""
    summary = executor.summary
    steps = [(step.work, step.implementation, step.layout, len(step.fused)) for step in summary.steps]
    return steps, summary.arena_bytes, summary.constant_bytes
