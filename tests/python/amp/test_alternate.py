"""The alternate implementation: which nodes keep numbers below 1.18e-38, and which implementation ran."""

import json
import os
import subprocess
import sys
import textwrap

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx

BF16 = np.dtype("bfloat16")
NATIVE = amp.cpu_info()["native_bfloat16"]
IMPLEMENTATIONS = ("native", "f32", "scaled")
# operand, weight, exact product
TINY = [(2.0**-127, 1.0), (2.0**-127, 2.0**20), (2.0**-60, 2.0**-70)]


@pytest.fixture(autouse=True)
def any_machine(monkeypatch):
    """Dtypes run as they are written: on some machines float32 would be the faster choice."""
    monkeypatch.setenv("AMP_MACHINE", "any")
    for name in ("AMP_BF16_ALT_IMPL", "AMP_BF16_ALT_MODE"):
        monkeypatch.delenv(name, raising=False)


def low(shape, value):
    return np.full(shape, value, BF16)


def layer(op):
    """One product of bfloat16 variables: (symbol, shape of data, shape of weight)."""
    data = amp.sym.Variable("data", dtype="bfloat16")
    weight = amp.sym.Variable("w", dtype="bfloat16")
    if op == "FullyConnected":
        return amp.sym.FullyConnected(data, weight, num_hidden=3, no_bias=True, name="p"), (2, 1), (3, 1)
    symbol = amp.sym.Convolution(data, weight, kernel=(1, 1), num_filter=3, no_bias=True, name="p")
    return symbol, (2, 1, 1, 1), (3, 1, 1, 1)


def run_layer(op, x, w, head, **settings):
    """(output, gradient of data, gradient of weight, counts by phase) of the layer on constant arrays."""
    symbol, data_shape, weight_shape = layer(op)
    with amp.alternate(**settings):
        bound = symbol.simple_bind(
            data=data_shape, w=weight_shape, type_dict={"data": "bfloat16", "w": "bfloat16"}, grad_req="write"
        )
        output = bound.forward(
            is_train=True,
            data=mx.nd.array(low(data_shape, x), dtype=BF16),
            w=mx.nd.array(low(weight_shape, w), dtype=BF16),
        )[0]
        bound.backward([mx.nd.array(low(output.shape, head), dtype=BF16)])
    counts = dict.fromkeys(("forward", "backward"))
    for entry in bound.alternate_counts().values():
        known = counts[entry["phase"]] or dict.fromkeys(IMPLEMENTATIONS, 0)
        counts[entry["phase"]] = {name: known[name] + entry[name] for name in IMPLEMENTATIONS}
    gradients = bound.grad_dict
    return (
        *(float(np.asarray(a.asnumpy(), "float64").flat[0]) for a in (output, gradients["data"], gradients["w"])),
        counts,
    )


def rounded(value):
    return float(np.float64(value).astype(ml_dtypes.bfloat16))


@pytest.mark.parametrize("mode", ["auto", "f32", "scaled"])
@pytest.mark.parametrize("op", ["FullyConnected", "Convolution"])
@pytest.mark.parametrize("x, w", TINY)
def test_alternate_keeps_small_products(op, x, w, mode):
    output, _, _, counts = run_layer(op, x, w, 0.0, forward=True, backward=True, mode=mode)
    assert output == rounded(x * w)
    assert counts["forward"]["native"] == 0
    # the head as the small operand: of data, the sum over 3 units; of weight, over 2 rows
    _, of_data, of_weight, counts = run_layer(op, w, w, x, forward=False, backward=True, mode=mode)
    assert of_data == rounded(3 * x * w)
    assert of_weight == rounded(2 * x * w)
    assert counts["backward"]["native"] == 0


