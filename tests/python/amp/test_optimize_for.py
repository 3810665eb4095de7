"""`optimize_for` as users call it: arguments, files, whole networks, blocks."""

import json
import warnings

import numpy as np
import pytest

import amp
import amp.mxnet as mx

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

NETWORKS = {
    "resnet18_v1": 64,
    "resnet18_v2": 64,
    "mobilenetv2_0.25": 64,
    "densenet121": 224,
    "squeezenet1.1": 224,
    "vgg11_bn": 32,
}


def network(name):
    size = NETWORKS[name]
    symbol = amp.model_zoo.get_model(name, classes=10)
    args, aux = amp.model_zoo.seeded_params(symbol, {"data": (2, 3, size, size)}, seed=5)
    return symbol, args, aux, np.random.default_rng(6).standard_normal((2, 3, size, size)).astype("f4")


def run(symbol, args, aux, x):
    return amp.Executor(symbol, args, aux, {"data": x.shape})(x)[0].asnumpy().astype("f4")


def operators(symbol):
    return [node["op"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] != "null"]


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_the_same(name):
    symbol, args, aux, x = network(name)
    expected = run(symbol, args, aux, x)
    for backend in ("ONEDNN", "MKLDNN"):
        fused = symbol.optimize_for(backend, args, aux, shape_dict={"data": x.shape})
        assert "Convolution" not in operators(fused)
        assert relative(run(fused, args, aux, x), expected) < 1e-6
        again = amp.sym.load_json(fused.tojson())
        assert again.tojson() == fused.tojson()
        assert operators(fused.optimize_for(backend, args, aux)) == operators(fused)  # what is fused stays so


@pytest.mark.parametrize("policy", ["mxnet", "default"])
@pytest.mark.parametrize("name", ["resnet18_v1", "mobilenetv2_0.25", "densenet121"])
def test_conversion_keeps_fused_nodes(name, policy):
    """What a conversion of the plain network costs is not exceeded; layers are fused afterwards."""
    symbol, args, aux, x = network(name)
    exact = run(symbol, args, aux, x)
    plain = amp.convert_model(symbol, args, aux, "float32", "bfloat16", policy=policy)
    fused = symbol.optimize_for("ONEDNN", args, aux)
    converted = amp.convert_model(fused, args, aux, "float32", "bfloat16", policy=policy)
    limit = 1.5 * relative(run(*plain, x), exact) + 0.01
    assert relative(run(*converted, x), exact) < limit
    ops = operators(converted[0])
    assert "Convolution" not in ops and "FullyConnected" not in ops
    absorbed = converted[0].optimize_for("ONEDNN_AMP")
    assert operators(absorbed).count("amp_cast") <= ops.count("amp_cast")
    assert relative(run(absorbed, *converted[1:], x), exact) < limit


def test_mxnet_takes_a_fused_layer_for_one_operator():
    """relu6 alone is float32 in MXNet's lists; inside of a layer it is part of that."""
    symbol, args, aux, _ = network("mobilenetv2_0.25")
    options = {"policy": "mxnet", "cast_params_offline": True}
    plain = operators(amp.convert_model(symbol, args, aux, "float32", "bfloat16", **options)[0])
    fused = symbol.optimize_for("ONEDNN", args, aux)
    converted = operators(amp.convert_model(fused, args, aux, "float32", "bfloat16", **options)[0])
    assert plain.count("amp_cast") > 60
    assert converted.count("amp_cast") == 2  # of the input and of the output
    assert [op for op in converted if op != "amp_cast"] == operators(fused)


def test_a_converted_fused_model_without_its_casts_is_the_original():
    symbol, args, aux, x = network("resnet18_v1")
    fused = symbol.optimize_for("ONEDNN", args, aux)
    converted = amp.convert_model(fused, args, aux, "float32", "bfloat16", policy="mxnet")
    result = amp.sym.load_json(converted[0].optimize_for("ONEDNN_AMP").tojson(remove_amp_cast=True))
    assert "amp_cast" not in operators(result)
    assert relative(run(result, args, aux, x), run(symbol, args, aux, x)) < 1e-6


def sum_of_layer():
    conv = amp.sym.Convolution(amp.sym.var("data"), kernel=(1, 1), num_filter=4, name="conv")
    return amp.sym._internal._npi_add(conv, amp.sym.var("other"), name="sum")


