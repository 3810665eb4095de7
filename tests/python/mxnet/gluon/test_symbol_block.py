"""amp.gluon.SymbolBlock: models that are called like functions."""

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import SymbolBlock

BF16 = np.dtype(ml_dtypes.bfloat16)
RANDOM = np.random.default_rng(11)
WEIGHT, BIAS = RANDOM.standard_normal((3, 4)).astype("f4"), RANDOM.standard_normal(3).astype("f4")
PARAMS = {"fc_weight": WEIGHT, "fc_bias": BIAS}
X = RANDOM.standard_normal((2, 4)).astype("f4")
DATA = amp.sym.Variable("data")
FC = amp.sym.FullyConnected(DATA, num_hidden=3, name="fc")
RELU = amp.sym.relu(FC, name="relu")


def fc(x):
    return x @ WEIGHT.T + BIAS


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-5)


# ---- calls ----


def test_one_output_is_an_array():
    output = SymbolBlock(FC, DATA, PARAMS)(X)
    assert isinstance(output, amp.NDArray)
    close(output, fc(X))


@pytest.mark.parametrize("outputs", [[FC, RELU], (RELU, FC), amp.sym.Group([FC, RELU]), [[FC], RELU]], ids=str)
def test_several_outputs_are_a_list(outputs):
    block = SymbolBlock(outputs, [DATA], PARAMS)
    values = {"fc_output": fc(X), "relu_output": np.maximum(fc(X), 0)}
    found = block(X)
    assert isinstance(found, list) and len(found) == 2
    for name, array in zip(block.list_outputs(), found):
        close(array, values[name])


def test_inputs_come_in_the_order_of_the_inputs():
    left, right = amp.sym.Variable("left"), amp.sym.Variable("right")
    difference = left - right
    a, b = np.full(3, 5, "f4"), np.full(3, 2, "f4")
    assert SymbolBlock(difference, [left, right])(a, b).asnumpy().tolist() == [3, 3, 3]
    assert SymbolBlock(difference, [right, left])(a, b).asnumpy().tolist() == [-3, -3, -3]
    assert SymbolBlock(difference, amp.sym.Group([left, right]))(a, [b]).asnumpy().tolist() == [3, 3, 3]


class ArrayOfMXNet:
    """What an mxnet.nd.NDArray has in common with ours."""

    def __init__(self, array):
        self._array = array

    def asnumpy(self):
        return self._array.copy()


class Producer:
    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [np.asarray, amp.NDArray, ArrayOfMXNet, Producer])
def test_arrays_of_all_kinds(wrap):
    close(SymbolBlock(FC, DATA, PARAMS)(wrap(X)), fc(X))


def test_parameters_of_all_kinds():
    other = SymbolBlock(FC, DATA, PARAMS)
    for params in (
        {"arg:fc_weight": WEIGHT, "arg:fc_bias": BIAS},
        {"fc_weight": ArrayOfMXNet(WEIGHT), "fc_bias": Producer(BIAS)},
        {**PARAMS, "of_a_layer_that_was_cut_off": X, "data": X},
        other.collect_params(),
    ):
        block = SymbolBlock(FC, DATA, params)
        assert list(block.collect_params()) == ["fc_weight", "fc_bias"]
        close(block(X), fc(X))


def test_later_changes_of_the_callers_arrays_have_no_effect():
    params = {name: array.copy() for name, array in PARAMS.items()}
    block = SymbolBlock(FC, DATA, params)
    params["fc_weight"][:] = 0
    close(block(X), fc(X))


def label_net():
    return amp.sym.SoftmaxOutput(FC, name="softmax")


def test_labels_that_nobody_reads():
    label = amp.sym.Variable("softmax_label")
    wanted = np.exp(fc(X)) / np.exp(fc(X)).sum(axis=1, keepdims=True)
    close(SymbolBlock(label_net(), DATA, PARAMS)(X), wanted)
    block = SymbolBlock(label_net(), [DATA, label], PARAMS)
    close(block(X), wanted)
    close(block(X, np.zeros(2, "f4")), wanted)


