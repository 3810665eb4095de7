"""Gluon blocks: parameters, calls with and without a graph, files, hooks, and what they refuse."""

import copy

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp.mxnet import gluon
from amp.mxnet.gluon import nn

anp, npx = mx.np, mx.npx


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


def small_net():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.Flatten(), nn.Dense(5))
    return net


class TwoInputs(nn.HybridBlock):
    """Nested inputs and outputs, a parameter of its own, a branch that Python decides."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, flatten=False)
        self.scale = gluon.Parameter("scale", shape=(4,), init="ones")

    def forward(self, pair, y):
        h = self.dense(pair[0]) * self.scale.data() + y
        if h.shape[0] > 1:
            h = h + pair[1]
        return h, [h[:, 1:3], npx.softmax(h, axis=-1)]


class OldStyle(nn.HybridBlock):
    """As MXNet 1.x blocks are written."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.dense = nn.Dense(3, prefix="dense_")
            self.weight = self.params.get("weight", shape=(5, 0), allow_deferred_init=True)

    def hybrid_forward(self, F, x, weight):  # noqa: N803
        return F.softmax(F.FullyConnected(self.dense(x), weight, num_hidden=5, no_bias=True))


def leaves(outputs):
    return [leaf for o in outputs for leaf in leaves(o)] if isinstance(outputs, (list, tuple)) else [outputs.asnumpy()]


CASES = {
    "small": (small_net, lambda m: (m.array(numbers(2, 3, 6, 6)),)),
    "nested": (TwoInputs, lambda m: ((m.array(numbers(2, 3)), m.ones((2, 4))), m.array(numbers(1, 4)))),
    "old": (OldStyle, lambda m: (m.array(numbers(2, 7)),)),
}


@pytest.mark.parametrize("module", [amp.nd, mx.np], ids=["nd", "np"])
@pytest.mark.parametrize("name", CASES)
def test_a_graph_computes_what_the_block_does(name, module):
    if name == "nested" and module is amp.nd:
        module = mx.np  # legacy arrays do not broadcast in place of shapes that differ in rank
    make, arguments = CASES[name]
    net, args = make(), arguments(module)
    net.initialize()
    plain = leaves(net(*args))
    net.hybridize()
    for got, expected in zip(leaves(net(*args)), plain):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    late = make()  # shapes are learned by the first call, which is the one that is recorded
    late.initialize()
    late.hybridize()
    for parameter, other in zip(late.collect_params().values(), net.collect_params().values()):
        if parameter.is_open:
            late(*args)
        parameter.set_data(other.data())
    for got, expected in zip(leaves(late(*args)), plain):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@mx.util.use_np
def test_results_are_of_the_inputs_class_and_structure():
    net, args = TwoInputs(), CASES["nested"][1](anp)
    net.initialize()
    assert isinstance(net(*args), tuple)
    net.hybridize()
    first, (second, third) = net(*args)
    assert type(first) is anp.ndarray and second.shape == (2, 2) and third.shape == (2, 4)


def test_the_graph_is_that_of_the_first_call():
    net = small_net()
    net.initialize()
    net.hybridize()
    x = nd.array(numbers(2, 3, 6, 6))
    expected = net(x).asnumpy()
    np.testing.assert_allclose(
        net(nd.array(np.repeat(x.asnumpy(), 2, 0))).asnumpy(), np.repeat(expected, 2, 0), rtol=1e-5
    )
    net.hybridize(False)
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_changed_parameters_are_seen():
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize()
    net.hybridize()
    x = nd.ones((1, 3))
    net(x)
    net.weight.set_data(np.full((2, 3), 2, "f4"))
    assert net(x).asnumpy().tolist() == [[6, 6]]
    net.weight.data()[:] = 1
    assert net(x).asnumpy().tolist() == [[3, 3]]
    net.weight.data()[0] = 4  # a part of it
    assert net(x).asnumpy().tolist() == [[12, 3]]
    view = net.weight.data()[1:]
    view *= 5
    assert net(x).asnumpy().tolist() == [[12, 15]]
    x[:] = 2  # an input is no parameter
    assert net(x).asnumpy().tolist() == [[24, 30]]


