"""amp.Executor: binding, calling, threads, processes. Numbers of whole networks are in test_networks.py."""

import gc
import inspect
import os
import subprocess
import sys
import textwrap
import threading
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest

import amp
from amp._options.executor import GRADIENTS, PLAIN, public_options

BACKENDS = ["onednn", "reference"]


def dense(units=3, **attributes):
    return amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=units, name="fc", **attributes)


def dense_params(units=3, width=4, seed=0):
    random = np.random.default_rng(seed)
    weight, bias = random.standard_normal((units, width)), random.standard_normal(units)
    return {"fc_weight": weight.astype("f4"), "fc_bias": bias.astype("f4")}


def sample(rows=2, width=4, seed=1):
    return np.random.default_rng(seed).standard_normal((rows, width)).astype("f4")


def expected(params, x):
    return x @ params["fc_weight"].T + params["fc_bias"]


@pytest.fixture(params=BACKENDS)
def bound(request):
    params = dense_params()
    return amp.Executor(dense(), params, None, {"data": (2, 4)}, backend=request.param), params


def test_runs_by_position_name_and_dict(bound):
    run, params = bound
    x = sample()
    for outputs in (run(x), run(data=x), run({"data": x}), run(amp.NDArray(x)), run(np.asfortranarray(x))):
        assert isinstance(outputs, list) and isinstance(outputs[0], amp.NDArray)
        np.testing.assert_allclose(outputs[0].asnumpy(), expected(params, x), rtol=1e-5, atol=1e-6)


def test_describes_itself(bound):
    run, _ = bound
    assert (run.input_names, run.output_names) == (["data"], ["fc_output"])
    assert run.input_shapes == {"data": (2, 4)} and run.output_shapes == [(2, 3)]
    assert run.input_dtypes == {"data": np.float32} and run.output_dtypes == [np.float32]
    assert run.symbol.list_arguments() == ["data", "fc_weight", "fc_bias"]
    assert "fc_output" in repr(run)
    summary = run.summary
    assert summary.num_steps == len(summary.steps) >= 1
    assert summary.num_threads >= 1 and summary.constant_bytes > 0 and summary.arena_bytes >= 0
    assert any(step.node == "fc" for step in summary.steps)
    assert str(summary).count("\n") >= 1


def test_results_are_fresh_arrays(bound):
    run, params = bound
    first = run(sample(seed=1))[0].asnumpy()
    kept = first.copy()
    run(sample(seed=2))
    np.testing.assert_array_equal(first, kept)


def test_writes_into_given_arrays(bound):
    run, params = bound
    x = sample()
    for out in (np.empty((2, 3), "f4"), amp.NDArray(np.empty((2, 3), "f4"))):
        (returned,) = run(x, out=[out])
        assert returned is out
        np.testing.assert_array_equal(np.asarray(out), run(x)[0].asnumpy())
    assert run(x, out=out)[0] is out


@pytest.mark.parametrize(
    "out, text",
    [
        (np.empty((3, 2), "f4"), r"fc_output.*float32\[2,3\].*float32\[3,2\]"),
        (np.empty((2, 3), "f8"), r"float64\[2,3\]"),
        (np.empty((3, 2), "f4").T, "contiguous"),
        (np.broadcast_to(np.float32(0), (2, 3)), "contiguous|read-only"),
        ([[0.0] * 3] * 2, "expected"),
    ],
)
def test_refuses_other_arrays_to_write_to(bound, out, text):
    with pytest.raises(amp.ArgumentError, match=text):
        bound[0](sample(), out=[out])


def test_refuses_read_only_and_overlapping_outputs(bound):
    run, _ = bound
    out = np.empty((2, 3), "f4")
    out.flags.writeable = False
    with pytest.raises(amp.ArgumentError, match="read-only"):
        run(sample(), out=[out])
    memory = np.zeros(8, "f4")
    with pytest.raises(amp.ArgumentError, match="overlaps"):
        run(memory.reshape(2, 4), out=[memory[:6].reshape(2, 3)])
    with pytest.raises(amp.ArgumentError, match="1 outputs"):
        run(sample(), out=[])


