"""Monitors: what they see of runs, in training as well, and that runs do not change by it."""

import logging

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.monitor import runs

V = amp.sym.Variable
RNG = np.random.default_rng(7)
X = RNG.standard_normal((6, 4)).astype("float32")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def close(found, expected, rtol=1e-5):
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)


def watched(bound, monitor_all=False):
    """[(name, array)], filled by runs of `bound`."""
    seen = []
    bound.set_monitor_callback(lambda name, array: seen.append((name, array.asnumpy())), monitor_all)
    return seen


# ---- training ----


def normalized_net():
    net = amp.sym.FullyConnected(V("data"), num_hidden=3, name="fc")
    net = amp.sym.BatchNorm(net, fix_gamma=False, eps=1e-3, momentum=0.5, name="bn")
    return amp.sym.Dropout(net, p=0.5, name="drop")


def bind(net, **shapes):
    """Bound to random parameters, the same ones for the same net."""
    bound, numbers = net.simple_bind(**shapes), np.random.default_rng(3)
    for array in [*bound.arg_arrays, *bound.aux_arrays]:
        array[:] = numbers.uniform(0.5, 1.5, array.shape)
    return bound


def test_forward_runs_in_training():
    bound = bind(normalized_net(), data=X.shape)
    seen = watched(bound)
    bound.forward(is_train=True, data=X)
    assert [name for name, _ in seen] == ["fc_output", "bn_output", "drop_output"]
    values = dict(seen)
    args = {name: array.asnumpy() for name, array in bound.arg_dict.items()}
    fc = X @ args["fc_weight"].T + args["fc_bias"]
    close(values["fc_output"], fc)
    normalized = (fc - fc.mean(0)) / np.sqrt(fc.var(0) + 1e-3) * args["bn_gamma"] + args["bn_beta"]
    close(values["bn_output"], normalized, rtol=1e-4)
    dropped = bound.outputs[0].asnumpy()  # by the run itself
    assert 0 < (dropped == 0).sum() < dropped.size
    close(values["drop_output"], dropped)
    close(dropped, np.where(dropped == 0, 0, 2 * normalized), rtol=1e-4)


def results_of_training(monitor):
    mx.random.seed(5)
    bound = bind(normalized_net(), data=X.shape)
    if monitor:
        watched(bound, monitor_all=True)
    for _ in range(2):
        bound.forward(is_train=True, data=X)
        bound.backward()
    arrays = [*bound.outputs, *bound.grad_arrays, *bound.aux_arrays, amp.nd.random.uniform(shape=(3,))]
    return [array.asnumpy() for array in arrays]


def test_runs_do_not_change():
    """Outputs, gradients, moving statistics, which move once a step, and the random numbers that follow."""
    for found, expected in zip(results_of_training(True), results_of_training(False)):
        np.testing.assert_array_equal(found, expected)


def test_gradients_with_respect_to_inputs_of_operators():
    hidden = amp.sym.FullyConnected(V("data"), num_hidden=3, name="fc")
    bound = bind(amp.sym.LinearRegressionOutput(amp.sym.sigmoid(hidden, name="act"), name="out"), data=(6, 4))
    label = RNG.uniform(size=(6, 3)).astype("float32")
    seen = watched(bound)
    bound.forward(is_train=True, data=X, out_label=label)
    del seen[:]
    bound.backward()
    names = ["out_backward_output0", "out_backward_output1", "act_backward_output"]
    assert [name for name, _ in seen] == [*names, *(f"fc_backward_output{i}" for i in range(3))]
    values, args = dict(seen), {name: array.asnumpy() for name, array in bound.arg_dict.items()}
    act = sigmoid(X @ args["fc_weight"].T + args["fc_bias"])
    d_act = (act - label) / 3  # the mean over the outputs of a sample
    d_fc = d_act * act * (1 - act)
    expected = [d_act, np.zeros_like(label), d_fc, d_fc @ args["fc_weight"], d_fc.T @ X, d_fc.sum(0)]
    for (_, found), numbers in zip(seen, expected):
        close(found, numbers, rtol=1e-4)
    close(values["fc_backward_output1"], bound.grad_dict["fc_weight"].asnumpy())


