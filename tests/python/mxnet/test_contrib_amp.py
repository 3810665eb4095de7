"""amp.contrib.amp and amp.mxnet: conversion with the signatures of MXNet 1.9.1 and of its master branch."""

import importlib
import inspect
import json

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

BF16 = np.dtype(ml_dtypes.bfloat16)
old, new = mx.contrib.amp, amp.mxnet.amp


def net():
    hidden = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc1")
    hidden = amp.sym.sin(hidden, name="sine")
    return amp.sym.FullyConnected(hidden, num_hidden=3, name="fc2")


def model():
    return (net(), *amp.model_zoo.seeded_params(net(), {"data": (2, 5)}, seed=1))


def params_of(symbol):
    return {name: "float32" for name in symbol.list_inputs() if name != "data"}


def casts(symbol):
    """{dtype: number of casts}"""
    found = {}
    for node in json.loads(symbol.tojson())["nodes"]:
        if node["op"] == "amp_cast":
            found[node["attrs"]["dtype"]] = found.get(node["attrs"]["dtype"], 0) + 1
    return found


OLD_TAIL = (
    "target_dtype='float16', target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None, excluded_sym_names=None, "
)
NEW_TAIL = "target_dtype, target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None, excluded_sym_names=None, "


@pytest.mark.parametrize(
    "function, beginning",
    [
        (
            old.convert_symbol,
            f"(sym, {OLD_TAIL}data_names=None, cast_optional_params=False, *",
        ),
        (old.convert_model, f"(sym, arg_params, aux_params, {OLD_TAIL}cast_optional_params="),
        (
            old.convert_hybrid_block,
            f"(block, {OLD_TAIL}ctx=None, cast_optional_params=False, *",
        ),
        (new.convert_symbol, f"(sym, input_dtypes, param_dtypes, {NEW_TAIL}cast_params_offline=False, *"),
        (new.convert_model, f"(sym, arg_params, aux_params, input_dtypes, {NEW_TAIL}cast_params_offline=False, *"),
        (
            new.convert_hybrid_block,
            f"(block, data_example, {NEW_TAIL}device=None, cast_params_offline=False, *",
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_signatures(function, beginning):
    assert str(inspect.signature(function)).startswith(beginning)


def test_every_way_to_the_modules():
    assert mx.amp is new and mx.contrib.amp is old and old.amp is old
    assert mx.sym is amp.sym and mx.nd is amp.nd and mx.AttrScope is amp.AttrScope
    for name, module in {
        "amp.mxnet.contrib.amp.amp": old,
        "amp.mxnet.contrib.amp.lists": amp.lists,
        "amp.mxnet.contrib.amp": old,
        "amp.mxnet.sym": amp.sym,
        "amp.mxnet.amp": new,
    }.items():
        assert importlib.import_module(name) is module
    assert {"amp", "contrib", "sym"} <= set(dir(mx)) and "amp" in dir(mx.contrib)
    for owner in (mx, mx.contrib):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            owner.nothing  # noqa: B018


# ---- conversions ----


def test_defaults_of_1_9_1():
    symbol, args, aux = old.convert_model(*model())
    assert set(casts(symbol)) == {"float16", "float32"} and aux == {}
    assert {array.dtype for array in args.values()} == {np.dtype("f4")}
    assert set(casts(old.convert_symbol(net()))) == {"float16", "float32"}


def test_old_and_new_signatures_give_the_policy_of_mxnet():
    sym, args, aux = model()
    expected = amp.convert_symbol(sym, {}, params_of(sym), "bfloat16", policy="mxnet")
    found = [
        old.convert_symbol(sym, "bfloat16"),
        old.convert_symbol(sym, target_dtype="bfloat16", data_names=["data"]),
        new.convert_symbol(sym, {"data": "float32"}, params_of(sym), "bfloat16"),
        old.convert_model(sym, args, aux, "bfloat16")[0],
        new.convert_model(sym, args, aux, "float32", "bfloat16")[0],
    ]
    assert casts(expected)["bfloat16"] > 0
    assert [symbol.tojson() for symbol in found] == [expected.tojson()] * 5
    assert not any("amp_multicast" in symbol.tojson() for symbol in found)


def test_offline_casts():
    sym, args, aux = model()
    converted = old.convert_model(sym, args, aux, target_dtype="bfloat16", cast_optional_params=True)
    again = new.convert_model(sym, args, aux, "float32", "bfloat16", None, None, None, None, True)
    for _, arrays, _ in (converted, again):
        assert arrays["fc1_weight"].dtype == BF16
    symbol = old.convert_symbol(sym, "bfloat16", data_names=["data"], cast_optional_params=True)
    assert symbol.attr_dict()["fc1_weight"]["__amp_dtype__"] == "bfloat16"
    assert casts(symbol) == casts(converted[0]) != casts(old.convert_symbol(sym, "bfloat16"))


def test_inputs_of_models_are_float32():
    sym = amp.sym.FullyConnected(amp.sym.Variable("data", dtype="float16"), no_bias=True, num_hidden=2, name="fc")
    assert casts(old.convert_model(sym, {"fc_weight": np.ones((2, 3), "f4")}, {}, "bfloat16")[0])["bfloat16"] == 2


def test_dtypes_that_variables_declare():
    weight = amp.sym.Variable("weight", dtype="bfloat16")
    sym = amp.sym.FullyConnected(amp.sym.Variable("data", dtype="bfloat16"), weight, no_bias=True, num_hidden=2)
    assert casts(old.convert_symbol(sym, "bfloat16")) == {}


def test_mistakes_elsewhere_are_plain_errors():
    for call in (
        lambda: old.convert_symbol(3),
        lambda: old.convert_symbol(net(), "int8"),
        lambda: old.convert_symbol(net(), data_names="data"),
        lambda: old.convert_symbol(net(), data_names=["dta"]),
        lambda: new.convert_symbol(net(), {"dta": "float32"}, params_of(net()), "bfloat16"),
        lambda: new.convert_hybrid_block(3, None, "bfloat16", device="a", ctx="b"),
    ):
        with pytest.raises(amp.ArgumentError):
            call()


def test_bucketing_modules_are_refused_by_name():
    with pytest.raises(amp.UnsupportedError, match="convert_bucketing_module"):
        old.convert_bucketing_module(object())


# ---- excluded names ----


def test_unknown_excluded_names_warn():
    sym, args, aux = model()
    for convert in (
        lambda names: old.convert_symbol(sym, "bfloat16", excluded_sym_names=names),
        lambda names: old.convert_model(sym, args, aux, "bfloat16", excluded_sym_names=names)[0],
        lambda names: new.convert_symbol(sym, {}, params_of(sym), "bfloat16", excluded_sym_names=names),
        lambda names: new.convert_model(sym, args, aux, {}, "bfloat16", excluded_sym_names=names)[0],
    ):
        names = ["fc1", "fc3"]
        with pytest.warns(UserWarning, match="no operators named 'fc3'$") as caught:
            converted = convert(names)
        assert caught[0].filename == __file__
        assert casts(converted)["bfloat16"] < casts(convert([]))["bfloat16"]
        assert names == ["fc1", "fc3"]
    with pytest.raises(amp.ArgumentError, match="'fc3'"):
        amp.convert_symbol(sym, {}, params_of(sym), excluded_sym_names=["fc3"])


# ---- lists ----


@pytest.mark.parametrize(
    "lists, text",
    [
        (
            {"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["elemwise_add"]},
            "fp32_ops: elemwise_add is in",
        ),
        ({"target_dtype_ops": ["Concat"]}, "target_dtype_ops: Concat is in"),
        (
            {"fp32_ops": ["Activation"], "conditional_fp32_ops": [("Activation", "act_type", ["selu"])]},
            "Activation: both in fp32_ops and in conditional_fp32_ops",
        ),
        ({"target_dtype_ops": ["FullyConnected"], "fp32_ops": ["FullyConnected"]}, "FullyConnected: both in"),
        ({"target_dtype_ops": ["flatten"], "fp32_ops": ["Flatten"]}, "Flatten: both in"),
        ({"target_dtype_ops": ["Convolutoin"]}, "no operator 'Convolutoin'; did you mean 'Convolution'"),
        ({"fp32_ops": ("sin",)}, "fp32_ops: expected a list, got tuple"),
        ({"fp32_ops": "sin"}, "fp32_ops: expected a list, got str"),
        ({"fp32_ops": [3]}, "fp32_ops: expected names of operators, got 3"),
        ({"excluded_sym_names": ("fc1",)}, "excluded_sym_names: expected a list, got tuple"),
        ({"conditional_fp32_ops": [("LeakyReLU", "act_type", "selu")]}, "expected .operator, attribute, .values"),
        ({"conditional_fp32_ops": [("LeakyReLU", "act_type")]}, "expected .operator, attribute, .values"),
        ({"conditional_fp32_ops": ["LeakyReLU"]}, "expected .operator, attribute, .values"),
    ],
)
def test_mistakes_in_lists(lists, text):
    sym, args, aux = model()
    for convert in (
        lambda **options: old.convert_symbol(sym, "float16", **options),
        lambda **options: old.convert_model(sym, args, aux, **options),
        lambda **options: new.convert_symbol(sym, {}, params_of(sym), "bfloat16", **options),
        lambda **options: new.convert_hybrid_block(sym, None, "bfloat16", **options),
    ):
        with pytest.raises(amp.ArgumentError, match=text) as caught:
            convert(**lists)
        assert isinstance(caught.value, AssertionError) and isinstance(caught.value, ValueError)


def test_mistakes_are_gathered():
    with pytest.raises(AssertionError) as caught:
        old.convert_symbol(net(), target_dtype_ops=["sinn", "Concat", "cos"], fp32_ops=["cos"])
    assert len(str(caught.value).splitlines()) == 3


def test_operators_can_be_moved():
    sym = net()
    low = old.convert_symbol(sym, "bfloat16", target_dtype_ops=["FullyConnected", "sin"], fp32_ops=[])
    kept = old.convert_symbol(sym, "bfloat16", target_dtype_ops=["FullyConnected"], fp32_ops=["sin"])
    assert sum(casts(low).values()) < sum(casts(kept).values())
    joined = amp.sym.Concat(amp.sym.Variable("a"), amp.sym.Variable("b"), name="joined")
    moved = {"target_dtype_ops": ["Concat"], "widest_dtype_ops": ["elemwise_add"]}
    assert casts(old.convert_symbol(joined, "bfloat16", **moved)) == {"bfloat16": 2, "float32": 1}


def test_conditions():
    sym = amp.sym.FullyConnected(amp.sym.Variable("x"), amp.sym.Variable("y"), num_hidden=10, no_bias=True)
    for value, found in (("True", {"float32": 2}), ("False", {"float16": 2, "float32": 1})):
        conditions = [("FullyConnected", "no_bias", [value])]
        assert casts(old.convert_symbol(sym, fp32_ops=["sin"], conditional_fp32_ops=conditions)) == found
        none = old.convert_symbol(sym, target_dtype_ops=[], conditional_fp32_ops=conditions)
        assert casts(none) == (found if value == "True" else {})  # whatever comes is computed in float32, as in 1.9.1
