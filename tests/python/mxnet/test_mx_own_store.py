"""Stores that programs register: `mx.kvstore.KVStoreBase.register`, and a Trainer with one."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx


class Recording(mx.kvstore.KVStoreBase):
    """Adds, and counts as if there were three ranks with the same gradients."""

    type, rank, num_workers = "recording", 0, 3

    def __init__(self):
        self.calls = []

    def broadcast(self, key, value, out, priority=0):
        self.calls.append(("broadcast", key))
        for array in out:
            array[:] = value

    def pushpull(self, key, value, out=None, priority=0):
        self.calls.append(("pushpull", key))
        total = sum(array.asnumpy() for array in value) * 3
        for array in value if out is None else out:
            array[:] = total


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(mx.kvstore.KVStoreBase, "kv_registry", dict(mx.kvstore.KVStoreBase.kv_registry))
    return mx.kvstore.KVStoreBase.register(Recording)


def test_create_finds_it():
    assert isinstance(mx.kv.create("recording"), Recording)
    assert isinstance(mx.kv.create("Recording"), mx.kvstore.KVStoreBase)
    assert isinstance(mx.kv.create("local"), mx.kvstore.KVStoreBase)
    with pytest.warns(UserWarning, match="registered anew"):
        mx.kvstore.KVStoreBase.register(Recording)


def test_the_store_for_tests():
    store = mx.kv.create("teststore")
    assert (store.type, store.rank, store.num_workers, store.is_capable("optimizer")) == ("teststore", 0, 1, False)
    out = [amp.nd.zeros((2,)), amp.nd.zeros((2,))]
    store.broadcast("w", amp.nd.ones((2,)), out=out)
    store.pushpull("w", out)
    assert [array.asnumpy().tolist() for array in out] == [[2, 2], [2, 2]]
    single = amp.nd.zeros((2,))
    store.pushpull("w", out[0], out=single)
    assert single.asnumpy().tolist() == [2, 2]
    with pytest.raises(ValueError, match="capability"):
        store.is_capable("flying")
    with pytest.raises(NotImplementedError):
        store.set_optimizer(mx.optimizer.create("sgd"))


def test_undefined_methods():
    store = mx.kvstore.KVStoreBase()
    for call in (lambda: store.broadcast(0, 0, 0), lambda: store.pushpull(0, 0), lambda: store.type):
        with pytest.raises(NotImplementedError, match="KVStoreBase"):
            call()


def test_a_name_that_is_none():
    with pytest.raises(TypeError, match="name of a store"):
        mx.kv.create(3)


@pytest.mark.parametrize("devices", [[mx.cpu()], [mx.cpu(0), mx.cpu(1)]])
@pytest.mark.parametrize("by_step", [True, False])
def test_a_trainer_adds_gradients_by_it(devices, by_step):
    net = mx.gluon.nn.Dense(1, use_bias=False, in_units=2)
    net.initialize("ones", ctx=devices)
    store = Recording()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0}, kvstore=store)
    assert store.calls == [("broadcast", 0)]
    with mx.autograd.record():
        losses = [net(amp.nd.ones((1, 2), ctx=device)) for device in devices]
    mx.autograd.backward(losses)
    if by_step:
        trainer.step(1)
    else:
        trainer.allreduce_grads()
        trainer.update(1)
    assert store.calls[1:] == [("pushpull", 0)]
    for device in devices:
        weight = net.weight.data(device).asnumpy()
        np.testing.assert_array_equal(weight, [[1 - 3 * len(devices)] * 2])


def test_updates_do_not_run_in_it():
    net = mx.gluon.nn.Dense(1, in_units=2)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", kvstore=Recording(), update_on_kvstore=True)
    with pytest.raises(amp.ArgumentError, match="updates run in the trainer"):
        trainer.step(1)  # as in MXNet, which makes its store there