def test_each_input_has_its_own_share_of_a_gradient():
    x = V("x")
    net = amp.sym.elemwise_add(amp.sym.elemwise_mul(x, x, name="square"), V("y"), name="sum")
    args = {"x": amp.nd.array([2.0, 3.0]), "y": amp.nd.array([1.0, 1.0])}
    bound = net.bind(mx.cpu(), args, args_grad={"x": amp.nd.zeros((2,))})
    seen = watched(bound)
    bound.forward(is_train=True)
    bound.backward([amp.nd.array([1.0, 10.0])])
    found = {name: array.tolist() for name, array in seen}
    assert found["square_backward_output0"] == found["square_backward_output1"] == [2, 30]
    assert found["sum_backward_output1"] == [1, 10]
    assert bound.grad_dict["x"].asnumpy().tolist() == [4, 60]


def test_operators_without_a_gradient_below_show_none():
    """MXNet has backward nodes for what depends on differentiated arguments."""
    net = amp.sym.elemwise_mul(amp.sym.exp(V("x"), name="constant"), amp.sym.exp(V("w"), name="e"), name="product")
    args = {"x": amp.nd.zeros((2,)), "w": amp.nd.zeros((2,))}
    bound = net.bind(mx.cpu(), args, args_grad={"w": amp.nd.zeros((2,))})
    seen = watched(bound)
    bound.forward(is_train=True)
    bound.backward()
    backward = [name for name, _ in seen if "backward" in name]
    assert backward == ["product_backward_output0", "product_backward_output1", "e_backward_output"]


def test_integers_have_no_gradients():
    bound = bind(amp.sym.Embedding(V("i"), V("w"), input_dim=5, output_dim=2, name="rows"), i=(3,), w=(5, 2))
    args = {"i": amp.nd.array([0, 4, 4], dtype="int32"), "w": bound.arg_dict["w"]}
    bound = bound._symbol.bind(mx.cpu(), args, args_grad={"w": amp.nd.zeros((5, 2))})
    seen = watched(bound)
    bound.forward(is_train=True)
    bound.backward()
    assert [name for name, _ in seen] == ["rows_output", "rows_backward_output1"]
    assert seen[1][1][:, 0].tolist() == [1, 0, 0, 0, 2]


def test_inference_sees_moving_statistics():
    bound = bind(normalized_net(), data=X.shape)
    seen = watched(bound)
    bound.forward(data=X)
    args = {name: array.asnumpy() for name, array in {**bound.arg_dict, **bound.aux_dict}.items()}
    fc = X @ args["fc_weight"].T + args["fc_bias"]
    scale = args["bn_gamma"] / np.sqrt(args["bn_moving_var"] + 1e-3)
    expected = (fc - args["bn_moving_mean"]) * scale + args["bn_beta"]
    close(dict(seen)["bn_output"], expected, rtol=1e-4)
    np.testing.assert_array_equal(dict(seen)["drop_output"], dict(seen)["bn_output"])
    bound.set_monitor_callback(None)
    del seen[:]
    bound.forward(data=X)
    assert not seen


def test_a_monitor_stays_behind_reshape():
    bound = bind(normalized_net(), data=X.shape)
    seen = watched(bound)
    bound.reshape(data=(2, 4)).forward(is_train=True)
    assert dict(seen)["fc_output"].shape == (2, 3)


@pytest.fixture
def low_precision():
    mx.amp.init("bfloat16")
    yield
    amp._autocast.begin(None)


def test_converted_runs_are_shown_as_they_run(low_precision):
    hidden = amp.sym.FullyConnected(V("data"), num_hidden=8, name="fc")
    bound, seen = bind(amp.sym.exp(hidden, name="e"), data=X.shape), {}
    bound.set_monitor_callback(lambda name, array: seen.update({name: amp.dtype_name(array.dtype)}))
    bound.forward(is_train=True, data=X)
    bound.backward()
    assert seen["fc_output"] == "bfloat16" and seen["e_output"] == "float32"
    assert seen["fc_backward_output1"] == "bfloat16" and seen["e_backward_output"] == "float32"


