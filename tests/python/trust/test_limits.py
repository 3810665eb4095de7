"""The option `limits` of conversions: what exceeds a limit stays in float32, and the report says by how much."""

import numpy as np
import pytest
import trust_networks

import amp
from amp import _core, sym
from amp.__main__ import main

POLICIES = ("default", "mxnet", "graphamp", "optimal")


def scaled_layers():
    """((symbol, arguments, {}), data): dense layers of widths 8, 16 and 4; the second one's weights are large."""
    x = sym.Variable("data")
    for name, width in (("a", 16), ("b", 4), ("c", 4)):
        x = sym.FullyConnected(x, num_hidden=width, no_bias=True, name=name)
    draw = np.random.default_rng(0)
    shapes = {"a_weight": (16, 8), "b_weight": (4, 16), "c_weight": (4, 4)}
    args = {name: draw.uniform(0.1, 1, shape).astype("float32") for name, shape in shapes.items()}
    args["b_weight"] *= np.float32(50)
    args["c_weight"] *= np.float32(1e-3)
    return (x, args, {}), draw.uniform(0.1, 1, (6, 8)).astype("float32")


@pytest.fixture(scope="module")
def model():
    return scaled_layers()[0]


DATA = scaled_layers()[1]


def report_of(model, **options):
    return amp.convert_model(*model, return_report=True, **options)[-1]


def over_limit(report):
    """{node: text} of what exceeds a limit."""
    return {t["node"]: t["reason"]["text"] for t in report.tensors if t["reason"]["kind"] == "over_limit"}


def reads_low(model, **options):
    """Nodes that read low precision."""
    report = report_of(model, **options)
    return {reader["node"] for cast in report.casts for reader in cast["readers"] if cast["to"] == "bfloat16"}


def values_of(model):
    args = {name: array.astype("float64") for name, array in model[1].items()}
    a = DATA.astype("float64") @ args["a_weight"].T
    b = a @ args["b_weight"].T
    return {"a": a, "b": b, "c": b @ args["c_weight"].T}


@pytest.mark.parametrize("policy", POLICIES)
def test_an_activation_is_that_of_data_read_or_written(model, policy):
    values = values_of(model)
    limit = float(np.sqrt(values["a"].max() * values["b"].max()))
    options = {"policy": policy, "limits": {"activation": limit}, "data": DATA}
    found = over_limit(report_of(model, **options))
    assert set(found) == {"b", "c"}  # one writes it, the other reads it
    assert f"b_output is as large as {values['b'].max():.6g} on the data, more than activation {limit:g}" in found["b"]
    assert reads_low(model, **options) == {"a"}
    assert reads_low(model, policy=policy) == {"a", "b", "c"}


def test_the_largest_of_all_batches_counts(model):
    batches = [DATA[:3], 100 * DATA[3:]]
    limit = {"activation": float(50 * values_of(model)["a"].max())}
    assert "a" not in over_limit(report_of(model, limits=limit, data=DATA))
    assert set(over_limit(report_of(model, limits=limit, data=iter(batches)))) == {"a", "b", "c"}


def test_an_infinite_activation_exceeds_every_limit(model):
    data = DATA.copy()
    data[0, 0] = np.inf
    assert set(over_limit(report_of(model, limits={"activation": 1e38}, data=data))) == {"a", "b", "c"}


def test_indices_are_no_activations():
    net = sym.Embedding(sym.Variable("data"), input_dim=1000, output_dim=4, name="embedding")
    model = (net, {"embedding_weight": np.full((1000, 4), 2, "f")}, {})
    data = np.array([[900, 1]], "f")
    assert over_limit(report_of(model, limits={"activation": 512}, data=data)) == {}
    assert set(over_limit(report_of(model, limits={"activation": 1}, data=data))) == {"embedding"}


def test_a_parameter_needs_no_data(model):
    largest = float(np.abs(model[1]["b_weight"]).max())
    assert set(over_limit(report_of(model, limits={"parameter": largest}))) == set()  # at a limit is within it
    found = over_limit(report_of(model, limits={"parameter": largest * 0.999}))
    assert set(found) == {"b"} and f"b_weight is as large as {largest:.6g}" in found["b"]


