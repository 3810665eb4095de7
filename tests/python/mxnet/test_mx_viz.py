"""mx.viz: tables and pictures of symbols."""

import sys
import types
import warnings

import numpy as np
import pytest

import amp
import amp.mxnet as mx

SHAPES = {"data": (2, 3, 8, 8)}


def small_net():
    data = mx.sym.Variable("data")
    net = mx.sym.Convolution(data, kernel=(3, 3), num_filter=4, num_group=1, no_bias=True, name="conv")
    net = mx.sym.BatchNorm(net, name="bn")
    net = mx.sym.Activation(net, act_type="relu", name="act")
    net = mx.sym.Pooling(mx.sym.elemwise_add(net, net, name="sum"), kernel=(2, 2), stride=(2, 2), name="pool")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=5, name="fc"), name="softmax")


def table(capsys, *args, **kwargs):
    """({layer: (shape, parameters)}, [(layer, previous layer)], total) of what is printed."""
    mx.viz.print_summary(*args, **kwargs)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "_" * 120 and lines[2] == "=" * 120 and lines[-3] == "=" * 120
    assert lines[1].split("  ")[0] == "Layer (type)"
    rows, edges, layer = {}, [], None
    for line in lines[3:-3]:
        if line == "_" * 120:
            continue
        label, shape, count, previous = (line[a:b].strip() for a, b in ((0, 52), (52, 76), (76, 88), (88, 120)))
        if label:
            layer = label
            rows[label] = (shape, int(count))
        if previous:
            edges.append((layer.partition("(")[0], previous))
    return rows, edges, int(lines[-2].removeprefix("Total params: ").partition(",")[0])


# ---- tables ----


def test_rows_of_a_table(capsys):
    rows, edges, total = table(capsys, small_net(), SHAPES)
    assert rows == {
        "data(null)": ("3x8x8", 0),
        "conv(Convolution)": ("4x6x6", 4 * 3 * 9),
        "bn(BatchNorm)": ("4x6x6", 2 * 4),
        "act(Activation)": ("4x6x6", 0),
        "sum(elemwise_add)": ("4x6x6", 0),
        "pool(Pooling)": ("4x3x3", 0),
        "fc(FullyConnected)": ("5", 5 * 36 + 5),
        "softmax_label(null)": ("", 0),
        "softmax(SoftmaxOutput)": ("5", 0),
    }
    assert total == 108 + 8 + 185
    chain = ["data", "conv", "bn", "act", "sum", "pool", "fc", "softmax"]
    assert edges == [*zip(chain[1:], chain), ("softmax", "softmax_label")]


def test_a_table_without_shapes_has_the_sizes_that_do_not_depend_on_inputs(capsys):
    rows, _, total = table(capsys, small_net())
    assert {shape for shape, _ in rows.values()} == {""}
    assert rows["bn(BatchNorm)"][1] == 8 and rows["fc(FullyConnected)"][1] == 5 and total == 13


def test_parameters_count_once(capsys):
    data, weight = mx.sym.Variable("data"), mx.sym.Variable("shared_weight")
    first = mx.sym.FullyConnected(data, weight, num_hidden=6, name="first")
    second = mx.sym.FullyConnected(first, weight, num_hidden=6, name="second")
    rows, _, total = table(capsys, second, {"data": (2, 6)})
    assert rows["first(FullyConnected)"] == ("6", 42) and rows["second(FullyConnected)"] == ("6", 6) and total == 48


@pytest.mark.parametrize("shapes", [None, {"data": (2, 7)}])
def test_tables_of_embeddings_and_declared_parameters(capsys, shapes):
    table_of_words = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=11, output_dim=3, name="words")
    scale = mx.sym.Variable("scale", shape=(1, 1, 3))
    rows, _, total = table(capsys, mx.sym.broadcast_mul(table_of_words, scale, name="scaled"), shapes)
    assert rows["words(Embedding)"] == ("" if shapes is None else "7x3", 33)
    assert rows["scaled(broadcast_mul)"][1] == 3 and total == 36


def test_tables_of_numpy_operators(capsys):
    data, weight = mx.sym.Variable("data").as_np_ndarray(), mx.sym.Variable("dense_weight").as_np_ndarray()
    dense = mx.sym.npx.fully_connected(data, weight, num_hidden=4, no_bias=True, flatten=False, name="dense")
    net = mx.sym.np.sum(mx.sym.np.tanh(dense), name="all")
    with mx.np_shape(True):
        rows, edges, total = table(capsys, net, {"data": (5, 6)})
    assert total == 24 and ("dense", "data") in edges
    assert [row for label, row in rows.items() if label.startswith("all(")] == [("", 0)]


def test_the_table_of_a_network_has_the_size_of_its_parameters(capsys):
    net = amp.model_zoo.get_model("mobilenetv2_0.25", classes=10)
    shapes = {"data": (1, 3, 64, 64)}
    args, _ = amp.model_zoo.seeded_params(net, shapes)
    assert table(capsys, net, shapes)[2] == sum(array.size for array in args.values())


def test_columns(capsys):
    net = mx.sym.exp(mx.sym.Variable("a_name_that_is_long"), name="e")
    mx.visualization.print_summary(net, line_length=40, positions=[10, 20, 30, 40])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line[0] not in "_="] == [
        "Layer (typOutput ShaParam #   Previous L",
        "a_name_tha          0",
        "e(exp)              0         a_name_tha",
        "Total params: 0",
    ]
    assert lines[0] == "_" * 40


