"""amp.sym: composing, asking, indexing, operator functions."""

import ast
import concurrent.futures
import copy
import inspect
import pickle
import subprocess
import sys
import threading

import ml_dtypes
import numpy as np
import pytest

import amp
from amp.mxnet.operator import kl_regularization
from amp.mxnet.operator.array_operators import ROWS
from amp.name import NameManager, Prefix


@pytest.fixture(autouse=True)
def fresh_names():
    with NameManager():
        yield


def mlp():
    data = amp.sym.Variable("data")
    net = amp.sym.FullyConnected(data=data, name="fc1", num_hidden=10)
    net = amp.sym.Activation(net, act_type="relu", name="relu1")
    return amp.sym.FullyConnected(net, name="fc2", num_hidden=4)


# ---- composing ----


def test_lists_of_a_network():
    net = mlp()
    assert net.list_arguments() == ["data", "fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias"]
    assert net.list_inputs() == net.list_arguments()
    assert net.list_outputs() == ["fc2_output"]
    assert net.list_auxiliary_states() == []
    assert net.name == "fc2" and repr(net) == "<Symbol fc2>"


def test_states_are_told_apart():
    net = amp.sym.BatchNorm(amp.sym.var("data"), name="bn")
    assert net.list_arguments() == ["data", "bn_gamma", "bn_beta"]
    assert net.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    assert net.list_inputs() == ["data", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"]
    assert net.list_outputs() == ["bn_output"]


def test_given_inputs_are_used():
    weight = amp.sym.Variable("w")
    by_keyword = amp.sym.FullyConnected(amp.sym.var("data"), weight=weight, num_hidden=2, no_bias=True, name="fc")
    by_position = amp.sym.FullyConnected(amp.sym.var("data"), weight, num_hidden=2, no_bias=True, name="fc")
    with_none = amp.sym.FullyConnected(amp.sym.var("data"), weight, None, 2, True, name="fc")
    assert by_keyword.tojson() == by_position.tojson() == with_none.tojson()
    assert by_keyword.list_arguments() == ["data", "w"]


def test_optional_inputs_can_be_passed():
    gamma = amp.sym.Variable("slope")
    net = amp.sym.LeakyReLU(amp.sym.var("data"), gamma=gamma, act_type="prelu")
    assert net.list_arguments() == ["data", "slope"]
    assert "gamma" in inspect.signature(amp.sym.LeakyReLU).parameters


def test_variadic_operators():
    a, b, c = (amp.sym.Variable(name) for name in "abc")
    net = amp.sym.Concat(a, b, c, dim=0)
    assert net.attr("num_args") == "3" and net.name == "concat0"
    assert amp.sym.concat(*[a, b], dim=0, num_args=2).list_arguments() == ["a", "b"]
    assert amp.sym.Concat(amp.sym.Group([a, b]), dim=0).list_arguments() == ["a", "b"]
    assert amp.sym.Concat(num_args=2, dim=1, name="c").list_arguments() == ["c_arg0", "c_arg1"]
    with pytest.raises(amp.ArgumentError, match="num_args is 3, but 2 inputs"):
        amp.sym.Concat(a, b, num_args=3)
    assert amp.sym.Concat([a, b], dim=0).list_arguments() == ["a", "b"]
    with pytest.raises(amp.ArgumentError, match="must be Symbols, got int"):
        amp.sym.Concat(a, 2)
    assert len(amp.sym.amp_multicast(a, b, num_outputs=2)) == 2


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda d: amp.sym.FullyConnected(d), amp.GraphError, "FullyConnected 'fullyconnected0'.*num_hidden .*missing"),
        (lambda d: amp.sym.FullyConnected(d, num_hiden=3), amp.GraphError, "num_hid"),
        (lambda d: amp.sym.Activation(d, act_type="rel"), amp.GraphError, "act_type.*relu.*'rel'"),
        (lambda d: amp.sym.Activation(3, act_type="relu"), amp.ArgumentError, "data must be a Symbol, got int"),
        (lambda d: amp.sym.Activation(d, data=d, act_type="relu"), amp.ArgumentError, "data is given twice"),
        (lambda d: amp.sym.Activation(d, wheight=d, act_type="relu"), amp.ArgumentError, "no input 'wheight'"),
        (lambda d: amp.sym.Activation(d, act_type=d), amp.ArgumentError, "act_type .* cannot be a Symbol"),
        (lambda d: amp.sym.Flatten(d, *[None] * 9), amp.ArgumentError, "at most"),
        (lambda d: amp.sym.Pooling(d, kernel=(1, 1j)), amp.ArgumentError, "attribute kernel: .*complex"),
        (lambda d: amp.sym.Cast(d, dtype="float33"), amp.ArgumentError, "float33"),
        (lambda d: amp.sym.Flatten(mlp().get_internals()), amp.ArgumentError, "must have one output"),
        (lambda d: amp.sym.Activation(d, act_type="relu", attr={"x": 3}), amp.ArgumentError, "text, got 'x': 3"),
        (lambda d: amp.sym.Variable(""), amp.ArgumentError, "name"),
        (lambda d: amp.sym.Variable("x", color="red"), amp.ArgumentError, "__key__"),
        (lambda d: amp.sym.Group([]), amp.ArgumentError, "at least one"),
        (lambda d: amp.sym.Group([3]), amp.ArgumentError, "Symbols, got int"),
    ],
)
def test_mistakes(make, error, text):
    with pytest.raises(error, match=text):
        make(amp.sym.Variable("data"))


