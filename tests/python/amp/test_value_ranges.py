"""Intervals of values decide what must not be rounded: the accuracy of models that amplify rounding errors, and the
products of the benchmark's networks, all of which stay low."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import amp

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.compare import networks  # noqa: E402

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

RANDOM = np.random.default_rng(5)
POSITIONS = np.arange(512, dtype=np.float32)[:, None]
FREQUENCIES = (10000 ** (-np.arange(16) / 16)).astype(np.float32)[:, None]
# Points around common centres: the distances are small beside the coordinates.
CENTRES = 4 * RANDOM.standard_normal((2, 1, 32)).astype(np.float32)
POINTS = CENTRES + 0.05 * RANDOM.standard_normal((2, 20, 32)).astype(np.float32)
OTHERS = CENTRES + 0.05 * RANDOM.standard_normal((2, 20, 32)).astype(np.float32)


def sine_of_product(x):
    return amp.sym.sin(amp.sym.dot(x, amp.sym.Variable("w"), transpose_b=True))


def sine_of_dense(x):
    return amp.sym.sin(amp.sym.FullyConnected(x, amp.sym.Variable("w"), num_hidden=16, no_bias=True))


def counted():
    return amp.sym.Reshape(amp.sym.arange(start=0, stop=512), shape=(512, 1))


def distances():
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    lengths = amp.sym.sum(amp.sym.square(a), axis=2, keepdims=True)
    others = amp.sym.Reshape(amp.sym.sum(amp.sym.square(b), axis=2), shape=(0, 1, -1))
    products = amp.sym.batch_dot(a, b, transpose_b=True)
    return amp.sym.broadcast_add(amp.sym.broadcast_sub(lengths, 2 * products), others)


def dense_of_sine(x):
    waves = sine_of_product(amp.sym.FullyConnected(x, amp.sym.Variable("v"), num_hidden=1, no_bias=True))
    return amp.sym.FullyConnected(waves, amp.sym.Variable("u"), num_hidden=8, no_bias=True)


WAVES = {"w": FREQUENCIES}
DENSE = {**WAVES, "u": RANDOM.standard_normal((8, 16)).astype(np.float32), "v": np.ones((1, 1), np.float32)}
MODELS = {
    "positions through dot": (lambda: sine_of_product(amp.sym.Variable("x")), WAVES, {"x": POSITIONS}),
    "positions through FullyConnected": (lambda: sine_of_dense(amp.sym.Variable("x")), WAVES, {"x": POSITIONS}),
    "counted positions": (
        lambda: amp.sym.broadcast_mul(sine_of_dense(counted()), amp.sym.Variable("x")),
        WAVES,
        {"x": np.ones_like(POSITIONS)},
    ),
    "waves into a dense layer": (lambda: dense_of_sine(amp.sym.Variable("x")), DENSE, {"x": POSITIONS % 200}),
    "distances": (distances, {}, {"a": POINTS, "b": OTHERS}),
}


def largest_error(symbol, params, inputs, target):
    shapes = {name: array.shape for name, array in inputs.items()}
    reduced = {"target_dtype": target, "emulate": True}
    expected, got = (
        amp.Executor(symbol, params, {}, shapes, reduce_precision=precision)(**inputs)[0]
        for precision in (None, reduced)
    )
    expected, got = np.asarray(expected, np.float64), np.asarray(got, np.float64)
    return np.abs(got - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("target", ["bfloat16", "float16"])
@pytest.mark.parametrize("model", MODELS)
def test_errors_that_products_would_amplify_stay_small(model, target):
    build, params, inputs = MODELS[model]
    assert largest_error(build(), params, inputs, target) <= 0.05


def test_amplified_products_say_why():
    *_, report = amp.convert_model(sine_of_dense(amp.sym.Variable("x", shape=(0, 1))), WAVES, {}, return_report=True)
    (product,) = (tensor for tensor in report.tensors if tensor["op"] == "FullyConnected")
    assert product["dtype"] == "float32" and product["reason"]["kind"] == "amplified"


def test_reasons_state_the_interval():
    *_, report = amp.convert_model(
        amp.sym.FullyConnected(counted(), amp.sym.Variable("w"), num_hidden=16, no_bias=True, name="fc"),
        WAVES,
        {},
        return_report=True,
    )
    assert "whole numbers in [0, 511]" in report.why("fc")


# Products that read low operands, in float32's graph all that there are.
LOW_PRODUCTS = {
    "resnet50_v1": 54,
    "mobilenetv2_1.0": 54,
    "vgg16": 16,
    "densenet121": 121,
    "inceptionv3": 95,
    "bert_base": 73,
}


def small_parameters(network, symbol):
    shapes = {name: array.shape for name, array in networks.inputs_of(network, 1).items()}
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    args = zip(symbol.list_arguments(), arg_shapes)

    def parameter(name, shape):
        values = np.resize(np.linspace(-0.1, 0.1, 101, dtype=np.float32), shape)
        return values + np.float32(1) if name.endswith(("gamma", "var")) else values

    return (
        {name: parameter(name, shape) for name, shape in args if name not in shapes},
        {name: parameter(name, shape) for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes)},
    )


@pytest.mark.parametrize("network", networks.NETWORKS)
def test_no_benchmark_network_loses_a_low_product(network):
    symbol = networks.symbol_of(network)
    args, aux = small_parameters(network, symbol)
    for target in ("bfloat16", "float16"):
        *_, report = amp.convert_model(symbol, args, aux, target_dtype=target, return_report=True)
        kinds = Counter(tensor["reason"]["kind"] for tensor in report.tensors)
        assert kinds["accumulates"] + kinds["wide_result"] == LOW_PRODUCTS[network]
        assert not kinds["amplified"] + kinds["cancels"] + kinds["overflows"]
