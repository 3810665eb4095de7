"""Devices, switches, features, scopes of autograd, and what tests of MXNet programs use."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import amp
import amp.mxnet as mx

# ---- devices ----


def test_devices():
    assert repr(mx.cpu()) == str(mx.cpu(0)) == "cpu(0)" and mx.cpu() == mx.Context("cpu", 0) != mx.cpu(1)
    assert mx.Device is mx.Context and mx.Context(mx.cpu(2)) == mx.cpu(2) and len({mx.cpu(), mx.cpu()}) == 1
    assert mx.cpu_pinned().device_type == "cpu_pinned" and mx.num_gpus() == 0 and mx.cpu().device_typeid == 1
    assert mx.device is mx.context and mx.cpu() != "cpu"
    mx.cpu().empty_cache()
    with pytest.raises(amp.ArgumentError, match="unknown device 'cup'; did you mean 'cpu'"):
        mx.Context("cup")
    with pytest.raises(amp.ArgumentError, match="device_id: expected a number from 0, got 'a'"):
        mx.cpu("a")
    with pytest.raises(amp.UnsupportedError, match="there are no GPUs"):
        mx.context.gpu_memory_info()


def test_the_current_device():
    assert mx.current_context() == mx.cpu() == mx.current_device()
    with mx.cpu(3) as device:
        assert mx.current_context() is device
        seen = []
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
        assert seen == [mx.cpu()]
    assert mx.current_context() == mx.cpu()
    mx.test_utils.set_default_context(mx.cpu(1))
    assert mx.test_utils.default_context() == mx.cpu(1)
    mx.test_utils.set_default_context(mx.cpu())


def test_gpus_are_the_cpu_and_say_so_once():
    script = "import amp.mxnet as mx, warnings; warnings.simplefilter('always'); print(mx.gpu(0), mx.Context('gpu', 1))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "cpu(0) cpu(1)\n" and done.stderr.count("there are no GPUs here") == 1


# ---- switches ----

SWITCHES = ("shape", "array", "default_dtype")


def states():
    return tuple(getattr(mx.util, f"is_np_{name}")() for name in SWITCHES)


@pytest.mark.parametrize("number, name", list(enumerate(SWITCHES)))
def test_scopes_and_decorators(number, name):
    on = tuple(i == number for i in range(3))
    with getattr(mx.util, f"np_{name}")():
        assert states() == on
        with getattr(mx.util, f"np_{name}")(False):
            assert states() == (False,) * 3
        assert states() == on
    assert getattr(mx.util, f"use_np_{name}")(states)() == on and states() == (False,) * 3
    scope = getattr(mx, f"np_{name}")(True)
    with scope, scope:  # again and again
        assert states() == on


def test_use_np_on_functions_and_classes():
    @mx.util.use_np
    class Block:
        """Documented."""

        seen = None

        def __init__(self):
            self.seen = states()

        def forward(self, x=1, *args, **kwargs):
            """Forward."""
            return states(), x, args, kwargs

        @property
        def state(self):
            return states()

        @staticmethod
        def plain():
            return states()

    np_on = (True, True, False)
    block = Block()
    assert block.seen == np_on and block.forward(2, 3, a=4) == (np_on, 2, (3,), {"a": 4}) and block.state == np_on
    assert Block.__doc__ == "Documented." and Block.forward.__doc__ == "Forward." and Block.plain() == (False,) * 3

    @mx.use_np
    def recursive(depth):
        return recursive(depth - 1) if depth else states()

    assert recursive(3) == np_on and states() == (False,) * 3

    @mx.use_np
    def failing():
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        failing()
    assert states() == (False,) * 3


def test_setting():
    try:
        mx.util.set_np(dtype=True)
        assert states() == (True,) * 3
        assert mx.util.set_np_shape(False) is True and mx.is_np_shape() is False
    finally:
        mx.util.reset_np()
    assert states() == (False,) * 3


def test_variables_of_the_environment(monkeypatch):
    monkeypatch.delenv("AMP_TEST_A", raising=False)
    mx.util.setenv("AMP_TEST_A", 3)
    assert mx.util.getenv("AMP_TEST_A") == "3"
    with mx.test_utils.environment("AMP_TEST_A", "4"):
        assert os.environ["AMP_TEST_A"] == "4"
        with mx.test_utils.environment({"AMP_TEST_A": None, "AMP_TEST_B": "1"}):
            assert "AMP_TEST_A" not in os.environ and os.environ["AMP_TEST_B"] == "1"
    assert os.environ["AMP_TEST_A"] == "3" and "AMP_TEST_B" not in os.environ
    mx.util.setenv("AMP_TEST_A", None)
    assert mx.util.getenv("AMP_TEST_A") is None


# ---- features ----


def test_features():
    features = mx.runtime.Features()
    assert features.is_enabled("ONEDNN") and features.is_enabled("mkldnn") and not features.is_enabled("CUDA")
    assert {feature.name for feature in mx.runtime.feature_list()} == set(features) and "✖ CUDA" in str(features)
    with pytest.raises(amp.ArgumentError, match="unknown feature 'CUDAA'; did you mean 'CUDA'"):
        features.is_enabled("CUDAA")


# ---- test_utils ----

X = np.linspace(0, 1, 6, dtype="f4").reshape(2, 3)


def test_comparisons():
    tools = mx.test_utils
    tools.assert_almost_equal(amp.nd.array(X), X + 1e-5)
    tools.assert_almost_equal(X, X * 1.05, rtol=0.1, atol=0)
    with pytest.raises(AssertionError, match=r"at \(1, 2\): a is .*1.0.*, b is .*2.0"):
        tools.assert_almost_equal(X, X * 2)
    with pytest.raises(AssertionError, match=r"left has shape \(2, 3\), right \(4,\)"):
        tools.assert_almost_equal(X, np.zeros(4), names=("left", "right"))
    tools.assert_almost_equal(amp.nd.array(X, dtype="bfloat16"), X)
    outlier = X.copy()
    outlier[0, 0] = 5
    tools.assert_almost_equal_with_err(X, outlier, rtol=1e-3, atol=1e-3, etol=0.2)
    with pytest.raises(AssertionError, match="16.6667% of the elements differ, 10.0000% may"):
        tools.assert_almost_equal_with_err(X, outlier, rtol=1e-3, atol=1e-3, etol=0.1)
    outlier[0, 0] = np.nan
    tools.assert_almost_equal_ignore_nan(X, outlier)
    assert not tools.almost_equal(outlier, outlier) and tools.almost_equal(outlier, outlier, equal_nan=True)
    assert tools.same(X, amp.nd.array(X)) and not tools.same(X, X + 1)
    assert tools.same_array(X, amp.nd.NDArray(X)) and not tools.same_array(X, amp.nd.array(X))
    assert not tools.almost_equal(X, X[:1], use_broadcast=False) and tools.almost_equal(X * 0, 0)
    assert tools.get_rtol(dtype="float16") == 1e-2 and tools.get_atol(3) == 3 and tools.get_etol() == 0
    tools.assert_exception(lambda: 1 / 0, ZeroDivisionError)
    with pytest.raises(AssertionError, match="ZeroDivisionError was not raised"):
        tools.assert_exception(lambda: 1, ZeroDivisionError)


def test_arrays():
    tools = mx.test_utils
    for shape, rank in ((tools.rand_shape_nd(4), 4), (tools.rand_shape_2d(), 2), (tools.rand_shape_3d(3, 3, 3), 3)):
        assert len(shape) == rank and all(1 <= dim <= 10 for dim in shape)
    assert {tools.rand_shape_nd(1, 1, allow_zero_size=True) for _ in range(50)} == {(0,), (1,)}
    assert tools.rand_ndarray((2, 3)).shape == (2, 3) and tools.random_arrays((2, 3)).dtype == np.float32
    first, second = tools.random_arrays((2,), (3,))
    assert first.shape == (2,) and second.shape == (3,)
    assert tools.random_uniform_arrays((2,), low=5, high=6)[0].min() >= 5
    with pytest.raises(amp.UnsupportedError, match="arrays are dense"):
        tools.rand_ndarray((2, 3), "csr")


def test_structures():
    def net(last, name="fc"):
        layer = amp.sym.FullyConnected(amp.sym.Variable(name + "x"), num_hidden=4, name=name)
        return last(layer)

    same = mx.test_utils.same_symbol_structure
    assert same(net(amp.sym.sin), net(amp.sym.sin, "other"))
    assert not same(net(amp.sym.sin), net(amp.sym.cos)) and not same(net(amp.sym.sin), amp.sym.Variable("x"))
    a, b = amp.sym.Variable("a"), amp.sym.Variable("b")
    assert not same(amp.sym.sin(a) + amp.sym.cos(b), amp.sym.sin(amp.sym.cos(b)) + a)


def test_running():
    net = amp.sym.Variable("a") * 2 + amp.sym.Variable("b")
    found = mx.test_utils.simple_forward(net, a=X, b=X)
    np.testing.assert_allclose(found, 3 * X, rtol=1e-6)
    mx.test_utils.check_symbolic_forward(net, [X, X], [3 * X])
    mx.test_utils.check_symbolic_forward(net, {"a": X, "b": X}, {net.list_outputs()[0]: 3 * X})
    with pytest.raises(AssertionError, match="forward of"):
        mx.test_utils.check_symbolic_forward(net, [X, X], [2 * X])


def test_numpy_arrays_of_checks_get_the_dtype_and_others_keep_theirs():
    tools, net = mx.test_utils, amp.sym.take(amp.sym.Variable("x"), amp.sym.Variable("i"))
    doubles = X.astype("f8")
    assert tools.check_symbolic_forward(net, [doubles, np.array([1])], [X[1:]])[0].dtype == np.float32
    assert tools.check_symbolic_forward(net, [doubles, np.array([1])], [X[1:]], dtype="asnumpy")[0].dtype == np.float64
    assert tools.check_symbolic_forward(net, [amp.nd.array(X, dtype="f2"), [1]], [X[1:]])[0].dtype == np.float16
    found = tools.check_symbolic_backward(net, [doubles, [1]], [np.ones((1, 3))], [np.repeat([[0], [1]], 3, 1), [0]])
    assert found["x"].dtype == np.float32


def test_speed():
    net = amp.sym.FullyConnected(amp.sym.Variable("x"), num_hidden=3, name="fc")
    arrays = {"x": X, "fc_weight": np.ones((3, 3)), "fc_bias": np.ones(3)}
    assert mx.test_utils.check_speed(net, N=2, x=(2, 3)) > 0
    assert mx.test_utils.check_speed(net, arrays, N=2, grad_req="null", typ="forward") > 0
    with pytest.raises(amp.ArgumentError, match="typ is 'whole' or 'forward', got 'all'"):
        mx.test_utils.check_speed(net, typ="all", x=(2, 3))
    batches = mx.test_utils.DummyIter(mx.io.NDArrayIter(X, batch_size=1))
    assert next(batches) is next(batches) and batches.provide_data[0].shape == (1, 3)


def test_folder_of_data(monkeypatch):
    monkeypatch.delenv("MXNET_HOME", raising=False)
    assert mx.base.data_dir() == mx.base.data_dir_default() == os.path.expanduser("~/.mxnet")
    monkeypatch.setenv("MXNET_HOME", "/data")
    assert mx.base.data_dir() == "/data" and mx.base._as_list(3) == [3] and mx.base._as_list((3,)) == (3,)


def test_current_scopes_are_read_and_called():
    with mx.name.Prefix("left_"), mx.AttrScope(__mood__="calm"):
        assert mx.name.NameManager.current.get(None, "fc") == "left_fc0"
        assert mx.name.NameManager.current().get("fc", "fc") == mx.name.current().get("fc", "fc") == "left_fc"
        assert mx.AttrScope.current.get() == mx.AttrScope.current().get({}) == {"__mood__": "calm"}
    assert mx.AttrScope.current.get() == {}


def test_surroundings(capfd):
    assert mx.test_utils.list_gpus() == [] and mx.test_utils.default_dtype() is np.float32
    assert not mx.test_utils.is_aarch64_run() or os.uname().machine == "aarch64"
    with mx.test_utils.discard_stderr():
        os.write(2, b"hidden")
    os.write(2, b"shown")
    assert capfd.readouterr().err == "shown"
    with pytest.raises(amp.UnsupportedError, match="test_utils.download: nothing is downloaded"):
        mx.test_utils.download("http://x")
    with pytest.raises(amp.UnsupportedError, match="use amp.load_checkpoint"):
        mx.test_utils.download_model("resnet", dst_dir=".")


def test_a_star_import_passes_on_what_mxnets_does():
    names = {}
    exec("from amp.mxnet.test_utils import *", names)
    assert names["Context"] is mx.Context and names["npt"] is np.testing and names["json"].loads("1") == 1
    with pytest.raises(amp.UnsupportedError, match="get_mnist: downloads and data sets are not supported"):
        names["get_mnist"]()


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (2, 3, 3), (2, 2, 3, 3)])
def test_matrices_with_real_eigenvalues(shape):
    np.random.seed(3)
    for make in (mx.test_utils.new_matrix_with_real_eigvals_nd, mx.test_utils.new_sym_matrix_with_real_eigvals_nd):
        values, vectors = np.linalg.eig(make(shape))
        assert vectors.shape == shape and np.isreal(values).all() and abs(values).max() <= 10
        assert np.linalg.cond(vectors).max() < 20


def test_optimizers_that_draw_are_compared_with_equal_numbers():
    def optimizers():
        return [mx.optimizer.SGLD(learning_rate=0.1) for _ in range(2)]

    mx.test_utils.compare_optimizer_noise_seeded(*optimizers(), [(3, 4)], "float32", 5)
    with pytest.raises(AssertionError):
        mx.test_utils.compare_optimizer(*optimizers(), [(3, 4)], "float32")


def test_modules_pass_on_the_dtype_bfloat16():
    from amp.mxnet.amp.amp import bfloat16

    assert mx.nd.zeros(2, dtype=bfloat16).dtype == bfloat16 == amp.nd.bfloat16


def test_features_of_the_cpu_contain_older_ones():
    features = mx.runtime.Features()
    older = ("CPU_SSE", "CPU_SSE2", "CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_AVX")
    assert not features.is_enabled("CPU_AVX2") or all(map(features.is_enabled, older))
