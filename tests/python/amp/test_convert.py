"""amp.convert_model as Python sees it; the pass itself is tested in C++."""

import inspect
import json
import re

import ml_dtypes
import numpy as np
import pytest

import amp

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

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
    symbol, args, aux = amp.convert_model(*model, "float32", fold_batch_norm=False)
    assert symbol.list_arguments() == model[0].list_arguments()
    assert symbol.list_outputs() == model[0].list_outputs()
    assert args.keys() == model[1].keys() and aux.keys() == model[2].keys()
    assert {array.dtype for array in args.values()} == {np.dtype("f4")}
    assert any("data" in name for name in casts(symbol))


def test_nothing_that_was_passed_is_modified(model):
    net, args, aux = model
    text = net.tojson()
    kept = {name: array.asnumpy() for name, array in args.items()}
    converted = amp.convert_model(net, args, aux, "float32", cast_params_offline=True)
    assert net.tojson() == text
    for name, array in args.items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array.asnumpy(), kept[name])
    assert converted[1] is not args and converted[1]["conv_weight"].dtype == BF16


def test_offline_casts_are_those_of_numpy(model):
    _, args, _ = model
    _, converted, aux = amp.convert_model(*model, "float32", cast_params_offline=True, fold_batch_norm=False)
    np.testing.assert_array_equal(converted["conv_weight"].asnumpy(), args["conv_weight"].asnumpy().astype(BF16))
    for name in ("bn_gamma", "bn_beta"):
        assert converted[name].dtype == np.float32
    assert all(array.dtype == np.float32 for array in aux.values())


def test_batch_norm_is_folded_before_weights_are_rounded(model):
    net, args, aux = model
    symbol, converted, states = amp.convert_model(net, args, aux, "float32", cast_params_offline=True)
    assert "BatchNorm" not in symbol.tojson() and states == {} and set(converted) == {"conv_weight", "conv_bias"}
    scale = args["bn_gamma"].asnumpy().astype("f8") / np.sqrt(aux["bn_moving_var"].asnumpy().astype("f8") + 1e-3)
    weight = args["conv_weight"].asnumpy() * scale[:, None, None, None]
    errors = converted["conv_weight"].asnumpy().astype("f8") - weight
    assert (np.abs(errors) <= 2.0**-7 * np.abs(weight)).all()  # one of the two neighbours
    nearest = weight.astype("f4").astype(BF16).astype("f8") - weight
    assert np.abs(errors.sum((1, 2, 3))).sum() < 0.2 * np.abs(nearest.sum((1, 2, 3))).sum()  # errors cancel
    assert symbol.list_outputs() == net.list_outputs()


def test_offline_and_online_casts_give_the_same_bits(model):
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype("f4")
    outputs = []
    for offline in (False, True):
        converted = amp.convert_model(*model, "float32", cast_params_offline=offline)
        outputs.append(amp.Executor(*converted, {"data": x.shape})(x)[0].asnumpy())
    forced = {"target_dtype": "bfloat16", "emulate": True}
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
    converted = amp.convert_model(net, numpy_args, aux, "float32", cast_params_offline=True, policy="mxnet")[1]
    assert all(isinstance(array, amp.NDArray) for array in converted.values())
    assert np.shares_memory(np.asarray(converted["bn_beta"]), numpy_args["bn_beta"])


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


def test_one_structured_dtype_is_for_all_inputs():
    net = two_inputs()
    params = dict.fromkeys([name for name in net.list_arguments() if "fc" in name], BF16)
    assert casts(amp.convert_symbol(net, [("bfloat16", np.uint16)], params)) == []


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
        amp.convert_model(*model, "float32", "bfloat16", None, None, None, None, True, [])
    with pytest.raises(TypeError):
        amp.convert_symbol(model[0], {}, {}, "bfloat16", None, None, None, None, True, [])
    with pytest.raises(TypeError):
        amp.convert_hybrid_block(model[0], None, "bfloat16", None, None, None, None, None, True, "cpu")


# ---- symbols by themselves ----


def float32_params(symbol, *inputs):
    return dict.fromkeys([name for name in symbol.list_inputs() if name not in inputs], "float32")


