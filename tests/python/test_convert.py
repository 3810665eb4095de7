"""amp.convert_model as Python sees it; the pass itself is tested in C++."""

import json

import ml_dtypes
import numpy as np
import pytest

import amp

BF16 = np.dtype(ml_dtypes.bfloat16)


def two_inputs():
    left = amp.sym.FullyConnected(amp.sym.Variable("left"), num_hidden=4, name="fc1")
    right = amp.sym.FullyConnected(amp.sym.Variable("right"), num_hidden=4, name="fc2")
    return amp.sym.elemwise_add(left, right, name="sum")


def conv_net():
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    net = amp.sym.BatchNorm(net, fix_gamma=False, name="bn")
    return amp.sym.Activation(net, act_type="relu", name="relu")


def params_for(net, **shapes):
    return amp.model_zoo.seeded_params(net, shapes, seed=3)


@pytest.fixture
def model():
    net = conv_net()
    return (net, *params_for(net, data=(2, 4, 8, 8)))


def casts(symbol):
    return [node["name"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] == "amp_cast"]


def test_returns_a_model_of_the_same_shape(model):
    symbol, args, aux = amp.convert_model(*model, "float32")
    assert symbol.list_arguments() == model[0].list_arguments()
    assert symbol.list_outputs() == model[0].list_outputs()
    assert args.keys() == model[1].keys() and aux.keys() == model[2].keys()
    assert {array.dtype for array in args.values()} == {np.dtype("f4")}
    assert any("data" in name for name in casts(symbol))


def test_nothing_that_was_passed_is_modified(model):
    net, args, aux = model
    text = net.tojson()
    kept = {name: array.asnumpy().copy() for name, array in args.items()}
    converted = amp.convert_model(net, args, aux, "float32", cast_params_offline=True)
    assert net.tojson() == text
    for name, array in args.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array.asnumpy(), kept[name])
    assert converted[1] is not args and converted[1]["conv_weight"].dtype == BF16


def test_offline_casts_are_those_of_numpy(model):
    _, args, _ = model
    _, converted, aux = amp.convert_model(*model, "float32", cast_params_offline=True)
    np.testing.assert_array_equal(converted["conv_weight"].asnumpy(), args["conv_weight"].asnumpy().astype(BF16))
    for name in ("bn_gamma", "bn_beta"):
        assert converted[name].dtype == np.float32
    assert all(array.dtype == np.float32 for array in aux.values())


def test_offline_and_online_casts_give_the_same_bits(model):
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype("f4")
    outputs = []
    for offline in (False, True):
        converted = amp.convert_model(*model, "float32", cast_params_offline=offline)
        outputs.append(amp.Executor(*converted, {"data": x.shape})(x)[0].asnumpy())
    forced = {"target_dtype": "bfloat16", "force": True}
    outputs.append(amp.Executor(*model, {"data": x.shape}, reduce_precision=forced)(x)[0].asnumpy())
    np.testing.assert_array_equal(outputs[0], outputs[1])
    np.testing.assert_array_equal(outputs[0], outputs[2])


def test_converted_files_come_back(model, tmp_path):
    converted = amp.convert_model(*model, "float32", cast_params_offline=True)
    amp.save_checkpoint(tmp_path / "net", 0, *converted)
    symbol, args, aux = amp.load_checkpoint(tmp_path / "net", 0)
    assert symbol.tojson() == converted[0].tojson()
    assert symbol.infer_type(data="float32")[1] == [np.float32]
    x = np.ones((2, 4, 8, 8), "f4")
    before, after = (amp.Executor(*m, {"data": x.shape})(x)[0].asnumpy() for m in (converted, (symbol, args, aux)))
    np.testing.assert_array_equal(before, after)


def test_arrays_of_all_kinds(model):
    net, args, aux = model
    numpy_args = {name: array.asnumpy() for name, array in args.items()}
    converted = amp.convert_model(net, numpy_args, aux, "float32", cast_params_offline=True)[1]
    assert all(isinstance(array, amp.NDArray) for array in converted.values())
    assert np.shares_memory(converted["bn_beta"].asnumpy(), numpy_args["bn_beta"])


@pytest.mark.parametrize(
    "dtypes",
    [
        "float32",
        np.float32,
        {"left": "float32", "right": "float32"},
        ["float32", np.dtype("f4")],
        {},
        {"right": "float32"},
    ],
    ids=str,
)
def test_spellings_of_input_dtypes(dtypes):
    net = two_inputs()
    args, aux = params_for(net, left=(2, 3), right=(2, 5))
    symbol, *_ = amp.convert_model(net, args, aux, dtypes)
    assert len(casts(symbol)) > 0


def test_bfloat16_inputs_need_no_cast():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")
    args = {"fc_weight": np.ones((4, 3), BF16), "fc_bias": np.ones(4, BF16)}
    for dtype in ("bfloat16", [("bfloat16", np.uint16)], ["bfloat16"]):
        symbol, *_ = amp.convert_model(net, args, {}, dtype)
        assert casts(symbol) == []


def test_target_spellings(model):
    for target in ("bfloat16", BF16, ml_dtypes.bfloat16, np.dtype([("bfloat16", np.uint16)])):
        assert "bfloat16" in amp.convert_model(*model, "float32", target)[0].tojson()
    assert "float16" in amp.convert_model(*model, "float32", np.float16)[0].tojson()


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"target_dtype": "float32"}, "float32"),
        ({"target_dtype": "int8"}, "int8"),
        ({"input_dtypes": {"dta": "float32"}}, "'dta'.*'data'"),
        ({"input_dtypes": ["float32"] * 2}, "2 entries.*1 inputs: data"),
        ({"input_dtypes": "float33"}, "float33"),
        ({"sym": 3}, "expected a Symbol, got int"),
    ],
)
def test_wrong_arguments(model, arguments, text):
    net, args, aux = model
    everything = {"sym": net, "arg_params": args, "aux_params": aux, "input_dtypes": "float32", **arguments}
    with pytest.raises(amp.ArgumentError, match=text):
        amp.convert_model(**everything)


def test_additions_are_keyword_only(model):
    with pytest.raises(TypeError):
        amp.convert_model(*model, "float32", "bfloat16", True)
