"""The graphs that MXNet's own tests assert after fusion, conversion and fusion again, on graphs built as symbols.

A block is optimized for ONEDNN, converted with parameters offline (policy mxnet), and optimized for ONEDNN_AMP; then
each node's operator and inputs are those of MXNet's test, and every element is near that of the block in float32.
"""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx

pytestmark = pytest.mark.usefixtures("machine")

DISABLED = {"__opt_constraint__": "1"}
FC, CONV = "_sg_onednn_fully_connected", "_sg_onednn_conv"


def variable(name):
    return amp.sym.Variable(name)


def dense(data, name, units, attr=None, **options):
    weight, bias = variable(f"{name}.weight"), variable(f"{name}.bias")
    return amp.sym.FullyConnected(data, weight, bias, num_hidden=units, name=name, attr=attr, **options)


def convolution(data, name):
    weight, bias = variable(f"{name}.weight"), variable(f"{name}.bias")
    return amp.sym.Convolution(data, weight, bias, kernel=(3, 3), num_filter=16, name=name)


def fc():
    return dense(dense(variable("data"), "d0", 16), "d1", 16)


def conv():
    return convolution(convolution(variable("data"), "c0"), "c1")


def concat():
    x = variable("data")
    return amp.sym.Concat(dense(x, "d0", 16), dense(x, "d1", 16), dim=1, name="concat")


def branch():
    h = dense(variable("data"), "d0", 16)
    relu = amp.sym.Activation(dense(h, "d1", 16), act_type="relu", name="relu")
    return amp.sym.Group([relu, amp.sym.softmax(h, name="softmax", attr=DISABLED)])


