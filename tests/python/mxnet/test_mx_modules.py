"""Modules beside Module: several lengths, one after another, computed by Python."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx


def network(length):
    """Sums over `length` steps of shared layers."""
    data, weight = mx.sym.Variable("data"), mx.sym.Variable("fc_weight")
    steps = mx.sym.SliceChannel(data, num_outputs=length, axis=1, squeeze_axis=True)
    hidden = [
        mx.sym.FullyConnected(steps[i] if length > 1 else steps, weight, num_hidden=3, no_bias=True, name=f"fc{i}")
        for i in range(length)
    ]
    scores = hidden[0]
    for step in hidden[1:]:
        scores = scores + step
    return mx.sym.SoftmaxOutput(scores, mx.sym.Variable("label"), name="softmax"), ("data",), ("label",)


def batch(length, count=8, seed=0):
    x = np.random.default_rng(seed).normal(size=(count, length, 4)).astype("float32")
    return mx.io.DataBatch(
        [mx.nd.array(x)],
        [mx.nd.array(x.sum(1)[:, :3].argmax(1))],
        bucket_key=length,
        provide_data=[("data", x.shape)],
        provide_label=[("label", (count,))],
    )


def bucketing(**options):
    mod = mx.mod.BucketingModule(network, 3)
    mod.bind([("data", (8, 3, 4))], [("label", (8,))], **options)
    mx.random.seed(1)
    mod.init_params(mx.init.Xavier())
    return mod


def weights(mod):
    return mod.get_params()[0]["fc_weight"].asnumpy()


def test_keys_share_parameters_and_optimizer():
    mod = bucketing()
    mod.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    expected = mx.nd.array(weights(mod))
    adam = mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=0.1, rescale_grad=1 / 8))
    for step, length in enumerate((3, 2, 3, 1, 2)):
        x = batch(length, seed=step)
        symbol = network(length)[0]
        exe = symbol.simple_bind(mx.cpu(), data=(8, length, 4), label=(8,))
        exe.copy_params_from({"fc_weight": expected})
        exe.forward(is_train=True, data=x.data[0], label=x.label[0])
        exe.backward()
        adam(0, exe.grad_dict["fc_weight"], expected)
        mod.forward_backward(x)
        np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), exe.outputs[0].asnumpy(), rtol=1e-4, atol=1e-6)
        mod.update()
        np.testing.assert_allclose(weights(mod), expected.asnumpy(), rtol=1e-4, atol=1e-6)
    mod.forward(batch(2), is_train=False)  # inference sees the new parameters, for every key
    before = mod.get_outputs()[0].asnumpy()
    mod.forward_backward(batch(3))
    mod.update()
    mod.forward(batch(2), is_train=False)
    assert (mod.get_outputs()[0].asnumpy() != before).any()
    assert mod.optimizer_initialized and mod.symbol.list_outputs() == mod.output_names == ["softmax_output"]
    assert mod.data_names == ["data"] and mod.data_shapes[0].shape == (8, 2, 4)
    assert mod.output_shapes == [("softmax_output", (8, 3))] and mod.label_shapes[0].name == "label"


def test_gradients_of_several_keys_may_add_up():
    mod = bucketing(grad_req="add")
    mod.forward_backward(batch(3))
    gradient = mod._curr_module._gradients["fc_weight"]
    first = gradient.asnumpy()
    mod.forward_backward(batch(2))
    both = gradient.asnumpy()
    alone = bucketing()
    alone.forward_backward(batch(2))
    np.testing.assert_allclose(both - first, alone._curr_module._gradients["fc_weight"].asnumpy(), rtol=1e-3, atol=1e-6)


def test_new_parameters_reach_every_key():
    mod = bucketing()
    mod.forward(batch(2), is_train=False)
    mod.set_params({"fc_weight": mx.nd.zeros((3, 4))}, {})
    for length in (2, 3):
        mod.forward(batch(length), is_train=False)
        np.testing.assert_allclose(mod.get_outputs()[0].asnumpy(), 1 / 3, rtol=1e-6)
    mod.init_params(mx.init.One())  # has no effect
    assert (weights(mod) == 0).all()
    mod.bind([("data", (8, 3, 4))], [("label", (8,))], force_rebind=True)
    assert (weights(mod) == 0).all()


class Batches(mx.io.DataIter):
    def __init__(self):
        super().__init__(8)
        self.provide_data, self.provide_label = [("data", (8, 3, 4))], [("label", (8,))]
        self.reset()

    def reset(self):
        self.left = [batch(length, seed=i) for i, length in enumerate((1, 2, 3) * 6)]

    def next(self):
        if not self.left:
            raise StopIteration
        return self.left.pop()


def test_fit_and_files(tmp_path):
    mod = mx.mod.BucketingModule(network, 3)
    mod.fit(Batches(), Batches(), num_epoch=8, optimizer="adam", optimizer_params={"learning_rate": 0.05})
    (score,) = mod.score(Batches(), "acc")
    assert score[1] > 0.8
    prefix = str(tmp_path / "net")
    mod.save_checkpoint(prefix, 2)
    assert (tmp_path / "net-symbol.json").exists() and (tmp_path / "net-2-symbol.json").exists()
    loaded = mx.mod.BucketingModule.load(prefix, 2, network, 3)
    assert loaded.params_initialized and not loaded.binded
    loaded.bind([("data", (8, 3, 4))], [("label", (8,))], for_training=False)
    assert loaded.score(Batches(), "acc") == [score]
    by_dict = mx.mod.BucketingModule.load_dict({n: network(n) for n in (1, 2, 3)}, None, 3, *loaded.get_params())
    by_dict.bind([("data", (8, 3, 4))], [("label", (8,))], for_training=False)
    assert by_dict.score(Batches(), "acc") == [score]
    loaded.save_params(str(tmp_path / "params"))
    mod.load_params(str(tmp_path / "params"))
    assert (weights(mod) == weights(loaded)).all()


def test_modules_one_after_another():
    x = np.random.default_rng(1).normal(size=(64, 4)).astype("float32")
    y = x[:, :3].argmax(1)
    one = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="one"), act_type="tanh")
    two = mx.sym.FullyConnected(mx.sym.Variable("hidden"), num_hidden=3, name="two")
    split = mx.mod.SequentialModule()
    split.add(mx.mod.Module(one, label_names=None))
    split.add(mx.mod.Module(mx.sym.SoftmaxOutput(two, name="softmax"), ["hidden"]), take_labels=True, auto_wiring=True)
    whole = mx.mod.Module(mx.sym.SoftmaxOutput(two(hidden=one), name="softmax"))
    scores = []
    for mod in (split, whole):
        batches = mx.io.NDArrayIter(x, y, 16)
        mod.bind(batches.provide_data, batches.provide_label, inputs_need_grad=True)
        given = {"one_weight": mx.nd.array(x[:8]), "two_weight": mx.nd.array(x[:3, [0] * 8])}
        mod.init_params(mx.init.One(), given, {}, allow_missing=True)
        mod.fit(batches, num_epoch=3, optimizer_params={"learning_rate": 0.5})
        scores.append(mod.score(batches, "acc") + mod.score(batches, "ce"))
        mod.forward_backward(next(iter(mx.io.NDArrayIter(x, y, 16))))
        scores[-1].append(mod.get_input_grads()[0].asnumpy())
    assert scores[0][0] == scores[1][0]
    np.testing.assert_allclose(scores[0][1][1], scores[1][1][1], rtol=1e-4)
    np.testing.assert_allclose(scores[0][2], scores[1][2], rtol=1e-3, atol=1e-6)
    assert set(split.get_params()[0]) == {"one_weight", "one_bias", "two_weight", "two_bias"}
    assert split.data_names == ["data"] and split.output_names == ["softmax_output"] and split.label_shapes


def test_a_loss_in_python():
    fc = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
    loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels.reshape((-1, 1)))
    mod = mx.mod.SequentialModule().add(mx.mod.Module(fc, label_names=None))
    mod.add(loss, take_labels=True, auto_wiring=True)
    x = np.random.default_rng(1).normal(size=(64, 3)).astype("float32")
    batches = mx.io.NDArrayIter(x, x @ [1.0, 2.0, -1.0], 16)
    mod.fit(batches, num_epoch=40, eval_metric="mse", optimizer_params={"learning_rate": 0.3})
    np.testing.assert_allclose(mod.get_params()[0]["fc_weight"].asnumpy(), [[1, 2, -1]], atol=0.02)


def test_errors_of_module_have_mxnets_classes():
    mod = mx.mod.Module(network(2)[0], label_names=["label"])
    with pytest.raises(TypeError, match="expected a list of"):
        mod.bind([("data", mx.nd.array([8, 2]))])
    mod.bind([("data", (8, 2, 4))], [("label", (8,))])
    mod.init_params(mx.init.One())
    with pytest.raises(RuntimeError, match="arrays are missing: fc_weight"):
        mod.set_params({}, {})
    mod.set_params({}, {}, allow_missing=True)
    assert (weights(mod) == 1).all()


def test_an_update_before_the_first_batch():
    mod = bucketing()
    mod.init_optimizer(optimizer_params={"learning_rate": 0.1, "wd": 0.5})
    before = weights(mod)
    mod.update()  # gradients are zero, weights decay
    np.testing.assert_allclose(weights(mod), before * 0.95, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mx.mod.BucketingModule(network), amp.ArgumentError, "default_bucket_key is needed"),
        (lambda: mx.mod.BucketingModule(network, 3).get_outputs(), amp.ArgumentError, "call bind first"),
        (lambda: mx.mod.SequentialModule().bind([]), amp.ArgumentError, "add a module first"),
        (lambda: mx.mod.SequentialModule().add(None, wires=1), amp.ArgumentError, "unknown options wires"),
        (lambda: mx.mod.PythonLossModule(grad_func=3), amp.ArgumentError, "expected a function, got int"),
        (lambda: mx.mod.PythonLossModule().bind([("x", (1,))]), amp.ArgumentError, "expected data, got x"),
        (lambda: mx.mod.PythonLossModule()._backward_impl(), NotImplementedError, "has no grad_func"),
        (lambda: mx.mod.BaseModule().forward(None), NotImplementedError, "BaseModule does not define forward"),
        (lambda: mx.mod.BaseModule().data_names, NotImplementedError, "does not define data_names"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_states_stay_until_they_are_set():
    stack = mx.rnn.SequentialRNNCell()
    for i in range(2):
        stack.add(mx.rnn.LSTMCell(num_hidden=4, prefix=f"lstm_l{i}_"))
    begin = stack.begin_state(func=mx.sym.Variable)
    _, states = stack.unroll(1, begin_state=begin, inputs=mx.sym.Variable("data"), layout="TNC")
    names = [state.name for state in begin]
    module = mx.mod.Module(mx.sym.Group(states), label_names=None, state_names=names)
    module.bind(data_shapes=[("data", (1, 5, 3))], for_training=False)
    module.init_params(mx.init.Uniform(1))
    assert not set(names) & set(module.get_params()[0])
    assert [state.shape for state in module.get_states()] == [(5, 4)] * 4
    batch = mx.io.DataBatch([mx.nd.ones((1, 5, 3))])
    arrays = {**module.get_params()[0], "data": batch.data[0]}
    expected = {name: mx.nd.ones((5, 4)) for name in names}
    module.set_states(value=1)
    for _ in range(2):
        module.forward(batch)
        found = module.get_outputs(merge_multi_context=False)
        wanted = mx.sym.Group(states).eval(**arrays, **expected)
        for (one,), other in zip(found, wanted):
            np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
        module.set_states(found)
        expected = dict(zip(names, wanted))
    module.forward(mx.io.DataBatch([mx.nd.ones((1, 2, 3))]))
    assert [state.shape for state in module.get_states()] == [(2, 4)] * 4 and module.get_states()[
        0
    ].asnumpy().max() == 0


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: m.set_states(), "either states or a value"),
        (lambda m: m.set_states([], value=1), "either states or a value"),
        (lambda m: m.set_states(value="one"), "value: expected a number, got str"),
        (lambda m: m.set_states([]), r"0 arrays for 1 states \(total\)"),
        (lambda m: m.set_states([np.ones((3, 2))]), r"'total' has shape \(1, 2\), got \(3, 2\)"),
        (lambda m: m.set_states([None]), "state 'total': expected an array"),
    ],
)
def test_what_states_refuse(call, message):
    x, total = mx.sym.Variable("data"), mx.sym.Variable("total")
    module = mx.mod.Module(x + total, label_names=None, state_names=["total"])
    module.bind(data_shapes=[("data", (1, 2))], for_training=False)
    with pytest.raises(amp.ArgumentError, match=message):
        call(module)
    with pytest.raises(amp.ArgumentError, match="state_names: the symbol has no 'sum'"):
        mx.mod.Module(x + total, label_names=None, state_names=["sum"])
    unknown = mx.mod.Module(mx.sym.concat(x, total, dim=0), label_names=None, state_names=["total"])
    with pytest.raises(amp.ArgumentError, match="the shape of state 'total' does not follow"):
        unknown.bind(data_shapes=[("data", (1, 2))], for_training=False)
        unknown.get_states()