@pytest.mark.parametrize(
    "args, kwargs, text",
    [
        ((), {}, "inputs are missing: data"),
        ((1, 2), {}, r"expected 1 inputs \(data\), got 2"),
        ((1,), {"data": 1}, "not both"),
        ((), {"dta": 1}, "no input 'dta'; did you mean 'data'"),
        ((sample(3),), {}, r"input 'data': expected float32\[2,4\], got float32\[3,4\]"),
        ((sample().astype("f8"),), {}, r"(?s)got float64\[2,4\].*use data.astype\('float32'\)"),
        ((np.ones((2, 4), int),), {}, r"(?s)int64.*data.astype"),
        (([[1.0] * 4] * 2,), {}, r"(?s)float64.*np.asarray\(data, 'float32'\)"),
        ((np.ones((2, 4), ml_dtypes.bfloat16),), {}, r"(?s)bfloat16\[2,4\].*data.astype"),
        ((np.ones((2, 4), ">f4"),), {}, "byte-swapped"),
        ((None,), {}, "input 'data' is None"),
    ],
)
def test_wrong_calls(bound, args, kwargs, text):
    with pytest.raises(amp.ArgumentError, match=text):
        bound[0](*args, **kwargs)


def test_all_wrong_arrays_are_named():
    total = amp.sym.Variable("left") + amp.sym.Variable("right")
    run = amp.Executor(total, {}, {}, {"left": (2,), "right": (2,)})
    with pytest.raises(amp.ArgumentError, match="(?s)'left'.*'right'"):
        run(np.ones(3, "f4"), np.ones(2, "f8"))


def test_positional_order_is_that_of_list_arguments():
    b, a = amp.sym.Variable("b"), amp.sym.Variable("a")
    net = b * 2 + a
    run = amp.Executor(net, {}, {}, {"a": (1,), "b": (1,)})
    assert net.list_arguments() == run.input_names == ["b", "a"]
    assert run(np.float32([10]), np.float32([1]))[0].asnumpy().tolist() == [21]


def test_labels_may_be_left_out():
    net = amp.sym.SoftmaxOutput(dense(), name="softmax")
    assert net.list_arguments()[-1] == "softmax_label"
    params = dense_params()
    x = sample()
    for shapes in ({"data": (2, 4)}, {"data": (2, 4), "softmax_label": (2,)}):
        run = amp.Executor(net, params, {}, shapes)
        assert run.input_names == ["data"]
        outputs = [run(x), run(data=x), run(x, np.zeros(2, "f4")), run(data=x, softmax_label=np.zeros(2, "f4"))]
        for output in outputs:
            np.testing.assert_array_equal(output[0].asnumpy(), outputs[0][0].asnumpy())
        np.testing.assert_allclose(outputs[0][0].asnumpy().sum(axis=1), 1, rtol=1e-5)


def test_extra_arrays_are_ignored():
    extra = {**dense_params(), "left_over": np.ones(3, "f4")}
    amp.Executor(dense(), extra, {"old_mean": np.ones(3)}, {"data": (2, 4)})(sample())


def test_several_outputs():
    net = dense()
    both = amp.sym.Group([net, amp.sym.Activation(net, act_type="relu")])
    plain, rectified = amp.Executor(both, dense_params(), {}, {"data": (2, 4)})(sample())
    np.testing.assert_array_equal(np.maximum(plain.asnumpy(), 0), rectified.asnumpy())


# ---- binding ----