def test_attributes_are_printed_as_mxnet_does():
    net = amp.sym.Convolution(
        amp.sym.var("x"), kernel=[3, np.int64(3)], num_filter=np.int32(8), no_bias=True, stride=(2, 2), layout=None
    )
    assert net.list_attr() == {
        "kernel": "(3, 3)",
        "num_filter": "8",
        "no_bias": "True",
        "stride": "(2, 2)",
        "layout": "None",
    }
    assert amp.sym.clip(amp.sym.var("x"), 0, np.float32(0.5)).list_attr() == {"a_min": "0", "a_max": "0.5"}
    assert amp.sym.BatchNorm(amp.sym.var("x"), eps=1e-5).attr("eps") == "1e-05"
    for dtype in ("bfloat16", ml_dtypes.bfloat16, np.dtype([("bfloat16", np.uint16)])):
        assert amp.sym.Cast(amp.sym.var("x"), dtype=dtype).attr("dtype") == "bfloat16"
    assert amp.sym.Cast(amp.sym.var("x"), dtype=np.float16).attr("dtype") == "float16"


def test_variables_keep_what_is_known_of_them():
    x = amp.sym.Variable("x", shape=(0, 3), dtype="bfloat16", lr_mult=2, wd_mult=0.5, init="zeros", __mine__=1)
    assert x.list_attr() == {
        "__shape__": "(0, 3)",
        "__dtype__": "12",
        "__lr_mult__": "2",
        "lr_mult": "2",
        "__wd_mult__": "0.5",
        "wd_mult": "0.5",
        "__init__": "zeros",
        "__mine__": "1",
    }
    assert x.attr("lr_mult") == "2" and x.attr("nothing") is None
    assert amp.sym.Variable("y", shape=(4,)).attr("__shape__") == "(4,)"
    assert amp.sym.Variable("z", attr={"ctx_group": "a"}).list_attr() == {"__ctx_group__": "a", "ctx_group": "a"}


def test_attr_dict():
    net = amp.sym.Flatten(amp.sym.Variable("x", lr_mult=3), name="f", attr={"__mood__": "calm"})
    assert net.attr_dict() == {"x": {"__lr_mult__": "3", "lr_mult": "3"}, "f": {"__mood__": "calm"}}
    with pytest.raises(amp.ArgumentError, match="group"):
        mlp().get_internals().list_attr()


# ---- arithmetic ----