def test_hybridized_parts_of_a_plain_block():
    class Plain(gluon.Block):
        def __init__(self):
            super().__init__()
            self.part = small_net()

        def forward(self, x):
            return self.part(x).asnumpy().sum()  # plain blocks may leave the arrays

    net = Plain()
    net.initialize()
    x = nd.array(numbers(1, 3, 4, 4))
    expected = net(x)
    net.hybridize()
    assert net(x) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert net.part._graphs.kept


@mx.util.use_np
def test_names_of_mxnet_2_are_places_in_the_tree():
    net = TwoInputs()
    assert list(net.collect_params()) == ["scale", "dense.weight", "dense.bias"]
    assert list(net.collect_params("dense.*weight|scale")) == ["scale", "dense.weight"]
    assert [type(child).__name__ for child in small_net()] == "Conv2D BatchNorm Activation Flatten Dense".split()
    assert len(small_net()[1:3]) == 2
    net.dense = nn.Dense(3)  # replaces the child
    assert net.collect_params()["dense.weight"].shape == (3, 0)


def test_files_of_parameters(tmp_path):
    net, x = small_net(), nd.array(numbers(1, 3, 4, 4))
    net.initialize(mx.init.Xavier())
    expected = net(x).asnumpy()
    path = str(tmp_path / "net.params")
    net.save_parameters(path)
    other = small_net()
    other.load_parameters(path)  # without initialize, without shapes
    np.testing.assert_array_equal(other(x).asnumpy(), expected)
    assert set(nd.load(path)) == set(net._collect_params_with_prefix())
    net.cast("float16")
    net.save_parameters(path)
    with pytest.raises(AssertionError, match="'4.weight': expected dtype float32, got float16"):
        other.load_parameters(path)
    other.load_parameters(path, cast_dtype=True)
    assert other[4].weight.dtype == other[4].weight.data().dtype == np.float32
    np.testing.assert_array_equal(other[4].weight.data().asnumpy(), net[4].weight.data().asnumpy().astype("f"))
    other.load_parameters(path, cast_dtype=True, dtype_source="saved")
    assert other[4].weight.dtype == np.float16 and other[1].gamma.dtype == np.float32  # the file's dtypes
    with pytest.raises(amp.ArgumentError, match="dtype_source: expected 'current' or 'saved', got 'file'"):
        other.load_parameters(path, cast_dtype=True, dtype_source="file")
    other.load_dict({name: array.astype("float32") for name, array in nd.load(path).items()}, cast_dtype=True)
    assert other[4].weight.dtype == np.float16
    other.cast("float32")
    with pytest.raises(amp.ArgumentError, match="parameters are missing: 0.weight"):
        nd.save(path, {"4.bias": nd.ones(5)})
        other.load_parameters(path)
    other.load_parameters(path, allow_missing=True)
    with pytest.raises(amp.ArgumentError, match="no parameter has the name of: bogus"):
        nd.save(path, {"bogus": nd.ones(5)})
        other.load_parameters(path, allow_missing=True)
    with pytest.raises(amp.ArgumentError, match=r"'4.bias': expected shape \(5,\), got \(7,\)"):
        nd.save(path, {"4.bias": nd.ones(7)})
        other.load_parameters(path, allow_missing=True)


