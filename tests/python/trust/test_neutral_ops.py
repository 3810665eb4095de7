"""The option `neutral_ops`: under every policy operators follow their neighbours."""

import numpy as np
import pytest

import amp
from amp import sym

POLICIES = ("default", "mxnet", "graphamp", "optimal")


def between_products(operator):
    """(Symbol, arguments, {}): a dense layer, an operator, and a dense layer."""
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=8, no_bias=True, name="a")
    net = operator(net)
    net = sym.FullyConnected(net, num_hidden=4, no_bias=True, name="b")
    return (net, *amp.model_zoo.seeded_params(net, {"data": (2, 8)}))


def dtype_of(model, node, **options):
    return amp.convert_model(*model, return_report=True, **options)[-1].tensor(node)["dtype"]


def softmax(x):
    return sym.softmax(x, name="op")


def square_root(x):
    return sym.sqrt(sym.abs(x, name="abs"), name="op")


@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_policy_keeps_follows_its_neighbours(policy):
    lists = {"fp32_ops": ["softmax"]} if policy == "mxnet" else {}  # MXNet has it as neutral by itself
    model = between_products(softmax)
    assert dtype_of(model, "op", policy=policy, **lists) == "float32"
    assert dtype_of(model, "op", policy=policy, neutral_ops=["softmax"]) == "bfloat16"


@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_policy_makes_low_follows_its_neighbours(policy):
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=4, no_bias=True, name="a")
    model = net, {"a_weight": np.ones((4, 8), "f")}, {}
    options = {"policy": policy, "return_report": True}
    assert amp.convert_model(*model, **options)[-1].casts
    assert not amp.convert_model(*model, neutral_ops=["FullyConnected"], **options)[-1].casts


def test_mxnets_list_for_float32_is_left():
    model = between_products(square_root)
    assert dtype_of(model, "op", policy="mxnet") == "float32"
    assert dtype_of(model, "op", policy="mxnet", neutral_ops=["sqrt", "abs"]) == "bfloat16"


@pytest.mark.parametrize("policy", POLICIES)
def test_nodes_are_stronger(policy):
    model = between_products(softmax)
    options = {"policy": policy, "neutral_ops": ["softmax"]}
    assert dtype_of(model, "op", excluded_sym_names=["op"], **options) == "float32"
    assert dtype_of(model, "op", force={"op": "float32"}, **options) == "float32"


@pytest.mark.parametrize("policy", ["default", "optimal"])
def test_in_training_it_follows_too(policy):
    model = between_products(lambda x: sym.sigmoid(x, name="op"))
    assert dtype_of(model, "op", policy=policy, training=True) == "float32"
    assert dtype_of(model, "op", policy=policy, training=True, neutral_ops=["sigmoid"]) == "bfloat16"


@pytest.mark.parametrize("policy", POLICIES)
def test_reasons_are_those_of_neutral_operators(policy):
    model = between_products(softmax)
    report = amp.convert_model(*model, policy=policy, neutral_ops=["softmax"], return_report=True)[-1]
    kinds = {"default": "reads_low", "mxnet": "reads_low", "graphamp": "reader_wants_low", "optimal": "fewer_casts"}
    assert report.tensor("op")["reason"]["kind"] == kinds[policy]


def test_mistakes_are_told_together():
    model = between_products(softmax)
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_model(*model, neutral_ops=["softmax", "softmx", "FullyConnected"], fp32_ops=["softmax"])
    text = str(raised.value)
    assert "softmax is both in fp32_ops and in neutral_ops" in text
    assert "neutral_ops: there is no operator 'softmx'; did you mean 'softmax'" in text
