"""Optimizers, schedulers of learning rates, metrics, callbacks and stores of amp.mxnet."""

import json
import logging
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx

# What MXNet 1.9.1 gives for the loop in `trained`: six of the numbers, by optimizer and options.
EXPECTED = json.loads((Path(__file__).parents[2] / "data" / "mxnet_optimizers.json").read_text())


def trained(number, name, options, dtype="float32"):
    """A weight and a bias after six updates by random gradients."""
    random = np.random.default_rng(number)
    weight, bias = (mx.nd.array(random.standard_normal(shape).astype("f"), dtype=dtype) for shape in ((5, 7), (6,)))
    optimizer = mx.optimizer.create(name, param_idx2name={0: "x_weight", 1: "x_bias"}, **options)
    update = mx.optimizer.get_updater(optimizer)
    for step in range(6):
        update(0, mx.nd.array(random.standard_normal((5, 7)).astype("f"), dtype=dtype), weight)
        update(1, mx.nd.array(random.standard_normal((6,)).astype("f"), dtype=dtype), bias)
        if step == 3 and "learning_rate" in options:
            optimizer.set_learning_rate(0.01)
    return np.concatenate([weight.asnumpy().ravel(), bias.asnumpy().ravel()])


@pytest.mark.parametrize("number", range(len(EXPECTED)), ids=lambda i: f"{EXPECTED[i]['optimizer']}-{i}")
def test_updates_are_mxnets(number):
    case = EXPECTED[number]
    found = trained(number, case["optimizer"], case["options"])
    np.testing.assert_allclose(found[[0, 9, 18, 34, 35, 40]], case["numbers"], rtol=2e-5, atol=2e-6)


def test_every_optimizer_is_checked():
    registry = mx.optimizer.Optimizer.opt_registry
    own = {n for n, c in registry.items() if c.__module__.startswith("amp.") and not n.startswith("_")}
    unchecked = own - {case["optimizer"] for case in EXPECTED}
    assert unchecked <= {
        "sgld",
        "adamw",
        "adabelief",
        "lans",
        "groupadagrad",
    }  # noise, optimizers of MXNet 2, and one of rows: below


def test_noise_of_langevin_dynamics_has_the_learning_rates_variance():
    mx.random.seed(3)
    weight = mx.nd.zeros((100, 100))
    mx.optimizer.get_updater(mx.optimizer.SGLD(learning_rate=0.04))(0, mx.nd.zeros((100, 100)), weight)
    assert weight.asnumpy().std() == pytest.approx(0.2, rel=0.05)


def test_adamw_decays_beside_the_gradient():
    weight = mx.nd.array([2.0])
    mx.optimizer.get_updater(mx.optimizer.AdamW(learning_rate=0.1, wd=0.5))(0, mx.nd.array([3.0]), weight)
    rate = 0.1 * np.sqrt(1 - 0.999) / (1 - 0.9)  # with the bias corrected, for the decay, too: as the wheel has it
    assert weight.asnumpy()[0] == pytest.approx(2 - 0.1 * 1 - rate * 0.5 * 2, rel=1e-4)


def adabelief(weight, grads, lr, wd, correct_bias=True):
    """The formula of AdaBelief in float64."""
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for t, grad in enumerate(grads, 1):
        grad = grad + wd * weight
        mean = 0.9 * mean + 0.1 * grad
        square = 0.999 * square + 0.001 * (grad - mean) ** 2 + 1e-6
        rate = lr * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) if correct_bias else lr
        weight = weight - rate * mean / (np.sqrt(square) + 1e-6)
    return weight


def lans(weight, grads, lr, wd):
    """The formula of LANS in float64."""
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for t, grad in enumerate(grads, 1):
        grad = grad / np.linalg.norm(grad)
        mean, square = 0.9 * mean + 0.1 * grad, 0.999 * square + 0.001 * grad**2
        root, of_weight = np.sqrt(square / (1 - 0.999**t)) + 1e-6, np.linalg.norm(weight)
        step = mean / (1 - 0.9**t) / root + wd * weight
        weight = weight - 0.9 * lr * of_weight / np.linalg.norm(step) * step
        step = grad / root + wd * weight
        weight = weight - 0.1 * lr * of_weight / np.linalg.norm(step) * step
    return weight