@pytest.mark.parametrize("policy", ["default", "mxnet"])
@pytest.mark.parametrize("offline", [False, True])
def test_a_symbol_is_converted_as_its_model_is(model, policy, offline):
    net, args, aux = model
    options = {"policy": policy, "cast_params_offline": offline, "fold_batch_norm": False}
    expected, arrays, _ = amp.convert_model(net, args, aux, "float32", **options)
    text = net.tojson()
    found = amp.convert_symbol(net, {"data": "float32"}, float32_params(net, "data"), "bfloat16", **options)
    assert isinstance(found, amp.Symbol) and found.tojson() == expected.tojson() and net.tojson() == text
    marked = {name for name, attrs in found.attr_dict().items() if "__amp_dtype__" in attrs}
    assert marked == {name for name, array in arrays.items() if array.dtype == BF16}
    low = {"conv_weight"} if policy == "default" else {"conv_weight", "conv_bias"}  # biases stay float32
    assert marked == (low if offline else set())


@pytest.mark.parametrize("inputs", [None, {}, "float32", ["float32"], {"data": np.float32}], ids=str)
def test_inputs_of_symbols(inputs):
    net = conv_net()
    found = amp.convert_symbol(net, inputs, float32_params(net, "data"))
    assert found.tojson() == amp.convert_symbol(net, {"data": "float32"}, float32_params(net, "data")).tojson()
    assert casts(found)


def test_parameters_in_low_precision_need_no_cast():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")
    for spelling in ("bfloat16", BF16, np.dtype([("bfloat16", np.uint16)])):
        params = {"fc_weight": spelling, "fc_bias": spelling}
        assert casts(amp.convert_symbol(net, {"data": spelling}, params)) == []


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"sym": None}, "expected a Symbol, got NoneType"),
        ({"param_dtypes": ["float32"]}, "param_dtypes: expected a dict .name: dtype., got list"),
        ({"param_dtypes": {"fc1_weigth": "float32"}}, "fc1_weigth"),
        ({"param_dtypes": {"fc1_weight": "float33"}}, "float33"),
        ({"param_dtypes": {"left": "float32"}, "input_dtypes": {"left": "float32"}}, "both name left"),
        ({"input_dtypes": {"lefd": "float32"}}, "lefd"),
        ({"fold_batch_norm": True}, "fold_batch_norm: a symbol has no values.*use convert_model"),
    ],
)
def test_wrong_arguments_for_symbols(arguments, text):
    everything = {"sym": two_inputs(), "input_dtypes": {}, "param_dtypes": {}, **arguments}
    with pytest.raises(amp.ArgumentError, match=text):
        amp.convert_symbol(**everything)


# ---- what decides ----


def chain():
    net = amp.sym.Variable("data")
    for name in ("stage1_fc", "stage2_fc", "head[0]"):
        net = amp.sym.FullyConnected(net, num_hidden=4, name=name)
        net = amp.sym.sin(net, name=f"{name}_sine")
    return net


@pytest.fixture
def layers():
    net = chain()
    return (net, *params_for(net, data=(2, 4)))


def low(symbol):
    """Names of the operators (casts aside) whose first output is bfloat16."""
    internals = symbol.get_internals()
    types = internals.infer_type_partial(data="float32")[1]
    low_outputs = {name for name, dtype in zip(internals.list_outputs(), types) if dtype is ml_dtypes.bfloat16}
    nodes = json.loads(symbol.tojson())["nodes"]
    return [node["name"] for node in nodes if f"{node['name']}_output" in low_outputs and node["op"] != "amp_cast"]


ALL = ["stage1_fc", "stage2_fc", "head[0]"]


@pytest.mark.parametrize(
    "excluded, left",
    [
        (None, ALL),
        ([], ALL),
        (["stage1_fc"], ["stage2_fc", "head[0]"]),
        (["stage*"], ["head[0]"]),
        (["stage?_fc"], ["head[0]"]),
        (["head[0]"], ["stage1_fc", "stage2_fc"]),  # a name first, and only then a pattern
        pytest.param({"stage1_fc", "stage2_fc"}, ["head[0]"], id="a set"),
        ([re.compile("stage._fc")], ["head[0]"]),
        ([re.compile(r"head\[\d\]"), "stage1_fc"], ["stage2_fc"]),
        ([re.compile(".*")], []),
    ],
    ids=str,
)
def test_excluded_names(layers, excluded, left):
    kept = list(excluded or ())
    symbol, *_ = amp.convert_model(*layers, policy="mxnet", excluded_sym_names=excluded)
    assert low(symbol) == left
    assert list(excluded or ()) == kept