def test_arithmetic():
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    total = a + b
    assert total.get_internals().list_outputs() == ["a", "b", "_plus0_output"]
    for expression, op, scalar in [
        (a + 1, "_plus_scalar", "1"),
        (2.5 + a, "_plus_scalar", "2.5"),
        (a - 1, "_minus_scalar", "1"),
        (a * 3, "_mul_scalar", "3"),
        (np.float32(0.5) * a, "_mul_scalar", "0.5"),
        (a / 4, "_div_scalar", "4"),
        (-a, "_mul_scalar", "-1.0"),
    ]:
        assert f'"op": "{op}"' in expression.tojson()
        assert float(expression.attr("scalar")) == float(scalar)
    assert [s.name for s in (a + 1, a * 1, a / 1)] == ["_plusscalar2", "_mulscalar3", "_divscalar1"]


def test_arithmetic_gives_what_numpy_gives():
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    expression = amp.sym.Group([1 - a, 1 / a, a**2, 2**a, a - b, a * b, a / b, abs(-a), a % 3, 3 % a, a % b, a**b])
    x, y = np.float32([1, 2, 4]), np.float32([8, 0.5, -2])
    shapes = {"a": x.shape, "b": y.shape}
    expected = [1 - x, 1 / x, x**2, 2**x, x - y, x * y, x / y, x, x % 3, 3 % x, x % y, x**y]
    for output, wanted in zip(amp.Executor(expression, {}, {}, shapes)(a=x, b=y), expected):
        np.testing.assert_allclose(output.asnumpy(), wanted, rtol=1e-6)


def test_arithmetic_with_other_things():
    with pytest.raises(TypeError):
        amp.sym.Variable("a") + "text"
    with pytest.raises(TypeError):
        np.ones(3) * amp.sym.Variable("a")


def test_no_truth_value():
    with pytest.raises(amp.base.NotImplementedForSymbol):
        bool(amp.sym.Variable("a"))
    assert issubclass(amp.base.NotImplementedForSymbol, amp.UnsupportedError)


# ---- names and scopes ----


def test_automatic_names_count_per_operator():
    x = amp.sym.Variable("x")
    assert [amp.sym.Flatten(x).name for _ in range(2)] == ["flatten0", "flatten1"]
    assert amp.sym.flatten(x).name == "flatten2"
    assert amp.sym.FullyConnected(x, num_hidden=1).name == "fullyconnected0"
    with NameManager():
        assert amp.sym.Flatten(x).name == "flatten0"
    assert amp.sym.Flatten(x).name == "flatten3"


def test_prefix():
    with Prefix("net_"):
        x = amp.sym.Variable("x")
        assert x.name == "x"
        assert amp.sym.Flatten(x).name == "net_flatten0"
        assert amp.sym.Flatten(x, name="f").name == "net_f"


def test_name_managers_belong_to_threads():
    found = []
    with Prefix("here_"):
        thread = threading.Thread(target=lambda: found.append(amp.sym.Flatten(amp.sym.Variable("x")).name))
        thread.start()
        thread.join()
    assert found == ["flatten0"]


def test_attribute_scopes_nest():
    with amp.AttrScope(ctx_group="a", __mood__="calm"):
        with amp.AttrScope(ctx_group="b"):
            x = amp.sym.Variable("x")
            f = amp.sym.Flatten(x, attr={"__mood__": "wild"})
        y = amp.sym.Variable("y")
    assert x.list_attr() == {"__ctx_group__": "b", "ctx_group": "b", "__mood__": "calm"}
    assert f.list_attr() == {"__ctx_group__": "b", "ctx_group": "b", "__mood__": "wild"}
    assert y.attr("ctx_group") == "a"
    assert amp.sym.Variable("z").list_attr() == {}
    with pytest.raises(amp.ArgumentError, match="text"):
        amp.AttrScope(x=1)


# ---- inference ----


def constraint(symbol):
    return symbol.list_attr().get("__opt_constraint__")