@pytest.mark.parametrize(
    "name, formula, options",
    [("adabelief", adabelief, {}), ("adabelief", adabelief, {"correct_bias": False}), ("lans", lans, {})],
)
def test_optimizers_of_mxnet_2(name, formula, options):
    random = np.random.default_rng(3)
    weight, grads = random.standard_normal((4, 5)), random.standard_normal((6, 4, 5))
    update = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.05, wd=0.1, **options))
    found = mx.nd.array(weight)
    for grad in grads:
        update(0, mx.nd.array(grad), found)
    np.testing.assert_allclose(found.asnumpy(), formula(weight, grads, 0.05, 0.1, **options), rtol=2e-4, atol=1e-5)


def test_a_step_of_lists_is_enough_for_an_optimizer():
    """MXNet 2's optimizers define `step`, 1.x' `update`."""

    class Down(mx.optimizer.Optimizer):
        def step(self, indices, weights, grads, states):
            self._update_count(indices)
            for index, weight, grad in zip(indices, weights, grads):
                weight[:] -= self._get_lr(index) * grad

    update, weight = mx.optimizer.get_updater(Down(learning_rate=0.5)), mx.nd.array([3, 4])
    update(0, mx.nd.array([1, 2]), weight)
    assert weight.asnumpy().tolist() == [2.5, 3]
    with pytest.raises(NotImplementedError, match="no update and no step"):
        mx.optimizer.get_updater(mx.optimizer.Optimizer())(0, weight, weight)


def test_rmsprop_takes_the_names_of_mxnet_2():
    new, old = mx.optimizer.RMSProp(rho=0.8, momentum=0.7), mx.optimizer.RMSProp(gamma1=0.8, gamma2=0.7)
    assert (new.gamma1, new.gamma2) == (old.gamma1, old.gamma2) == (0.8, 0.7)


def test_group_adagrad_has_one_history_for_a_row():
    options = {"learning_rate": 0.1, "rescale_grad": 0.5, "clip_gradient": 2.5}
    update = mx.optimizer.get_updater(mx.optimizer.create("groupadagrad", **options))
    weight = mx.nd.array([[1, 2], [3, 4]])
    for _ in range(3):
        update(0, mx.nd.array([[1, 2], [-3, 8]]), weight)
    mxnets = [[0.855519, 1.711038], [3.1662185, 3.722969]]
    np.testing.assert_allclose(weight.asnumpy(), mxnets, rtol=1e-5)
    assert update.states[0].shape == (2, 1) and mx.optimizer.contrib.GroupAdaGrad().float_stable_eps == 1e-5
    with pytest.raises(amp.ArgumentError, match="weights are matrices"):
        update(1, mx.nd.ones((2,)), mx.nd.ones((2,)))
    with pytest.raises(amp.ArgumentError, match="no weight decay"):
        mx.optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad(wd=0.1))(0, weight, weight)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_has_a_master(dtype):
    exact = trained(0, "sgd", {"momentum": 0.9})
    low = trained(0, "sgd", {"momentum": 0.9, "multi_precision": True}, dtype).astype("float32")
    assert 0 < np.abs(low - exact).max() < 0.02
    weight, update = (
        mx.nd.ones((2,), dtype=dtype),
        mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1e-4, multi_precision=True)),
    )
    for _ in range(100):
        update(0, mx.nd.ones((2,), dtype=dtype), weight)
    assert weight.asnumpy().astype("float32")[0] == pytest.approx(0.99, abs=0.004)  # each step alone would round away


@pytest.mark.parametrize("name", ["sgd", "nag", "lars", "lbsgd"])
def test_states_of_descent_have_masters_last(name):
    """As MXNet 1.9.1 saves them; its other optimizers have the master first."""
    weight = mx.nd.array([1.0, 3.0], dtype="float16")
    optimizer = mx.optimizer.create(name, momentum=0.5, multi_precision=True)
    momentum, master = optimizer.create_state_multi_precision(0, weight)
    assert not momentum.asnumpy().any() and master.asnumpy().tolist() == [1, 3] and master.dtype == np.float32
    bare = mx.optimizer.create(name, multi_precision=True)
    assert bare.create_state_multi_precision(0, weight)[0] is None
    master, (mean, variance) = mx.optimizer.Adam(multi_precision=True).create_state_multi_precision(0, weight)
    assert master.asnumpy().tolist() == [1, 3] and not mean.asnumpy().any() and not variance.asnumpy().any()