@pytest.mark.parametrize("op", ["FullyConnected", "Convolution"])
@pytest.mark.parametrize("x, w", TINY)
def test_original_loses_small_products_where_native_instructions_ran(op, x, w):
    output, of_data, of_weight, counts = run_layer(op, x, w, x, forward=False, backward=False)
    assert (counts["forward"]["native"] > 0) == NATIVE
    assert output == (0 if NATIVE else rounded(x * w))
    assert of_data == (0 if NATIVE else rounded(3 * x * w))
    assert counts["forward"]["scaled"] == counts["backward"]["scaled"] == 0


SETTINGS = """
    import sys
    sys.path.insert(0, {tests!r})
    import test_alternate as t
    for op in ("FullyConnected", "Convolution"):
        results = t.run_layer(op, 2.0**-127, 1.0, 0.0), t.run_layer(op, 1.0, 1.0, 2.0**-127)
        print(results[0][0] != 0, results[1][1] != 0, results[0][3]["forward"]["native"] == 0,
              results[1][3]["backward"]["native"] == 0)
"""


@pytest.mark.parametrize(
    "variable, forward, backward", [(None, 0, 1), ("", 0, 1), ("1", 1, 1), ("7", 1, 1), ("0", 0, 0)]
)
def test_variable_decides_for_forward_and_backward(variable, forward, backward):
    environment = {**os.environ, "AMP_BF16_ALT_MODE": "f32"}
    if variable is not None:
        environment["AMP_BF16_ALT_IMPL"] = variable
    program = textwrap.dedent(SETTINGS.format(tests=os.path.dirname(__file__)))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    expected = f"{bool(forward)} {bool(backward)} " * 2 if NATIVE else "True " * 4
    assert done.stdout == (expected.strip() + "\n") * 2


