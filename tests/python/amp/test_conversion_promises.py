"""What the pages say about conversions, machines and small numbers, where no other test shows it."""

import json
import os
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp._execution.handles import bind

DRAW = np.random.default_rng(7)
X = DRAW.standard_normal((2, 4)).astype("float32")
ARGS = {
    "fc1_weight": DRAW.standard_normal((8, 4)).astype("float32"),
    "fc1_bias": np.zeros(8, "float32"),
    "fc2_weight": DRAW.standard_normal((4, 8)).astype("float32"),
    "fc2_bias": np.zeros(4, "float32"),
}


def two_layers():
    x = amp.sym.Variable("data")
    hidden = amp.sym.Activation(amp.sym.FullyConnected(x, num_hidden=8, name="fc1"), act_type="relu", name="relu")
    return amp.sym.FullyConnected(hidden, num_hidden=4, name="fc2")


def offline(**options):
    return amp.convert_model(two_layers(), ARGS, {}, cast_params_offline=True, **options)


def names_of(symbol, op):
    return [node["name"] for node in json.loads(symbol.tojson())["nodes"] if node["op"] == op]


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# ---- machines ----


@pytest.mark.parametrize("force", [{"fc2": "bfloat16"}, {"*2": "bfloat16"}])
@pytest.mark.parametrize("policy", ["default", "mxnet"])
def test_what_was_forced_stays_low_on_every_machine(policy, force, quiet):
    symbol, args, aux = offline(force=force, policy=policy)
    saved = amp.sym.load_json(symbol.tojson())
    run = amp.Executor(saved, args, aux, {"data": X.shape}, machine="avx512_core")
    attributes = run.symbol.attr_dict()
    assert attributes["fc2_weight"]["__amp_dtype__"] == "bfloat16"
    assert "__amp_dtype__" not in attributes.get("fc1_weight", {})


@pytest.mark.parametrize("machine", ["any", "this", "avx2", "avx512_core"])
def test_gradients_of_parameters_that_were_cast_offline(machine, quiet):
    run = amp.TrainingExecutor(*offline(), {"data": X.shape}, grad_req="write", machine=machine)
    [out] = run.forward(is_train=True, data=X)
    run.backward()
    rounded = {name: w.astype(ml_dtypes.bfloat16).astype("float32") for name, w in ARGS.items()}
    expected = amp.TrainingExecutor(two_layers(), rounded, {}, {"data": X.shape}, grad_req="write")
    expected.forward(is_train=True, data=X)
    expected.backward()
    assert run.gradients["fc1_weight"].dtype == ml_dtypes.bfloat16
    for name in ARGS:
        found = run.gradients[name].asnumpy().astype("float32")
        np.testing.assert_allclose(found, expected.gradients[name].asnumpy(), rtol=0.05, atol=0.05)


def test_mode_exact_changes_no_dtypes_of_a_converted_model(quiet):
    symbol, args, aux = offline()
    run = amp.Executor(symbol, args, aux, {"data": X.shape}, mode="exact", machine="avx512_core")
    assert run.symbol.tojson() == symbol.tojson()


# ---- policies ----


@pytest.mark.parametrize("options", [{}, {"conditional_fp32_ops": [("Activation", "act_type", ["relu"])]}])
def test_policy_mxnet_writes_no_dtypes_of_sums(options):
    assert "__out_dtype__" not in offline(policy="mxnet", **options)[0].tojson()


@pytest.mark.parametrize("preset", ["mp1", "mp2", "mp3"])
def test_nothing_that_graphamp_keeps_in_float32_reads_a_rounded_value(preset):
    hidden = two_layers()
    net = amp.sym.Group([amp.sym.softmax(hidden + 1, name="softmax"), amp.sym.relu(hidden * 2, name="last")])
    low, _, _ = amp.convert_model(net, ARGS, {}, policy="graphamp", preset=preset)
    assert "amp_cast" in low.tojson()
    widened = [name for name in names_of(low, "amp_cast") if name.endswith("_amp_cast_float32")]
    assert widened == []


# ---- monitors ----


def block():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8, in_units=4, activation="relu"), mx.gluon.nn.Dense(4, in_units=8))
    net.initialize("ones")
    net.hybridize()
    net(mx.nd.ones((2, 4)))
    return mx.amp.convert_hybrid_block(net, mx.nd.ones((2, 4)), "bfloat16", cast_params_offline=True)