def test_export_and_imports(tmp_path):
    net, x = small_net(), anp.array(numbers(1, 3, 4, 4))
    net.initialize()
    with pytest.raises(RuntimeError, match="hybridize"):
        net.export(str(tmp_path / "net"))
    net.hybridize()
    expected = net(x).asnumpy()
    symbol_file, params_file = net.export(str(tmp_path / "net"), epoch=3)
    assert params_file.endswith("net-0003.params")
    block = gluon.SymbolBlock.imports(symbol_file, ["data"], params_file)
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-6)
    symbol, params = net.export(None)
    names = {f"arg:{net[4].name}_weight", f"aux:{net[1].name}_running_mean"}
    assert names <= set(params) and symbol.list_arguments()[0] == "data"


def test_a_symbol_block_inside_of_a_block():
    data = amp.sym.var("data")
    features = gluon.SymbolBlock(amp.sym.FullyConnected(data, num_hidden=4, name="fc"), data, {
        "fc_weight": nd.array(numbers(4, 3)), "fc_bias": nd.ones(4)
    })  # fmt: skip
    net = nn.HybridSequential()
    net.add(features, nn.Activation("relu"), nn.Dense(2))
    net.initialize()
    x = nd.array(numbers(2, 3))
    expected = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-5)
    last = net[2].name
    assert net.export(None)[0].list_arguments() == ["data", "fc_weight", "fc_bias", f"{last}_weight", f"{last}_bias"]
    assert isinstance(features, nn.HybridBlock)
    features.collect_params()["fc_bias"].data()[:] = 0  # shared with the graph
    assert not np.allclose(net(x).asnumpy(), expected)


@mx.util.use_np
def test_blocks_of_mxnet_2_compose_symbols():
    net = small_net()
    symbol = net(amp.sym.var("data"))
    assert symbol.list_arguments() == ["data", "0.weight", "0.bias", "1.gamma", "1.beta", "4.weight", "4.bias"]
    assert symbol.list_auxiliary_states() == ["1.running_mean", "1.running_var"]


def test_blocks_compose_symbols():
    net = OldStyle(prefix="net_")
    names = ["data", "net_dense_weight", "net_dense_bias", "net_weight"]
    assert net(amp.sym.var("data")).list_arguments() == names


@mx.util.use_np
def test_constants_and_arrays_from_nowhere():
    class Shifted(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.shift = gluon.Constant("shift", nd.array([1, 2]))

        def forward(self, x):
            return (x + self.shift.data()) * nd.array([3, 5])

    net = Shifted()
    net.initialize()
    net.hybridize()
    assert net(nd.ones((1, 2))).asnumpy().tolist() == [[6, 15]]
    assert net.export(None)[0].list_arguments() == ["data", "shift", "const_0"]


@mx.util.use_np
def test_arrays_as_indices_belong_to_the_graph():
    class Chosen(nn.HybridBlock):
        def forward(self, x, i, j):
            return x[i], x[i, j], x[1]

    class Legacy(nn.HybridBlock):
        def hybrid_forward(self, F, x, i):
            return x[i]

    x = mx.np.array(numbers(4, 5))
    net = Chosen()
    net.hybridize()
    for i, j in (([0, 3], [4, 1]), ([2, 1], [0, 0]), ([-1, 0], [1, -2])):
        found = net(x, mx.np.array(i, dtype="int32"), mx.np.array(j, dtype="int32"))
        for one, expected in zip(found, (x.asnumpy()[i], x.asnumpy()[i, j], x.asnumpy()[1])):
            np.testing.assert_array_equal(one.asnumpy(), expected)
    legacy = Legacy()
    legacy.hybridize()
    for i in ([0, 3], [2, 2]):
        found = legacy(x.as_nd_ndarray(), nd.array(i, dtype="int32"))
        np.testing.assert_array_equal(found.asnumpy(), x.asnumpy()[i])


def test_hooks_and_op_hooks():
    net, x = small_net(), nd.array(numbers(1, 3, 4, 4))
    net.initialize()
    calls = []
    with net[4].register_forward_hook(lambda block, inputs, outputs: calls.append(outputs.shape)):
        net(x)
    net(x)
    assert calls == [(1, 5)]
    with pytest.raises(amp.ArgumentError, match="hybridized"):
        net.register_op_hook(print)
    net.hybridize()
    seen = []
    net.register_op_hook(lambda name, op, array: seen.append(op))
    net(x)
    assert seen == ["Convolution", "BatchNorm", "Activation", "Flatten", "FullyConnected"]


def test_optimize_for_and_conversion():
    net, x = small_net(), nd.array(numbers(1, 3, 6, 6))
    net.initialize()
    expected = net(x).asnumpy()
    np.testing.assert_allclose(net.optimize_for(x, backend="ONEDNN").asnumpy(), expected, rtol=1e-4, atol=1e-6)
    ops = {node for node in net.export(None)[0].attr_dict() if node.startswith("sg_")}
    assert "sg_onednn_conv_bn_act_0" in ops
    block = amp.convert_hybrid_block(net, x, cast_params_offline=True)
    assert block(x).dtype == np.float32
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=0.05, atol=0.05)