def test_auxiliary_states_may_be_inputs():
    net = amp.sym.BatchNorm(DATA, fix_gamma=False, eps=0, name="bn")
    block = SymbolBlock(net, [amp.sym.Variable(name) for name in net.list_inputs()])
    ones = np.ones(4, "f4")
    for mean in (0, 1):
        close(block(X, ones, ones, ones * mean, ones * 4), (X - mean) / 2 + 1)


def test_an_input_that_a_complete_model_does_not_read():
    block = SymbolBlock(FC, [amp.sym.Variable("unread"), DATA], PARAMS)
    close(block(np.zeros(7), X), fc(X))


def test_executors_are_kept_and_share_weights(monkeypatch):
    made = []

    class Counting(amp.Executor):
        def __init__(self, *args, **kwargs):
            made.append(1)
            super().__init__(*args, **kwargs)

    monkeypatch.setattr("amp.mxnet.gluon.symbol_block.Executor", Counting)
    block = SymbolBlock(FC, DATA, PARAMS)
    for rows in (2, 2, 1, 2, 1):
        x = np.ones((rows, 4), "f4")
        close(block(x), fc(x))
    assert len(made) == 1 and len(block._executors()) == 2
    for rows in range(1, 30):
        assert block(np.ones((rows, 4), "f4")).shape == (rows, 3)
    assert len(block._executors()) == 8 and len(made) == 1


def test_dtypes_of_calls():
    block = SymbolBlock(amp.sym.relu(DATA), DATA)
    for dtype in ("float32", "bfloat16", "float64"):
        assert amp.dtype_name(block(amp.nd.array(X).astype(dtype)).dtype) == dtype


# ---- hooks ----


def test_hooks_see_every_operator():
    seen = []
    block = SymbolBlock(RELU, DATA, PARAMS)
    block.register_op_hook(lambda name, op, array: seen.append((name, op, array.asnumpy())))
    close(block(X), np.maximum(fc(X), 0))
    assert [item[:2] for item in seen] == [("fc_output", "FullyConnected"), ("relu_output", "relu")]
    np.testing.assert_allclose(seen[0][2], fc(X), rtol=1e-5, atol=1e-5)
    block.register_op_hook(None)
    block(X)
    assert len(seen) == 2
    block = SymbolBlock(RELU, DATA, PARAMS)
    block(X)
    block.register_op_hook(lambda *args: seen.append(args), monitor_all=False)  # after the first call
    block(X)
    assert len(seen) == 4
    block.register_op_hook(lambda *args: seen.append(args), monitor_all=True)
    block(X)
    assert [item[0] for item in seen[4:]] == [
        "fc_data",
        "fc_weight",
        "fc_bias",
        "fc_output",
        "relu_input0",
        "relu_output",
    ]
    with pytest.raises(amp.ArgumentError, match="function"):
        block.register_op_hook("print")


# ---- parameters and files ----


def norm_block():
    net = amp.sym.BatchNorm(FC, name="bn")
    return SymbolBlock(net, DATA, {**PARAMS, **{name: BIAS**2 + 1 for name in net.list_inputs() if "bn" in name}})


def test_parameters_can_be_looked_at():
    block = norm_block()
    assert list(block.collect_params()) == block.symbol.list_inputs()[1:]
    assert list(block.collect_params("bn_.*(mean|var)")) == ["bn_moving_mean", "bn_moving_var"]
    weight = block.collect_params()["fc_weight"]
    assert (weight.name, weight.shape, weight.dtype) == ("fc_weight", (3, 4), np.dtype("f4"))
    np.testing.assert_array_equal(weight.data().asnumpy(), WEIGHT)
    assert "fc_weight" in repr(weight)
    assert repr(block) == "SymbolBlock(\n<Symbol bn> : 1 -> 1\n)" and block.input_names == ["data"]
    assert block.hybridize(static_alloc=True) is None


def test_exported_files_come_back(tmp_path):
    block = norm_block()
    files = block.export(tmp_path / "net", epoch=3)
    assert files == (f"{tmp_path}/net-symbol.json", f"{tmp_path}/net-0003.params")
    for names in ("data", ["data"]):
        again = SymbolBlock.imports(files[0], names, files[1], ctx="cpu")
        np.testing.assert_array_equal(again(X).asnumpy(), block(X).asnumpy())
    symbol, params = block.export(None)
    assert symbol.tojson() == block.symbol.tojson()
    assert (
        sorted(params) == sorted(amp.nd.load(files[1])) and "aux:bn_moving_mean" in params and "arg:fc_bias" in params
    )


