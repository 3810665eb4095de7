"""Executors with gradients."""

import threading

import numpy as np
import pytest

import amp


def small_net():
    """fc -> batch norm -> relu -> dropout -> fc, summed."""
    data = amp.sym.Variable("data")
    hidden = amp.sym.FullyConnected(data, num_hidden=8, name="fc1")
    hidden = amp.sym.BatchNorm(hidden, fix_gamma=False, name="bn")
    hidden = amp.sym.Activation(hidden, act_type="relu", name="relu")
    return amp.sym.FullyConnected(hidden, num_hidden=3, name="fc2")


def arrays_of(symbol, **inputs):
    """{name: NDArray} of all variables, the same in each call."""
    random = np.random.default_rng(5)
    args, _, aux = symbol.infer_shape(**{name: value.shape for name, value in inputs.items()})
    names = symbol.list_arguments() + symbol.list_auxiliary_states()
    shapes = dict(zip(names, list(args) + list(aux)))
    return {
        name: amp.nd.array(inputs.get(name, np.abs(random.normal(size=shape)) + 0.1)) for name, shape in shapes.items()
    }


@pytest.fixture
def bound():
    symbol = small_net()
    arrays = arrays_of(symbol, data=np.random.default_rng(1).normal(size=(6, 4)).astype("float32"))
    params = {name: array for name, array in arrays.items() if name != "data"}
    return amp.TrainingExecutor(symbol, params, params, {"data": (6, 4)}, grad_req="write"), arrays


def loss_of(symbol, arrays):
    run = amp.TrainingExecutor(symbol, arrays, arrays, {}, grad_req="write")
    return float(np.asarray(run.forward(is_train=True)[0], "float64").sum())


def test_gradients_are_finite_differences(bound):
    run, arrays = bound
    run.forward(is_train=True, data=arrays["data"])
    run.backward()
    symbol = small_net()
    for name in ("data", "fc1_weight", "bn_gamma", "fc2_bias"):
        step = np.zeros(arrays[name].shape, "float32")
        step.flat[1] = 1e-2
        around = [
            loss_of(symbol, {**arrays, name: amp.nd.array(arrays[name].asnumpy() + sign * step)}) for sign in (1, -1)
        ]
        expected = (around[0] - around[1]) / 2e-2
        assert run.gradients[name].asnumpy().flat[1] == pytest.approx(expected, rel=0.03, abs=0.02), name


def test_parameters_are_shared(bound):
    run, arrays = bound
    before = run.forward(is_train=True, data=arrays["data"])[0].asnumpy()
    arrays["fc2_bias"][:] += 1
    np.testing.assert_allclose(run.forward(is_train=True, data=arrays["data"])[0].asnumpy(), before + 1, rtol=1e-5)
    plain = run(arrays["data"])[0].asnumpy()
    arrays["fc2_bias"][:] -= 1
    np.testing.assert_allclose(run(arrays["data"])[0].asnumpy(), plain - 1, rtol=1e-5)
    np.testing.assert_allclose(run.forward(data=arrays["data"])[0].asnumpy(), plain - 1, rtol=1e-5)


def test_states_move_with_backward(bound):
    run, arrays = bound
    before = arrays["bn_moving_mean"].asnumpy()
    run.forward(is_train=True, data=arrays["data"])
    np.testing.assert_array_equal(arrays["bn_moving_mean"].asnumpy(), before)
    run.backward()
    assert np.abs(arrays["bn_moving_mean"].asnumpy() - before).max() > 1e-3


def test_requests():
    x, y = amp.sym.Variable("x"), amp.sym.Variable("y")
    arrays = {"x": amp.nd.array([2.0]), "y": amp.nd.array([5.0])}
    run = amp.TrainingExecutor(x * y, arrays, {}, {}, grad_req={"x": "add"})
    run.gradients["x"][:] = 100
    for _ in range(2):
        run.forward(is_train=True)
        run.backward()
    assert run.gradients["x"].asnumpy() == 110
    assert list(run.gradients) == ["x"]
    assert list(amp.TrainingExecutor(x * y, arrays, {}, {}, grad_req=["null", "write"]).gradients) == ["y"]