# ---- inputs ----

DATA = V("data", shape=(10, 3, 10, 10))


@pytest.mark.parametrize(
    ("net", "names"),
    [
        (
            lambda: amp.sym.Convolution(DATA, kernel=(2, 2), num_filter=1, name="conv"),
            "data conv_data conv_weight conv_weight conv_bias conv_bias conv_output",
        ),
        (lambda: amp.sym.Activation(DATA, act_type="relu", name="act"), "data act_input0 act_output"),
        (
            lambda: amp.sym.concat(DATA, DATA, dim=0, name="concat"),
            "data concat_arg0 data concat_arg1 concat_output",
        ),
        (lambda: amp.sym.softmax(DATA, name="softmax"), "data softmax_data softmax_output"),
        (lambda: amp.sym.exp(amp.sym.exp(DATA, name="a"), name="b"), "data a_input0 a_output b_input0 b_output"),
        (
            lambda: amp.sym.UpSampling(DATA, scale=2, sample_type="nearest", name="up"),
            "data up_arg0 up_output",
        ),
        (
            lambda: amp.sym.BatchNorm(DATA, name="bn"),
            "data bn_data bn_gamma bn_gamma bn_beta bn_beta bn_moving_mean bn_moving_mean bn_moving_var bn_moving_var "
            "bn_output",
        ),
        (lambda: amp.sym.split(DATA, num_outputs=2, axis=0, name="s"), "data s_data s_output0 s_output1"),
        (lambda: amp.sym.elemwise_add(DATA, DATA, name="a"), "data a_lhs data a_rhs a_output"),
        (lambda: DATA, ""),
    ],
)
def test_names_of_inputs(net, names):
    """Those of MXNet's test_op_all_names_monitor, and others."""
    bound = net().simple_bind(grad_req="null")
    seen = watched(bound, monitor_all=True)
    bound.forward()
    assert [name for name, _ in seen] == names.split()


def test_inputs_are_what_operators_read():
    bound = bind(amp.sym.exp(amp.sym.square(V("x"), name="a"), name="b"), x=(2,))
    seen = watched(bound, monitor_all=True)
    bound.forward(is_train=True, x=np.array([1, 2], "float32"))
    values = dict(seen)
    assert values["x"].tolist() == values["a_input0"].tolist() == [1, 2]
    assert values["a_output"].tolist() == values["b_input0"].tolist() == [1, 4]


# ---- Monitor ----


def run_batches(monitor, count):
    """What a monitor tells of `count` batches of a bound symbol."""
    bound = bind(amp.sym.exp(V("x"), name="e"), x=(4,))
    monitor.install(bound)
    found = []
    for number in range(count):
        monitor.tic()
        bound.forward(x=np.full(4, number, "float32"))
        found.append(monitor.toc())
    return found


def test_statistics_of_every_other_batch():
    found = run_batches(mx.monitor.Monitor(2), 4)
    assert [len(batch) for batch in found] == [2, 0, 2, 0]
    assert [[item[:2] for item in batch] for batch in found[::2]] == [
        [(step, "e_output"), (step, "x")] for step in (1, 3)
    ]
    numbers = [[float(text) for _, _, text in batch] for batch in found[::2]]
    close(numbers, [[1, 0], [np.exp(2), 2]])  # the norm of four equal numbers by 2


def test_nothing_is_computed_between():
    monitor = mx.mon.Monitor(2)
    bound = bind(amp.sym.exp(V("x"), name="e"), x=(4,))
    monitor.install(bound)
    bound.forward(is_train=True)  # before the first tic
    bound.backward()
    assert not bound._monitor._plans
    monitor.tic()
    bound.forward(is_train=True)
    assert bound._monitor._plans


def test_patterns_order_and_statistics_of_ones_own():
    both = mx.mon.Monitor(1, lambda array: [array.max().reshape((1,)), array[:2]], pattern="x|e_", sort=True)
    assert run_batches(both, 1)[0] == [(1, "e_output", "1.0\t[1. 1.]\t"), (1, "x", "0.0\t[0. 0.]\t")]
    assert [name for _, name, _ in run_batches(mx.mon.Monitor(1, pattern="put"), 1)[0]] == []
    every = mx.mon.Monitor(1, monitor_all=True)
    assert [name for _, name, _ in run_batches(every, 1)[0]] == ["x", "e_input0", "e_output", "x"]