def test_arguments_of_tables_are_checked():
    for wrong in (None, "data", mx.nd.ones((2,))):
        with pytest.raises(TypeError, match="expected a Symbol") as error:
            mx.viz.print_summary(wrong)
        assert isinstance(error.value, amp.ArgumentError)
    with pytest.raises(amp.ArgumentError, match="stay unknown.*data"):
        mx.viz.print_summary(small_net(), {"data": (2, 0, 8, 8)})
    with pytest.raises(amp.Error, match="conv"):
        mx.viz.print_summary(small_net(), {"data": (2, 3)})


# ---- pictures ----


class Digraph:
    """Stands for that of the package graphviz."""

    def __init__(self, name, format):
        self.name, self.format, self.nodes, self.edges = name, format, {}, []

    def node(self, name, label, **attributes):
        assert name not in self.nodes
        self.nodes[name] = (label, attributes)

    def edge(self, tail_name, head_name, **attributes):
        assert ":" not in tail_name + head_name
        self.edges.append((tail_name, head_name, attributes["label"]))


@pytest.fixture
def graphviz(monkeypatch):
    module = types.ModuleType("graphviz")
    module.Digraph = Digraph
    monkeypatch.setitem(sys.modules, "graphviz", module)


def test_nodes_and_edges_of_a_picture(graphviz):
    picture = mx.viz.plot_network(
        small_net(), "net", "svg", SHAPES, {"data": "float32"}, node_attrs={"fixedsize": "false"}
    )
    assert (picture.name, picture.format) == ("net", "svg")
    assert {name: label for name, (label, _) in picture.nodes.items()} == {
        "data": "data",
        "conv": "Convolution\n3x3/1, 4",
        "bn": "bn",
        "act": "Activation\nrelu",
        "sum": "sum",
        "pool": "Pooling\nmax, 2x2/2x2",
        "fc": "FullyConnected\n5",
        "softmax_label": "softmax_label",
        "softmax": "softmax",
    }
    assert {attributes["fixedsize"] for _, attributes in picture.nodes.values()} == {"false"}
    ovals = [name for name, (_, attributes) in picture.nodes.items() if attributes["shape"] == "oval"]
    assert ovals == ["data", "softmax_label"]
    assert picture.edges[:4] == [
        ("conv", "data", "3x8x8(float32)"),
        ("bn", "conv", "4x6x6(float32)"),
        ("act", "bn", "4x6x6(float32)"),
        ("sum", "act", "4x6x6(float32)"),
    ]
    assert picture.edges[-2:] == [("softmax", "fc", "5(float32)"), ("softmax", "softmax_label", "(float32)")]


def test_pictures_may_show_weights(graphviz):
    picture = mx.viz.plot_network(small_net(), hide_weights=False)
    assert {"conv_weight", "bn_gamma", "bn_moving_var", "fc_bias"} < set(picture.nodes)
    assert ("fc", "fc_weight", "") in picture.edges
    assert set(mx.viz.plot_network(small_net()).nodes).isdisjoint({"conv_weight", "bn_gamma", "bn_moving_var"})


def test_edges_have_the_shape_of_the_output_that_is_read(graphviz):
    parts = mx.sym.split_v2(mx.sym.Variable("data"), (2,), axis=1)
    name = parts[0].name
    net = mx.sym.Group([mx.sym.exp(parts[0], name="left"), mx.sym.exp(parts[1], name="right")])
    picture = mx.viz.plot_network(net, shape={"data": (1, 7)})
    assert [edge for edge in picture.edges if edge[1] == name] == [("left", name, "2"), ("right", name, "5")]


def test_nodes_that_share_a_name(graphviz):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="a:b")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="a:b")
    with pytest.warns(RuntimeWarning, match="same name.*a:b_weight.*a:b$") as found:
        picture = mx.viz.plot_network(net)
    assert found[0].filename == __file__
    assert picture.edges == [("a_b", "data", ""), ("a_b (2)", "a_b", "")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mx.viz.plot_network(small_net())


def test_arguments_of_pictures_are_checked(graphviz):
    with pytest.raises(TypeError, match="expected a Symbol"):
        mx.viz.plot_network(3)
    with pytest.raises(amp.ArgumentError, match="stay unknown"):
        mx.viz.plot_network(small_net(), shape={"data": (2, 0, 8, 8)})
    with pytest.raises(amp.ArgumentError, match="dtypes stay unknown"):
        mx.viz.plot_network(mx.sym.Variable("a"), dtype={})


def test_pictures_need_a_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "graphviz", None)
    with pytest.raises(ImportError, match="pip install graphviz") as error:
        mx.viz.plot_network(small_net())
    assert isinstance(error.value, amp.UnsupportedError)


def test_pictures_of_the_package():
    package = pytest.importorskip("graphviz")
    picture = mx.viz.plot_network(small_net(), shape=SHAPES, dtype={"data": np.float32})
    assert isinstance(picture, package.Digraph) and 'fc -> pool [label="4x3x3(float32)"' in picture.source


def test_the_total_says_what_it_lacks(capsys):
    convolution = mx.sym.Convolution(mx.sym.Variable("x"), kernel=(3, 3), num_filter=4)
    net = mx.sym.FullyConnected(convolution, num_hidden=2)
    mx.viz.print_summary(net)
    assert "Total params: 6, and those of 2 arrays whose shapes follow from inputs" in capsys.readouterr().out
    mx.viz.print_summary(net, {"x": (1, 3, 4, 4)})
    assert f"Total params: {4 * 27 + 4 + 16 * 2 + 2}\n" in capsys.readouterr().out
