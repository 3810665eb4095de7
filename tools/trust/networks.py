"""The networks of the table, with data: those in shared/cases and the digits of this repository; oracles of tests."""

import importlib.util
import os
from pathlib import Path

import numpy as np

import amp

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("AMP_SHARED") or ROOT.parent / "shared") / "cases"

# {name: case in shared/cases}
CASES = {
    "det1": "real/det1_small",
    "det2": "real/det2",
    "det3": "real/det3",
    "gender-age": "real/gender-age",
    "bert": "nlp/bert_small_b4",
    "resnet20": "zoo/cifar_resnet20_v1",
    "mobilenetv2": "zoo/mobilenetv2_1.0",
    "squeezenet": "zoo/squeezenet1.1",
    "resnet18": "zoo/resnet18_v1",
}
# Inputs of these cases are one sample; they get as many seeded ones of the same distribution.
_SAMPLES = {"resnet20": 8, "mobilenetv2": 2, "squeezenet": 2, "resnet18": 2}


def load(name):
    """((symbol, arguments, states), {input: array})"""
    if name == "digits":
        folder = ROOT / "examples" / "digits"
        model = amp.load(str(folder / "digits-symbol.json"), str(folder / "digits-0000.params"))
        with np.load(folder / "heldout.npz") as file:
            images = file["images"][:16].reshape(-1, 1, 8, 8)
        return model, {"data": images / np.float32(16.3)}  # sixteenths, as it was trained on, are exact in bfloat16
    case = _case(CASES[name])
    return _model(case), _inputs(name, case)


def _case(path):
    spec = importlib.util.spec_from_file_location("shared_case", SHARED / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Case(str(SHARED / path))


def _model(case):
    if case.param_file:
        return amp.load(case.symbol_file, case.param_file)
    symbol, arrays = amp.sym.load(case.symbol_file), case.params()
    return (symbol, *_split(symbol, arrays))


def _inputs(name, case):
    inputs = case.inputs()
    if name not in _SAMPLES:
        return inputs
    draw = np.random.default_rng(0)
    shapes = {key: (_SAMPLES[name], *array.shape[1:]) for key, array in inputs.items()}
    return {
        key: (draw.standard_normal(shapes[key]) * array.std() + array.mean()).astype("float32")
        for key, array in inputs.items()
    }


def parameters_of(symbol, data, generator=None):
    """(arguments, auxiliary states): drawn arrays, scaled so that magnitudes stay about 1; seed 0 by default."""
    generator = generator or np.random.default_rng(0)
    args, _, aux = symbol.infer_shape(**{name: array.shape for name, array in data.items()})
    arrays = {}
    for name, shape in zip(symbol.list_arguments() + symbol.list_auxiliary_states(), args + aux):
        if name not in data:
            spread = 1 / np.sqrt(max(np.prod(shape[1:]), 1)) if len(shape) > 1 else 0.2
            values = spread * generator.standard_normal(shape)
            positive = name.endswith(("gamma", "var"))
            arrays[name] = (np.abs(values) + 0.7 if positive else values).astype("float32")
    return _split(symbol, arrays)


def _split(symbol, arrays):
    states = set(symbol.list_auxiliary_states())
    groups = [{name: a for name, a in arrays.items() if (name in states) == is_state} for is_state in (False, True)]
    return tuple(groups)


def convert(model, data, **options):
    """(symbol, arguments, states, report) of an offline conversion."""
    known = set(model[0].list_arguments()) - set(model[1])
    dtypes = {name: array.dtype for name, array in data.items() if name in known}
    return amp.convert_model(*model, dtypes, cast_params_offline=True, return_report=True, **options)


def run(model, data, **options):
    """The outputs as float64 arrays, each node as if it ran alone."""
    shapes = {name: array.shape for name, array in data.items()}
    dtypes = {name: array.dtype for name, array in data.items()}
    executor = amp.Executor(*model[:3], shapes, input_dtypes=dtypes, **{"mode": "exact", "machine": "any", **options})
    return [array.asnumpy().astype(np.float64) for array in executor(data)]


def error_of(outputs, others):
    """Root mean square of the difference; each output relative to its own rms, then over all numbers."""
    squares = sum(np.sum((b - a) ** 2) / np.mean(a**2) for a, b in zip(outputs, others))
    return float(np.sqrt(squares / sum(a.size for a in outputs)))