def test_printed_statistics(caplog):
    monitor = mx.mon.Monitor(1, pattern="e_output")
    bound = bind(amp.sym.exp(V("x"), name="e"), x=(4,))
    monitor.install(bound)
    monitor.tic()
    bound.forward(x=np.zeros(4, "float32"))
    with caplog.at_level(logging.INFO):
        monitor.toc_print()
    assert [record.getMessage().split() for record in caplog.records] == [["Batch:", "1", "e_output", "1.0"]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.mon.Monitor(0), "interval: expected a number of batches, got 0"),
        (lambda: mx.mon.Monitor("1"), "interval"),
        (lambda: run_batches(mx.mon.Monitor(1, lambda array: 3), 1), "stat_func: expected an NDArray .*, got 3"),
        (lambda: bind(amp.sym.exp(V("x")), x=(1,)).set_monitor_callback(3), "expected a function to call, got int"),
        (lambda: runs.MonitoredRuns(3), "expected a function to call, got int"),
    ],
)
def test_errors(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


# ---- modules ----


def regression(hidden=2):
    net = amp.sym.FullyConnected(V("data"), num_hidden=hidden, name="fc_0")
    net = amp.sym.Activation(net, act_type="sigmoid", name="act_0")
    net = amp.sym.FullyConnected(net, num_hidden=2, name="fc_1")
    return amp.sym.LinearRegressionOutput(amp.sym.Activation(net, act_type="sigmoid", name="act_1"), name="softmax")


def regression_data(size=1):
    data, label = np.array([[0.05, 0.10]] * size, "float32"), np.array([[0.01, 0.99]] * size, "float32")
    return mx.io.NDArrayIter(data, label, batch_size=1)


PARAMS = {
    "fc_0_weight": np.array([[0.15, 0.20], [0.25, 0.30]]),
    "fc_0_bias": np.array([0.35, 0.35]),
    "fc_1_weight": np.array([[0.40, 0.45], [0.50, 0.55]]),
    "fc_1_bias": np.array([0.60, 0.60]),
}


def mean_abs(array):
    return amp.nd.array([np.abs(array.asnumpy()).mean()])


def test_a_module_with_a_monitor():
    """The numbers of MXNet's test_monitor: 5 outputs, 10 gradients, 6 arguments."""
    monitor, data = mx.mon.Monitor(1, stat_func=mean_abs, sort=True), regression_data()
    mod = mx.mod.Module(regression())
    mod.bind(data.provide_data, data.provide_label)
    mod.install_monitor(monitor)
    mod.init_params(arg_params={name: amp.nd.array(array) for name, array in PARAMS.items()})
    monitor.tic()
    mod.forward_backward(next(iter(data)))
    found = {name: float(text) for _, name, text in monitor.toc()}
    starts = ["act_0", "act_1", "data", "fc_0", "fc_1", "softmax"]
    assert [sum(name.startswith(start) for name in found) for start in starts] == [2, 2, 1, 6, 6, 4]
    act_0 = sigmoid(PARAMS["fc_0_weight"] @ [0.05, 0.10] + PARAMS["fc_0_bias"])
    act_1 = sigmoid(PARAMS["fc_1_weight"] @ act_0 + PARAMS["fc_1_bias"])
    error = (act_1 - [0.01, 0.99]) / 2
    d_fc_1 = error * act_1 * (1 - act_1)
    expected = {
        "act_0_output": act_0,
        "softmax_output": act_1,
        "softmax_backward_output0": error,
        "fc_1_backward_output0": d_fc_1 @ PARAMS["fc_1_weight"],
        "fc_1_backward_output1": np.outer(d_fc_1, act_0),
        "fc_0_bias": PARAMS["fc_0_bias"],
        "softmax_label": [0.01, 0.99],
    }
    for name, array in expected.items():
        close(found[name], np.abs(array).mean(), rtol=1e-4)


def test_fit_with_a_monitor(caplog):
    monitor = mx.mon.Monitor(2, pattern="fc_0_(output|backward_output2|bias)")
    mod = mx.mod.Module(regression())
    with caplog.at_level(logging.INFO):
        mod.fit(regression_data(3), eval_metric="mse", num_epoch=1, monitor=monitor)
    lines = [record.getMessage().split()[1:3] for record in caplog.records if "Batch:" in record.getMessage()]
    names = ["fc_0_output", "fc_0_backward_output2", "fc_0_bias"]
    assert lines == [[step, name] for step in ("1", "3") for name in names]


def test_monitors_do_not_change_what_fit_learns():
    learned = []
    for monitor in (None, mx.mon.Monitor(1, monitor_all=True)):
        mod = mx.mod.Module(regression())
        params = {name: amp.nd.array(array) for name, array in PARAMS.items()}
        mod.fit(regression_data(3), eval_metric="mse", num_epoch=2, monitor=monitor, arg_params=params)
        learned.append({name: array.asnumpy() for name, array in mod.get_params()[0].items()})
    for name, array in learned[0].items():
        np.testing.assert_array_equal(array, learned[1][name])
        assert not np.array_equal(array.astype("f4"), PARAMS[name].astype("f4"))


def test_the_executor_of_a_module():
    mod = mx.mod.Module(regression(), label_names=("softmax_label",))
    mod.bind([("data", (1, 2))], [("softmax_label", (1, 2))])
    mod.init_params(arg_params={name: amp.nd.array(array) for name, array in PARAMS.items()})
    seen, group = [], mod._exec_group
    (executor,) = group.execs
    executor.set_monitor_callback(lambda name, array: seen.append((name, array.shape)), monitor_all=True)
    assert list(executor.arg_dict) == group.param_names == list(PARAMS)
    mod.forward(mx.io.DataBatch([amp.nd.ones((3, 2))]), is_train=False)  # another shape, and no label
    assert seen[:2] == [("data", (3, 2)), ("fc_0_data", (3, 2))] and seen[-1] == ("softmax_output", (3, 2))
    assert executor.arg_dict["data"].shape == executor.outputs[0].shape == (3, 2)
    mod.forward(mx.io.DataBatch([amp.nd.ones((1, 2))], [amp.nd.ones((1, 2))]), is_train=True)
    mod.backward()
    assert executor.grad_dict["fc_1_bias"].shape == group.grad_arrays[3][0].shape == (2,)
    close(group.param_arrays[0][0].asnumpy(), PARAMS["fc_0_weight"])
    assert [None if array is None else array.shape for array in executor.grad_arrays] == [
        None,
        (2, 2),
        (2,),
        (2, 2),
        (2,),
        None,
    ]
    assert not executor.aux_arrays and not group.aux_arrays and len(executor.arg_arrays) == 6
    executor.set_monitor_callback(None)
    del seen[:]
    mod.forward(mx.io.DataBatch([amp.nd.ones((1, 2))]), is_train=False)
    assert not seen


def test_modules_need_to_be_bound():
    for mod in (mx.mod.Module(regression()), mx.mod.BucketingModule(lambda key: None, 3)):
        with pytest.raises(amp.ArgumentError, match="bind"):
            mod.install_monitor(mx.mon.Monitor(1))
    with pytest.raises(NotImplementedError, match="install_monitor"):
        mx.mod.BaseModule().install_monitor(mx.mon.Monitor(1))


def test_buckets_that_come_later_are_watched():
    def of_length(length):
        rows = amp.sym.FullyConnected(V("data"), V("shared_weight"), num_hidden=2, no_bias=True, flatten=False)
        return amp.sym.exp(rows, name=f"exp{length}"), ("data",), None

    mod = mx.mod.BucketingModule(of_length, default_bucket_key=3)
    mod.bind([("data", (1, 3, 4))])
    mod.init_params()
    monitor = mx.mon.Monitor(1, pattern="exp")
    mod.install_monitor(monitor)
    for length in (3, 2):
        batch = mx.io.DataBatch(
            [amp.nd.ones((1, length, 4))], bucket_key=length, provide_data=[("data", (1, length, 4))]
        )
        monitor.tic()
        mod.forward(batch, is_train=False)
        assert [name for _, name, _ in monitor.toc()] == [f"exp{length}_output"]


def test_modules_one_after_another_are_watched():
    layer = amp.sym.FullyConnected(V("data"), num_hidden=3, name="fc")
    mod = mx.mod.SequentialModule().add(mx.mod.Module(layer, label_names=None))
    mod.add(mx.mod.PythonLossModule(), take_labels=True, auto_wiring=True)
    mod.bind([("data", (2, 4))], [("softmax_label", (2,))])
    mod.init_params()
    monitor = mx.mon.Monitor(1, pattern=".*(output|bias)")
    mod.install_monitor(monitor)
    monitor.tic()
    mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))], [amp.nd.zeros((2,))]), is_train=True)
    assert [name for _, name, _ in monitor.toc()] == ["fc_output", "fc_bias"]