def test_disable_amp_marks_operators():
    x = amp.sym.Variable("x")
    before = amp.sym.relu(x)
    with amp.disable_amp():
        y = amp.sym.Variable("y")
        inside = [
            amp.sym.FullyConnected(y, num_hidden=2, name="fc"),
            amp.sym.Concat(x, y),
            x + y,
            2 - y,
            abs(y),
        ]
    assert [constraint(symbol) for symbol in inside] == ["1"] * 5
    assert [constraint(symbol) for symbol in (x, y, before, amp.sym.relu(x))] == [None] * 4
    assert amp.sym.load_json(inside[0].tojson()).attr_dict()["fc"]["__opt_constraint__"] == "1"


def test_disable_amp_adds_its_bit():
    x = amp.sym.Variable("x")
    with amp.AttrScope(__opt_constraint__="2"):
        assert constraint(amp.sym.relu(x)) == "2"
        with amp.disable_amp():
            assert constraint(amp.sym.relu(x)) == constraint(x * 2) == "3"
            assert constraint(amp.sym.relu(x, attr={"__opt_constraint__": "4"})) == "5"
            with amp.AttrScope(__opt_constraint__="0", ctx_group="a"), amp.disable_amp():
                nested = amp.sym.relu(x)
                assert nested.list_attr() == {"__opt_constraint__": "1", "__ctx_group__": "a", "ctx_group": "a"}
            with amp.AttrScope(ctx_group="a"):
                assert constraint(amp.sym.relu(x)) == "3"
            with pytest.raises(amp.ArgumentError, match="__opt_constraint__: expected a number, got 'two'"):
                amp.sym.relu(x, attr={"__opt_constraint__": "two"})
        assert constraint(amp.sym.relu(x)) == "2"


def test_disable_amp_is_of_one_thread():
    with amp.disable_amp(), concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert constraint(pool.submit(lambda: amp.sym.relu(amp.sym.Variable("x"))).result()) is None


def test_infer_shape():
    net = mlp()
    args, outs, aux = net.infer_shape(data=(8, 20))
    assert args == [(8, 20), (10, 20), (10,), (4, 10), (4,)]
    assert (outs, aux) == ([(8, 4)], [])
    assert net.infer_shape((8, 20))[0] == args
    assert net.infer_shape((8, 20), None)[1] == outs
    bn = amp.sym.BatchNorm(amp.sym.var("x"), name="bn")
    assert bn.infer_shape(x=(2, 5, 3)) == ([(2, 5, 3), (5,), (5,)], [(2, 5, 3)], [(5,), (5,)])


def test_incomplete_shapes():
    net = mlp()
    with pytest.warns(UserWarning, match="data"):
        assert net.infer_shape() == (None, None, None)
    with pytest.warns(UserWarning):
        assert net.infer_shape(data=(0, 20)) == (None, None, None)
    args, outs, _ = net.infer_shape_partial(data=(0, 20))
    assert args[:2] == [(0, 20), (10, 20)] and outs == [(0, 4)]
    assert amp.sym.Flatten(amp.sym.var("x")).infer_shape_partial()[0] == [()]
    assert amp.sym.var("x", shape=(0, 3)).infer_shape_partial()[1] == [(0, 3)]


def test_shapes_flow_backward():
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    assert (a + b).infer_shape(b=(2, 3))[0] == [(2, 3), (2, 3)]
    assert (a + b).infer_shape(a=(2, 0), b=(0, 3))[1] == [(2, 3)]


def test_contradicting_shapes_name_the_node():
    with pytest.raises(amp.GraphError, match="fc1.*20.*21|fc1.*21.*20"):
        mlp().infer_shape(data=(8, 20), fc1_weight=(10, 21))


@pytest.mark.parametrize(
    "kwargs, text",
    [({"dta": (1, 2)}, "dta.*data"), ({"data": "12"}, "tuple of integers"), ({"data": (1.5,)}, "integers")],
)
def test_wrong_arguments_of_inference(kwargs, text):
    with pytest.raises(amp.ArgumentError, match=text):
        mlp().infer_shape(**kwargs)
    with pytest.raises(amp.ArgumentError):
        mlp().infer_shape((1, 2), data=(1, 2))