def test_states_that_mxnet_saved_go_on():
    saved = pickle.dumps({0: (np.array([0.5], "f4"), np.array([2.0], "f4"))})  # momentum, master
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5, multi_precision=True))
    update.set_states(saved)
    weight = mx.nd.array([2.0], dtype="float16")
    update(0, mx.nd.array([1.0], dtype="float16"), weight)
    assert weight.asnumpy()[0] == 2 + 0.5 * 0.5 - 1


def test_states_are_kept_in_bytes():
    first = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1))
    weight, other = mx.nd.ones((3,)), mx.nd.ones((3,))
    first(0, mx.nd.ones((3,)), weight)
    second = mx.optimizer.get_updater(mx.optimizer.SGD())
    second.set_states(first.get_states(dump_optimizer=True))
    assert isinstance(second.optimizer, mx.optimizer.Adam)
    other[:] = weight
    for update, array in ((first, weight), (second, other)):
        update(0, mx.nd.ones((3,)), array)
    np.testing.assert_array_equal(weight.asnumpy(), other.asnumpy())


class Evil:
    def __reduce__(self):
        return (print, ("called",))


@pytest.mark.parametrize("data", [b"", b"nonsense", pickle.dumps(Evil()), pickle.dumps(math.sin)])
def test_states_from_strangers_are_refused(data, capsys):
    with pytest.raises(amp.ArgumentError):
        mx.optimizer.get_updater(mx.optimizer.SGD()).set_states(data)
    assert capsys.readouterr().out == ""


def test_multipliers():
    weight = amp.sym.Variable("fc_weight", lr_mult=2.0, wd_mult=3.0)
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), weight, num_hidden=2, name="fc")
    names = {0: "fc_weight", 1: "fc_bias"}
    optimizer = mx.optimizer.SGD(learning_rate=0.1, wd=0.01, sym=net, param_idx2name=names)
    assert optimizer._get_lrs([0, 1]) == pytest.approx([0.2, 0.1])
    assert optimizer._get_wds([0, 1]) == pytest.approx([0.03, 0.0])  # biases do not decay
    optimizer.set_lr_mult({"fc_bias": 0.5})
    assert optimizer._get_lrs([0, 1]) == pytest.approx([0.2, 0.05])


def test_a_scheduler_has_the_learning_rate():
    schedule = mx.lr_scheduler.FactorScheduler(step=2, factor=0.1, base_lr=1.0)
    optimizer = mx.optimizer.SGD(lr_scheduler=schedule)
    update, weight = mx.optimizer.get_updater(optimizer), mx.nd.zeros((1,))
    for _ in range(3):
        update(0, mx.nd.ones((1,)), weight)
    assert weight.asnumpy()[0] == pytest.approx(-2.1)
    with pytest.raises(UserWarning, match="lr_scheduler"):
        optimizer.set_learning_rate(1.0)


def test_an_optimizer_of_ones_own():
    @mx.optimizer.register
    class Halving(mx.optimizer.Optimizer):
        def update(self, index, weight, grad, state):
            self._update_count(index)
            weight[:] = weight * 0.5

    try:
        weight = mx.nd.array([4.0])
        mx.optimizer.get_updater(mx.optimizer.create("halving"))(0, mx.nd.zeros((1,)), weight)
        assert weight.asnumpy()[0] == 2
    finally:
        del mx.optimizer.Optimizer.opt_registry["halving"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.optimizer.create("sdg"), "unknown optimizer 'sdg'.*sgd"),
        (lambda: mx.optimizer.SGD(param_idx2name=["a"]), "expected a dict"),
        (lambda: mx.optimizer.LAMB(lower_bound=2.0, upper_bound=1.0), "is above upper_bound"),
        (lambda: mx.lr_scheduler.FactorScheduler(step=0), "step: expected 1 or more"),
        (lambda: mx.lr_scheduler.FactorScheduler(step=1, factor=2), "factor: expected 1 or less"),
        (lambda: mx.lr_scheduler.MultiFactorScheduler([3, 2]), "an ascending list"),
        (lambda: mx.lr_scheduler.PolyScheduler(0), "max_update"),
        (lambda: mx.lr_scheduler.CosineScheduler(5, warmup_steps=-1), "warmup_steps"),
        (lambda: mx.lr_scheduler.CosineScheduler(5, warmup_mode="warm"), "warmup_mode"),
        (lambda: mx.metric.create("acccc"), "unknown metric 'acccc'"),
        (lambda: mx.metric.TopKAccuracy(1), "Accuracy is for the best class"),
        (lambda: mx.metric.Accuracy().update([mx.nd.ones((2,))], []), "labels and predictions do not fit: 1 and 0"),
        (lambda: mx.metric.F1().update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 2))]), "is for two classes"),
        (lambda: mx.metric.CompositeEvalMetric().get_metric(0), "none at 0"),
        (lambda: mx.kv.create().push("w", mx.nd.ones((1,))), "the key 'w' has no value"),
        (lambda: mx.kv.create().save_optimizer_states("x"), "the store has no optimizer"),
    ],
)
def test_errors(call, message):
    with pytest.raises((amp.ArgumentError, amp.UnsupportedError), match=message):
        call()