def test_parameters_are_those_with_folded_batch_norms():
    net = sym.Convolution(sym.Variable("data"), kernel=(1, 1), num_filter=2, no_bias=True, name="conv")
    net = sym.BatchNorm(net, fix_gamma=False, name="bn", eps=1e-5)
    args = {
        "conv_weight": np.full((2, 2, 1, 1), 0.5, "f"),
        "bn_gamma": np.full(2, 64, "f"),
        "bn_beta": np.zeros(2, "f"),
    }
    aux = {"bn_moving_mean": np.zeros(2, "f"), "bn_moving_var": np.ones(2, "f")}
    limits = {"parameter": 100}
    assert over_limit(report_of((net, args, aux), limits=limits)) == {}
    args["bn_gamma"] *= np.float32(8)
    found = over_limit(report_of((net, args, aux), limits=limits))
    assert list(found) == ["conv"] and "conv_weight is as large as 255.99" in found["conv"]
    found = over_limit(report_of((net, args, aux), limits=limits, fold_batch_norm=False))
    assert list(found) == ["bn"] and "bn_gamma is as large as 512" in found["bn"]
    data = np.ones((1, 2, 3, 3), "f")
    found = over_limit(report_of((net, args, aux), limits={"activation": 500}, data=data))
    assert list(found) == ["conv"] and "bn_output is as large as 511.99" in found["conv"]  # the output keeps its name


def test_a_depth_is_the_number_of_terms_of_a_sum(model):
    for given in ({"data": DATA}, {"input_shapes": {"data": DATA.shape}}, {}):
        found = over_limit(report_of(model, limits={"depth": 8}, **given))
        assert found == {"b": "it exceeds a limit of the call: it sums up 16 terms, more than depth 8"}


def test_all_excesses_of_a_node_are_told(model):
    found = over_limit(report_of(model, limits={"depth": 8, "parameter": 5, "activation": 100}, data=DATA))
    assert all(word in found["b"] for word in ("16 terms", "b_weight is as large", "b_output is as large"))


def test_force_is_stronger_and_lists_of_operators_are_weaker(model):
    limits = {"depth": 8}
    assert "b" in reads_low(model, limits=limits, force={"b": "bfloat16"})
    assert "b" not in reads_low(model, limits=limits, target_dtype_ops=["FullyConnected"])
    assert "b" in reads_low(model, limits=limits, policy="graphamp", categories={"b": "allow"})
    excluded = report_of(model, limits=limits, excluded_sym_names=["b"])
    assert excluded.tensor("b")["reason"]["kind"] == "user"


def test_a_goal_for_accuracy_stays_within_limits(model):
    goal = {"error": 0.1}
    report = report_of(model, limits={"depth": 8}, accuracy=goal, data=DATA)
    assert report.accuracy["reached"] and set(over_limit(report)) == {"b"}
    assert report.tensor("a")["reason"]["kind"] != "over_limit"


def wrong(model, **options):
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_model(*model, **options)
    return str(raised.value)


def test_mistakes_are_told_together(model):
    text = wrong(model, limits={"activaton": 1, "depth": -1, "parameter": "large", "activation": True})
    assert "no limit 'activaton'; did you mean 'activation'?" in text
    assert all(f"{name}: expected a number above 0" in text for name in ("depth", "parameter", "activation"))
    for value in ({}, 512, {"depth": float("nan")}, {"depth": float("inf")}):
        assert "limits: " in wrong(model, limits=value)
    text = wrong(model, limits={"activation": 512}, force={"nothing": "bfloat16"}, policy="mxnet", minimize="casts")
    assert "limits: activation: expected data=" in text
    assert "no operator node 'nothing'" in text and "minimize: expected policy 'optimal'" in text


def test_a_depth_that_depends_on_unknown_shapes_is_an_error():
    net = sym.batch_dot(sym.Variable("x"), sym.Variable("y"), name="product")
    assert "not known of product: pass input_shapes= or data=" in wrong((net, {}, {}), limits={"depth": 8})
    shapes = {"x": (2, 3, 9), "y": (2, 9, 4)}
    found = over_limit(report_of((net, {}, {}), limits={"depth": 8}, input_shapes=shapes))
    assert "it sums up 9 terms" in found["product"]


def test_only_models_have_limits(model):
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_symbol(model[0], {"data": "float32"}, None, limits={"depth": 8})
    assert "limits: a symbol has no values to run" in str(raised.value)
    with pytest.raises(amp.ArgumentError) as raised:
        amp.Executor(*model, {"data": DATA.shape}, reduce_precision={"limits": {"depth": 8}})
    assert "limits: only amp.convert_model reads it" in str(raised.value)


# ---- depths: of ones, a sum of products is the number of its terms ----