def test_conversion_of_nested_inputs_keeps_the_order_of_a_call():
    net, (pair, y) = TwoInputs(), CASES["nested"][1](anp)
    net.initialize()
    expected = leaves(net(pair, y))
    block = amp.convert_hybrid_block(net, [pair, y])
    assert block.input_names == ["data0", "data1", "data2"]
    for got, wanted in zip(block(pair, y), expected):
        np.testing.assert_allclose(got.asnumpy(), wanted, atol=0.03)
    assert not net._graphs.kept and not net._active  # as before


def test_copies():
    net, x = small_net(), nd.array(numbers(1, 3, 4, 4))
    net.initialize()
    net(x)
    shallow, deep = copy.copy(net), copy.deepcopy(net)
    net[4].weight.data()[:] = 0
    assert (shallow(x).asnumpy() == net(x).asnumpy()).all() and not (deep(x).asnumpy() == net(x).asnumpy()).all()


def test_copies_of_hybridized_blocks_see_their_own_parameters():
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    net.hybridize()
    x = nd.ones((1, 3))
    net(x)
    deep = copy.deepcopy(net)
    assert deep(x).asnumpy().tolist() == [[3, 3]]
    deep.weight.data()[:] = 2
    assert deep(x).asnumpy().tolist() == [[6, 6]] and net(x).asnumpy().tolist() == [[3, 3]]
    block = gluon.SymbolBlock(*_dense_symbol())
    copied = copy.deepcopy(block)
    copied.collect_params()["fc_weight"].data()[:] = 5
    assert copied(x).asnumpy().tolist() == [[15, 15]] and block(x).asnumpy().tolist() == [[3, 3]]
    assert copy.copy(block)(x).asnumpy().tolist() == [[3, 3]]


def _dense_symbol():
    data = amp.sym.var("data")
    symbol = amp.sym.FullyConnected(data, num_hidden=2, no_bias=True, name="fc")
    return symbol, data, {"fc_weight": nd.ones((2, 3))}


def test_a_part_that_is_replaced_belongs_to_the_graph():
    net = nn.HybridSequential(nn.Dense(2), nn.Dense(3))
    net.initialize()
    net.hybridize()
    x = nd.ones((1, 4))
    assert net(x).shape == (1, 3)
    net.add(nn.Dense(5))
    net.initialize()
    assert net(x).shape == (1, 5)


@mx.util.use_np
def test_parameters_in_functions_of_numpy_stay_parameters():
    class Scaled(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.w = gluon.Parameter("w", shape=(3,), init="ones")

        def forward(self, x):
            return (
                anp.exp(self.w.data()) * x + anp.concatenate([self.w.data(), anp.expand_dims(self.w.data(), 0)[0]])[:3]
            )

    net = Scaled()
    net.initialize()
    x = anp.ones((2, 3))
    expected = net(x).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)
    assert sorted(net.export(None)[0].list_arguments()) == ["data", "w"]
    net.w.data()[:] = 0
    assert net(x).asnumpy().tolist() == [[1, 1, 1]] * 2