def test_parameters_are_saved_by_plain_names(tmp_path):
    block = norm_block()
    block.save_parameters(tmp_path / "net.params")
    assert list(amp.nd.load(tmp_path / "net.params")) == list(block.collect_params())
    block.symbol.save(tmp_path / "net.json")
    again = SymbolBlock.imports(tmp_path / "net.json", "data")
    assert not any(parameter.is_initialized for parameter in again.collect_params().values())
    again.load_parameters(tmp_path / "net.params")
    np.testing.assert_array_equal(again(X).asnumpy(), block(X).asnumpy())


def test_loading_replaces_what_calls_use(tmp_path):
    block = SymbolBlock(FC, DATA, PARAMS)
    block(X)
    amp.nd.save(tmp_path / "zero.params", {"fc_weight": WEIGHT * 0})
    block.load_parameters(tmp_path / "zero.params")
    close(block(X), np.tile(BIAS, (2, 1)))


def test_incomplete_and_strange_files(tmp_path):
    symbol, params = tmp_path / "net.json", tmp_path / "net.params"
    label_net().save(symbol)
    amp.nd.save(params, {"arg:fc_weight": WEIGHT})
    with pytest.raises(amp.ArgumentError, match="parameters are missing: fc_bias$"):
        SymbolBlock.imports(symbol, ["data"], params)
    SymbolBlock.imports(symbol, ["data"], params, allow_missing=True)
    amp.nd.save(params, {**PARAMS, "other": X})
    with pytest.raises(amp.GraphError, match="other"):
        SymbolBlock.imports(symbol, ["data"], params)
    assert SymbolBlock.imports(symbol, ["data"], params, ignore_extra=True)(X).shape == (2, 3)


# ---- mistakes ----


@pytest.mark.parametrize(
    "arguments, text",
    [
        ((3, DATA), "outputs: expected a Symbol or a list of Symbols, got int"),
        (([], DATA), "outputs"),
        (([FC, 3], DATA), "got int"),
        ((FC, "data"), "inputs: expected variables, got str"),
        ((RELU, FC), "'fc' is the output of an operator"),
        ((FC, [DATA, DATA]), "named twice: data"),
        ((FC, amp.sym.Variable("dta"), PARAMS), "no variable 'dta'; did you mean 'data'"),
        ((FC, DATA, [WEIGHT]), "params: expected a dict"),
        ((FC, DATA, {"fc_weight": "text"}), "parameter 'fc_weight': expected an array, got str"),
    ],
)
def test_wrong_blocks(arguments, text):
    with pytest.raises(amp.ArgumentError, match=text):
        SymbolBlock(*arguments)


@pytest.mark.parametrize(
    "args, text",
    [
        ((), r"expected 1 inputs \(data\), got 0 arrays: data missing"),
        ((X, X), "got 2 arrays"),
        (("x",), "input 'data': expected an array, got str"),
        ((X.astype("f8"),), r"data is float64; use data.astype\('float32'\)"),
    ],
)
def test_wrong_calls(args, text):
    with pytest.raises(amp.ArgumentError, match=text):
        SymbolBlock(FC, DATA, PARAMS)(*args)


def test_parameters_without_arrays_are_named_by_the_call():
    with pytest.raises(amp.Error, match="fc_bias"):
        SymbolBlock(FC, DATA, {"fc_weight": WEIGHT})(X)


# ---- blocks that are made from symbols alone ----


def two_layers():
    hidden = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="hidden")
    return amp.sym.FullyConnected(amp.sym.relu(hidden), num_hidden=3, name="out")


def test_initialize_makes_the_parameters_in_the_first_call():
    block = SymbolBlock(two_layers(), amp.sym.Variable("data"))
    block.initialize("ones")
    assert [parameter.is_open for parameter in block.collect_params().values()] == [True] * 4
    assert block(amp.nd.ones((2, 5))).asnumpy().tolist() == [[20.0] * 3] * 2  # biases are 0
    assert block.collect_params()["hidden_weight"].shape == (4, 5)
    block.initialize("zeros")  # there are arrays
    assert block(amp.nd.ones((2, 5))).asnumpy().any()
    block.initialize("zeros", force_reinit=True)
    assert not block(amp.nd.ones((2, 5))).asnumpy().any()