# ---- blocks ----


def hooked(block, monitor_all=False):
    seen = []
    block.initialize()
    block.hybridize()
    block.register_op_hook(lambda name, op, array: seen.append((name, op, array.asnumpy())), monitor_all)
    return seen


def layers(*parts, prefix="net_"):
    net = mx.gluon.nn.HybridSequential(prefix=prefix)
    with net.name_scope():
        net.add(*(part() for part in parts))
    return net


def dense():
    return mx.gluon.nn.Dense(2, activation="relu")


def test_nodes_of_blocks_have_mxnets_names():
    net = layers(dense, dense)
    seen = hooked(net, monitor_all=True)
    net(amp.nd.ones((2, 3)))
    names = []
    for layer in ("net_dense0_", "net_dense1_"):
        names += [f"{layer}fwd_{slot}" for slot in ("data", "weight", "bias", "output")]
        names += [f"{layer}relu_fwd_input0", f"{layer}relu_fwd_output"]
    assert [name for name, _, _ in seen] == names
    assert [op for _, op, _ in seen[:6]] == ["FullyConnected"] * 4 + ["Activation"] * 2
    plain = mx.gluon.nn.HybridSequential()
    plain.add(dense())
    seen = hooked(plain)
    plain(amp.nd.ones((2, 3)))
    assert [name for name, _, _ in seen] == [f"{plain[0].name}_fwd_output", f"{plain[0].name}_relu_fwd_output"]