def test_summary(capsys):
    net = small_net()
    net.initialize()
    net.summary(nd.ones((1, 3, 4, 4)))
    text = capsys.readouterr().out
    assert "0 (Conv2D)" in text and "(1, 4, 4, 4)" in text and f"{3 * 4 * 9 + 4:,}" in text
    assert text.splitlines()[-1].split()[-1] == f"{112 + 16 + 64 * 5 + 5:,}"


def test_mistakes():
    net = small_net()
    with pytest.raises(amp.ArgumentError, match="initialize"):
        net(nd.ones((1, 3, 4, 4)))
    net.initialize()
    with pytest.raises(amp.MXNetError, match="follows from the first call"):
        net[4].weight.data()
    net(nd.ones((1, 3, 4, 4)))
    with pytest.raises(amp.ArgumentError, match=r"expected shape \(5, 64\), got \(2, 2\)"):
        net[4].weight.set_data(np.ones((2, 2), "f4"))
    with pytest.raises(amp.GraphError, match="FullyConnected"):
        net(nd.ones((1, 3, 5, 5)))

    class Forgets(gluon.Block):
        def __init__(self):
            self.dense = nn.Dense(1)

    with pytest.raises(amp.ArgumentError, match=r"super\(\).__init__"):
        Forgets()
    with pytest.raises(AttributeError, match="did you mean 'Dense'"):
        nn.Dens(3)
    with pytest.raises(NotImplementedError, match="defines neither forward nor hybrid_forward"):
        gluon.HybridBlock()(nd.ones(1))
    with pytest.raises(amp.ArgumentError, match="is not known"):
        gluon.Parameter("w", shape=(0, 3)).initialize()


@mx.util.use_np
def test_what_no_operator_does():
    class Leaves(nn.HybridBlock):
        def forward(self, x):
            return anp.unique(x)

    block = Leaves()
    assert block(anp.ones(2)).size == 1
    block.hybridize()
    with pytest.warns(RuntimeWarning, match="mx.np.unique cannot become part of a graph"):
        assert block(anp.ones(2)).size == 1
    assert block(anp.arange(3)).size == 3 and not block._graphs.kept
    with pytest.raises(amp.UnsupportedError, match="export: Leaves: mx.np.unique cannot become part of a graph"):
        block.export("leaves")
    with pytest.raises(amp.UnsupportedError, match="register_op_hook: Leaves: mx.np.unique cannot become part"):
        block.register_op_hook(print)


def test_data_loaders():
    data, labels = numbers(10, 3), np.arange(10)
    dataset = gluon.data.ArrayDataset(data, labels)
    loader = gluon.data.DataLoader(dataset, batch_size=4)
    batches = list(loader)
    assert len(loader) == 3 and [b[0].shape for b in batches] == [(4, 3), (4, 3), (2, 3)]
    np.testing.assert_array_equal(batches[1][0].asnumpy(), data[4:8])
    assert batches[1][1].asnumpy().tolist() == [4, 5, 6, 7]
    mx.random.seed(3)
    shuffled = gluon.data.DataLoader(dataset, 4, shuffle=True, last_batch="discard")
    seen = np.concatenate([labels.asnumpy() for _, labels in shuffled])
    assert len(seen) == 8 and len(set(seen.tolist())) == 8 and seen.tolist() != list(range(8))
    doubled = dataset.transform_first(lambda x: x * 2)
    np.testing.assert_array_equal(doubled[1][0], data[1] * 2)
    with pytest.raises(amp.ArgumentError, match="one length"):
        gluon.data.ArrayDataset(data, labels[:3])