@pytest.mark.parametrize(
    "change, error, text",
    [
        ({"arg_params": {}}, amp.ArgumentError, "fc_weight, fc_bias"),
        ({"input_shapes": {}}, amp.ArgumentError, "data"),
        ({"input_shapes": {"dat": (2, 4)}}, amp.ArgumentError, "'dat'.*'data'"),
        ({"input_shapes": (2, 4)}, amp.ArgumentError, "expected a dict"),
        ({"input_shapes": {"data": "24"}}, amp.ArgumentError, "'data': expected a sequence"),
        ({"input_shapes": {"data": (2, 5)}}, amp.GraphError, "fc"),
        ({"input_shapes": {"data": (2, 4), "fc_bias": (9,)}}, amp.ArgumentError, "fc_bias"),
        ({"sym": 3}, amp.ArgumentError, "expected a Symbol, got int"),
        ({"backend": "gpu"}, amp.ArgumentError, "'gpu'.*'onednn' or 'reference'"),
        ({"num_threads": 0}, amp.ArgumentError, "num_threads"),
        ({"num_threads": "2"}, amp.ArgumentError, "num_threads"),
        ({"reduce_precision": "int8"}, amp.ArgumentError, "int8"),
        ({"reduce_precision": {"dtype": "bfloat16"}}, amp.ArgumentError, "'dtype'"),
        ({"input_dtypes": {"data": "float33"}}, amp.ArgumentError, "float33"),
        ({"arg_params": {"fc_weight": np.ones((3, 4), "c8")}}, amp.ArgumentError, "'fc_weight' has.*complex64"),
        ({"arg_params": {"fc_weight": None}}, amp.ArgumentError, "'fc_weight' is None"),
    ],
)
def test_wrong_bindings(change, error, text):
    arguments = {"sym": dense(), "arg_params": dense_params(), "aux_params": {}, "input_shapes": {"data": (2, 4)}}
    with pytest.raises(error, match=text):
        amp.Executor(**{**arguments, **change})


@pytest.mark.parametrize(
    "executor, runs, own",
    [(amp.Executor, PLAIN, []), (amp.TrainingExecutor, GRADIENTS, ["grad_req"])],
    ids=["plain", "training"],
)
def test_options_are_those_of_the_table(executor, runs, own):
    parameters, options = inspect.signature(executor).parameters, public_options(runs)
    own = [*"sym arg_params aux_params input_shapes input_dtypes tiling_accum tile_k".split(), *own]
    assert set(parameters) == {*own, *options}
    for name, option in options.items():
        assert parameters[name].default == option.default
        assert f"    {name}: {option.doc.split()[0]}" in executor.__doc__


@pytest.mark.parametrize("name", ["threads", "forced_kernel", "of_integers", "is_train"])
@pytest.mark.parametrize("executor", [amp.Executor, amp.TrainingExecutor])
def test_options_that_do_not_exist(name, executor):
    with pytest.raises(TypeError, match=rf"Executor.__init__\(\) got an unexpected keyword argument '{name}'"):
        executor(dense(), dense_params(), {}, {"data": (2, 4)}, **{name: 1})


@pytest.mark.parametrize("executor, own", [(amp.Executor, []), (amp.TrainingExecutor, ["memory_budget"])])
def test_options_that_say_nothing(executor, own):
    nothing = dict.fromkeys(["backend", "reduce_precision", "num_threads", *own])
    run = executor(dense(), dense_params(), {}, {"data": (2, 4)}, **nothing)
    assert run.output_shapes == [(2, 3)]


def test_missing_states_are_named():
    net = amp.sym.BatchNorm(amp.sym.var("data"), name="bn")
    with pytest.raises(amp.ArgumentError, match="bn_moving_mean, bn_moving_var"):
        amp.Executor(net, {"bn_gamma": np.ones(3, "f4"), "bn_beta": np.ones(3, "f4")}, {}, {"data": (2, 3)})


