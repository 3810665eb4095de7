"""Symbols' functions, namespaces, methods and comparisons, as MXNet has them."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx

A = np.array([[-1.5, 0.25, 2.0], [3.0, -0.5, 2.0]], "f4")
B = np.array([[-1.5, 1.0, 1.0], [2.0, -0.5, 3.0]], "f4")


def ran(symbol, **arrays):
    (output,) = symbol.eval(**{name: amp.nd.NDArray(array) for name, array in arrays.items()})
    return output.asnumpy()


def last_node(symbol):
    node = json.loads(symbol.tojson())["nodes"][-1]
    return node["op"], node["name"]


# ---- namespaces ----


@pytest.mark.parametrize(
    "path, name, operator",
    [
        ("np", "sum", "_np_sum"),
        ("np", "exp", "_npi_exp"),
        ("np._internal", "add", "_npi_add"),
        ("npx", "relu", "_npx_relu"),
        ("contrib", "AdaptiveAvgPooling2D", "_contrib_AdaptiveAvgPooling2D"),
        ("op", "Activation", "Activation"),
        ("sparse", "dot", "_sparse_dot"),
        ("_internal", "_plus_scalar", "_plus_scalar"),
    ],
)
def test_namespaces(path, name, operator):
    namespace = amp.sym
    for part in path.split("."):
        namespace = getattr(namespace, part)
    assert getattr(namespace, name).__name__ == operator
    assert name in dir(namespace)
    assert __import__("importlib").import_module(f"amp.sym.{path}") is namespace


def test_every_namespace_is_there():
    for name in "np npx contrib linalg image random sparse _internal op".split():
        with pytest.raises(AttributeError, match=rf"amp.sym.{name}\W.*nothing_like_it"):
            getattr(amp.sym, name).nothing_like_it  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'AdaptiveAvgPooling2D'"):
        amp.sym.contrib.AdaptivAvgPooling2D  # noqa: B018


def op_sym_fn(name):
    """The rule of MXNet's tests: the namespace is what the name begins with."""
    if name.startswith("_np_"):
        return getattr(amp.sym.np, name[len("_np_") :])
    if name.startswith("_npi_"):
        return getattr(amp.sym.np._internal, name[len("_npi_") :])
    if name.startswith("_npx_"):
        return getattr(amp.sym.npx, name[len("_npx_") :])
    for prefix in mx.base._OP_NAME_PREFIX_LIST:
        if name.startswith(prefix):
            return getattr(getattr(amp.sym, prefix.strip("_")), name[len(prefix) :])
    return getattr(amp.sym, name, None) or getattr(amp.sym._internal, name)


def test_every_operator_is_found_by_the_rule_of_mxnets_tests():
    for name in mx.operator.get_all_registered_operators():
        function = op_sym_fn(name)
        # Those of `sym.random` and `sym.image` are functions with arguments of their own.
        known = (name, name.lstrip("_"), name.removeprefix("_random_"), name.removeprefix("_image_"))
        assert function.__name__ in known, name
        assert mx.base._is_np_op(name) == name.startswith(("_np_", "_npi_", "_npx_"))


# ---- functions ----


@pytest.mark.parametrize(
    "symbol, expected",
    [
        (amp.sym.zeros((2, 3)), np.zeros((2, 3), "f4")),
        (amp.sym.ones((2,), dtype="int32"), np.ones(2, "i4")),
        (amp.sym.arange(2, 7, 2), np.arange(2, 7, 2, dtype="f4")),
        (amp.sym.arange(3, repeat=2, dtype="int32"), np.repeat(np.arange(3, dtype="i4"), 2)),
    ],
)
def test_constants(symbol, expected):
    output = ran(symbol)
    assert output.dtype == expected.dtype
    np.testing.assert_array_equal(output, expected)


def test_numbers_and_symbols_in_either_place():
    a = amp.sym.Variable("a")
    np.testing.assert_array_equal(ran(amp.sym.maximum(a, 1), a=A), np.maximum(A, 1))
    np.testing.assert_array_equal(ran(amp.sym.minimum(1, a), a=A), np.minimum(A, 1))
    np.testing.assert_array_equal(ran(amp.sym.maximum(a, amp.sym.Variable("b")), a=A, b=B), np.maximum(A, B))
    np.testing.assert_array_equal(ran(amp.sym.pow(a, 2), a=A), A**2)
    assert amp.sym.maximum(1, 2) == 2 and amp.sym.minimum(1.5, 2) == 1.5
    with pytest.raises(amp.ArgumentError, match="maximum: expected Symbols and numbers, got Symbol and str"):
        amp.sym.maximum(a, "b")