def test_infer_type():
    net = mlp()
    assert net.infer_type(data="float32") == ([np.float32] * 5, [np.float32], [])
    assert net.infer_type(np.float16)[1] == [np.float16]
    assert net.infer_type(data="bfloat16")[1] == [ml_dtypes.bfloat16]
    assert net.infer_type() == (None, None, None)
    assert net.infer_type_partial()[1] == [None]
    cast = amp.sym.Cast(amp.sym.var("x"), dtype="float16")
    assert cast.infer_type_partial() == ([None], [np.float16], [])
    assert amp.sym.Flatten(amp.sym.var("x", dtype="int32")).infer_type()[1] == [np.int32]
    with pytest.raises(amp.GraphError, match="fc1"):
        net.infer_type(data="float32", fc1_weight="float16")


# ---- parts ----


def test_internals_and_children():
    net = mlp()
    internals = net.get_internals()
    assert internals.list_outputs() == [
        "data",
        "fc1_weight",
        "fc1_bias",
        "fc1_output",
        "relu1_output",
        "fc2_weight",
        "fc2_bias",
        "fc2_output",
    ]
    assert internals["fc1_output"].list_arguments() == ["data", "fc1_weight", "fc1_bias"]
    assert internals["fc1_weight"].name == "fc1_weight"
    assert net.get_children().list_outputs() == ["relu1_output", "fc2_weight", "fc2_bias"]
    assert amp.sym.Variable("x").get_children() is None
    with pytest.raises(amp.ArgumentError, match="fc1_output"):
        internals["fc1_outputs"]


def test_indexing():
    a, b, c = (amp.sym.Variable(name) for name in "abc")
    group = amp.sym.Group([a, b, c])
    assert len(group) == 3 and len(a) == 1
    assert [symbol.name for symbol in group] == ["a", "b", "c"]
    assert group[-1].name == "c" and group[np.int64(1)].name == "b"
    assert group[1:].list_outputs() == ["b", "c"]
    assert group.name is None and repr(group) == "<Symbol group [a, b, c]>"
    for index in (3, -4):
        with pytest.raises(IndexError):
            group[index]


def test_composition_replaces_variables():
    front = amp.sym.FullyConnected(amp.sym.var("image"), num_hidden=20, name="front")
    back = mlp()
    composed = back(data=front, name="composed")
    assert composed.list_arguments()[:3] == ["image", "front_weight", "front_bias"]
    assert back.list_arguments()[0] == "data"
    assert composed.infer_shape(image=(2, 5))[1] == [(2, 4)]
    with pytest.raises(amp.ArgumentError, match="no input 'dat'.*'data'"):
        back(dat=front)
    with pytest.raises(amp.ArgumentError, match="Symbol, got int"):
        back(data=3)
    with pytest.raises(amp.ArgumentError, match="by name"):
        back(front)


def test_copies_and_pickles():
    net = mlp()
    for other in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert isinstance(other, amp.Symbol) and other.tojson() == net.tojson()


def test_json_is_canonical():
    net = mlp()
    assert amp.sym.load_json(net.tojson()).tojson() == net.tojson()


# ---- operator functions ----


def test_every_operator_has_a_function():
    names = amp._core.operator_names()
    assert {"Convolution", "FullyConnected", "_plus_scalar", "amp_cast", "softmax"} <= set(names)
    for name in names:
        if not name.isidentifier():
            continue
        function = getattr(amp.sym, name)
        assert getattr(amp.sym._internal, name) is function
        if name in ("Custom", kl_regularization.NAME, *ROWS):
            continue  # functions with arguments of their own
        signature = inspect.signature(function)
        assert list(signature.parameters)[-2:] == ["name", "attr"]
        assert signature.return_annotation is amp.Symbol
        assert "Parameters\n----------\n" in function.__doc__ and len(function.__doc__.split("\n")[0]) > 10
    assert {"Convolution", "Variable"} <= set(dir(amp.sym))
    assert "_plus_scalar" in dir(amp.sym._internal)