@pytest.mark.parametrize("name, value", [("AMP_BF16_ALT_IMPL", "yes"), ("AMP_BF16_ALT_MODE", "fast")])
def test_bad_variables_are_errors(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(amp.ArgumentError, match=f"{name}: expected .*'{value}'"):
        run_layer("FullyConnected", 1.0, 1.0, 1.0)


def test_attribute_outranks_scope_and_scope_outranks_variable(monkeypatch):
    monkeypatch.setenv("AMP_BF16_ALT_IMPL", "0")
    symbol, data_shape, weight_shape = layer("FullyConnected")

    def natives(symbol, **settings):
        with amp.alternate(**settings):
            run = amp.Executor(
                symbol, {}, {}, {"data": data_shape, "w": weight_shape}, input_dtypes="bfloat16", machine="any"
            )
        run(low(data_shape, 2.0**-127), low(weight_shape, 1.0))
        return run.alternate_counts()["p"]["native"]

    assert natives(symbol) == NATIVE
    assert natives(symbol, forward=True, mode="f32") == 0
    with amp.AttrScope(__alt_impl__="0"):
        fixed = layer("FullyConnected")[0]
    assert natives(fixed, forward=True, mode="f32") == NATIVE
    with amp.AttrScope(__alt_impl__="1"):
        fixed = layer("FullyConnected")[0]
    assert natives(fixed) == 0
    monkeypatch.setenv("AMP_BF16_ALT_IMPL", "1")
    assert natives(symbol) == 0
    assert natives(symbol, forward=False) == NATIVE


def test_attribute_of_a_forward_node_holds_for_its_gradient():
    with amp.AttrScope(__alt_impl__="0"):
        symbol = layer("FullyConnected")[0]
    nodes = amp.gradient(symbol, ["w"]).attr_dict().values()
    marked = [attrs for attrs in nodes if "__forward_node__" in attrs]
    assert marked and all(attrs["__alt_impl__"] == "0" and attrs["__backward__"] == "1" for attrs in marked)


@pytest.mark.parametrize("arguments", [{"forward": 1}, {"backward": "yes"}, {"mode": "fast"}])
def test_scope_refuses_other_values(arguments):
    with pytest.raises(amp.ArgumentError, match="expected None"), amp.alternate(**arguments):
        pass


def all_patterns():
    return np.arange(65536, dtype=np.uint16).view(BF16)


def assert_identity(found, patterns):
    numbers = ~np.isnan(patterns.astype("float32"))
    assert np.array_equal(found.view(np.uint16)[numbers], patterns.view(np.uint16)[numbers])
    assert np.isnan(found.astype("float32")[~numbers]).all()


def test_casts_keep_every_pattern():
    patterns = all_patterns()
    x = amp.sym.Variable("x")
    run = amp.Executor(amp.sym.amp_cast(x, dtype="bfloat16"), {}, {}, {"x": patterns.shape})
    assert_identity(np.asarray(run(patterns.astype("float32"))[0].asnumpy()), patterns)


def test_gradient_of_relu_keeps_every_pattern():
    patterns = all_patterns()
    x = amp.sym.Variable("x", dtype="bfloat16")
    bound = amp.sym.relu(x).simple_bind(x=patterns.shape, type_dict={"x": "bfloat16"}, grad_req="write")
    bound.forward(is_train=True, x=mx.nd.array(low(patterns.shape, 1.0), dtype=BF16))
    bound.backward([mx.nd.array(patterns, dtype=BF16)])
    assert_identity(np.asarray(bound.grad_dict["x"].asnumpy()), patterns)


class SmallProducts:
    """256 x 256 x 256, and the exact product rounded once."""

    def __init__(self, exponent, **settings):
        draw = np.random.default_rng(3)
        self.a = (2.0**exponent * draw.standard_normal((256, 256))).astype(BF16)
        self.b = (0.06 * draw.standard_normal((256, 256))).astype(BF16)
        self.exact = (self.a.astype("float64") @ self.b.astype("float64")).astype(ml_dtypes.bfloat16)
        symbol = amp.sym.dot(*(amp.sym.Variable(name, dtype="bfloat16") for name in "ab"), name="p")
        with amp.alternate(**settings):
            shapes = {"a": self.a.shape, "b": self.b.shape}
            self.executor = amp.Executor(symbol, {}, {}, shapes, input_dtypes="bfloat16", machine="any")

    def run(self):
        return self.executor(self.a, self.b)[0]


def small_products(exponent, **settings):
    """(result, the exact product rounded once, counts)"""
    products = SmallProducts(exponent, **settings)
    return np.asarray(products.run().asnumpy()), products.exact, products.executor.alternate_counts()["p"]


@pytest.mark.parametrize("exponent", [-120, -126, -130])
@pytest.mark.parametrize("mode", ["auto", "f32", "scaled"])
def test_products_of_denormals_are_rounded_once(mode, exponent):
    found, exact, counts = small_products(exponent, forward=True, mode=mode)
    assert np.mean(found != exact) <= 5e-4
    assert counts["native"] == 0
    assert counts["scaled"] == (mode != "f32" and NATIVE)


def test_native_products_of_denormals_are_lost():
    found, exact, counts = small_products(-126, forward=False)
    assert counts["native"] == NATIVE
    assert (np.mean(found != exact) >= 0.95) == NATIVE


def test_auto_takes_native_instructions_for_normal_numbers():
    found, _, counts = small_products(-3, forward=True, mode="auto")
    native, _, _ = small_products(-3, forward=False)
    assert counts["native"] == NATIVE
    assert np.array_equal(found.view(np.uint16), native.view(np.uint16))


def test_auto_sees_a_tiny_row_beside_large_ones():
    a = np.ones((64, 64), BF16)
    a[7] = 2.0**-120
    b = low((64, 32), 2.0**-10)
    symbol = amp.sym.dot(amp.sym.Variable("a", dtype="bfloat16"), amp.sym.Variable("b", dtype="bfloat16"), name="p")
    with amp.alternate(forward=True):
        run = amp.Executor(symbol, {}, {}, {"a": a.shape, "b": b.shape}, input_dtypes="bfloat16", machine="any")
    found = run(a, b)[0].asnumpy().astype("float64")
    assert run.alternate_counts()["p"]["native"] == 0
    assert (found[7] == 2.0**-124).all()


def test_scaling_is_left_to_float32_where_it_would_overflow():
    symbol = amp.sym.dot(amp.sym.Variable("a", dtype="bfloat16"), amp.sym.Variable("b", dtype="bfloat16"), name="p")
    a, b = low((4, 4), 2.0**-100), low((4, 4), 2.0**100)
    with amp.alternate(forward=True, mode="scaled"):
        run = amp.Executor(symbol, {}, {}, {"a": a.shape, "b": b.shape}, input_dtypes="bfloat16", machine="any")
    assert (run(a, b)[0].asnumpy() == 4).all()
    assert run.alternate_counts()["p"]["f32"] == 1


def network():
    """A convolution with padding and strides, a grouped one, a deconvolution and a dense layer, all of bfloat16."""
    x = amp.sym.Variable("data", dtype="bfloat16")

    def weight(name):
        return amp.sym.Variable(name, dtype="bfloat16")

    x = amp.sym.Convolution(
        x, weight("w0"), kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=32, no_bias=True, name="c0"
    )
    x = amp.sym.relu(x)
    x = amp.sym.Convolution(x, weight("w1"), kernel=(3, 3), num_filter=32, num_group=4, no_bias=True, name="c1")
    x = amp.sym.Deconvolution(x, weight("w2"), kernel=(2, 2), stride=(2, 2), num_filter=16, no_bias=True, name="d0")
    x = amp.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    return amp.sym.FullyConnected(x, weight("w3"), num_hidden=10, no_bias=True, name="f0")


def gradients_of(symbol, scale, counts_of=None, **settings):
    shapes, _, _ = symbol.infer_shape(data=(4, 16, 14, 14))
    names = symbol.list_arguments()
    draw = np.random.default_rng(5)
    with amp.alternate(**settings):
        bound = symbol.simple_bind(data=(4, 16, 14, 14), type_dict=dict.fromkeys(names, "bfloat16"), grad_req="write")
        for name, shape in zip(names, shapes):
            bound.arg_dict[name][:] = mx.nd.array(draw.standard_normal(shape) * 0.2, dtype=BF16)
        output = bound.forward(is_train=True)[0]
        bound.backward([mx.nd.array(draw.standard_normal(output.shape) * scale, dtype=BF16)])
    if counts_of is not None:
        counts_of.update(bound.alternate_counts())
    return {name: bound.grad_dict[name].asnumpy().astype("float64") for name in names}


@pytest.mark.parametrize("mode", ["auto", "f32", "scaled"])
def test_gradients_of_a_network_survive_a_small_scale(mode):
    """Scaled by a power of two, gradients are those of the unscaled pass, until they become denormal."""
    counts = {}
    expected = gradients_of(network(), 1.0, backward=True, mode="f32")
    found = gradients_of(network(), 2.0**-115, counts, backward=True, mode=mode)
    backward = [entry for entry in counts.values() if entry["phase"] == "backward"]
    assert len(backward) == 8
    assert all(entry["native"] == 0 for entry in backward)
    for name, gradient in expected.items():
        error = np.abs(found[name] * 2.0**115 - gradient)
        # what denormals keep: an absolute 2^-134 of each result, and of what it is summed up from
        assert np.sqrt(np.mean(error**2)) <= 0.02 * np.sqrt(np.mean(gradient**2)), name


def test_normal_gradients_of_a_network_run_natively():
    counts = {}
    found = gradients_of(network(), 1.0, counts, backward=True, mode="auto")
    expected = gradients_of(network(), 1.0, backward=False)
    assert all((entry["native"] == 1) == NATIVE and entry["scaled"] == 0 for entry in counts.values())
    for name, gradient in expected.items():
        error = np.sqrt(np.mean((found[name] - gradient) ** 2))
        assert error <= 0.02 * np.sqrt(np.mean(gradient**2)), name


def test_plans_say_which_steps_keep_denormals():
    symbol, data_shape, weight_shape = layer("FullyConnected")
    types = {"input_dtypes": "bfloat16", "machine": "any"}
    with amp.alternate(forward=True, mode="auto"):
        run = amp.Executor(symbol, {}, {}, {"data": data_shape, "w": weight_shape}, **types)
    said = {step.work: step.alternate for step in run.summary.steps if step.alternate}
    assert said.get("inner_product", said.get("matmul")) == ("auto" if NATIVE else "f32")
    assert "keeps small numbers" in str(run.summary)
    plain = amp.Executor(symbol, {}, {}, {"data": data_shape, "w": weight_shape}, **types)
    assert not any(step.alternate for step in plain.summary.steps)


def test_marked_graphs_run_their_alternate_implementation():
    symbol, data_shape, weight_shape = layer("FullyConnected")
    marked = amp.mark_backward(symbol, ["data"])
    run = amp.Executor(marked, {}, {}, {"data": data_shape, "w": weight_shape}, input_dtypes="bfloat16", machine="any")
    assert run(low(data_shape, 2.0**-127), low(weight_shape, 1.0))[0].asnumpy().flat[0] == 2.0**-127
    assert run.alternate_counts()["p"]["phase"] == "backward"
    nodes = json.loads(marked.tojson())["nodes"]
    assert [node["name"] for node in nodes if node.get("attrs", {}).get("__backward__") == "1"] == ["p"]


def test_what_is_computed_again_runs_as_the_forward_node_did():
    with amp.AttrScope(__force_mirroring__="True"):
        first = amp.sym.tanh(layer("FullyConnected")[0])
    weight = amp.sym.Variable("w2", dtype="bfloat16")
    symbol = amp.sym.FullyConnected(first, weight, num_hidden=2, no_bias=True, name="q")
    with amp.alternate(forward=False, backward=True, mode="f32"):
        bound = symbol.simple_bind(
            data=(2, 1), type_dict=dict.fromkeys(("data", "w", "w2"), "bfloat16"), grad_req="write"
        )
    bound.forward(is_train=True)
    bound.backward([mx.nd.array(low((2, 2), 1.0), dtype=BF16)])
    counts = bound.alternate_counts()
    forward = [name for name, entry in counts.items() if entry["phase"] == "forward"]
    assert len(forward) == 3  # p, p again, q
    assert all((counts[name]["native"] == 1) == NATIVE for name in forward)
    assert all(entry["native"] == 0 for entry in counts.values() if entry["phase"] == "backward")


def test_mark_backward_names_what_it_does_not_find():
    with pytest.raises(amp.ArgumentError, match="no node is named 'dta'; did you mean 'data'"):
        amp.mark_backward(layer("FullyConnected")[0], ["dta"])


@pytest.mark.parametrize("boundary", [None, 5, ["data", 3], [None]])
def test_mark_backward_takes_names(boundary):
    with pytest.raises(amp.ArgumentError, match="boundary: expected names of nodes, got"):
        amp.mark_backward(layer("FullyConnected")[0], boundary)


def mlp_losses(shift, alternate):
    """(loss before, loss and accuracy after 60 steps) where gradients are 2^-shift times smaller inside."""
    draw = np.random.default_rng(0)
    x = draw.standard_normal((256, 32)).astype("float32")
    labels = np.argmax(x @ draw.standard_normal((32, 10)), axis=1)
    draw = np.random.default_rng(1)
    weights = {
        "fc1_weight": (draw.standard_normal((64, 32)) / np.sqrt(32)).astype("float32"),
        "fc2_weight": (draw.standard_normal((10, 64)) / np.sqrt(64)).astype("float32"),
    }
    symbol = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=64, no_bias=True, name="fc1")
    symbol = amp.sym.FullyConnected(amp.sym.relu(symbol), num_hidden=10, no_bias=True, name="fc2")
    symbol = amp.convert_symbol(
        symbol, "float32", {}, target_dtype="bfloat16", policy="mxnet", output_dtypes="bfloat16"
    )
    with amp.alternate(backward=alternate, mode="f32"):
        bound = symbol.simple_bind(data=x.shape, grad_req="write")
        bound.copy_params_from({name: mx.nd.array(value) for name, value in weights.items()}, {})
        losses = []
        for _ in range(60):
            logits = bound.forward(is_train=True, data=mx.nd.array(x))[0].asnumpy().astype("float64")
            p = np.exp(logits - logits.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            losses.append(-np.mean(np.log(p[np.arange(256), labels])))
            head = (p - np.eye(10)[labels]) / 256 * 2.0**-shift
            bound.backward([mx.nd.array(head.astype(BF16), dtype=BF16)])
            for name in weights:
                gradient = bound.grad_dict[name].asnumpy().astype("float32") * np.float32(2.0 ** min(shift, 60))
                bound.arg_dict[name][:] -= mx.nd.array(0.5 * (gradient * np.float32(2.0 ** max(shift - 60, 0))))
    return losses[0], losses[-1]


def test_training_with_small_gradients_learns_with_the_alternate_alone():
    first, plain = mlp_losses(0, True)
    _, small = mlp_losses(118, True)
    assert plain < 0.2 * first
    assert abs(small - plain) <= 0.05 * plain
    before, after = mlp_losses(118, False)
    assert (after == before) == NATIVE


# ---- operators on arrays ----


def test_operators_in_a_users_backward_count_as_backward_ones():
    seen = []

    def small_product():
        x = mx.nd.array(low((1, 1), 2.0**-127), dtype=BF16)
        return float(mx.nd.dot(x, mx.nd.array(low((1, 1), 1.0), dtype=BF16)).asnumpy()[0, 0])

    class Probe(mx.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, gradient):
            seen.append(small_product())
            with mx.autograd.record():
                seen.append(small_product())
            seen.append(small_product())
            return gradient

    x = mx.nd.array([1.0])
    x.attach_grad()
    seen.append(small_product())
    with mx.autograd.record():
        y = Probe()(x)
    y.backward()
    seen.append(small_product())
    kept, lost = 2.0**-127, 0.0 if NATIVE else 2.0**-127
    assert seen == [lost, kept, lost, kept, lost]


# ---- what is lost ----


@pytest.mark.skipif(not NATIVE, reason="the CPU has no bfloat16 instructions")
def test_flushed_values_are_counted():
    symbol, data_shape, weight_shape = layer("FullyConnected")
    run = amp.Executor(
        symbol,
        {},
        {},
        {"data": data_shape, "w": weight_shape},
        input_dtypes="bfloat16",
        machine="any",
        count_denormals=True,
    )
    x = low(data_shape, 1.0)
    x[0] = 2.0**-127
    run(x, low(weight_shape, 1.0))
    assert run.flushed_counts() == {"p": {"phase": "forward", "runs": 1, "operands": 1, "results": 3}}
    assert run.flushed_counts() == {}
    run(low(data_shape, 2.0**-60), low(weight_shape, 2.0**-70))
    assert run.flushed_counts()["p"]["operands"] == 0
    run(low(data_shape, 2.0**-60), low(weight_shape, 2.0**-70))
    run(low(data_shape, 1.0), low(weight_shape, 1.0))
    assert run.flushed_counts() == {"p": {"phase": "forward", "runs": 2, "operands": 0, "results": 6}}


def test_nothing_is_counted_unless_asked_for():
    symbol, data_shape, weight_shape = layer("FullyConnected")
    run = amp.Executor(symbol, {}, {}, {"data": data_shape, "w": weight_shape}, input_dtypes="bfloat16", machine="any")
    run(low(data_shape, 2.0**-127), low(weight_shape, 1.0))
    assert run.flushed_counts() == {}


def test_the_report_counts_denormal_weights():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=2, no_bias=True, name="fc")
    args = {"fc_weight": np.array([[1, 1e-39], [1e-6, 1e-8]], "float32")}

    def counts(**options):
        report = amp.convert_model(net, args, {}, return_report=True, machine="any", **options)[3]
        assert amp.ConversionReport(report.to_json()).denormal_parameters == report.denormal_parameters
        assert ("denormal numbers" in str(report)) == bool(report.denormal_parameters)
        return report.denormal_parameters

    assert counts() == {"fc_weight": {"are": 1, "become": 0}}
    assert counts(target_dtype="float16", cast_params_offline=True) == {"fc_weight": {"are": 1, "become": 2}}
    assert counts(target_dtype="float16") == {"fc_weight": {"are": 1, "become": 2}}