def transformer(units=8, heads=8):
    internal = amp.sym._internal
    x, mask = variable("data"), variable("mask")
    parts = internal._split_v2(data=dense(x, "qkv", 3 * units, flatten=False), sections=3, axis=-1, name="split")

    def separate(part, name):
        part = internal._npx_reshape(data=part, newshape=(-2, -2, heads, -1), name=f"{name}_reshape")
        return amp.sym.SwapAxis(part, dim1=1, dim2=2, name=f"{name}_swap")

    q, k, v = (separate(parts[i], name) for i, name in enumerate("qkv"))
    scores = amp.sym.batch_dot(q, k, transpose_b=True, name="scores")
    mask = amp.sym.Cast(amp.sym.expand_dims(mask, axis=1, name="mask4"), dtype="bool", name="mask_bool")
    attention = amp.sym.masked_softmax(scores, mask, axis=-1, temperature=(units // heads) ** 0.5, name="attention")
    attention = amp.sym.Dropout(attention, p=0.1, name="dropout")
    values = internal._npi_transpose(
        data=amp.sym.batch_dot(attention, v, name="values"), axes=(0, 2, 1, 3), name="back"
    )
    return internal._npx_reshape(data=values, newshape=(-2, -2, -1), name="merged")


def disabled_second():
    return dense(dense(variable("data"), "d0", 16), "d1", 16, attr=DISABLED)


def block_of(symbol, example, inputs=("data",), seed=1):
    generator = np.random.default_rng(seed)
    given = {name: array.shape for name, array in zip(inputs, example)}
    shapes = dict(zip(symbol.list_arguments(), symbol.infer_shape(**given)[0]))
    params = {name: generator.uniform(-1, 1, s).astype("f4") for name, s in shapes.items() if name not in inputs}
    return mx.gluon.SymbolBlock(symbol, [variable(name) for name in inputs], params)


def outputs_of(block, example):
    outputs = block(*example)
    return [np.asarray(o.asnumpy(), "f4") for o in (outputs if isinstance(outputs, list) else [outputs])]


def assert_near(got, expected, rtol, atol):
    """`atol` in units of the largest element."""
    assert len(got) == len(expected)
    for a, b in zip(got, expected):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * np.abs(b).max())


def converted(block, example, excluded=(), policy="mxnet"):
    return amp.convert_hybrid_block(
        block,
        list(example),
        target_dtype="bfloat16",
        excluded_sym_names=list(excluded),
        cast_params_offline=True,
        policy=policy,
    )


def nodes_of(block):
    return json.loads(block.export(None, remove_amp_cast=False)[0].tojson())["nodes"]


def graph_of(block):
    """[(operator, inputs)]: what MXNet's tests compare."""
    return [(node["op"], node["inputs"]) for node in nodes_of(block)]


def run_procedure(build, example, excluded, policy="mxnet", inputs=("data",)):
    """The block after all three steps; numbers are checked on the way."""
    block = block_of(build(), example, inputs)
    expected = outputs_of(block, example)
    block.optimize_for(example[0], *example[1:], backend="ONEDNN")
    assert_near(outputs_of(block, example), expected, 0, 1e-6)  # fusing alone changes nothing
    result = converted(block, example, excluded, policy)
    assert_near(outputs_of(result, example), expected, 0.05, 0.02)
    result.optimize_for(*example, backend="ONEDNN_AMP")
    assert_near(outputs_of(result, example), expected, 0.05, 0.02)
    return result


def variables(count):
    return [("null", [])] * count


def layer(op, data, first):
    """A fused layer that reads `data` and two parameters, which stand in front of it."""
    return [*variables(2), (op, [[data, 0, 0], [first, 0, 0], [first + 1, 0, 0]])]


HEAD = [("null", []), ("amp_cast", [[0, 0, 0]])]
X8, IMAGE = np.random.default_rng(3).uniform(-1, 1, (1, 8)), np.random.default_rng(4).uniform(-1, 1, (1, 3, 8, 8))
X16 = np.random.default_rng(5).uniform(-1, 1, (1, 16))

# name: graph, input, excluded, expected nodes
CASES = {
    "1 fc": (fc, X8, [], [*HEAD, *layer(FC, 1, 2), *layer(FC, 4, 5)]),
    "1 fc, second excluded": (
        fc,
        X8,
        ["sg_onednn_fully_connected_1"],
        [*HEAD, *layer(FC, 1, 2), *layer(FC, 4, 5)],
    ),
    "2 conv": (conv, IMAGE, [], [*HEAD, *layer(CONV, 1, 2), *layer(CONV, 4, 5)]),
    "2 conv, second excluded": (conv, IMAGE, ["sg_onednn_conv_1"], [*HEAD, *layer(CONV, 1, 2), *layer(CONV, 4, 5)]),
    "3 concat": (
        concat,
        X16,
        [],
        [*HEAD, *layer(FC, 1, 2), *layer(FC, 1, 5), ("Concat", [[4, 0, 0], [7, 0, 0]]), ("amp_cast", [[8, 0, 0]])],
    ),
    "3 concat, second excluded": (
        concat,
        X16,
        ["sg_onednn_fully_connected_1"],
        [*HEAD, *layer(FC, 1, 2), *layer(FC, 0, 5), ("Concat", [[4, 0, 0], [7, 0, 0]])],
    ),
    "4 branch": (
        branch,
        np.ones(10),
        [],
        [*HEAD, *layer(FC, 1, 2), *layer(FC, 4, 5), ("amp_cast", [[4, 0, 0]]), ("softmax", [[8, 0, 0]])],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_node_lists(case):
    build, x, excluded, expected = CASES[case]
    result = run_procedure(build, [x.astype("f4")], excluded)
    assert graph_of(result) == expected


# Where they differ, policy default is better: layers that are read in float32 write it.
SAME_UNDER_DEFAULT = [name for name in CASES if name not in ("3 concat", "4 branch")]


@pytest.mark.parametrize("case", SAME_UNDER_DEFAULT)
def test_policy_default_gives_the_same_nodes(case):
    build, x, excluded, expected = CASES[case]
    result = run_procedure(build, [x.astype("f4")], excluded, policy="default")
    assert graph_of(result) == expected


def test_policy_default_lets_layers_write_float32():
    result = run_procedure(concat, [X16.astype("f4")], [], policy="default")
    assert graph_of(result) == CASES["3 concat"][3][:-1]
    assert float_outputs(result) == ["float32", "float32"]
    result = run_procedure(branch, [np.ones(10, "f4")], [], policy="default")
    assert [op for op, _ in graph_of(result)].count(FC) == 2


def float_outputs(block):
    return [n.get("attrs", {}).get("enabled_float_output") for n in nodes_of(block) if n["op"].startswith("_sg_")]


def test_where_float32_is_written():
    """A cast disappears into the node before it, unless another node reads that in bfloat16."""
    x = [X8.astype("f4")]
    assert float_outputs(run_procedure(fc, x, [])) == [None, "float32"]
    assert float_outputs(run_procedure(fc, x, ["sg_onednn_fully_connected_1"])) == ["float32", None]
    assert float_outputs(run_procedure(concat, [X16.astype("f4")], [])) == [None, None]
    assert float_outputs(run_procedure(concat, [X16.astype("f4")], ["sg_onednn_fully_connected_1"])) == [
        "float32",
        None,
    ]
    assert float_outputs(run_procedure(branch, [np.ones(10, "f4")], [])) == [None, "float32"]


def test_names_of_fused_nodes_begin_at_0_in_every_call():
    block = block_of(fc(), [X8])
    for _ in range(2):
        fused = block.symbol.optimize_for("ONEDNN")
        assert fused.list_outputs() == ["sg_onednn_fully_connected_1_output"]
    result = run_procedure(branch, [np.ones(10, "f4")], [])
    names = [node["name"] for node in nodes_of(result) if node["op"] == FC]
    assert names == ["sg_onednn_fully_connected_0", "sg_onednn_fully_connected_eltwise_1"]


def attention_inputs():
    generator = np.random.default_rng(6)
    return [generator.uniform(0, 1, (16, 32, 8)).astype("f4"), generator.integers(0, 2, (16, 32, 32)).astype("i4")]


@pytest.mark.parametrize("policy", ["mxnet", "default"])
@pytest.mark.parametrize("excluded", [[], ["sg_onednn_fully_connected_0"]])
def test_transformer(excluded, policy):
    result = run_procedure(transformer, attention_inputs(), excluded, policy, ("data", "mask"))
    ops = [node["op"] for node in nodes_of(result) if node["op"] not in ("null", "amp_cast")]
    assert ops == [
        FC,
        "_sg_onednn_selfatt_qk_split",
        "expand_dims",
        "Cast",
        "masked_softmax",
        "_sg_onednn_selfatt_valatt",
    ]


def counts_of(block, x):
    """(tensors in bfloat16, casts to it, other casts), sets of names as in test_amp_contract.py."""
    low, low_casts, other_casts = set(), set(), set()

    def see(name, op, array):
        is_low = amp.dtype_name(array.dtype) == "bfloat16"
        if is_low:
            low.add(name)
        if op == "amp_cast":
            (low_casts if is_low else other_casts).add(name)

    block.register_op_hook(see)
    block(x)
    block.register_op_hook(None)
    return len(low), len(low_casts), len(other_casts)


def test_exclusion_after_the_graph_pass():
    """6: the constraint inside of a fused node holds."""
    x = X8.astype("f4")
    block = block_of(disabled_second(), [x])
    assert counts_of(converted(block, [x]), x) == (2, 1, 1)
    block.optimize_for(x, backend="ONEDNN")
    result = converted(block, [x])
    assert counts_of(result, x) == (2, 1, 1)
    assert [op for op, _ in graph_of(result)].count(FC) == 2


def test_a_fused_file_is_fused_after_conversion_and_loads_again():
    x = [IMAGE.astype("f4")]
    result = run_procedure(conv, x, [])
    again = amp.sym.load_json(result.symbol.tojson())
    assert again.tojson() == result.symbol.tojson()
    other = mx.gluon.SymbolBlock(again, [variable("data")], result.collect_params())
    assert_near(outputs_of(other, x), outputs_of(result, x), 0, 0)