def test_reshape(bound):
    run, params = bound
    for other in (run.reshape(data=(5, 4)), run.reshape({"data": (5, 4)})):
        assert other.input_shapes == {"data": (5, 4)} and run.input_shapes == {"data": (2, 4)}
        x = sample(5)
        np.testing.assert_allclose(other(x)[0].asnumpy(), expected(params, x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(run(x[:2])[0].asnumpy(), expected(params, x[:2]), rtol=1e-5, atol=1e-6)
    with pytest.raises(amp.ArgumentError, match="'dat'"):
        run.reshape(dat=(5, 4))
    with pytest.raises(amp.GraphError, match="fc"):
        run.reshape(data=(5, 9))
    with pytest.raises(amp.ArgumentError, match="parameter"):
        run.reshape(fc_bias=(4,))


@pytest.mark.parametrize("norm", [amp.sym.InstanceNorm, lambda x, name: amp.sym.GroupNorm(x, num_groups=2, name=name)])
def test_norms_over_places_take_other_shapes(norm):
    """Memory behind what a smaller shape needs is not read."""
    net = norm(amp.sym.var("data"), name="norm")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 4, 3, 5)})
    run = amp.Executor(net, args, aux, {"data": (1, 4, 3, 5)})
    for shape in ((2, 4, 40, 50), (1, 4, 2, 2), (3, 4, 7, 90)):
        data = np.random.default_rng(1).standard_normal(shape, dtype="f4")
        fresh = amp.Executor(net, args, aux, {"data": shape}, backend="reference")(data)[0].asnumpy()
        np.testing.assert_allclose(run.reshape({"data": shape})(data)[0].asnumpy(), fresh, rtol=1e-4, atol=1e-5)


def test_reshaped_executors_outlive_the_original():
    params = dense_params()
    other = amp.Executor(dense(), params, {}, {"data": (2, 4)}).reshape(data=(1, 4))
    gc.collect()
    np.testing.assert_allclose(other(sample(1))[0].asnumpy(), expected(params, sample(1)), rtol=1e-5)


def test_lower_precision():
    params = dense_params(64, 64)
    x = sample(8, 64)
    arguments = (dense(64), params, {}, {"data": (8, 64)})
    exact = amp.Executor(*arguments)(x)[0].asnumpy()
    run = amp.Executor(*arguments, reduce_precision={"target_dtype": "bfloat16", "emulate": True})
    assert "amp_cast" in run.symbol.tojson()
    (reduced,) = run(x)
    assert reduced.dtype == np.float32
    error = np.sqrt(np.mean((reduced.asnumpy() - exact) ** 2) / np.mean(exact**2))
    assert 0 < error < 0.03
    assert run.output_names == ["fc_output"]