@pytest.mark.parametrize("where, expected", [(3, 3), ((1,), 2)])
def test_split_v2(where, expected):
    parts = amp.sym.split_v2(amp.sym.Variable("a"), where, axis=1)
    assert len(parts) == expected
    pieces = parts.eval(a=amp.nd.NDArray(A))
    for piece, wanted in zip(pieces, np.split(A, where, axis=1)):
        np.testing.assert_array_equal(piece.asnumpy(), wanted)


# ---- comparisons ----


@pytest.mark.parametrize("name", ["equal", "not_equal", "greater", "greater_equal", "less", "less_equal"])
def test_comparisons_are_symbols(name):
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    compare = {
        "equal": lambda x, y: x == y,
        "not_equal": lambda x, y: x != y,
        "greater": lambda x, y: x > y,
        "greater_equal": lambda x, y: x >= y,
        "less": lambda x, y: x < y,
        "less_equal": lambda x, y: x <= y,
    }[name]
    np.testing.assert_array_equal(ran(compare(a, b), a=A, b=B), compare(A, B).astype("f4"))
    np.testing.assert_array_equal(ran(compare(a, 2), a=A), compare(A, 2).astype("f4"))
    np.testing.assert_array_equal(ran(compare(2.0, a), a=A), compare(2.0, A).astype("f4"))


def test_names_of_comparisons_are_mxnets():
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    with amp.name.NameManager():
        assert [(a == b).name, (a > 1).name, (1 > a).name, (a + 1).name, (2**a).name] == [
            "_equal0",
            "_greater_scalar0",
            "_lesser_scalar0",
            "_plusscalar0",
            "_rpower_scalar0",
        ]


def test_symbols_have_no_truth_value_and_can_be_keys():
    a = amp.sym.Variable("a")
    assert {a: 1}[a] == 1 and (a == None) is False and (a != None) is True  # noqa: E711
    with pytest.raises(amp.base.NotImplementedForSymbol):
        bool(a == 1)


# ---- methods ----

CALLS = {
    "expand_dims": {"axis": 1},
    "flip": {"axis": 1},
    "sort": {"axis": 1},
    "topk": {"axis": 1},
    "argsort": {"axis": 1},
    "argmax": {"axis": 1},
    "argmin": {"axis": 1},
    "one_hot": {"depth": 3},
    "tile": {"reps": (1, 2)},
    "repeat": {"repeats": 3},
    "transpose": {"axes": (1, 0)},
    "split": {"axis": 1, "num_outputs": 3},
    "split_v2": {"indices_or_sections": 3, "axis": 1},
    "slice": {"begin": (0, 1), "end": (2, 3)},
    "slice_axis": {"axis": 1, "begin": 0, "end": 2},
    "clip": {"a_min": -1.0, "a_max": 1.0},
    "broadcast_axes": {"axis": 0, "size": 5},
    "pad": {"mode": "constant", "pad_width": (0, 0, 0, 0, 1, 1, 1, 1)},
    "reshape": {"shape": (3, 2)},
    "broadcast_to": {"shape": (4, 3)},
    "squeeze": {"axis": 0},
    "swapaxes": {"dim1": 0, "dim2": 1},
    "depth_to_space": {"block_size": 2},
    "space_to_depth": {"block_size": 2},
    "take": {"indices": amp.sym.Variable("other")},
    "pick": {"index": amp.sym.Variable("other")},
    "slice_like": {"shape_like": amp.sym.Variable("other")},
    "broadcast_like": {"rhs": amp.sym.Variable("other")},
    "reshape_like": {"rhs": amp.sym.Variable("other")},
}


@pytest.mark.parametrize("name", amp.sym.fluent.NAMES)
def test_methods_are_functions(name):
    data, arguments = amp.sym.Variable("data"), CALLS.get(name, {})
    method = getattr(data, name)
    if not hasattr(amp.sym, name):
        with pytest.raises(amp.UnsupportedError, match=f"Symbol.{name}: the operator {name} is not registered"):
            method(**arguments)
        return
    with amp.name.NameManager():
        expected = getattr(amp.sym, name)(data, **arguments)
    with amp.name.NameManager():
        found = method(**arguments)
    assert found.tojson() == expected.tojson()


