"""Modules: what detection and recognition programs of MXNet 1.x call."""

from collections import namedtuple

import numpy as np
import pytest

import amp
import amp.mxnet as mx

X = np.linspace(-1, 1, 15, dtype="f4").reshape(5, 3)
W = np.linspace(-2, 1, 12, dtype="f4").reshape(4, 3)
BIAS = np.array([1, 2, 3, 4], "f4")
PARAMS = {"fc_weight": W, "fc_bias": BIAS}


def layer():
    return amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")


def module(rows=5, **options):
    mod = mx.mod.Module(layer(), label_names=None, context=mx.cpu(), **options)
    mod.bind(data_shapes=[("data", (rows, 3))], for_training=False)
    mod.set_params(PARAMS, {})
    return mod


def expected(x):
    return x @ W.T + BIAS


def check(mod, x):
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), expected(x), rtol=1e-5, atol=1e-6)


def test_forward():
    mod = module()
    assert mod.forward(mx.io.DataBatch(data=(amp.nd.array(X),)), is_train=False) is None
    check(mod, X)
    assert mod.get_outputs(merge_multi_context=False)[0][0].shape == (5, 4)
    mod.forward(mx.io.DataBatch([X.astype("f8")]))
    check(mod, X)
    mod.forward(namedtuple("Batch", ["data"])([amp.nd.array(2 * X)]))
    check(mod, 2 * X)


def test_what_it_consists_of():
    mod = module()
    assert (mod.data_names, mod.label_names, mod.output_names) == (["data"], [], ["fc_output"])
    assert mod.data_shapes == [("data", (5, 3))] and mod.label_shapes is None
    assert mod.output_shapes == [("fc_output", (5, 4))] and mod.binded and mod.params_initialized
    assert mod.symbol is mod._symbol and set(mod._arg_params) == set(PARAMS) and mod._aux_params == {}
    arg_params, aux_params = mod.get_params()
    np.testing.assert_array_equal(arg_params["fc_weight"].asnumpy(), W)
    assert aux_params == {}


def test_another_shape_is_a_reshape():
    mod = module()
    mod.forward(mx.io.DataBatch([X]))
    first = mod._executor
    mod.forward(mx.io.DataBatch([X[:2]], provide_data=[("data", (2, 3))]))
    check(mod, X[:2])
    assert mod.data_shapes == [("data", (2, 3))]
    mod.reshape([("data", (3, 3))])
    mod.forward(mx.io.DataBatch([X[:3]]))
    check(mod, X[:3])
    assert mod._executor is not first


def test_a_dtype_of_the_binding():
    mod = mx.mod.Module(amp.sym.Cast(amp.sym.Variable("data"), dtype="float32"), label_names=None)
    mod.bind([mx.io.DataDesc("data", (2,), dtype="int32")], for_training=False)
    mod.init_params()
    mod.forward(mx.io.DataBatch([np.array([1, 2**24 + 1], "i4")]))
    assert mod._executor.input_dtypes["data"] == np.int32
    mod.reshape([mx.io.DataDesc("data", (2,), dtype="float32")])
    mod.forward(mx.io.DataBatch([np.array([1, 0.5], "f4")]))
    assert mod.get_outputs()[0].asnumpy().tolist() == [1, 0.5]


def test_several_inputs_go_by_name():
    net = amp.sym.Variable("a") - amp.sym.Variable("b")
    mod = mx.mod.Module(net, data_names=["a", "b"], label_names=None)
    mod.bind([("b", (2,)), ("a", (2,))])
    mod.init_params()
    mod.forward(mx.io.DataBatch([np.array([1, 2]), np.array([5, 7])]))
    assert mod.get_outputs()[0].asnumpy().tolist() == [4, 5]
    mod.forward(mx.io.DataBatch([np.ones(2), np.zeros(2)], provide_data=[("a", (2,)), ("b", (2,))]))
    assert mod.get_outputs()[0].asnumpy().tolist() == [1, 1]


def test_labels():
    net = amp.sym.SoftmaxOutput(layer(), name="softmax")
    mod = mx.mod.Module(net)
    mod.bind([("data", (5, 3))], [("softmax_label", (5,))])
    mod.set_params(PARAMS, {})
    mod.forward(mx.io.DataBatch([X], [np.zeros(5)]))
    scores = np.exp(expected(X))
    for rows in (5, 2):  # the second has no label
        mod.forward(mx.io.DataBatch([X[:rows]]))
        found = mod.get_outputs()[0].asnumpy()
        np.testing.assert_allclose(found, (scores / scores.sum(1, keepdims=True))[:rows], rtol=1e-5)


def test_labels_that_nobody_named():
    mod = mx.mod.Module(amp.sym.SoftmaxOutput(layer(), name="prob"), label_names=None)
    mod.bind([("data", (5, 3))])
    mod.set_params(PARAMS, {})
    mod.forward(mx.io.DataBatch([X]))
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy().sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize("data", [X, amp.nd.array(X), mx.io.NDArrayIter(X, batch_size=2)])
def test_predict(data):
    found = module().predict(data, sparse_row_id_fn=None)
    np.testing.assert_allclose(found.asnumpy(), expected(X), rtol=1e-5, atol=1e-6)


