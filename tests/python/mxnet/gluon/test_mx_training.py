"""gluon.Trainer, and training in low precision."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import _autocast


def network(hybridize=False):
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(16, activation="relu", in_units=4), mx.gluon.nn.Dense(3, in_units=16))
    mx.random.seed(5)
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    return net


def points():
    x = np.random.default_rng(2).normal(size=(64, 4)).astype("float32")
    return mx.nd.array(x), mx.nd.array(x[:, :3].argmax(1))


def train(net, trainer, steps=30, scale=False):
    data, label = points()
    criterion = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(steps):
        with mx.autograd.record():
            loss = criterion(net(data), label)
            if scale:
                with mx.amp.scale_loss(loss, trainer) as scaled:
                    scaled.backward()
        if not scale:
            loss.backward()
        trainer.step(len(data))
        losses.append(float(loss.mean().asscalar()))
    return losses


@pytest.fixture
def low_precision():
    yield
    _autocast.begin(None)


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_trainer_learns(hybridize):
    net = network(hybridize)
    losses = train(net, mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02}))
    assert losses[-1] < 0.3 * losses[0]


def test_a_step_is_the_optimizers():
    weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = mx.gluon.Trainer({"weight": weight}, "sgd", {"learning_rate": 0.1, "rescale_grad": 4.0})
    with mx.autograd.record():
        loss = (weight.data() * mx.nd.array([1.0, 2.0])).sum()
    loss.backward()
    trainer.step(2)
    np.testing.assert_allclose(weight.data().asnumpy(), [1 - 0.1 * 2, 1 - 0.1 * 4], rtol=1e-6)
    assert trainer.learning_rate == 0.1
    trainer.set_learning_rate(0.5)
    assert trainer.learning_rate == 0.5


def test_gradients_have_to_be_new():
    used, unused = (mx.gluon.Parameter(name, shape=(1,), init="ones") for name in ("used", "unused"))
    for parameter in (used, unused):
        parameter.initialize()
    trainer = mx.gluon.Trainer([used, unused], "sgd", {"learning_rate": 1.0})
    with mx.autograd.record():
        loss = used.data() * 2
    loss.backward()
    with pytest.raises(UserWarning, match="'unused' was not written"):
        trainer.step(1)
    assert used.data().asscalar() == 1  # nothing was updated
    trainer.step(1, ignore_stale_grad=True)
    assert (used.data().asscalar(), unused.data().asscalar()) == (-1, 1)
    with pytest.raises(UserWarning, match="'used' was not written"):
        trainer.step(1)


def test_states_are_saved(tmp_path):
    def trained(steps, states=None, parameters=None):
        net = network()
        trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        if states:
            net.load_parameters(str(parameters))
            trainer.load_states(str(states))
        train(net, trainer, steps)
        return net, trainer

    net, trainer = trained(3)
    trainer.save_states(str(tmp_path / "states"))
    net.save_parameters(str(tmp_path / "params"))
    resumed, _ = trained(3, tmp_path / "states", tmp_path / "params")
    whole, _ = trained(6)
    for one, other in zip(whole.collect_params().values(), resumed.collect_params().values()):
        np.testing.assert_array_equal(one.data().asnumpy(), other.data().asnumpy())


def test_updates_in_a_store():
    net, store = network(), mx.kv.create("local")
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02}, store, update_on_kvstore=True)
    same = network()
    plain = mx.gluon.Trainer(same.collect_params(), "adam", {"learning_rate": 0.02})
    np.testing.assert_allclose(train(net, trainer, 5), train(same, plain, 5), rtol=1e-6)
    for call in (trainer.allreduce_grads, lambda: trainer.update(1)):
        with pytest.raises(amp.ArgumentError, match="updates run in the store"):
            call()


def test_one_device_has_no_store_for_updates():
    """MXNet makes no store for one device, whatever is asked for."""
    weight = mx.gluon.Parameter("weight", shape=(1,))
    weight.initialize("ones")
    trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.5}, update_on_kvstore=True)
    with mx.autograd.record():
        loss = weight.data() * 3
    loss.backward()
    trainer.allreduce_grads()
    trainer.update(1)
    assert weight.data().asnumpy().tolist() == [-0.5] and trainer._update_on_kvstore is None
    assert mx.gluon.Trainer([weight], "sgd", kvstore=mx.kv.create("local"))._update_on_kvstore is False


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.gluon.Trainer(5, "sgd"), "expected a list or a dict of Parameters, got int"),
        (lambda: mx.gluon.Trainer([], mx.optimizer.SGD(), {"wd": 1}), "only with the name of an optimizer"),
        (lambda: mx.gluon.Trainer([], "sgd", None, "dist_sync", update_on_kvstore=True), "pass a KVStore of ranks"),
        (lambda: mx.gluon.Trainer([], "sgd", kvstore="dist_async"), "of one rank"),
        (lambda: mx.gluon.Trainer([], "sgd", weight_grad_reduce="fp16"), "expected 'fp32' or 'bf16', got 'fp16'"),
        (lambda: mx.gluon.Trainer([], "sgd").step(0), "batch_size: expected a number above 0"),
        (lambda: mx.amp.init_trainer(mx.gluon.Trainer([], "sgd")), "call amp.init first"),
        (lambda: mx.amp.unscale(5), "expected a gluon.Trainer, got int"),
    ],
)
def test_errors(call, message):
    with pytest.raises((amp.ArgumentError, amp.UnsupportedError), match=message):
        call()


@pytest.mark.parametrize("hybridize", [False, True])
def test_training_in_bfloat16(low_precision, hybridize):
    full = network(hybridize)
    expected = train(full, mx.gluon.Trainer(full.collect_params(), "sgd", {"learning_rate": 0.5}))
    mx.amp.init("bfloat16")
    mx.amp.init("float16")  # has no effect
    net = network(hybridize)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    mx.amp.init_trainer(trainer)
    assert trainer.loss_scaler is None
    found = train(net, trainer, scale=True)
    assert {p.data().dtype.name for p in net.collect_params().values()} == {"float32"}
    assert found != expected
    np.testing.assert_allclose(found, expected, rtol=0.03)
    assert net(points()[0]).dtype.name == "bfloat16"


def test_losses_are_scaled_for_float16(low_precision):
    mx.amp.init("float16")
    net = network()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    mx.amp.init_trainer(trainer)
    trainer.loss_scaler.loss_scale = 2.0**20  # overflows, and is halved until it does not
    losses = train(net, trainer, 40, scale=True)
    assert trainer.loss_scaler.loss_scale < 2.0**20
    assert losses[-1] < 0.7 * losses[0]


def test_gradients_may_be_unscaled_before_the_step(low_precision):
    mx.amp.init("float16")
    weight = mx.gluon.Parameter("weight", shape=(1,), init="ones")
    weight.initialize()
    trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.5})
    mx.amp.init_trainer(trainer)
    with mx.autograd.record(), mx.amp.scale_loss(weight.data() * 3, trainer) as loss:
        loss.backward()
    assert weight.grad().asscalar() == 3 * 2**16
    mx.amp.unscale(trainer)
    assert weight.grad().asscalar() == 3
    trainer.step(1)
    assert weight.data().asscalar() == -0.5


def test_modules_train_in_low_precision(low_precision):
    scores = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    data, label = (array.asnumpy() for array in points())
    batches = mx.io.NDArrayIter(data, label, batch_size=16)
    mx.amp.init("bfloat16")
    mod = mx.mod.Module(amp.sym.SoftmaxOutput(scores, name="softmax"))
    mod.fit(batches, num_epoch=10, optimizer_params={"learning_rate": 0.5})
    assert dict(mod.score(batches, "acc"))["accuracy"] > 0.9
    runs, _ = next(iter(mod._runs.values()))
    assert "amp_cast" in amp.sym.Symbol(runs.handle.symbol()).tojson()