@pytest.mark.parametrize(
    "symbol, expected",
    [
        (amp.sym.Variable("a").reshape(3, 2), A.reshape(3, 2)),
        (amp.sym.Variable("a").reshape((-1,)), A.reshape(-1)),
        (amp.sym.Variable("a").reshape(-1), A.reshape(-1)),
        (amp.sym.Variable("a").transpose(1, 0), A.T),
        (amp.sym.Variable("a").transpose(), A.T),
        (amp.sym.Variable("a").expand_dims(1, inplace=True), A[:, None]),
        (amp.sym.Variable("a").astype("int32"), A.astype("i4")),
        (amp.sym.Variable("a").sum(axis=1), A.sum(1)),
        (abs(amp.sym.Variable("a")).sqrt(), np.sqrt(np.abs(A))),
    ],
)
def test_values_of_methods(symbol, expected):
    np.testing.assert_allclose(ran(symbol, a=A), expected, rtol=1e-6)


@pytest.mark.parametrize("name", "asnumpy asscalar wait_to_read detach backward copy as_in_context".split())
def test_methods_of_arrays_are_refused(name):
    with pytest.raises(amp.base.NotImplementedForSymbol, match=f"Symbol.{name}: a Symbol has no values"):
        getattr(amp.sym.Variable("a"), name)()


def test_a_graph_as_text():
    layer = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=3, no_bias=True, name="fc")
    text = mx.sym.Group([mx.sym.SliceChannel(layer, num_outputs=3, name="s")[2], layer]).debug_str()
    assert text.splitlines() == [
        *("Symbol Outputs:", "\toutput[0]=s(2)", "\toutput[1]=fc(0)", "Variable:x", "Variable:fc_weight", "-" * 20),
        *("Op:FullyConnected, Name=fc", "Inputs:", "\targ[0]=x(0)", "\targ[1]=fc_weight(0)"),
        *("Attrs:", "\tno_bias=True", "\tnum_hidden=3", "-" * 20),
        *("Op:SliceChannel, Name=s", "Inputs:", "\targ[0]=fc(0)", "Attrs:", "\tnum_outputs=3"),
    ]


def test_gradient_is_refused():
    with pytest.raises(amp.UnsupportedError, match=r"use amp.gradient\(symbol"):
        amp.sym.Variable("a").gradient(["a"])


# ---- NumPy's semantics ----


def test_numpy_symbols_broadcast():
    a, b = amp.sym.Variable("a").as_np_ndarray(), amp.sym.Variable("b")
    assert isinstance(a + b, amp.sym.NumpySymbol) and isinstance(b + a, amp.sym.NumpySymbol)
    np.testing.assert_array_equal(ran(a - b, a=A, b=B[:1]), A - B[:1])
    np.testing.assert_array_equal(ran(2 / a, a=A), 2 / A)
    np.testing.assert_array_equal(ran(a.sum(), a=A), A.sum())
    np.testing.assert_array_equal(ran(abs(-a), a=A), np.abs(A))
    assert last_node(a + b)[0] == last_node(amp.sym.np.add(b, b))[0] == "_npi_add"
    classic = (a + 1).as_nd_ndarray()
    assert type(classic) is amp.Symbol and last_node(classic + 1)[0] == "_plus_scalar"


def test_spelling_of_shapes():
    symbol = amp.sym.FullyConnected(amp.sym.Variable("x"), amp.sym.Variable("w"), num_hidden=4, no_bias=True)
    assert symbol.infer_shape_partial(x=(0, 3)) == ([(0, 3), (4, 3)], [(0, 4)], [])
    with mx.util.np_shape():
        assert symbol.infer_shape_partial(x=(-1, 3)) == ([(-1, 3), (4, 3)], [(-1, 4)], [])
        assert symbol.infer_shape_partial()[0][0] is None
        assert symbol.infer_shape(x=(0, 3)) == ([(0, 3), (4, 3)], [(0, 4)], [])
        total = amp.sym.np.sum(amp.sym.Variable("x"))
        assert total.infer_shape(x=(2, 3))[1] == [()]
    assert symbol.infer_shape_partial(x=(2, 3))[1] == [(2, 4)]


# ---- what changes a symbol in place ----


def test_attributes_of_variables_and_operators():
    a = amp.sym.Variable("a", lr_mult=2)
    a._set_attr(__dtype__="0", mood="good")
    assert a.attr_dict()["a"] == {"__lr_mult__": "2", "lr_mult": "2", "__dtype__": "0", "mood": "good"}
    layer = amp.sym.FullyConnected(a, num_hidden=4, name="fc")
    before = layer + 1
    layer._set_attr(__mood__="bad")
    assert layer.attr("mood") == "bad" and layer.attr("num_hidden") == "4" and layer.list_outputs() == ["fc_output"]
    assert "__mood__" not in before.attr_dict()["fc"]
    with pytest.raises(amp.ArgumentError, match="attributes are text, got mood=1"):
        a._set_attr(mood=1)