@pytest.mark.parametrize("moment", ["before the first call", "after it", "after the conversion"])
def test_a_block_of_symbols_and_initialize_is_converted_and_runs(moment):
    x = np.random.default_rng(0).uniform(-1, 1, (2, 5)).astype("float32")
    block = SymbolBlock(two_layers(), amp.sym.Variable("data"))
    if moment != "after the conversion":
        block.initialize(mx.init.Xavier())
    if moment == "after it":
        block(x)
    low = mx.amp.convert_hybrid_block(block, x, "bfloat16")
    if moment == "after the conversion":
        low.initialize(mx.init.Xavier())
        assert low(x).shape == (2, 3)
        return
    assert "amp_cast" in low.symbol.tojson()
    np.testing.assert_allclose(low(x).asnumpy(), block(x).asnumpy(), atol=0.05)


def test_parameters_of_a_block_that_was_not_called_have_no_arrays_yet():
    block = SymbolBlock(two_layers(), amp.sym.Variable("data"))
    block.initialize()
    with pytest.raises(mx.gluon.DeferredInitializationError, match="hidden_weight"):
        block.collect_params()["hidden_weight"].data()


@pytest.mark.parametrize("by", ["NDArray", "NumPy", "a view that is gone"])
def test_writes_to_parameters_are_what_the_next_call_computes_with(by):
    block = SymbolBlock(two_layers(), amp.sym.Variable("data"))
    block.initialize("ones")
    assert block(amp.nd.ones((2, 5))).asnumpy()[0, 0] == 20
    weight = block.collect_params()["out_weight"].data()
    if by == "NDArray":
        weight[0] = 2
    elif by == "NumPy":
        view = np.asarray(weight)
        block(amp.nd.ones((2, 5)))
        view[0] = 2
    else:
        np.asarray(weight)[0] = 2
    assert block(amp.nd.ones((2, 5))).asnumpy()[0].tolist() == [40, 20, 20]


def test_collected_parameters_may_be_initialized_or_loaded(tmp_path):
    def block():
        data = amp.sym.Variable("data")
        return SymbolBlock(amp.sym.FullyConnected(data, num_hidden=2, name="fc"), data)

    made = block()
    assert list(made.collect_params()) == ["fc_weight", "fc_bias"]
    made.collect_params(".*bias").initialize("zeros")
    made.collect_params().initialize("ones")
    assert made(amp.nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
    made.collect_params().save(tmp_path / "net.params")
    loaded = block()
    loaded.collect_params().load(tmp_path / "net.params")
    assert loaded(amp.nd.ones((1, 3))).asnumpy().tolist() == [[3, 3]]
    assert list(loaded.arrays()[0]) == ["fc_weight", "fc_bias"]


class _Doubling(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = mx.gluon.nn.Dense(3)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        return 2 * self.dense(x)


class _Further(_Doubling):
    def forward(self, x):
        return super().forward(x + 1)


def _chain():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(4), mx.gluon.nn.Dense(3))
    return net


@pytest.mark.parametrize("build", [_Doubling, _chain, lambda: mx.gluon.nn.Dense(3)])
def test_forward_called_by_itself_records_the_graph(build, tmp_path):
    net, x = build(), amp.nd.array(X)
    net.initialize()
    expected = net.forward(x).asnumpy()
    with pytest.raises(RuntimeError, match="call block.hybridize"):
        net.export(str(tmp_path / "net"))
    net.hybridize()
    close(net.forward(x), expected)
    assert net.export(str(tmp_path / "net"))
    imported = SymbolBlock.imports(str(tmp_path / "net-symbol.json"), "data", str(tmp_path / "net-0000.params"))
    close(imported(x), expected)
    assert net.forward(DATA).list_arguments()[0] == "data"


def test_forward_of_a_program_is_left_alone():
    net, x = _Further(), amp.nd.array(X)
    net.initialize()
    expected = net(x).asnumpy()
    net.hybridize()
    close(net.forward(x), expected)
    close(net(x), expected)