def test_an_expression_has_to_match_the_whole_name(layers):
    with pytest.raises(amp.ArgumentError, match="no operator of the model has a name that matches 'stage'"):
        amp.convert_model(*layers, excluded_sym_names=[re.compile("stage")])


def test_excluded_names_of_one_call_are_not_remembered(layers):
    amp.convert_model(*layers, policy="mxnet", excluded_sym_names=["stage*"])
    assert low(amp.convert_model(*layers, policy="mxnet")[0]) == ALL


@pytest.mark.parametrize(
    "force, found",
    [
        ({"stage1_fc": "float32"}, ["stage2_fc", "head[0]"]),
        ({re.compile(".*_fc"): np.float32, "head[0]": BF16}, ["head[0]"]),
        ({"stage1_fc_sine": "bfloat16"}, ["stage1_fc", "stage1_fc_sine", "stage2_fc", "head[0]"]),
    ],
    ids=str,
)
def test_force(layers, force, found):
    given = dict(force)
    symbol, *_ = amp.convert_model(*layers, policy="mxnet", force=force, excluded_sym_names=["nothing*"][:0])
    assert low(symbol) == found and force == given


def test_lists_of_operators(layers):
    convert = amp.convert_model
    assert low(convert(*layers, policy="mxnet", fp32_ops=["FullyConnected"], target_dtype_ops=["sin"])[0]) == [
        f"{name}_sine" for name in ALL
    ]
    conditional = [("FullyConnected", "num_hidden", [4])]
    for entries in (conditional, tuple(conditional), [["FullyConnected", "num_hidden", ("4", "5")]]):
        assert low(convert(*layers, policy="mxnet", conditional_fp32_ops=entries)[0]) == []
    conditional = [("FullyConnected", "no_bias", [True])]
    assert low(convert(*layers, policy="mxnet", conditional_fp32_ops=conditional)[0]) == ALL


@pytest.mark.parametrize("dtypes", ["bfloat16", [BF16], {"head[0]_sine_output": "bfloat16"}], ids=str)
def test_output_dtypes(layers, dtypes):
    symbol, args, aux = amp.convert_model(*layers, output_dtypes=dtypes)
    assert symbol.infer_type_partial(data="float32")[1] == [ml_dtypes.bfloat16]
    assert symbol.list_outputs() == layers[0].list_outputs()


def test_one_float_is_not_meant_for_integers():
    ids = amp.sym.Variable("ids", dtype="int32")
    net = amp.sym.take(amp.sym.Variable("table"), ids, name="rows")
    net = amp.sym.FullyConnected(amp.sym.elemwise_add(net, amp.sym.Variable("data")), num_hidden=2, name="fc")
    args = {"table": np.ones((5, 3), "f4"), "fc_weight": np.ones((2, 3), "f4"), "fc_bias": np.ones(2, "f4")}
    for dtypes, found in (("float32", "int32"), ({"ids": "int64"}, "int64"), ({"ids": "float32"}, "float32")):
        report = amp.convert_model(net, args, {}, dtypes, return_report=True)[-1]
        assert report.tensor("ids")["before"] == found and report.tensor("data")["before"] == "float32"


def test_folding_batch_norms(model):
    folded = amp.convert_model(*model, fold_batch_norm=True)
    kept = amp.convert_model(*model, fold_batch_norm=False)
    assert "BatchNorm" not in folded[0].tojson() and "BatchNorm" in kept[0].tojson()
    assert amp.convert_model(*model)[0].tojson() == folded[0].tojson()
    assert amp.convert_model(*model, policy="mxnet")[0].tojson().count("BatchNorm") == 1
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype("f4")
    outputs = [amp.Executor(*converted, {"data": x.shape})(x)[0].asnumpy() for converted in (folded, kept)]
    np.testing.assert_allclose(*outputs, rtol=0.05, atol=0.05)


