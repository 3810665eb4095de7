"""Where conversion differs from MXNet's pass and where it does not: one test per row of the table in docs/precision.md.

What MXNet does is known from its source (apache/mxnet b84609d3fc): no released version has the pass.
"""

import json

import numpy as np
import pytest
from control_flow_nodes import recurrent

import amp

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

POLICIES = ("default", "mxnet")
LOW = "bfloat16"


def fc(data, name, units=4, **inputs):
    return amp.sym.FullyConnected(data, num_hidden=units, name=name, **inputs)


def converted(symbol, policy="mxnet", shape=(2, 4), params=None, input_dtypes="float32", **options):
    """(nodes of the converted file by name, {tensor: dtype}, {node: reason}); it also runs."""
    args, aux = params or amp.model_zoo.seeded_params(symbol, {"data": shape}, seed=1)
    *model, report = amp.convert_model(
        symbol, args, aux, input_dtypes, LOW, policy=policy, return_report=True, **options
    )
    x = np.linspace(-1, 1, int(np.prod(shape)), dtype="f4").reshape(shape)
    for output in amp.Executor(*model, {"data": shape}, backend="reference")(data=x):
        assert np.isfinite(output.asnumpy().astype("f4")).all()
    nodes = {node["name"]: node for node in json.loads(model[0].tojson())["nodes"]}
    dtypes = {tensor["node"]: tensor["dtype"] for tensor in report.tensors}
    return nodes, dtypes, {tensor["node"]: tensor["reason"]["text"] for tensor in report.tensors}


@pytest.mark.parametrize("policy", POLICIES)
def test_w1_other_inputs_keep_their_dtypes(policy):
    data = amp.sym.Variable("data")
    index = amp.sym.Cast(data, dtype="int32", name="index")
    rows = fc(amp.sym.take(fc(data, "fc"), amp.sym.Flatten(index), name="take"), "last")
    _, dtypes, _ = converted(rows, policy)
    assert dtypes["fc"] == dtypes["take"] == LOW and dtypes["index"] == "int32"


@pytest.mark.parametrize("policy", POLICIES)
def test_w2_a_scale_that_is_also_a_low_operand(policy):
    shared = amp.sym.Variable("shared", shape=(4,))
    layer = fc(amp.sym.Variable("data"), "fc", bias=shared)
    norm = amp.sym.BatchNorm(layer, gamma=shared, fix_gamma=False, name="bn")
    nodes, dtypes, _ = converted(fc(norm, "last"), policy)
    assert dtypes["bn"] == LOW and dtypes["shared"] == "float32"
    assert ("shared_0_amp_cast_bfloat16" in nodes) == (policy == "mxnet")  # under default a bias is no low operand


def test_w3_a_convolution_that_shares_a_weight_goes_low():
    data, weight = amp.sym.Variable("data"), amp.sym.Variable("weight")
    heads = [
        amp.sym.Convolution(x, weight, num_filter=3, kernel=(1, 1), no_bias=True, name=f"conv{i}")
        for i, x in enumerate((data, amp.sym.sigmoid(data, name="other")))
    ]
    nodes, dtypes, reasons = converted(amp.sym.Group(heads), shape=(1, 3, 4, 4))
    assert dtypes["conv0"] == dtypes["conv1"] == LOW and dtypes["other"] == "float32"
    assert reasons["conv1"] == "Convolution is in MXNet's target_dtype_ops for bfloat16"


def siblings():
    data = amp.sym.sigmoid(amp.sym.Variable("data"), name="data0")
    return amp.sym.Group([amp.sym.softmax(data, name="softmax"), fc(data, "fc")])


def test_w5_a_siblings_cast_counts_under_policy_mxnet_only():
    assert converted(siblings(), "mxnet")[1]["softmax"] == LOW
    assert converted(siblings(), "default")[1]["softmax"] == "float32"


@pytest.mark.parametrize("policy", POLICIES)
def test_w8_casts_that_change_nothing_go(policy):
    low = amp.sym.amp_cast(amp.sym.Variable("data"), dtype=LOW, name=f"data_amp_cast_{LOW}")
    wide = amp.sym.amp_cast(low, dtype="float32", name="back_amp_cast_float32")
    nodes, _, _ = converted(fc(wide, "fc"), policy)
    assert "back_amp_cast_float32" not in nodes and f"data_amp_cast_{LOW}" in nodes
    # Those of the program stay.
    own = amp.sym.Cast(amp.sym.Cast(amp.sym.Variable("data"), dtype=LOW, name="low"), dtype="float32", name="back")
    nodes, dtypes, _ = converted(fc(own, "fc"), policy)
    assert {"low", "back"} <= set(nodes) and dtypes["low"] == LOW


@pytest.mark.parametrize("policy", POLICIES)
def test_w9_integers_are_not_cast(policy):
    data = amp.sym.Variable("data")
    count = amp.sym.Cast(data, dtype="int32", name="count")
    both = amp.sym.Group([amp.sym.Reshape(count, shape=(-1,), name="flat"), fc(data, "fc")])
    nodes, dtypes, reasons = converted(both, policy)
    assert dtypes["count"] == dtypes["flat"] == "int32" and "not converted" in reasons["flat"]
    assert not any(name.startswith(("count_0_amp_cast", "flat_0_amp_cast")) for name in nodes)


@pytest.mark.parametrize("policy", POLICIES)
def test_w10_what_the_user_cast_to_low_precision_stays_there(policy):
    low = amp.sym.Cast(amp.sym.Variable("data"), dtype=LOW, name="low")
    nodes, dtypes, _ = converted(amp.sym.softmax(amp.sym.exp(low, name="exp"), name="softmax"), policy)
    assert dtypes["exp"] == dtypes["softmax"] == LOW and "amp_cast" not in json.dumps(list(nodes.values()))


