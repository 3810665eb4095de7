"""`mx.contrib.svrg_optimization`: the updates by hand, from the formula, with NumPy."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.contrib.svrg_optimization.svrg_module import SVRGModule
from amp.mxnet.contrib.svrg_optimization.svrg_optimizer import _SVRGOptimizer

X = np.random.default_rng(0).integers(1, 5, (10, 2)).astype("float32")
Y = X @ np.array([1.0, 2.0], "float32")
RATE, SIZE = 0.02, 4


def module(**options):
    out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    out = mx.sym.LinearRegressionOutput(out, mx.sym.var("y"))
    return SVRGModule(out, label_names=["y"], update_freq=2, **options)


def batches():
    return mx.io.NDArrayIter(X, Y, batch_size=SIZE, label_name="y")


def prepared():
    mod, data = module(), batches()
    mod.bind(data.provide_data, data.provide_label)
    mod.init_params(mx.init.One())
    mod.init_optimizer(optimizer_params={"learning_rate": RATE})
    return mod, data


def gradient(w, rows):
    return (X[rows] @ w - Y[rows]) @ X[rows]


ROWS = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]  # the last batch is filled with the first rows


def by_hand(epochs):
    w = np.ones(2)
    for epoch in range(epochs):
        if epoch % 2 == 0:
            v = w.copy()
            mean = sum(gradient(v, rows) for rows in ROWS) / 2.5
        for rows in ROWS:
            w = w - RATE / SIZE * (gradient(w, rows) - gradient(v, rows) + mean)
    return w


@pytest.mark.parametrize("epochs", [1, 2, 3])
def test_fit_follows_the_formula(epochs):
    mod = module()
    mod.fit(
        batches(),
        eval_metric="mse",
        optimizer_params={"learning_rate": RATE},
        initializer=mx.init.One(),
        num_epoch=epochs,
    )
    np.testing.assert_allclose(mod.get_params()[0]["fc_weight"].asnumpy()[0], by_hand(epochs), rtol=1e-5)


def test_loop_by_hand():
    mod, data = prepared()
    mod.update_full_grads(data)
    np.testing.assert_allclose(
        mod._param_dict[0]["fc_weight"].asnumpy()[0],
        sum(gradient(np.ones(2), rows) for rows in ROWS) / 2.5,
        rtol=1e-6,
    )
    data.reset()
    for batch in data:
        mod.forward_backward(batch)
        mod.update()
    np.testing.assert_allclose(mod.get_params()[0]["fc_weight"].asnumpy()[0], by_hand(1), rtol=1e-5)
    assert type(mod._optimizer) is _SVRGOptimizer


def test_optimizer_assigns_what_is_full():
    optimizer = _SVRGOptimizer("sgd", param_idx2name={0: "w", 1: "w_full"}, learning_rate=1.0)
    store = mx.kv.create("local")
    store.set_optimizer(optimizer)
    store.init([0, 1], [amp.nd.zeros((2,)), amp.nd.ones((2,))])
    store.push([0, 1], [amp.nd.ones((2,)), amp.nd.ones((2,)) * 5])
    outs = [amp.nd.zeros((2,)), amp.nd.zeros((2,))]
    store.pull([0, 1], outs)
    assert [out.asnumpy().tolist() for out in outs] == [[-1, -1], [5, 5]]


@pytest.mark.parametrize(("frequency", "error"), [(None, TypeError), (1.5, TypeError), (0, ValueError)])
def test_update_frequency(frequency, error):
    with pytest.raises(error, match="update_freq"):
        SVRGModule(amp.sym.Variable("data"), update_freq=frequency)
