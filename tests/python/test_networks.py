"""Whole networks on both backends and in both precisions, against MXNet's own outputs."""

import importlib.util
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import seeded

import amp

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
GOLDEN_NETWORKS = (
    "resnet18_v1",
    "squeezenet1.1",
    "vgg11_bn",
    "mobilenetv2_0.25",
    "densenet121",
    "inceptionv3",
)
SHARED_CASES = [
    f"zoo/{name}"
    for name in (
        "alexnet",
        "vgg16",
        "vgg11_bn",
        "resnet18_v1",
        "resnet50_v1",
        "resnet50_v2",
        "mobilenet1.0",
        "mobilenetv2_1.0",
        "densenet121",
        "squeezenet1.1",
        "inceptionv3",
    )
] + ["real/gender-age"]

# float32: largest error over the largest magnitude. bfloat16: relative rms.
FP32_LARGEST = 2e-5
BF16_RMS = 0.03
# The golden networks are small and random, and some of them amplify rounding: rounding inputs and parameters alone
# moves MXNet's own float32 outputs by this much (relative rms); activations add to it.
GOLDEN_BF16_RMS = {"vgg11_bn": 0.06, "mobilenetv2_0.25": 0.06, "resnet18_v1": 0.05}


def errors(output, expected):
    """(largest error / largest magnitude, relative rms error) of one array against its reference."""
    output = np.asarray(output).astype(np.float64)
    expected = np.asarray(expected).astype(np.float64)
    assert output.shape == expected.shape
    difference = output - expected
    largest = np.abs(difference).max() / np.abs(expected).max()
    return largest, np.sqrt((difference**2).mean() / (expected**2).mean())


def split(params, symbol):
    """(arguments, auxiliary states) of {name: array}."""
    states = set(symbol.list_auxiliary_states())
    args = {name: array for name, array in params.items() if name not in states}
    return args, {name: array for name, array in params.items() if name in states}


def run(symbol, args, aux, inputs, backend, precision):
    """The outputs as arrays; for bfloat16 the model is converted first, offline."""
    if precision == "bfloat16":
        dtypes = {name: array.dtype for name, array in inputs.items()}
        symbol, args, aux = amp.convert_model(symbol, args, aux, dtypes, "bfloat16", cast_params_offline=True)
        assert any(array.dtype == ml_dtypes.bfloat16 for array in args.values())
    shapes = {name: array.shape for name, array in inputs.items()}
    executor = amp.Executor(symbol, args, aux, shapes, backend=backend)
    if backend == "onednn":
        assert executor.summary.num_references == 0
    return [output.asnumpy() for output in executor(**inputs)]


def check(outcome, precision, bf16_rms=BF16_RMS):
    for largest, rms in outcome:
        if precision == "float32":
            assert largest <= FP32_LARGEST
        else:
            assert 0 < rms <= bf16_rms  # 0 would mean that nothing was converted


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize("name", GOLDEN_NETWORKS)
def test_golden_network(name, backend, precision):
    case = seeded.load_golden(GOLDEN / name)
    symbol = amp.sym.load(case.symbol_path)
    args, aux = split({key.split(":", 1)[1]: array for key, array in case.params.items()}, symbol)
    outputs = run(symbol, args, aux, case.inputs, backend, precision)
    outcome = [errors(output, expected) for output, expected in zip(outputs, case.expected)]
    check(outcome, precision, GOLDEN_BF16_RMS.get(name, BF16_RMS))


@pytest.fixture(scope="module")
def case_class(shared_dir):
    spec = importlib.util.spec_from_file_location("shared_case", shared_dir / "cases" / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Case


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize("name", SHARED_CASES)
def test_shared_case(name, backend, precision, shared_dir, case_class):
    case = case_class(str(shared_dir / "cases" / name))
    if case.param_file:
        symbol, args, aux = amp.load(case.symbol_file, case.param_file)
    else:
        symbol = amp.sym.load(case.symbol_file)
        args, aux = split(case.params(), symbol)
    outputs = run(symbol, args, aux, case.inputs(), backend, precision)
    check(case.errors([output.astype(np.float32) for output in outputs]), precision)


def test_saved_bfloat16_model_runs_the_same(tmp_path):
    """Converting, saving and loading gives the bits of converting when binding."""
    case = seeded.load_golden(GOLDEN / "mobilenetv2_0.25")
    symbol = amp.sym.load(case.symbol_path)
    args, aux = split({key.split(":", 1)[1]: array for key, array in case.params.items()}, symbol)
    shapes = {name: array.shape for name, array in case.inputs.items()}
    converted = amp.convert_model(symbol, args, aux, "float32", cast_params_offline=True)
    amp.save_checkpoint(str(tmp_path / "net"), 0, *converted)
    loaded = amp.Executor(*amp.load_checkpoint(str(tmp_path / "net"), 0), shapes)
    bound = amp.Executor(symbol, args, aux, shapes, reduce_precision={"target_dtype": "bfloat16", "force": True})
    online = amp.Executor(*amp.convert_model(symbol, args, aux, "float32"), shapes)
    assert loaded.output_names == bound.output_names == symbol.list_outputs()
    reference = loaded(**case.inputs)[0].asnumpy()
    for other in (bound, online):
        np.testing.assert_array_equal(reference, other(**case.inputs)[0].asnumpy())