def test_signatures_tell_inputs_and_defaults():
    parameters = inspect.signature(amp.sym.FullyConnected).parameters
    assert list(parameters)[:4] == ["data", "weight", "bias", "num_hidden"]
    assert repr(parameters["num_hidden"].default) == "<required>"
    assert parameters["no_bias"].default is False and parameters["flatten"].default is True
    concat = inspect.signature(amp.sym.Concat).parameters
    assert concat["data"].kind is inspect.Parameter.VAR_POSITIONAL and "num_args" not in concat


def test_aliases_make_the_registered_operator():
    assert '"op": "Concat"' in amp.sym.concat(amp.sym.var("a"), amp.sym.var("b")).tojson()


def test_unknown_functions():
    with pytest.raises(AttributeError, match="Convolutoin.*Convolution"):
        amp.sym.Convolutoin  # noqa: B018
    assert not hasattr(amp.sym, "NoSuchOperator")


def test_stubs_are_made_from_the_registry(repository, tmp_path):
    """The build calls this script with the extension; a type for each name that the module has."""
    stub = tmp_path / "sym" / "__init__.pyi"
    script = repository / "tools" / "make_stubs.py"
    subprocess.run([sys.executable, "-S", str(script), amp._core.__file__, str(stub)], check=True)
    tree = ast.parse(stub.read_text())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    # What amp.mxnet registers.
    of_programs = {"Custom", "_npi_Custom", "_train_Custom", "_backward_Custom", kl_regularization.NAME, *ROWS}
    assert set(functions) == {name for name in amp._core.operator_names() if name.isidentifier()} - of_programs
    dense = functions["FullyConnected"].args
    assert [argument.arg for argument in dense.args][:4] == ["data", "weight", "bias", "num_hidden"]
    assert ast.unparse(dense.args[3].annotation) == "int"
    imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert set(amp.sym.__all__) <= imported


def test_variables_that_an_operator_makes_have_its_attributes():
    net = amp.sym.FullyConnected(amp.sym.var("x"), num_hidden=2, lr_mult=0.5, wd_mult=0, name="fc")
    attributes = net.attr_dict()
    assert "x" not in attributes
    for name in ("fc_weight", "fc_bias"):
        assert (attributes[name]["__lr_mult__"], attributes[name]["wd_mult"]) == ("0.5", "0")


def test_shapes_follow_backwards():
    x, y = amp.sym.Variable("x"), amp.sym.Variable("y")

    def shape_of_x(symbol, **known):
        return symbol.infer_shape(**known)[0][symbol.list_arguments().index("x")]

    assert shape_of_x(amp.sym.reshape(x, shape=(4, 6)), x=(2, 0, 3)) == (2, 4, 3)
    merged = amp.sym.elemwise_add(amp.sym.reshape(x, shape=(-1, 2)), y)
    assert shape_of_x(merged, x=(3, 0), y=(9, 2)) == (3, 6)
    parts = amp.sym.SliceChannel(x, num_outputs=3, axis=1)
    assert shape_of_x(amp.sym.elemwise_add(parts[1], y), y=(2, 4)) == (2, 12)
    squeezed = amp.sym.SliceChannel(x, num_outputs=3, axis=-1, squeeze_axis=True)
    assert shape_of_x(amp.sym.elemwise_add(squeezed[0], y), y=(2, 4)) == (2, 4, 3)
    with pytest.raises(amp.GraphError, match="split into 3 parts|of shape"):
        amp.sym.elemwise_add(parts[1], y).infer_shape(x=(2, 9), y=(2, 4))
    with pytest.raises(amp.GraphError):  # 7 does not divide 24
        amp.sym.reshape(x, shape=(4, 6)).simple_bind(x=(7, 0))