def test_w11_control_dependencies_are_those_of_the_new_graph():
    graph = json.loads(fc(amp.sym.relu(fc(amp.sym.Variable("data"), "fc"), name="relu"), "last").tojson())
    index = {node["name"]: i for i, node in enumerate(graph["nodes"])}
    graph["nodes"][index["last"]]["control_deps"] = [index["fc"]]
    nodes, _, _ = converted(amp.sym.load_json(json.dumps(graph)))
    names = list(nodes)
    assert [names[i] for i in nodes["last"]["control_deps"]] == ["fc"] and nodes["fc"]["op"] == "FullyConnected"


@pytest.mark.parametrize("policy", POLICIES)
def test_w12_bodies_of_control_flow_keep_their_dtypes_under_policy_mxnet_only(policy):
    loop = recurrent()
    net = amp.sym.FullyConnected(loop[0], num_hidden=2, flatten=False, name="after")
    types = {name: "float32" for name in net.list_arguments() if name not in ("data", "start")}
    found, report = amp.convert_symbol(net, None, types, LOW, policy=policy, return_report=True)
    before, after = (
        next(node for node in json.loads(symbol.tojson())["nodes"] if node["op"] == "_foreach")
        for symbol in (net, found)
    )
    assert "FullyConnected" in json.dumps(after["subgraphs"]) and "amp_cast" in found.tojson()
    assert (before["subgraphs"] == after["subgraphs"]) == (policy == "mxnet")
    if policy == "mxnet":
        assert report.tensor(f"{after['name']}")["dtype"] == "float32"


def test_w13_an_operator_without_inputs_may_be_listed():
    steps = amp.sym._zeros(shape=(2, 4), name="zeros")
    net = fc(amp.sym.elemwise_add(amp.sym.Variable("data"), steps, name="sum"), "fc")
    _, dtypes, reasons = converted(net, target_dtype_ops=["_zeros", "FullyConnected"])
    assert dtypes["zeros"] == "float32" and reasons["zeros"] == "reads no tensor that could be rounded"


def test_w14_scales_of_layer_norm_are_rounded_under_policy_mxnet_only():
    net = fc(amp.sym.LayerNorm(fc(amp.sym.Variable("data"), "fc"), name="norm"), "last")
    low = converted(net, "mxnet", cast_params_offline=True)[1]
    high = converted(net, "default", cast_params_offline=True)[1]
    assert low["norm_gamma"] == low["norm_beta"] == LOW
    assert high["norm_gamma"] == high["norm_beta"] == "float32"


def test_w16_names_of_heads_and_of_casts():
    net = amp.sym.relu(fc(amp.sym.Variable("data"), "fc"), name="relu")
    net = amp.sym.Group([net, fc(net, "last")])
    params = amp.model_zoo.seeded_params(net, {"data": (2, 4)}, seed=1)
    options = {"target_dtype_ops": ["FullyConnected", "relu"]}
    names = {policy: amp.convert_model(net, *params, policy=policy, **options)[0].list_outputs() for policy in POLICIES}
    assert names == {
        "default": ["relu_output", "last_output"],
        "mxnet": ["relu_0_amp_cast_float32_output", "last_0_amp_cast_float32_output"],
    }


@pytest.mark.parametrize("policy", POLICIES)
def test_w16_a_name_that_is_taken(policy):
    data = amp.sym.Variable("data")
    taken = fc(amp.sym.relu(data, name="data_0_amp_cast_bfloat16"), "fc")
    nodes, _, _ = converted(amp.sym.Group([taken, fc(data, "fc2")]), policy)
    assert nodes["data_0_amp_cast_bfloat16"]["op"] == "relu" and nodes["data_0_amp_cast_bfloat16_1"]["op"] == "amp_cast"


def test_w17_a_parameter_is_pulled_down_under_policy_default_only():
    bias = amp.sym.Variable("bias", shape=(1, 4))
    net = fc(amp.sym.broadcast_add(fc(amp.sym.Variable("data"), "fc"), bias, name="sum"), "last")
    assert converted(net, "mxnet")[1]["sum"] == "float32"
    assert converted(net, "default")[1]["sum"] == LOW


def test_w18_batch_norms_are_folded_in_float32_if_asked_for_or_by_default():
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(1, 1), num_filter=4, name="conv")
    net = amp.sym.BatchNorm(net, fix_gamma=False, name="bn")
    for policy, option, folds in (("default", None, True), ("mxnet", None, False), ("mxnet", True, True)):
        nodes, _, _ = converted(net, policy, shape=(1, 3, 4, 4), fold_batch_norm=option)
        assert ("bn" not in nodes) == folds


def test_operators_that_share_a_card_follow_the_list_of_its_own_name():
    """MXNet lists `exp` as fp32 and `_npi_exp` as neutral (bfloat16); here both are `exp`."""
    fp32, neutral = amp.list_fp32_ops(LOW), amp.list_lp16_fp32_ops(LOW)
    for name in ("exp", "sqrt", "square", "tanh"):
        assert name in fp32 and f"_npi_{name}" not in neutral
        function = getattr(amp.sym, f"_npi_{name}")
        net = fc(function(fc(amp.sym.Variable("data"), "fc"), name="f"), "last")
        params = amp.model_zoo.seeded_params(net, {"data": (2, 4)})
        report = amp.convert_model(net, *params, policy="mxnet", return_report=True)[-1]
        assert report.tensor("f")["dtype"] == "float32" and f"{name} is in MXNet's fp32_ops" in report.why("f")