def test_batches_for_devices():
    data = nd.array(numbers(6, 2))
    (whole,) = gluon.utils.split_and_load(data, [mx.cpu()])
    assert whole is data and gluon.utils.split_and_load(np.ones((2, 2)), ctx_list=[mx.cpu()])[0].shape == (2, 2)
    first, second = gluon.utils.split_and_load(data, [mx.cpu(0), mx.cpu(1)])
    np.testing.assert_array_equal(np.concatenate([first.asnumpy(), second.asnumpy()]), data.asnumpy())
    assert [part.shape for part in gluon.utils.split_data(data, 4, even_split=False)] == [(2, 2)] * 2 + [(1, 2)] * 2
    assert [part.shape for part in gluon.utils.split_data(data, 2, batch_axis=1)] == [(6, 1)] * 2
    with pytest.raises(amp.ArgumentError, match="size 6 has no 4 parts"):
        gluon.utils.split_data(data, 4)


def test_networks_of_the_zoo(tmp_path):
    vision = gluon.model_zoo.vision
    net = vision.get_model("mobilenetv2_0.25", classes=7)
    x = nd.array(numbers(1, 3, 32, 32))
    net.initialize()
    expected = net(x).asnumpy()
    assert expected.shape == (1, 7) and net.features(x).shape == (1, 1280, 1, 1)
    first = net.features[:3](x)  # a part of it, as feature extractors take it
    assert first.shape == (1, 8, 16, 16) and len(net.features) == 24 and len(net.features[3:]) == 21
    np.testing.assert_allclose(net.output(net.features[3:](first)).asnumpy(), expected, rtol=1e-5)
    symbol = amp.model_zoo.get_model("mobilenetv2_0.25", 7)
    args, aux = amp.model_zoo.seeded_params(symbol, {"data": (1, 3, 32, 32)})
    amp.save_checkpoint(str(tmp_path / "net"), 0, symbol, args, aux)
    run = amp.Executor(symbol, args, aux, {"data": (1, 3, 32, 32)})
    loaded = vision.mobilenet_v2_0_25(classes=7, pretrained=str(tmp_path / "net-0000.params"))
    np.testing.assert_allclose(loaded(x).asnumpy(), run(x)[0].asnumpy(), rtol=1e-4, atol=1e-4)
    loaded.save_parameters(str(tmp_path / "own.params"))
    again = vision.get_model("mobilenetv2_0.25", classes=7, pretrained=tmp_path / "own.params")
    again.hybridize()
    np.testing.assert_allclose(again(x).asnumpy(), run(x)[0].asnumpy(), rtol=1e-4, atol=1e-4)
    with pytest.raises(amp.ArgumentError, match="no parameters come with this package"):
        vision.resnet18_v1(pretrained=True)
    with pytest.raises(AttributeError, match="did you mean"):
        vision.resnet18  # noqa: B018


# ---- parameters as MXNet 1.x programs use them ----