def test_predict_in_parts():
    batches = module().predict(mx.io.NDArrayIter(X, batch_size=2), num_batch=2, merge_batches=False)
    assert [[output.shape for output in outputs] for outputs in batches] == [[(2, 4)], [(2, 4)]]
    outputs = module().predict(X, always_output_list=True)
    assert isinstance(outputs, list) and outputs[0].shape == (5, 4)
    pads = [
        (number, kept[0].shape, batch.pad)
        for kept, number, batch in module().iter_predict(mx.io.NDArrayIter(X, batch_size=3))
    ]
    assert pads == [(0, (3, 4), 0), (1, (2, 4), 1)]


def test_init_params():
    net = amp.sym.BatchNorm(layer(), name="bn")
    mod = mx.mod.Module(net, label_names=None)
    mod.bind([("data", (5, 3))])
    mod.init_params(mx.init.One(), arg_params={"fc_bias": BIAS}, allow_missing=True)
    arg_params, aux_params = mod.get_params()
    assert (arg_params["fc_weight"].asnumpy() == 1).all() and (aux_params["bn_moving_var"].asnumpy() == 1).all()
    assert (arg_params["fc_bias"].asnumpy() == BIAS).all() and (aux_params["bn_moving_mean"].asnumpy() == 0).all()
    mod.init_params(mx.init.Zero())  # there are some
    assert (mod.get_params()[0]["fc_weight"].asnumpy() == 1).all()
    mod.init_params("zeros", force_init=True)
    assert (mod.get_params()[0]["fc_weight"].asnumpy() == 0).all()


def test_new_parameters_count():
    mod = module()
    mod.forward(mx.io.DataBatch([X]))
    mod.set_params({"fc_weight": 2 * W}, {}, allow_missing=True)
    mod.forward(mx.io.DataBatch([X]))
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), 2 * X @ W.T + BIAS, rtol=1e-5, atol=1e-6)


def test_checkpoints(tmp_path):
    prefix = str(tmp_path / "net")
    module().save_checkpoint(prefix, 3)
    symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, 3)
    assert mx.model.load_params(prefix, 3)[0].keys() == arg_params.keys() == PARAMS.keys() and aux_params == {}
    loaded = mx.mod.Module.load(prefix, 3, label_names=None)
    loaded.bind([("data", (5, 3))])
    loaded.forward(mx.io.DataBatch([X]))
    check(loaded, X)
    module().save_params(str(tmp_path / "only.params"))
    other = mx.mod.Module(layer(), label_names=None)
    other.load_params(str(tmp_path / "only.params"))
    other.bind([("data", (5, 3))])
    other.forward(mx.io.DataBatch([X]))
    check(other, X)


def test_a_converted_model():
    symbol, arg_params, aux_params = amp.convert_model(layer(), PARAMS, {})
    mod = mx.mod.Module(symbol, label_names=None)
    mod.bind([("data", (5, 3))])
    mod.set_params(arg_params, aux_params)
    mod.forward(mx.io.DataBatch([X]))
    np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), expected(X), rtol=2e-2, atol=5e-2)


def unbound():
    return mx.mod.Module(layer(), label_names=None)


