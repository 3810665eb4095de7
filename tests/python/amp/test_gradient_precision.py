"""Low precision in graphs that compute gradients."""

import json

import numpy as np
import pytest

import amp

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

LOW = "bfloat16"
# One rounding to bfloat16 changes a number by 2^-9 of itself at most.
HALF_ULP = 2.0**-9
POLICIES = {
    "default": {},
    "mp1": {"policy": "graphamp", "preset": "mp1"},
    "mp2": {"policy": "graphamp", "preset": "mp2"},
    "mp3": {"policy": "graphamp", "preset": "mp3"},
}
BACKENDS = ("onednn", "reference")


def fc(data, name):
    return amp.sym.FullyConnected(data, num_hidden=8, no_bias=True, name=name)


def e1():
    """Two products, relu between them, softmax behind: E1 of graphamp's definition."""
    hidden = amp.sym.Activation(fc(amp.sym.Variable("x"), "fc1"), act_type="relu", name="relu")
    return amp.sym.softmax(fc(hidden, "fc2"), name="sm")


def e1_arrays():
    random = np.random.default_rng(5)
    shapes = {"x": (2, 8), "fc1_weight": (8, 8), "fc2_weight": (8, 8)}
    return {name: random.standard_normal(shape, "float32") / np.float32(3) for name, shape in shapes.items()}


def e1_head():
    return np.random.default_rng(6).standard_normal((2, 8), "float32")


def low_symbol(symbol, **options):
    types = {name: "float32" for name in symbol.list_arguments() if name != "x"}
    return amp.convert_symbol(symbol, {"x": "float32"}, types, LOW, **options)


# ---- the graph ----


def nodes_of(symbol):
    return json.loads(symbol.tojson())["nodes"]


def dtypes_of(symbol, **given):
    """{tensor: dtype} of everything that the symbol computes."""
    internals = symbol.get_internals()
    arguments = dict.fromkeys(internals.list_arguments(), "float32") | given
    return dict(zip(internals.list_outputs(), map(amp.base.dtype_name, internals.infer_type(**arguments)[1])))


def casts_of(gradient):
    """{(what is cast, to which dtype)} of forward and backward casts that change the dtype."""
    nodes, dtypes = nodes_of(gradient), dtypes_of(gradient)
    name = {i: node["name"] + ("" if node["op"] == "null" else "_output") for i, node in enumerate(nodes)}
    found = []
    for i, node in enumerate(nodes):
        if node["op"] in ("amp_cast", "_cast_like", "Cast"):
            source = node["inputs"][0][0]
            if dtypes[name[source]] != dtypes[name[i]]:
                found.append((nodes[source]["name"], dtypes[name[i]]))
    assert len(found) == len(set(found))
    return set(found)


FORWARD_CASTS = {"mp1": ["x", "fc1_weight", "relu", "fc2_weight"]} | dict.fromkeys(
    ("mp2", "mp3", "default"), ["x", "fc1_weight", "fc2_weight"]
)


@pytest.mark.parametrize("policy", POLICIES)
def test_casts_of_a_gradient(policy):
    gradient = amp.gradient(low_symbol(e1(), **POLICIES[policy]), head_gradients=[])
    # What arrives at a product is rounded once, for both of its gradients. (Behind a product that writes low precision
    # it is low already.)
    heads = ["sm_backward2", "relu_backward1"] if policy == "mp1" else ["sm_backward2"]
    assert casts_of(gradient) == {(name, LOW) for name in FORWARD_CASTS[policy] + heads}


@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_of_parameters_are_float32_sums(policy):
    gradient = amp.gradient(low_symbol(e1(), **POLICIES[policy]), head_gradients=[])
    dtypes, nodes = dtypes_of(gradient), nodes_of(gradient)
    products = [node for node in nodes if node["op"] == "dot"]
    assert len(products) == 4
    for node in products:
        is_of_relu = node["name"] == "fc2_backward2"
        expected = LOW if is_of_relu and policy != "mp1" else "float32"
        assert dtypes[f"{node['name']}_output"] == expected, node["name"]
    for name in gradient.list_outputs():
        assert dtypes[name] == "float32", name