class Pair(gluon.HybridBlock):
    """Two layers in a scope of names."""

    def __init__(self, in_units=0, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = nn.Dense(5, in_units=in_units)
            self.second = nn.Dense(5, in_units=in_units)

    def hybrid_forward(self, F, x):  # noqa: N803
        return self.second(self.first(x))


@pytest.mark.parametrize("prefixes", [(None, None), ("one_", "two_")])
def test_blocks_share_parameters_by_params(prefixes):
    one = Pair(prefix=prefixes[0])
    two = Pair(in_units=5, prefix=prefixes[1], params=one.collect_params())
    assert two.first.weight is one.first.weight and two.second.bias is one.second.bias
    assert one.first.weight.shape == (5, 5)  # which the other one says
    one.initialize()
    x = nd.array(numbers(3, 5))
    np.testing.assert_array_equal(two(x).asnumpy(), one(x).asnumpy())
    with pytest.raises(amp.ArgumentError, match="contradicts"):
        Pair(in_units=6, params=one.collect_params(), prefix=prefixes[1])


def test_names_of_parameters_come_from_prefixes_where_there_are_some():
    net = nn.Sequential()
    net.add(nn.Dense(2, prefix="named_"), nn.Dense(2))
    number = net[1].name
    assert list(net.collect_params()) == ["named_weight", "named_bias", f"{number}_weight", f"{number}_bias"]
    named = Pair(prefix="net_")
    assert list(named.collect_params(".*weight")) == ["net_dense0_weight", "net_dense1_weight"]
    assert repr(named.collect_params()).splitlines()[0] == "net_ ("
    assert nn.Dense(3, "tanh", prefix="d_")(mx.sym.Variable("data")).list_outputs() == ["d_tanh_fwd_output"]


def test_dicts_of_parameters(tmp_path):
    params = gluon.ParameterDict("net_")
    weight = params.get("anything", shape=(2, 0), allow_deferred_init=True)
    assert weight.name == "net_anything" and params.get("anything", shape=(2, 3)) is weight
    assert weight.shape == (2, 3) and params.get("net_anything") is weight and params.get("other") is None
    constant = params.get_constant("two", [[2]])
    assert params.get_constant("two") is constant
    with pytest.raises(amp.ArgumentError, match="another value"):
        params.get_constant("two", [[3]])
    with pytest.raises(amp.ArgumentError, match="there is no constant 'net_three'"):
        params.get_constant("three")
    params.initialize()
    assert (np.abs(weight.data().asnumpy()) <= 0.07).all()
    assert weight._data[0] is weight.data() and weight._grad[0].shape == (2, 3) and constant._grad is None
    params.save(tmp_path / "file", strip_prefix="net_")
    other = gluon.ParameterDict("net_")
    other.get("anything", shape=(2, 3), dtype="float16")
    other.load(tmp_path / "file", restore_prefix="net_", ignore_extra=True, cast_dtype=True, dtype_source="current")
    assert other["net_anything"].data().dtype == np.float16
    with pytest.raises(amp.ArgumentError, match="two parameters"):
        other.update(params)
    assert gluon.Parameter("w", shape=(1,))._data is None
    with pytest.raises(AssertionError, match="stype"):
        gluon.Parameter("w", stype="none")


def test_attributes_of_blocks_keep_their_kind():
    block = gluon.Block(prefix="net_")
    block.part, block.weight = gluon.Block(), gluon.Parameter("weight", shape=(1,))
    for name in ("part", "weight"):
        with pytest.raises(TypeError, match=f"'{name}' is a"):
            setattr(block, name, 1)
    block.part = None
    assert list(block.collect_params()) == ["net_weight"]


def test_hidden_blocks_and_missed_graphs_are_warned_of():
    block = gluon.Block()
    block.layers = {"a": [nn.Dense(2)]}
    with pytest.warns(UserWarning, match="layers has blocks whose parameters are not found"):
        block.collect_params()
    net = nn.Sequential(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()


def test_calls_take_arrays_or_symbols():
    with pytest.raises(ValueError, match="not both"):
        Pair()(mx.sym.Variable("data"), nd.ones((1, 2)))
    with pytest.raises(ValueError, match="needs an array"):
        Pair()(None)


def test_files_of_old_programs(tmp_path):
    one, two = Pair(prefix="one_"), Pair(prefix="two_")
    one.initialize()
    x = nd.array(numbers(3, 5))
    expected = one(x).asnumpy()
    one.save_params(tmp_path / "old.params")
    assert sorted(nd.load(tmp_path / "old.params"))[0] == "dense0_bias"
    two.load_params(tmp_path / "old.params")
    np.testing.assert_array_equal(two(x).asnumpy(), expected)
    data = mx.sym.Variable("data")
    graph = gluon.SymbolBlock(one(data), data, params=Pair(prefix="one_").collect_params())
    graph.initialize()
    assert graph(x).shape == expected.shape  # of parameters that waited for their shapes
    one.save(tmp_path / "model")
    two.load(tmp_path / "model")
    np.testing.assert_array_equal(two(x).asnumpy(), expected)