def test_an_operator_alone():
    layer = amp.sym.FullyConnected(amp.sym.exp(amp.sym.Variable("a")), num_hidden=4, name="fc")
    alone = layer._gen_atomic_symbol()
    assert alone.list_arguments() == ["fc_data", "fc_weight", "fc_bias"] and alone.attr("num_hidden") == "4"
    with pytest.raises(amp.ArgumentError, match="'a' is a variable"):
        amp.sym.Variable("a")._gen_atomic_symbol()


def test_batch_norm_with_relu_needs_no_subgraph():
    """MXNet's files have the norm's attributes on one node; composing such a node works, too."""
    data = amp.sym.Variable("data")
    norm = amp.sym.contrib.BatchNormWithReLU(data, name="bn", fix_gamma=False, eps=1e-4, axis=-1)
    assert norm.list_arguments() == ["data", "bn_gamma", "bn_beta"]
    assert norm.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    graph = json.loads(norm.tojson())
    for node in graph["nodes"]:
        node.pop("subgraphs", None)
    x = np.random.default_rng(0).standard_normal((4, 3)).astype("f4")
    args = {"bn_gamma": np.full(3, 2, "f4"), "bn_beta": np.full(3, 0.5, "f4")}
    aux = {"bn_moving_mean": np.full(3, 0.1, "f4"), "bn_moving_var": np.full(3, 4, "f4")}
    expected = np.maximum((x - 0.1) / np.sqrt(4 + 1e-4) * 2 + 0.5, 0)
    for symbol in (norm, amp.sym.load_json(json.dumps(graph))):
        (got,) = amp.Executor(symbol, args, aux, {"data": x.shape})(x)
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    low, low_args, low_aux = amp.convert_model(norm, args, aux)
    assert amp.Executor(low, low_args, low_aux, {"data": x.shape})(x)[0].asnumpy().shape == (4, 3)


def test_split_v2_takes_both_forms():
    data = amp.sym.Variable("data")
    assert len(amp.sym._split_v2(ary=data, indices_or_sections=(2, 3))) == 3
    assert len(amp.sym._split_v2(data, sections=2)) == 2


def test_variables_of_one_axis_and_of_dense_storage():
    assert amp.sym.Variable("x", shape=3).list_attr() == {"__shape__": "(3,)"}
    assert amp.sym.Variable("x", stype="default").list_attr() == {}
    with pytest.raises(amp.UnsupportedError, match="variable 'x': storage 'csr' is not supported; arrays are dense"):
        amp.sym.Variable("x", stype="csr")


def test_broadcast_operators_ignore_an_axis():
    """As MXNet does, whose programs give one."""
    x, y = amp.sym.Variable("x"), amp.sym.Variable("y")
    for name in ("broadcast_maximum", "broadcast_add", "broadcast_equal"):
        symbol = getattr(amp.sym, name)(x, y, axis=1)
        (found,) = symbol.eval(x=amp.nd.array([[1, 5]]), y=amp.nd.array([[3], [5]]))
        (expected,) = getattr(amp.sym, name)(x, y).eval(x=amp.nd.array([[1, 5]]), y=amp.nd.array([[3], [5]]))
        assert found.asnumpy().tolist() == expected.asnumpy().tolist()
    assert mx.nd.broadcast_minimum(mx.nd.ones((2,)), mx.nd.zeros((2,)), axis=1).asnumpy().tolist() == [0, 0]
    with pytest.raises(amp.GraphError, match="unknown attribute 'axes'"):
        amp.sym.broadcast_add(x, y, axes=1)


def test_arange_may_have_the_size_of_what_reads_it():
    numbers = amp.sym.arange(2, step=3, repeat=2, infer_range=True)
    total = numbers + amp.sym.Variable("x")
    assert total.eval(x=amp.nd.zeros((5,)))[0].asnumpy().tolist() == [2, 2, 5, 5, 8]
    assert amp.sym.load_json(total.tojson()).infer_shape(x=(7,))[1] == [(7,)]
    with pytest.raises(amp.GraphError, match="nothing that reads the output says what -1 is"):
        numbers.eval()
    assert amp.sym.arange(3, infer_range=True, stop=5).eval()[0].asnumpy().tolist() == [3, 4]