@pytest.mark.parametrize(
    ("grad_req", "message"),
    [
        ("sometimes", "grad_req of 'x': expected 'write', 'add' or 'null', got 'sometimes'"),
        (["write"], "expected 2 requests, got 1"),
        ({"z": "write"}, "the symbol has no argument 'z'"),
        ({"x": None}, "grad_req of 'x'"),
        (3, "expected a request, a list or a dict of them, got int"),
        ({"y": "write"}, "'y' is an array of integers"),
    ],
)
def test_wrong_requests(grad_req, message):
    symbol = amp.sym.take(amp.sym.Variable("x"), amp.sym.Variable("y"))
    arrays = {"x": amp.nd.zeros((3,)), "y": amp.nd.array([1], dtype="int32")}
    with pytest.raises(amp.ArgumentError, match=message.replace("[", r"\[")):
        amp.TrainingExecutor(symbol, arrays, {}, {}, grad_req=grad_req)


def test_one_request_for_all_leaves_integers_out():
    symbol = amp.sym.take(amp.sym.Variable("x"), amp.sym.Variable("y"))
    arrays = {"x": amp.nd.zeros((3,)), "y": amp.nd.array([1], dtype="int32")}
    run = amp.TrainingExecutor(symbol, arrays, {}, {}, grad_req="write")
    assert list(run.gradients) == ["x"]
    run.forward(is_train=True)
    run.backward()
    assert run.gradients["x"].asnumpy().tolist() == [0, 1, 0]


def test_errors(bound):
    run, arrays = bound
    with pytest.raises(amp.ArgumentError, match="no forward run awaits its gradients"):
        run.backward()
    run.forward(is_train=True, data=arrays["data"])
    run.backward()
    with pytest.raises(amp.ArgumentError, match="no forward run awaits its gradients"):
        run.backward()
    with pytest.raises(amp.ArgumentError, match="inputs are missing: data"):
        run.forward(is_train=True)
    with pytest.raises(amp.ArgumentError, match="expected float32"):
        run.forward(is_train=True, data=np.zeros((2, 2), "float32"))
    with pytest.raises(amp.ArgumentError, match="the model has no input 'dta'"):
        run.forward(is_train=True, dta=arrays["data"])
    run.forward(is_train=True, data=arrays["data"])
    with pytest.raises(amp.ArgumentError, match="gradient of output 'fc2_output': expected float32"):
        run.backward([np.zeros((1, 3), "float32")])


def test_each_class_has_what_works():
    plain = amp.Executor(amp.sym.exp(amp.sym.Variable("x")), {}, {}, {"x": (2,)})
    for name in ("forward", "backward", "gradients", "training_summary", "profile_training"):
        with pytest.raises(AttributeError) as error:
            getattr(plain, name)
        assert "amp.TrainingExecutor" in str(error.value)
    assert not {"reshape", "run_monitored"} & set(dir(amp.TrainingExecutor))
    assert not hasattr(plain, "nothing")
    for executor, other, options in (
        (amp.Executor, "amp.TrainingExecutor", ({"memory_budget": 1},)),
        (amp.TrainingExecutor, "amp.Executor", ({"monitor": True}, {"tune": True})),
    ):
        for option in options:
            with pytest.raises(TypeError) as error:
                executor(small_net(), {}, {}, {"data": (6, 4)}, **option)
            assert next(iter(option)) in str(error.value) and f"{other} has it" in str(error.value)


def test_something_has_a_gradient():
    for grad_req in ("null", {}):
        with pytest.raises(amp.ArgumentError):
            amp.TrainingExecutor(small_net(), {}, {}, {"data": (6, 4)}, grad_req=grad_req)