@pytest.mark.parametrize(
    "mistake, message",
    [
        (lambda: mx.mod.Module(layer(), data_names=["image"]), "no 'image'; candidates are data"),
        (lambda: unbound().forward(mx.io.DataBatch([X])), "call bind first"),
        (lambda: unbound().data_shapes, "call bind first"),
        (lambda: unbound().bind([("image", (5, 3))]), "data_shapes: expected data, got image"),
        (
            lambda: unbound().bind([("data", (5, 3))], for_training=False, inputs_need_grad=True),
            "bind with for_training=True",
        ),
        (lambda: module().backward(), "no forward run awaits its gradients"),
        (lambda: module().update(), "call init_optimizer first"),
        (lambda: module().get_input_grads(), "bind with inputs_need_grad=True"),
        (lambda: module().init_optimizer(optimizer=3), "expected its name or an Optimizer, got int"),
        (lambda: module().get_outputs(), "call forward first"),
        (lambda: module().forward(mx.io.DataBatch([X, X])), "the batch has 2 arrays for 1 inputs"),
        (lambda: unbound().set_params({"fc_weight": W}, {}), "arg_params: arrays are missing: fc_bias"),
        (lambda: module().set_params({**PARAMS, "q": W}, {}, allow_missing=True), "the symbol has no variables q"),
        (lambda: module().set_params({**PARAMS, "fc_bias": W}, {}), r"'fc_bias': expected shape \(4,\), got \(4, 3\)"),
        (lambda: unbound().bind([("data", (2, -3))]), r"expected a list of \(name, shape\), got \[\('data'"),
        (lambda: unbound().bind(5), r"expected a list of \(name, shape\), got 5"),
        (lambda: unbound().set_params(5, {}), "arg_params: expected a dict {name: array}, got int"),
        (lambda: module().forward(X), "expected a DataBatch, got ndarray"),
        (lambda: module().predict(np.float32(1)), r"eval_data: expected rows, got shape \(\)"),
        (lambda: module().fit(None), "num_epoch: say how many epochs"),
        (lambda: module().score(mx.io.NDArrayIter(X, batch_size=5), "ac"), "unknown metric 'ac'"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.Error, match=message):
        mistake()


def test_warnings():
    with pytest.warns(UserWarning, match="label_names: the symbol has no 'softmax_label'"):
        mx.mod.Module(layer())
    mod = module()
    with pytest.warns(UserWarning, match="bound already"):
        mod.bind([("data", (1, 3))])
    mod.bind([("data", (1, 3))], force_rebind=True)
    assert mod.data_shapes == [("data", (1, 3))]
    assert not hasattr(mod, "nothing_like_it")


def digits(**options):
    """Batches of points, whose class is the largest coordinate."""
    points = np.random.default_rng(3).normal(size=(64, 3)).astype("float32")
    return mx.io.NDArrayIter(points, points.argmax(1).astype("float32"), batch_size=16, **options)


def classifier():
    scores = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    return amp.sym.SoftmaxOutput(scores, name="softmax")


def test_fit_learns(tmp_path):
    mx.random.seed(1)
    mod, seen = mx.mod.Module(classifier()), []
    mod.fit(
        digits(),
        eval_data=digits(),
        num_epoch=12,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.1},
        batch_end_callback=lambda param: seen.append((param.epoch, param.nbatch)),
        epoch_end_callback=mx.callback.do_checkpoint(str(tmp_path / "net"), 6),
    )
    assert seen[:5] == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]
    assert dict(mod.score(digits(), "acc"))["accuracy"] > 0.95
    assert sorted(path.name for path in tmp_path.glob("*.params")) == ["net-0006.params", "net-0012.params"]
    loaded = mx.mod.Module.load(str(tmp_path / "net"), 12)
    loaded.bind(digits().provide_data, for_training=False)
    assert dict(loaded.score(digits(), ["acc", "ce"]))["accuracy"] > 0.95


def test_steps_by_hand():
    mod = mx.mod.Module(layer(), label_names=None, fixed_param_names=["fc_bias"])
    mod.bind([("data", (5, 3))], inputs_need_grad=True)
    mod.set_params(PARAMS, {})
    mod.init_optimizer(optimizer_params={"learning_rate": 0.5})
    mod.forward(mx.io.DataBatch([X]))
    head = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    mod.backward([head])
    np.testing.assert_allclose(mod.get_input_grads()[0].asnumpy(), head @ W, rtol=1e-5, atol=1e-6)
    mod.update()
    arguments, _ = mod.get_params()
    np.testing.assert_allclose(arguments["fc_weight"].asnumpy(), W - 0.5 / 5 * head.T @ X, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(arguments["fc_bias"].asnumpy(), PARAMS["fc_bias"])
    before = mod.get_outputs()[0].asnumpy()
    mod.forward(mx.io.DataBatch([X]), is_train=False)  # sees the new weights
    assert np.abs(mod.get_outputs()[0].asnumpy() - before).max() > 1e-3


def test_requests_by_name_leave_the_others_as_they_are():
    mod = mx.mod.Module(layer(), label_names=None)
    mod.bind([("data", (5, 3))], inputs_need_grad=True, grad_req={"data": "add", "another": "null"})
    mod.set_params(PARAMS, {})
    mod.init_optimizer(optimizer_params={"learning_rate": 0.5})
    head = mx.nd.ones((5, 4))
    for _ in range(2):
        mod.forward(mx.io.DataBatch([X]))
        mod.backward([head])
    np.testing.assert_allclose(mod.get_input_grads()[0].asnumpy(), 2 * head.asnumpy() @ W, rtol=1e-5, atol=1e-6)
    mod.update()
    assert np.abs(mod.get_params()[0]["fc_weight"].asnumpy() - W).max() > 0.01


def test_optimizer_states_are_saved(tmp_path):
    def module_after(steps, states=None):
        mod = mx.mod.Module(classifier())
        data = digits()
        mod.bind(data.provide_data, data.provide_label)
        mod.init_params(mx.init.One())
        mod.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        if states:
            mod.set_params(*states[:2])
            mod.load_optimizer_states(states[2])
        for batch in list(data)[:steps] if not states else list(data)[4 - steps :]:
            mod.forward_backward(batch)
            mod.update()
        return mod

    whole, first = module_after(4), module_after(2)
    first.save_optimizer_states(str(tmp_path / "states"))
    resumed = module_after(2, (*first.get_params(), str(tmp_path / "states")))
    np.testing.assert_array_equal(
        whole.get_params()[0]["fc_weight"].asnumpy(), resumed.get_params()[0]["fc_weight"].asnumpy()
    )