def test_a_layer_that_runs_twice_has_two_nodes():
    class Twice(mx.gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.drop = mx.gluon.nn.Dropout(0.5)

        def hybrid_forward(self, F, x):  # noqa: N803
            return F.exp(self.drop(x)) + F.exp(self.drop(x))

    net = Twice(prefix="net_")
    seen = hooked(net)
    with mx.autograd.record():
        net(amp.nd.ones((100,)))
    names = [name for name, _, _ in seen]
    assert names[:4] == ["net_dropout0_fwd_output", "net_exp0_output", "net_dropout0_fwd_output", "net_exp1_output"]
    assert not np.array_equal(seen[0][2], seen[2][2])


def test_hooks_see_recorded_runs():
    net = layers(lambda: mx.gluon.nn.Dense(50), lambda: mx.gluon.nn.Dropout(0.5))
    seen = hooked(net)
    with mx.autograd.record():
        out = net(amp.nd.ones((2, 3)))
    out.backward()
    assert [name for name, _, _ in seen] == ["net_dense0_fwd_output", "net_dropout0_fwd_output"]
    dropped = out.asnumpy()
    assert (dropped == 0).any()
    close(seen[1][2], dropped)
    close(seen[0][2][dropped != 0] * 2, dropped[dropped != 0])
    net.register_op_hook(None)
    net(amp.nd.ones((2, 3)))
    assert len(seen) == 2


def test_the_first_argument_of_a_chain_may_be_its_prefix():
    assert mx.gluon.nn.HybridSequential("pool_").prefix == mx.gluon.nn.Sequential("pool_").prefix == "pool_"