# ---- the floating-point environment ----

FLUSHING = """
    import ctypes, ctypes.util, sys
    import numpy as np
    sys.path.insert(0, {tests!r})
    import test_alternate as t

    libm = ctypes.CDLL(ctypes.util.find_library("m"))

    class Environment(ctypes.Structure):
        _fields_ = [("x87", ctypes.c_uint8 * 28), ("mxcsr", ctypes.c_uint32)]

    def mxcsr():
        environment = Environment()
        libm.fegetenv(ctypes.byref(environment))
        return environment

    products = t.SmallProducts(-126, forward=True, mode="f32")
    before, flushing = mxcsr(), mxcsr()
    flushing.mxcsr |= 0x8040
    libm.fesetenv(ctypes.byref(flushing))
    tiny = float(np.float32(2.0**-126) * np.float32(0.5))
    found = products.run()
    after = bool(mxcsr().mxcsr & 0x8040)
    libm.fesetenv(ctypes.byref(before))
    print(tiny, np.mean(found.asnumpy().view(np.uint16) != products.exact.view(np.uint16)) <= 5e-4, after)
"""


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="MXCSR is a register of x86-64")
def test_the_callers_flush_to_zero_does_not_matter():
    program = textwrap.dedent(FLUSHING.format(tests=os.path.dirname(__file__)))
    done = subprocess.run([sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.0 True True\n"


# ---- tiles ----

# graphamp.md, check 5: relative rms errors of 128 x 4096 x 128, times 1e-3
TILES = {("fp32", 256): 1.67, ("bf16", 1024): 2.64, ("bf16", 256): 4.79, ("bf16", 64): 9.43}


@pytest.mark.parametrize("accumulator, tile", TILES)
@pytest.mark.parametrize("mode", ["auto", "f32"])
def test_tiles_of_backward_products_keep_their_errors(accumulator, tile, mode):
    draw = np.random.default_rng(11)
    a, b = (draw.standard_normal((128, 4096)).astype(BF16) for _ in range(2))
    with amp.AttrScope(__tiling_accum__=accumulator, __tile_k__=str(tile)):
        symbol = amp.sym.FullyConnected(
            amp.sym.Variable("a", dtype="bfloat16"),
            amp.sym.Variable("b", dtype="bfloat16"),
            num_hidden=128,
            no_bias=True,
            name="p",
        )
    with amp.alternate(mode=mode):
        run = amp.Executor(
            amp.mark_backward(symbol, ["a"]),
            {},
            {},
            {"a": a.shape, "b": b.shape},
            input_dtypes="bfloat16",
            machine="any",
        )
    exact = a.astype("float64") @ b.astype("float64").T
    error = run(a, b)[0].asnumpy().astype("float64") - exact
    assert run.alternate_counts()["p"]["phase"] == "backward"
    found = 1e3 * np.sqrt(np.mean(error**2) / np.mean(exact**2))
    assert abs(found - TILES[accumulator, tile]) <= 0.05 * TILES[accumulator, tile]