def test_reports_come_last(model):
    net, args, aux = model
    *converted, report = amp.convert_model(*model, return_report=True)
    assert len(converted) == 3 and type(report).__name__ == "ConversionReport"
    converted, report = amp.convert_symbol(net, {}, float32_params(net, "data"), return_report=True)
    assert isinstance(converted, amp.Symbol) and type(report).__name__ == "ConversionReport"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"policy": "fast"}, "policy: expected 'default' or 'mxnet' or 'graphamp' or 'optimal', got 'fast'"),
        ({"minimize": "casts"}, "minimize: expected policy 'optimal', got 'default'"),
        ({"minimize": "casts", "policy": "mxnet"}, "minimize: expected policy 'optimal', got 'mxnet'"),
        ({"minimize": "bytes", "policy": "optimal"}, "minimize: expected 'time' or 'casts', got 'bytes'"),
        ({"policy": "optimal", "minimize": "time"}, "minimize='time' needs a machine"),
        ({"target_dtype": "float32"}, "target_dtype: expected bfloat16 or float16, got float32"),
        (
            {"target_dtype_ops": "FullyConnected"},
            r"expected a list, got str; write \['FullyConnected'\]",
        ),
        ({"fp32_ops": 3}, "fp32_ops: expected a list, got int"),
        ({"widest_dtype_ops": [3]}, "widest_dtype_ops: expected names of operators, got 3"),
        ({"excluded_sym_names": "stage1_fc"}, r"write \['stage1_fc'\]"),
        ({"excluded_sym_names": [3]}, "expected names or regular expressions .re.compile., got 3"),
        ({"excluded_sym_names": [re.compile(b"x")]}, "expected names or regular expressions"),
        ({"conditional_fp32_ops": [("sin",)]}, "expected .operator, attribute, .values.., got .'sin',."),
        ({"conditional_fp32_ops": [("sin", "x", "y")]}, r"values of sin's x: expected a list, got str; write \['y'\]"),
        ({"conditional_fp32_ops": "sin"}, "conditional_fp32_ops: expected a list"),
        ({"force": ["stage1_fc"]}, "force: expected a dict .node: dtype., got list"),
        ({"force": True}, "force: expected a dict .node: dtype., got bool; emulate=True converts although"),
        ({"force": {"stage1_fc": "float33"}}, "float33"),
        (
            {"force": {re.compile("s.*"): "float32", "stage1_fc": "bfloat16"}},
            "'stage1_fc' is to be both float32 and bfloat16",
        ),
        ({"output_dtypes": ["float32"] * 2}, "output_dtypes has 2 entries, but the model has 1 outputs"),
        ({"cast_params_offline": "yes"}, "cast_params_offline: expected True or False, got 'yes'"),
        ({"fold_batch_norm": 2}, "fold_batch_norm: expected True or False, got 2"),
        # what the extension looks up
        ({"excluded_sym_names": ["stage1_fd"]}, "'stage1_fd'.*'stage1_fc'"),
        ({"force": {"stage1_fd": "float32"}}, "'stage1_fd'.*'stage1_fc'"),
        ({"fp32_ops": ["FullyConected"]}, "'FullyConected'.*'FullyConnected'"),
        ({"output_dtypes": {"head[0]_sine_outputs": "float32"}}, "head.0._sine_outputs"),
        ({"fp32_ops": ["FullyConnected"], "target_dtype_ops": ["FullyConnected"]}, "FullyConnected"),
    ],
    ids=str,
)
def test_wrong_options(layers, options, text):
    with pytest.raises(amp.ArgumentError, match=text):
        amp.convert_model(*layers, **options)


def test_executors_take_the_same_options(layers):
    options = {"target_dtype": BF16, "policy": "mxnet", "excluded_sym_names": [re.compile("stage.*")], "emulate": True}
    run = amp.Executor(*layers, {"data": (2, 4)}, reduce_precision=options)
    assert low(run.symbol) == ["head[0]"]
    with pytest.raises(amp.ArgumentError, match="there is no option 'excluded_sym_name'; did you mean 'excluded_sym_n"):
        amp.Executor(*layers, {"data": (2, 4)}, reduce_precision={"excluded_sym_name": ["x"], "fp32_ops": []})


def test_all_mistakes_are_named_at_once(layers):
    with pytest.raises(amp.ArgumentError) as caught:
        amp.convert_model(*layers, policy="x", fp32_ops="y", force=3, excluded_sym_names=[re.compile("z")])
    assert len(str(caught.value).splitlines()) == 4


def test_the_three_take_the_same_options():
    tails = [list(inspect.signature(f).parameters) for f in (amp.convert_symbol, amp.convert_model)]
    assert tails[0][3:] == [name for name in tails[1][4:] if name not in ("verify", "on_failure")]  # need parameters
    block = list(inspect.signature(amp.convert_hybrid_block).parameters)
    assert [name for name in block[2:] if name not in ("device", "ctx")] == [
        name
        for name in tails[0][3:]
        if name != "input_shapes"  # the example has them
    ]