def test_shapes_come_from_arrays_and_dicts():
    symbol = sum_of_layer()
    image, equal = np.zeros((2, 3, 5, 5), "f4"), np.zeros((2, 4, 5, 5), "f4")
    arrays = {"data": image, "other": equal}
    for options in (
        {"args": arrays},
        {"args": [image, None, None, equal]},
        {"shape_dict": {name: array.shape for name, array in arrays.items()}},
        {"args": {"data": image}, "shape_dict": {"other": equal.shape}, "type_dict": {"other": "float32"}},
    ):
        assert operators(symbol.optimize_for("ONEDNN", **options)) == ["_sg_onednn_conv"], options
    for options in (
        {},
        {"args": arrays, "skip_infer": True},
        {"args": {"data": image, "other": np.zeros((1, 4, 1, 1), "f4")}},
    ):
        assert operators(symbol.optimize_for("ONEDNN", **options)) == ["_sg_onednn_conv"], options
    assert operators(symbol.get_backend_symbol("ONEDNN")) == ["_sg_onednn_conv"]
    mixed = {"args": {"data": image, "other": equal.astype("f8")}}
    assert operators(symbol.optimize_for("ONEDNN", **mixed)) == ["_sg_onednn_conv", "_npi_add"]


def test_a_sum_that_broadcasts_computes_the_same():
    symbol = sum_of_layer()
    fused = symbol.optimize_for("ONEDNN")
    random = np.random.default_rng(7)
    arguments = {"conv_weight": random.random((4, 3, 1, 1), "f4"), "conv_bias": random.random(4, "f4")}
    for other in ((1, 4, 1, 1), (2, 4, 5, 5), (4, 5, 5)):
        shapes = {"data": (2, 3, 5, 5), "other": other}
        inputs = {name: random.random(shape, "f4") for name, shape in shapes.items()}
        (expected,) = amp.Executor(symbol, arguments, {}, shapes)(inputs)
        (actual,) = amp.Executor(fused, arguments, {}, shapes)(inputs)
        np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), rtol=1e-6)
    # What other backends of MXNet know is accepted.
    symbol.optimize_for("ONEDNN", ctx="cpu", stype_dict={}, dedup_subgraph=True)


def test_refusals():
    symbol = sum_of_layer()
    with pytest.raises(amp.ArgumentError, match="unknown backend 'onednn': expected one of MKLDNN, ONEDNN, ONEDNN_AMP"):
        symbol.optimize_for("onednn")
    with pytest.raises(amp.ArgumentError, match="backend: expected its name"):
        symbol.optimize_for(None)
    with pytest.raises(amp.ArgumentError, match="args: expected 4 arrays .*got 1"):
        symbol.optimize_for("ONEDNN", [np.zeros(3)])
    with pytest.raises(amp.ArgumentError, match="no variable|no input|'oter'"):
        symbol.optimize_for("ONEDNN", shape_dict={"oter": (1, 2)})
    with pytest.raises(amp.GraphError, match="conv"):
        symbol.optimize_for("ONEDNN", shape_dict={"data": (2, 3)})


def test_blocks_are_changed_in_place():
    symbol, args, aux, x = network("mobilenetv2_0.25")
    block = mx.gluon.SymbolBlock(symbol, amp.sym.var("data"), {**args, **aux})
    expected = block(x).asnumpy()
    assert block.optimize_for(x, backend="ONEDNN") is None
    assert "_sg_onednn_conv" in operators(block.symbol)
    assert relative(block(x).asnumpy(), expected) < 1e-6
    assert list(block.collect_params()) == [name for name in block.symbol.list_inputs() if name != "data"]
    with pytest.raises(amp.ArgumentError, match="unknown backend"):
        block.optimize_for(x, backend="TensorRT")
    with pytest.raises(amp.ArgumentError, match="expected 1 inputs"):
        block.optimize_for(x, x, backend="ONEDNN")
    assert relative(block(x).asnumpy(), expected) < 1e-6


def test_a_float64_layer_is_left_alone():
    """MXNet hands it to primitives that do not exist (#15767)."""
    symbol = amp.sym.FullyConnected(amp.sym.var("data"), num_hidden=2, name="fc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fused = symbol.optimize_for("ONEDNN", type_dict={"data": "float64"})
    assert operators(fused) == ["FullyConnected"]


def test_arguments_beyond_those_of_a_block_have_no_effect():
    class Twice(mx.gluon.HybridBlock):
        def forward(self, x):
            return x * 2

    with mx.util.np_array(), mx.util.np_shape():
        block, x = Twice(), mx.np.ones((2,))
        assert block.optimize_for(x, x, backend="ONEDNN").tolist() == [2, 2]
