"""Runs that show every intermediate result."""

import ml_dtypes
import numpy as np
import pytest

import amp


def net():
    data = amp.sym.Variable("data")
    fc1 = amp.sym.FullyConnected(data, num_hidden=4, name="fc1")
    relu = amp.sym.Activation(fc1, act_type="relu", name="relu")
    parts = amp.sym.SliceChannel(relu, num_outputs=2, name="parts")
    total = amp.sym.elemwise_add(parts[0], parts[1], name="total")
    return amp.sym.Group([amp.sym.FullyConnected(total, num_hidden=3, name="fc2"), relu])


PARAMS = {
    name: np.random.default_rng(i).standard_normal(shape).astype("f4")
    for i, (name, shape) in enumerate(
        {"fc1_weight": (4, 5), "fc1_bias": (4,), "fc2_weight": (3, 2), "fc2_bias": (3,)}.items()
    )
}
X = np.random.default_rng(9).standard_normal((2, 5)).astype("f4")


def monitored(executor, *args, **kwargs):
    seen = []
    outputs = executor.run_monitored(lambda name, op, array: seen.append((name, op, array)), *args, **kwargs)
    return outputs, seen


@pytest.mark.parametrize("backend", ["onednn", "reference"])
def test_every_output_in_order(backend):
    executor = amp.Executor(net(), PARAMS, {}, {"data": X.shape}, backend=backend, monitor=True)
    outputs, seen = monitored(executor, X)
    assert [(name, op) for name, op, _ in seen] == [
        ("fc1_output", "FullyConnected"),
        ("relu_output", "Activation"),
        ("parts_output0", "SliceChannel"),
        ("parts_output1", "SliceChannel"),
        ("total_output", "elemwise_add"),
        ("fc2_output", "FullyConnected"),
    ]
    values = {name: array.asnumpy() for name, _, array in seen}
    fc1 = X @ PARAMS["fc1_weight"].T + PARAMS["fc1_bias"]
    np.testing.assert_allclose(values["fc1_output"], fc1, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(values["relu_output"], np.maximum(values["fc1_output"], 0))
    np.testing.assert_array_equal(values["total_output"], values["parts_output0"] + values["parts_output1"])
    for monitored_output, output in zip(outputs, executor(X)):
        np.testing.assert_array_equal(monitored_output.asnumpy(), output.asnumpy())
    np.testing.assert_array_equal(values["fc2_output"], outputs[0].asnumpy())


def test_casts_are_shown_and_values_change_with_the_input():
    executor = amp.Executor(
        net(),
        PARAMS,
        {},
        {"data": X.shape},
        reduce_precision={"target_dtype": "bfloat16", "emulate": True},
        monitor=True,
    )
    _, seen = monitored(executor, data=X)
    ops = [op for _, op, _ in seen]
    assert ops.count("amp_cast") == executor.symbol.tojson().count('"op": "amp_cast"') > 0
    assert {name: array.dtype for name, _, array in seen}["fc1_output"] == ml_dtypes.bfloat16
    _, again = monitored(executor, {"data": X * 2})
    assert [name for name, _, _ in again] == [name for name, _, _ in seen]
    assert not np.array_equal(seen[0][2].asnumpy(), again[0][2].asnumpy())


def test_labels_stay_optional():
    data = amp.sym.Variable("data")
    symbol = amp.sym.SoftmaxOutput(amp.sym.FullyConnected(data, num_hidden=4, name="fc1"), name="softmax")
    args = {name: array for name, array in PARAMS.items() if "fc1" in name}
    executor = amp.Executor(symbol, args, {}, {"data": X.shape}, monitor=True)
    assert [name for name, _, _ in monitored(executor, X)[1]] == ["fc1_output", "softmax_output"]


def test_tensors_that_depend_on_parameters_alone_are_shown():
    """The plain plan computes them once and lets go of what they were computed from."""
    weight = amp.sym.Reshape(amp.sym.Variable("flat"), shape=(2, 5), name="weight")
    symbol = amp.sym.FullyConnected(amp.sym.Variable("data"), weight, num_hidden=2, no_bias=True, name="fc")
    flat = np.arange(10, dtype="f4")
    executor = amp.Executor(symbol, {"flat": flat}, {}, {"data": X.shape}, monitor=True)
    executor(X)
    _, seen = monitored(executor, X)
    assert [name for name, _, _ in seen] == ["weight_output", "fc_output"]
    np.testing.assert_array_equal(seen[0][2].asnumpy(), flat.reshape(2, 5))


def test_reshaped_executors_can_be_monitored():
    executor = amp.Executor(net(), PARAMS, {}, {"data": X.shape}, monitor=True)
    _, seen = monitored(executor.reshape(data=(1, 5)), X[1:])
    np.testing.assert_allclose(seen[-1][2].asnumpy(), executor(X)[0].asnumpy()[1:], rtol=1e-6)


def test_mistakes():
    with pytest.raises(amp.ArgumentError, match="pass monitor=True"):
        amp.Executor(net(), PARAMS, {}, {"data": X.shape}).run_monitored(print, X)
    executor = amp.Executor(net(), PARAMS, {}, {"data": X.shape}, monitor=True)
    with pytest.raises(amp.ArgumentError, match="expected a function to call, got int"):
        executor.run_monitored(3, X)
    with pytest.raises(amp.ArgumentError, match="inputs are missing: data"):
        executor.run_monitored(print)
    with pytest.raises(amp.ArgumentError, match="expected float32"):
        executor.run_monitored(print, X[:1])
    with pytest.raises(ZeroDivisionError):
        executor.run_monitored(lambda *_: 1 / 0, X)
    assert len(executor(X)) == 2  # still alive