def test_sums_of_gradients_are_never_cast():
    x = amp.sym.Variable("x")
    both = amp.sym.Group([fc(x, "one"), fc(amp.sym.relu(x), "two"), amp.sym.exp(x)])
    for policy, options in POLICIES.items():
        gradient = amp.gradient(low_symbol(both, **options), head_gradients=[])
        nodes, dtypes = nodes_of(gradient), dtypes_of(gradient)
        sums = [i for i, node in enumerate(nodes) if node["op"] == "add_n"]
        assert sums, policy
        assert all(dtypes[f"{nodes[i]['name']}_output"] == "float32" for i in sums), policy
        assert not {source for source, _ in casts_of(gradient)} & {nodes[i]["name"] for i in sums}, policy


# ---- numbers ----


def finite_differences(symbol, arrays, head, step=2.0**-6):
    """d sum(head * symbol) / d array, of each element by itself, in float32."""
    run = amp.Executor(symbol, {}, {}, {name: array.shape for name, array in arrays.items()}, backend="reference")

    def value(changed):
        return float(np.vdot(run(**changed)[0].asnumpy().astype("float64"), head.astype("float64")))

    gradients = {}
    for name, array in arrays.items():
        gradients[name] = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                changed = array.copy()
                changed[place] += sign * step
                ends.append(value({**arrays, name: changed}))
            gradients[name][place] = (ends[0] - ends[1]) / (2 * step)
    return gradients


def gradients_of(symbol, arrays, heads, **options):
    """{array: gradient} of one training step."""
    held = {name: amp.nd.array(array, dtype=array.dtype) for name, array in arrays.items()}
    run = amp.TrainingExecutor(symbol, held, held, {}, grad_req="write", **options)
    run.forward(is_train=True)
    run.backward(heads)
    return {name: gradient.asnumpy() for name, gradient in run.gradients.items()}


def distance(found, expected):
    """Root of the mean squared error of all arrays together, relative to the expected ones."""
    error = sum(np.sum((np.float64(found[name]) - expected[name]) ** 2) for name in expected)
    return (error / sum(np.sum(np.float64(expected[name]) ** 2) for name in expected)) ** 0.5


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("policy", POLICIES)
def test_gradients_equal_finite_differences(policy, backend):
    arrays, head = e1_arrays(), e1_head()
    expected = finite_differences(e1(), arrays, head)
    exact = gradients_of(e1(), arrays, [head], backend=backend)
    assert distance(exact, expected) < 1e-3  # no relu has turned on the way
    reduce = {"target_dtype": LOW, "emulate": True, **POLICIES[policy]}
    low = gradients_of(e1(), arrays, [head], backend=backend, reduce_precision=reduce)
    for name, gradient in low.items():
        assert gradient.dtype == np.float32
        assert distance({name: gradient}, {name: expected[name]}) < 4 * HALF_ULP, name
    assert distance(low, exact) > HALF_ULP / 4  # it was rounded


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_of_weights_are_not_rounded(backend):
    # 257 ones: no bfloat16
    x, weight = np.ones((257, 1), "float32"), np.ones((8, 1), "float32")
    reduce = {"target_dtype": LOW, "emulate": True}
    heads = [np.ones((257, 8), "float32")]
    found = gradients_of(
        fc(amp.sym.Variable("x"), "fc"),
        {"x": x, "fc_weight": weight},
        heads,
        reduce_precision=reduce,
        backend=backend,
        mode="exact",
    )
    assert found["fc_weight"].tolist() == [[257.0]] * 8


# ---- the report ----


def report_of(**options):
    arrays = {name: array for name, array in e1_arrays().items() if name != "x"}
    return amp.convert_model(e1(), arrays, {}, training=True, return_report=True, **options)[-1]


@pytest.mark.parametrize("policy", POLICIES)
def test_the_report_tells_the_dtypes_of_gradients(policy):
    report = report_of(**POLICIES[policy])
    gradient = amp.gradient(
        low_symbol(e1(), training=True, **POLICIES[policy]), ["fc1_weight", "fc2_weight"], head_gradients=[]
    )
    dtypes = dtypes_of(gradient)
    told = {tensor["name"]: tensor["dtype"] for tensor in report.gradients}
    backward = set(dtypes) - set(e1().get_internals().list_outputs())
    assert told == {name: dtypes[name] for name in backward if "amp_cast" not in name or "backward" in name}
    assert all(tensor["kind"] == "gradient" for tensor in report.gradients)