def test_metrics():
    label, pred = mx.nd.array([0, 1, 1]), mx.nd.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])
    expected = {
        "acc": 2 / 3,
        "f1": 2 / 3,
        "mcc": 0.5,
        "ce": -(math.log(0.9) + math.log(0.8) + math.log(0.3)) / 3,
        "nll_loss": -(math.log(0.9) + math.log(0.8) + math.log(0.3)) / 3,
        "perplexity": math.exp(-(math.log(0.9) + math.log(0.8) + math.log(0.3)) / 3),
        "pcc": 0.5,
        "loss": 0.5,
    }
    for name, value in expected.items():
        metric = mx.metric.create(name)
        assert math.isnan(metric.get()[1])
        metric.update([label], [pred])
        assert metric.get()[1] == pytest.approx(value, rel=1e-5) and type(metric.get()[1]) is float, name
        metric.reset_local()
        assert math.isnan(metric.get()[1])
        assert metric.get_global()[1] == pytest.approx(value, rel=1e-5), name
        metric.reset()
        assert math.isnan(metric.get_global()[1])


def test_metrics_of_numbers():
    label, pred = mx.nd.array([1.0, 2.0, 4.0]), mx.nd.array([[1.0], [3.0], [2.0]])
    for name, value in {"mae": 1.0, "mse": 5 / 3, "rmse": math.sqrt(5 / 3)}.items():
        metric = mx.metric.create(name)
        metric.update([label], [pred])
        assert metric.get() == (name, pytest.approx(value))
    for average in ("macro", "micro"):
        metric = mx.metric.PearsonCorrelation(average=average)
        metric.update([label], [mx.nd.array([1.0, 3.0, 2.0])])
        assert metric.get()[1] == pytest.approx(np.corrcoef([1, 2, 4], [1, 3, 2])[0, 1])
    top = mx.metric.TopKAccuracy(2)
    top.update([mx.nd.array([0, 2])], [mx.nd.array([[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]])])
    assert top.get() == ("top_k_accuracy_2", 0.5)
    ignoring = mx.metric.Perplexity(ignore_label=0)
    ignoring.update([mx.nd.array([0, 1])], [mx.nd.array([[0.1, 0.9], [0.5, 0.5]])])
    assert ignoring.get()[1] == pytest.approx(2)


def test_metrics_of_functions_and_several():
    several = mx.metric.create(["acc", lambda label, pred: float((label - pred).sum())])
    several.add("mse")
    several.update([mx.nd.array([1.0, 2.0])], [mx.nd.array([1.0, 1.0])])
    assert [value for _, value in several.get_name_value()] == [0.5, 1.0, 0.5]
    assert [name for name, _ in several.get_name_value()] == ["accuracy", "custom(<lambda>)", "mse"]
    weighted = mx.metric.np(lambda label, pred: (3.0, 2))
    weighted.update([mx.nd.ones((1,))], [mx.nd.ones((1,))])
    assert weighted.get()[1] == 1.5
    by_name = mx.metric.Accuracy(output_names=["out"], label_names=["y"])
    by_name.update_dict({"y": mx.nd.array([1])}, {"out": mx.nd.array([[0.0, 1.0]]), "other": None})
    assert by_name.get()[1] == 1


def test_a_store_updates_by_its_optimizer():
    store = mx.kv.create("device")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.init(["a", "b"], [mx.nd.ones((2,)), mx.nd.zeros((1,))])
    out = mx.nd.zeros((2,))
    store.pushpull("a", [mx.nd.ones((2,)), mx.nd.ones((2,))], out=out)
    assert out.asnumpy().tolist() == [0.0, 0.0]
    assert (store.rank, store.num_workers, store.is_capable("optimizer")) == (0, 1, True)