x, y = sym.Variable("x"), sym.Variable("y")
SUMS = {
    "convolution": (sym.Convolution(x, kernel=(3, 2), num_filter=4, num_group=2, no_bias=True), {"x": (1, 6, 5, 5)}),
    "deconvolution": (sym.Deconvolution(x, kernel=(3, 3), num_filter=4, no_bias=True), {"x": (1, 5, 6, 6)}),
    "dense": (sym.FullyConnected(x, num_hidden=3, no_bias=True), {"x": (2, 3, 4)}),
    "dense of the last axis": (sym.FullyConnected(x, num_hidden=3, no_bias=True, flatten=False), {"x": (2, 3, 4)}),
    "dot": (sym.dot(x, y), {"x": (2, 7), "y": (7, 3)}),
    "dot, transposed": (sym.dot(x, y, transpose_a=True), {"x": (7, 2), "y": (7, 3)}),
    "batch_dot": (sym.batch_dot(x, y, transpose_b=True), {"x": (2, 3, 5), "y": (2, 4, 5)}),
    "batch_dot, transposed": (sym.batch_dot(x, y, transpose_a=True), {"x": (2, 5, 3), "y": (2, 5, 4)}),
    "gemm2": (sym.linalg.gemm2(x, y, transpose_a=True), {"x": (2, 6, 3), "y": (2, 6, 4)}),
    "syrk": (sym.linalg.syrk(x), {"x": (3, 5)}),
    "sum": (sym.sum(x, axis=(0, 2)), {"x": (2, 3, 4)}),
    "cumsum": (sym.cumsum(x, axis=1), {"x": (2, 9)}),
    "values of attention": (
        sym.contrib.interleaved_matmul_selfatt_valatt(x, y, heads=2),
        {"x": (7, 2, 30), "y": (4, 7, 7)},
    ),
    "values of others": (
        sym.contrib.interleaved_matmul_encdec_valatt(x, y, heads=2),
        {"x": (7, 2, 20), "y": (4, 3, 7)},
    ),
}


def depths_of(net, shapes):
    known = {name: ("float32", shape) for name, shape in shapes.items()}
    return [depth for depth in _core.reduction_depths(net._handle, known) if depth is not None]


@pytest.mark.parametrize("name", SUMS)
def test_depths_of_operators(name):
    net, shapes = SUMS[name]
    arguments = dict(zip(net.list_arguments(), net.infer_shape(**shapes)[0]))
    ones = {name: np.ones(shape, "float32") for name, shape in arguments.items()}
    (result,) = amp.Executor(net, {}, {}, arguments, mode="exact")(ones)
    assert depths_of(net, shapes) == [int(np.asarray(result).max())]


def test_depths_of_attention():
    query_key = sym.contrib.interleaved_matmul_selfatt_qk(x, heads=2)
    assert depths_of(query_key, {"x": (7, 2, 30)}) == [5]
    shapes = {"x": (3, 2, 10), "y": (7, 2, 20)}
    assert depths_of(sym.contrib.interleaved_matmul_encdec_qk(x, y, heads=2), shapes) == [5]
    assert depths_of(sym.relu(x), {"x": (2,)}) == []
    assert depths_of(sym.dot(x, y), {}) == [-1]


# ---- in a shell ----


def test_in_a_shell(model, tmp_path, capsys):
    prefix, low = str(tmp_path / "net"), str(tmp_path / "low")
    amp.save_checkpoint(prefix, 0, *model)
    np.savez(tmp_path / "data.npz", data=DATA)
    data = ["--data", str(tmp_path / "data.npz")]
    assert main(["convert", prefix, *data, "--limits", "depth=8,activation=1e9", "-o", low]) == 0
    assert main(["why", prefix, "b", *data, "--limits", "depth=8"]) == 0
    assert "it sums up 16 terms, more than depth 8" in capsys.readouterr().out
    (tmp_path / "autocast.json").write_text('{"max_depth_of_reduction": 8, "data_max": 512, "init_max": 1e5}')
    like = ["--like", f"autocast:{tmp_path / 'autocast.json'}"]
    assert main(["convert", prefix, *like, *data, "-o", low, "--force"]) == 0
    names = amp.load_checkpoint(low, 0)[0].get_internals().list_outputs()
    assert any(name.startswith("a_weight_0_amp_cast") for name in names)
    assert not any(name.startswith("b_weight_0_amp_cast") for name in names)
    assert main(["convert", prefix, *like, "-o", low, "--force"]) == 2
    assert "limits: activation: expected data=" in capsys.readouterr().err
    for text in ("depth", "depth=-1", "deep=1", "depth=x"):
        with pytest.raises(SystemExit):
            main(["convert", prefix, "--limits", text, "-o", low])
        assert "--limits" in capsys.readouterr().err


def test_networks_of_several_kinds():
    for network in (trust_networks.residual, trust_networks.attention):
        model, data = network()
        limits = {"depth": 40, "activation": 3.0}
        report = report_of(model, limits=limits, data=data)
        found = over_limit(report)
        ranges = {row["name"]: row for row in report.ranges}
        for tensor in report.tensors:
            row = ranges.get(tensor["name"])
            if row and tensor["kind"] == "result" and tensor["dtype"] == "bfloat16":
                assert max(-row["smallest"], row["largest"]) <= 3.0, tensor["name"]
        assert found