def test_the_report_says_why_gradients_are_low():
    report = report_of(**POLICIES["mp2"])
    lines = report.why("relu_backward1").splitlines()
    assert lines[0] == "relu_backward1_output (broadcast_mul) is bfloat16 (it was float32)"
    assert lines[1] == (
        "  relu_backward1_output: it belongs to relu_output, and a gradient has the dtype of what it belongs to"
        "  [propagation]"
    )
    assert lines[2] == "  relu_output: category infer: fc2_output reads it in low precision  [propagation]"
    kinds = {tensor["node"]: tensor["reason"]["kind"] for tensor in report.gradients}
    assert kinds["fc2_backward"] == kinds["fc2_backward2"] == "gradient_low"  # what arrives is rounded once; dX
    assert kinds["fc2_backward4"] == "gradient_wide"  # dW
    assert kinds["fc2_weight_grad"] == "gradient"
    assert "fc2_weight: inputs and parameters keep their dtypes" in report.why("fc2_weight_grad")
    assert f"tensors of gradients      {len(report.gradients)}, " in str(report)


def test_the_report_tells_sums_of_gradients():
    x = amp.sym.exp(amp.sym.Variable("x"), name="x_exp")
    both = amp.sym.Group([fc(x, "one"), fc(x, "two")])
    arrays = {f"{name}_weight": np.ones((8, 8), "float32") for name in ("one", "two")}
    arrays["x"] = np.ones((2, 8), "float32")
    report = amp.convert_model(both, arrays, {}, training=True, return_report=True)[-1]
    sums = [tensor for tensor in report.gradients if tensor["op"] == "add_n"]
    assert [tensor["dtype"] for tensor in sums] == ["float32"]
    assert sums[0]["reason"]["kind"] == "gradient_sum" and "readers of x_exp_output" in sums[0]["reason"]["text"]


def test_reports_without_gradients():
    arrays = {name: array for name, array in e1_arrays().items() if name != "x"}
    assert amp.convert_model(e1(), arrays, {}, return_report=True)[-1].gradients == []


def test_the_command_line_explains_gradients(tmp_path, capsys):
    from amp.__main__ import main

    arrays = {name: array for name, array in e1_arrays().items() if name != "x"}
    amp.save_checkpoint(str(tmp_path / "model"), 0, e1(), arrays, {})
    main(["why", str(tmp_path / "model"), "fc1_weight_grad", "--training"])
    assert "fc1_weight_grad (_copy) is float32" in capsys.readouterr().out
    main(["why", str(tmp_path / "model"), "fc2_backward", "--training"])
    assert "its node keeps values below 1.18e-38 (mode auto" in capsys.readouterr().out


def test_a_float32_bias_does_not_say_what_its_product_writes():
    """The bias of a product in bfloat16 stays float32, and Gluon's parameters say their dtypes."""
    cast = {"dtype": "bfloat16"}
    weight, bias = amp.sym.Variable("weight", dtype="float32"), amp.sym.Variable("bias", dtype="float32")
    data = amp.sym.amp_cast(amp.sym.Variable("data"), **cast)
    product = amp.sym.FullyConnected(data, amp.sym.amp_cast(weight, **cast), bias, num_hidden=3, name="fc")
    rng = np.random.default_rng(0)
    arrays = {"data": (4, 5), "weight": (3, 5), "bias": (3,)}
    arrays = {name: rng.integers(-4, 5, shape).astype(np.float32) for name, shape in arrays.items()}
    run = amp.TrainingExecutor(product, {}, {}, {name: a.shape for name, a in arrays.items()}, machine="any")
    run.forward(is_train=True, **arrays)
    run.backward([amp.nd.ones((4, 3)).astype("bfloat16")])
    expected = {"data": arrays["weight"].sum(0), "weight": arrays["data"].sum(0), "bias": np.full(3, 4)}
    for name, gradient in run.gradients.items():
        assert gradient.dtype == np.float32
        np.testing.assert_array_equal(gradient.asnumpy(), np.broadcast_to(expected[name], arrays[name].shape))