def test_callbacks(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    accuracy = mx.metric.Accuracy()
    accuracy.update([mx.nd.array([1])], [mx.nd.array([1])])
    for callback in (mx.callback.Speedometer(4, frequent=2, auto_reset=False), mx.callback.log_train_metric(2)):
        for batch in range(3):
            callback(mx.callback.BatchEndParam(0, batch, accuracy, {}))
    assert "Speed" in caplog.text and "Train-accuracy=1.000000" in caplog.text
    mx.callback.ProgressBar(2, 10)(mx.callback.BatchEndParam(0, 1, None, {}))
    assert "[=====-----] 50%" in caplog.text
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=1, name="fc")
    arrays = {"fc_weight": mx.nd.ones((1, 2)), "fc_bias": mx.nd.ones((1,))}
    save = mx.callback.do_checkpoint(str(tmp_path / "net"), period=2)
    for epoch in range(3):
        save(epoch, net, arrays, {})
    assert [path.name for path in sorted(tmp_path.glob("*.params"))] == ["net-0002.params"]


@pytest.mark.parametrize("is_low", [False, True])
@pytest.mark.parametrize("clip", [-1, 0.3])
def test_adabelief_and_its_lists(is_low, clip):
    draw = np.random.default_rng(2)
    w, g, m, v = (draw.random((2, 3)).astype("f4") for _ in range(4))
    step = np.float32(2) * g + np.float32(0.1) * w
    step = np.clip(step, -clip, clip) if clip >= 0 else step
    mean = 0.9 * m + 0.1 * step
    var = 0.999 * v + 0.001 * (step - mean) ** 2 + 1e-8
    wanted = w - 0.5 * (0.2 * mean / (np.sqrt(var) + 1e-8))
    options = {"wd": 0.1, "clip_gradient": clip}

    def arrays():
        weight, grad = (mx.nd.array(each, dtype="float16" if is_low else "float32") for each in (w, g))
        return [weight, grad, mx.nd.array(m), mx.nd.array(v), *([mx.nd.array(w)] if is_low else [])]

    prefix, rtol = ("mp_", 2e-3) if is_low else ("", 1e-5)
    single = arrays()
    update = getattr(mx.nd.contrib, f"{prefix}adabelief_update")
    update(*single, mx.nd.array([np.nan]), lr=0.2, eta=0.5, out=single[0], **options)
    np.testing.assert_allclose(single[0].asnumpy(), w, rtol=rtol)  # nothing happened
    update(*single, mx.nd.array([2]), lr=0.2, eta=0.5, out=single[0], **options)
    several = [[array] for array in arrays()]
    named = {"lrs": [0.2], "wds": [0.1], "etas": [0.5], "clip_gradient": clip, "out": several[0]}
    getattr(mx.nd.contrib, f"multi_{prefix}adabelief_update")(*several, 2.0, **named)
    for found in (single, [array for (array,) in several]):
        for array, expected in zip(found, (wanted, g, mean, var, wanted)):
            np.testing.assert_allclose(array.asnumpy(), expected, rtol=rtol, atol=1e-6)


def test_phases_of_lamb_for_low_precision():
    zeros = [mx.nd.zeros(2), mx.nd.zeros(2)]
    low, exact, grad = mx.nd.array([1, 2], dtype="float16"), mx.nd.array([1, 2]), mx.nd.array([1, 1], dtype="float16")
    step = mx.nd.mp_lamb_update_phase1(low, grad, *zeros, exact, t=1, wd=0.1)
    np.testing.assert_allclose(step.asnumpy(), [1.1, 1.2], rtol=1e-3)
    norms = mx.nd.array([2]), mx.nd.array([4])
    out = mx.nd.mp_lamb_update_phase2(low, step, *norms, exact, lr=0.1, out=low)
    np.testing.assert_allclose(exact.asnumpy(), [0.945, 1.94], rtol=1e-3)
    assert out is low and low.dtype == np.float16 and abs(low.asnumpy() - [0.945, 1.94]).max() < 2e-3


def test_group_adagrad_takes_the_names_of_both_versions():
    names = ({"eps": 0.5}, {"epsilon": 0.5})
    found = []
    for named in names:
        weight = mx.nd.ones((1, 2))
        mx.optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad(**named))(0, mx.nd.ones((1, 2)), weight)
        found.append(weight.asnumpy().tolist())
    assert found[0] == found[1] != [[0.99, 0.99]]