@pytest.mark.parametrize("offline", [False, True])
def test_a_converted_float16_model_says_what_float16_costs(offline, any_machine):
    model = dense(), dense_params(), {}
    low = amp.convert_model(*model, target_dtype="float16", cast_params_offline=offline)
    loaded = amp.sym.load_json(low[0].tojson()), *low[1:]
    with pytest.warns(UserWarning, match="float16 is stored, but computed in float32"):
        amp.Executor(*loaded, {"data": (2, 4)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        amp.Executor(*model, {"data": (2, 4)})


def test_a_cpu_without_bfloat16_is_mentioned():
    script = """
    import warnings, numpy as np, amp
    net = amp.sym.FullyConnected(amp.sym.var("data"), num_hidden=3, name="fc")
    params = {"fc_weight": np.ones((3, 4), "f4"), "fc_bias": np.ones(3, "f4")}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = amp.Executor(net, params, {}, {"data": (2, 4)}, reduce_precision="bfloat16")
    assert not amp.cpu_info()["native_bfloat16"]
    assert [w.filename for w in caught] == [__file__], caught
    assert "bfloat16" in str(caught[0].message)
    assert "amp_cast" not in run.symbol.tojson()
    """
    run_script(script, ONEDNN_MAX_CPU_ISA="AVX2")


@pytest.mark.skipif(not amp.cpu_info()["multiplies_int16"], reason="no code that multiplies int16")
def test_a_cpu_without_bfloat16_multiplies_integers():
    script = """
    import numpy as np, amp
    shapes = {"data": (1, 3, 96, 96)}
    net = amp.model_zoo.get_model("resnet18_v1")
    args, aux = amp.model_zoo.seeded_params(net, shapes)
    x = np.random.default_rng(0).standard_normal(shapes["data"], dtype="f4")
    exact = amp.Executor(net, args, aux, shapes, machine="avx2")(x)[0].asnumpy()
    low = amp.convert_model(net, args, aux, output_dtypes="bfloat16", cast_params_offline=True)
    for model, options in (((net, args, aux), {"reduce_precision": "bfloat16"}), (low, {})):
        run = amp.Executor(*model, shapes, machine="avx2", **options)
        assert not amp.cpu_info()["native_bfloat16"]
        assert sum("int16" in step.choice for step in run.summary.steps) > 3, run.summary
        assert " 0 nodes on reference kernels" in str(run.summary)
        reduced = run(x)[0].asnumpy().astype("f4")
        error = np.sqrt(np.mean((reduced - exact) ** 2) / np.mean(exact**2))
        assert 0 < error < 0.01, error
    """
    run_script(script, ONEDNN_MAX_CPU_ISA="AVX2")


@pytest.mark.skipif(not amp.cpu_info()["multiplies_int16"], reason="no code that multiplies int16")
@pytest.mark.parametrize("weight", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{"machine": "avx2"}, {"tune": True}])
def test_plans_of_a_model_may_compute_layers_in_different_dtypes(weight, options, tmp_path):
    """A plan's weights in one dtype are not those that the next plan needs."""
    script = f"""
    import numpy as np, amp
    from amp import sym
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=64, name="c")
    x = sym.Convolution(sym.Activation(x, act_type="relu"), kernel=(1, 1), num_filter=48, name="p")
    x = sym.Deconvolution(x, kernel=(2, 2), num_filter=32, name="d")
    net = sym.FullyConnected(sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1)), num_hidden=300, name="f")
    args, aux = amp.model_zoo.seeded_params(net, {{"data": (1, 64, 28, 28)}})
    low = amp.convert_model(net, args, aux, policy="mxnet", cast_params_offline={weight == "bfloat16"})
    shapes = [(1, 64, 28, 28), (1, 64, 7, 7), (2, 64, 56, 56), (8, 64, 3, 3), (150, 64, 1, 1)]
    for first in (0, 4):
        bound = {{"data": shapes[first]}}
        reduced = amp.Executor(*low, bound, **{options})
        exact = amp.Executor(net, args, aux, bound)
        for shape in shapes:
            data = np.random.default_rng(0).standard_normal(shape, dtype="f4")
            given, expected = (run.reshape({{"data": shape}})(data)[0].asnumpy() for run in (reduced, exact))
            error = np.sqrt(np.mean((given - expected) ** 2) / np.mean(expected**2))
            assert error < 0.02, (first, shape, error)
    """
    run_script(script, ONEDNN_MAX_CPU_ISA="AVX2", AMP_MACHINE="this", XDG_CACHE_HOME=str(tmp_path))


def test_input_dtypes():
    net = amp.sym.Cast(amp.sym.Variable("data"), dtype="float32")
    for dtypes in ({"data": "int32"}, np.int32):
        run = amp.Executor(net, {}, {}, {"data": (3,)}, input_dtypes=dtypes)
        assert run.input_dtypes == {"data": np.int32}
        assert run(np.int32([1, 2, 3]))[0].asnumpy().tolist() == [1, 2, 3]
    run = amp.Executor(net, {}, {}, {"data": (3,)}, input_dtypes="bfloat16")
    for dtype in (ml_dtypes.bfloat16, [("bfloat16", np.uint16)]):
        x = np.array([1, 2, 3], ml_dtypes.bfloat16).view(dtype)
        assert run(x)[0].asnumpy().tolist() == [1, 2, 3]


def test_parameters_are_let_go_of():
    class Tracked(np.ndarray):
        pass

    params = dense_params(64, 64)
    params["fc_weight"] = Tracked((64, 64), "f4")
    params["fc_weight"][...] = 1
    alive = weakref.ref(params["fc_weight"])
    run = amp.Executor(dense(64), params, {}, {"data": (2, 64)})
    run(sample(2, 64))
    del params, run
    gc.collect()
    assert alive() is None


def test_number_of_threads():
    arguments = (dense(), dense_params(), {}, {"data": (2, 4)})
    assert [amp.Executor(*arguments, num_threads=n).summary.num_threads for n in (1, 2)] == [1, 2]


# ---- threads ----


def test_two_threads_on_one_executor():
    params = dense_params(256, 256)
    run = amp.Executor(dense(256), params, {}, {"data": (16, 256)})
    inputs = [sample(16, 256, seed) for seed in range(2)]
    wanted = [run(x)[0].asnumpy() for x in inputs]
    wrong = []

    def work(number):
        for _ in range(50):
            if not np.array_equal(run(inputs[number])[0].asnumpy(), wanted[number]):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_built_run_and_dropped_in_threads():
    results = []

    def work():
        results.append(amp.Executor(dense(), dense_params(), {}, {"data": (2, 4)})(sample())[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == 4
    np.testing.assert_allclose(results[0].asnumpy(), expected(dense_params(), sample()), rtol=1e-5, atol=1e-6)


def test_python_goes_on_during_a_run():
    """A slow run (reference kernels) in one thread; this one counts in the meantime."""
    units = 1500
    run = amp.Executor(dense(units), dense_params(units, units), {}, {"data": (64, units)}, backend="reference")
    x = sample(64, units)
    thread = threading.Thread(target=lambda: [run(x) for _ in range(3)])
    counted = 0
    thread.start()
    while thread.is_alive():
        counted += 1
        thread.join(0.001)
    assert counted > 3


# ---- processes ----

SETUP = """
import os, signal, sys, numpy as np, amp
net = amp.sym.FullyConnected(amp.sym.var("data"), num_hidden=512, name="fc")
params = {"fc_weight": np.ones((512, 512), "f4"), "fc_bias": np.ones(512, "f4")}
x = np.ones((64, 512), "f4")

def build(**options):
    return amp.Executor(net, params, {}, {"data": x.shape}, **options)

def in_child(function):
    pid = os.fork()
    if pid == 0:
        try:
            function()
            os._exit(0)
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


def run_script(script, **env):
    """Runs it in another process; a hang fails."""
    path_script = textwrap.dedent(script)
    environment = {**os.environ, **env}
    done = subprocess.run(
        [sys.executable, "-c", "__file__ = '<string>'\n" + path_script],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_new_executors_work_after_fork():
    run_script(
        SETUP
        + """
run = build(num_threads=2)
run(x)
def child():
    fresh = build()
    assert fresh(x)[0].asnumpy()[0, 0] == 513
    assert fresh.summary.num_threads == 1
assert in_child(child) == 0
assert run(x)[0].asnumpy()[0, 0] == 513
"""
    )


def test_the_parents_executor_raises_after_fork():
    run_script(
        SETUP
        + """
run = build(num_threads=2)
run(x)
def child():
    try:
        run(x)
    except amp.Error as error:
        assert "forked" in str(error), error
    else:
        raise AssertionError("ran")
assert in_child(child) == 0
"""
    )


def test_fork_during_a_run():
    run_script(
        SETUP
        + """
import threading, time
run = build(num_threads=2)
stop = []
def work():
    while not stop:
        run(x)
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.1)
def child():
    signal.alarm(30)
    try:
        run(x)
    except amp.Error:
        pass
    else:
        raise AssertionError("ran")
    assert build()(x)[0].asnumpy()[0, 0] == 513
codes = [in_child(child) for _ in range(5)]
stop.append(1)
thread.join()
assert codes == [0] * 5, codes
"""
    )


def test_one_thread_executors_survive_a_fork():
    run_script(
        SETUP
        + """
run = build(num_threads=1)
run(x)
def child():
    assert run(x)[0].asnumpy()[0, 0] == 513
assert in_child(child) == 0
"""
    )


def test_fork_before_anything_ran():
    run_script(
        SETUP
        + """
def child():
    assert build(num_threads=2)(x)[0].asnumpy()[0, 0] == 513
assert in_child(child) == 0
"""
    )


def test_exit_while_a_thread_runs():
    """The interpreter ends although a daemon thread is inside of a run."""
    run_script(
        SETUP
        + """
import threading, time
run = build()
def forever():
    while True:
        run(x)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
"""
    )