@pytest.mark.parametrize("machine", ["any", "avx512_core"])
def test_hooks_see_what_was_converted(machine, monkeypatch, quiet):
    monkeypatch.setenv("AMP_MACHINE", machine)
    seen, converted = [], block()
    converted.register_op_hook(lambda name, op, array: seen.append((op, np.dtype(array.dtype).name)))
    converted(mx.nd.ones((2, 4)))
    assert [dtype for op, dtype in seen if op == "FullyConnected"] == ["bfloat16", "bfloat16"]
    assert seen[0] == ("amp_cast", "bfloat16") and seen[-1] == ("amp_cast", "float32")


@pytest.mark.parametrize("machine", ["any", "avx512_core"])
def test_monitored_runs_see_what_was_converted(machine, quiet):
    seen = {}
    run = amp.Executor(*offline(), {"data": X.shape}, monitor=True, machine=machine)
    run.run_monitored(lambda name, op, array: seen.update({name: array.dtype}), X)
    assert seen["fc1_output"] == seen["relu_output"] == ml_dtypes.bfloat16


# ---- training ----


@pytest.mark.skipif(amp.cpu_info()["native_bfloat16"], reason="the CPU has bfloat16 arithmetic")
def test_emulated_training_and_second_calls_are_said():
    try:
        with pytest.warns(UserWarning, match="no bfloat16 arithmetic"):
            mx.amp.init("bfloat16")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            mx.amp.init("bfloat16")
        with pytest.warns(UserWarning, match="training in bfloat16 .* goes on"):
            mx.amp.init("float16")
    finally:
        amp._autocast.begin(None)


# ---- conditional operators ----


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_conditional_operators_compute_in_float32_whatever_comes(target):
    values, weight = np.full((1, 4), 300, "float16"), np.full((2, 4), 300, "float16")
    dense = amp.sym.FullyConnected(amp.sym.Variable("data"), amp.sym.Variable("w"), num_hidden=2, no_bias=True)
    conditions = [("FullyConnected", "no_bias", ["True"])]
    low = mx.contrib.amp.convert_symbol(dense, target, target_dtype_ops=[], conditional_fp32_ops=conditions)
    bound = low.bind(
        mx.cpu(), {"data": mx.nd.array(values, dtype="float16"), "w": mx.nd.array(weight, dtype="float16")}
    )
    [out] = bound.forward()
    assert out.dtype == np.float32 and np.array_equal(out.asnumpy(), np.full((1, 2), 360000, "float32"))
    assert sorted(names_of(low, "amp_cast")) == ["data_0_amp_cast_float32", "w_0_amp_cast_float32"]


# ---- oneDNN's variable ----


def test_float32_stays_float32_whatever_the_environment_says():
    code = (
        "import numpy as np, amp\n"
        "net = amp.sym.FullyConnected(amp.sym.Variable('x'), num_hidden=1, no_bias=True, name='fc')\n"
        "run = amp.Executor(net, {'fc_weight': np.ones((1, 64), 'f')}, {}, {'x': (64, 64)})\n"
        "x = np.full((64, 64), 1 + 2**-12, 'f')\n"
        "assert run(x)[0].asnumpy()[0, 0] == 64 * (1 + 2**-12)\n"
    )
    environment = {**os.environ, "ONEDNN_DEFAULT_FPMATH_MODE": "BF16"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "ONEDNN_DEFAULT_FPMATH_MODE=BF16 has no effect" in done.stderr


# ---- small numbers ----


@pytest.mark.skipif(amp.cpu_info()["native_bfloat16"], reason="the CPU's bfloat16 instructions flush denormals")
def test_denormals_without_bfloat16_instructions():
    image = np.full((1, 64, 28, 28), 2.0**-127, "float32")
    weight = np.zeros((64, 64, 3, 3), "float32")
    weight[np.arange(64), np.arange(64), 1, 1] = 1
    net = amp.sym.Convolution(
        amp.sym.Variable("x"), kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True, name="conv"
    )
    low = amp.convert_model(net, {"conv_weight": weight}, {}, cast_params_offline=True)
    for mode in ("fast", "exact"):
        run = amp.Executor(*low, {"x": image.shape}, mode=mode, machine="any")
        assert np.array_equal(run(image)[0].asnumpy(), image)
    if amp.cpu_info()["multiplies_int16"]:
        fixed = bind(*low, {"x": (None, image.shape)}, machine="any", forced_kernel="implicit_gemm_int16")
        assert not fixed.run([image])[0].asnumpy().any()  # the page says that such a kernel takes them for zeros