def test_an_operator_without_a_gradient_is_named():
    symbol = amp.sym.argmax(amp.sym.Variable("x"), axis=0, name="best")
    run = amp.TrainingExecutor(symbol, {"x": amp.nd.array([1.0, 2.0])}, {}, {}, grad_req="write")
    run.forward(is_train=True)
    run.backward()
    assert run.gradients["x"].asnumpy().tolist() == [0, 0]  # it changes by steps
    loss = amp.sym.SoftmaxOutput(amp.sym.Variable("x"), amp.sym.Variable("label"), name="loss")
    twice = amp.gradient(loss, ["x"])
    with pytest.raises(amp.UnsupportedError, match="the gradient of a loss"):
        amp.TrainingExecutor(twice, {}, {}, {"x": (2, 3), "label": (2,)}, grad_req={"x": "write"})


def test_retain_computes_again(bound):
    run, arrays = bound
    run.forward(is_train=True, data=arrays["data"])
    run.backward(retain=True)
    first = {name: array.asnumpy() for name, array in run.gradients.items()}
    run.backward([np.full((6, 3), 2.0, "float32")])
    for name, value in first.items():
        np.testing.assert_allclose(run.gradients[name].asnumpy(), 2 * value, rtol=1e-5, atol=1e-6)


def test_threads_take_turns(bound):
    run, arrays = bound
    problems = []

    def work():
        try:
            for _ in range(20):
                run.forward(is_train=True, data=arrays["data"])
                run.backward()
        except amp.ArgumentError as error:
            problems.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("no forward run awaits" in problem for problem in problems)


def test_a_profile_of_both_halves(bound):
    run, arrays = bound
    profile = run.profile_training(arrays["data"], runs=2)
    assert {step["is_backward"] for step in profile.steps} == {False, True}
    assert any(step.is_backward for step in run.training_summary.steps)
    assert "backward" in str(profile)


def test_bfloat16_gradients_are_near():
    symbol = small_net()
    arrays = arrays_of(symbol, data=np.random.default_rng(1).normal(size=(64, 4)).astype("float32"))
    found = {}
    for name, low in (("full", None), ("low", {"target_dtype": "bfloat16", "emulate": True})):
        run = amp.TrainingExecutor(symbol, arrays, arrays, {}, grad_req={"fc2_weight": "write"}, reduce_precision=low)
        run.forward(is_train=True)
        run.backward()
        found[name] = run.gradients["fc2_weight"].asnumpy()
        assert ("amp_cast" in run.symbol.tojson()) == (name == "low")
    distance = np.abs(found["low"] - found["full"]).max() / np.abs(found["full"]).max()
    assert 0 < distance < 0.02


def test_a_budget_of_memory():
    net = amp.sym.Variable("data")
    for _ in range(8):
        net = amp.sym.reverse(amp.sym.sin(net), axis=0)
    arrays = {"data": amp.nd.ones((10, 10, 10, 100))}
    free, small = (
        amp.TrainingExecutor(net, arrays, {}, {}, grad_req="write", memory_budget=budget)
        for budget in (None, 4 * 400_000)
    )
    assert small.training_summary.arena_bytes < free.training_summary.arena_bytes
    for run in (free, small):
        run.forward(is_train=True)
        run.backward()
    np.testing.assert_array_equal(free.gradients["data"].asnumpy(), small.gradients["data"].asnumpy())
    for wrong, message in ((1, "budget"), (-1, "a number of bytes"), ("1 GB", "a number of bytes")):
        with pytest.raises(amp.ArgumentError, match=message):
            amp.TrainingExecutor(net, arrays, {}, {}, grad_req="write", memory_budget=wrong)


def test_an_executor_with_a_request_is_one_with_gradients():
    x = amp.sym.Variable("x")
    run = amp.Executor(x * x, {"x": amp.nd.array([3.0])}, {}, {}, grad_req="write")
    assert type(run) is amp.TrainingExecutor
    run.forward(is_train=True)
    run.backward()
    assert run.gradients["x"].asnumpy().tolist() == [6.0]
    assert type(amp.Executor(x, {}, {}, {"x": (1,)}, grad_req="null")) is amp.Executor
