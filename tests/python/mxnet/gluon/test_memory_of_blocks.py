"""Blocks, executors and their arrays are given back when the last name for them goes, without a search for cycles."""

import copy
import gc
import pickle
import weakref

import pytest

import amp.mxnet as mx
from amp.mxnet import autograd, gluon


def trained(net, *shape):
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    x = (mx.np if mx.util.is_np_array() else mx.nd).ones(shape)
    with autograd.record():
        y = net(x)
        y = y[0] if isinstance(y, (list, tuple)) else y
    y.backward()
    trainer.step(1, ignore_stale_grad=True)
    net(x).wait_to_read()
    return net


def hybridized(net, **options):
    net.hybridize(**options)
    return net


def sequence():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(2, 1), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    return net


def exported(net, folder):
    net.export(str(folder / "net"))
    files = str(folder / "net-symbol.json"), ["data"], str(folder / "net-0000.params")
    return gluon.SymbolBlock.imports(*files)


WAYS = {
    "Dense": lambda folder: trained(gluon.nn.Dense(2), 2, 3),
    "hybridized Dense": lambda folder: trained(hybridized(gluon.nn.Dense(2)), 2, 3),
    "static Dense": lambda folder: trained(hybridized(gluon.nn.Dense(2), static_alloc=True), 2, 3),
    "sequence": lambda folder: trained(hybridized(sequence()), 1, 2, 3, 3),
    "LSTM": lambda folder: trained(gluon.rnn.LSTM(2), 2, 2, 2),
    "hybridized LSTM": lambda folder: trained(hybridized(gluon.rnn.LSTM(2)), 2, 2, 2),
    "SymbolBlock": lambda folder: exported(trained(hybridized(sequence()), 1, 2, 3, 3), folder),
    "copy": lambda folder: copy.deepcopy(trained(hybridized(gluon.nn.Dense(2)), 2, 3)),
    "pickled": lambda folder: pickle.loads(pickle.dumps(trained(hybridized(gluon.nn.Dense(2)), 2, 3))),
    "loss": lambda folder: gluon.loss.L2Loss(),
}


@pytest.fixture
def no_search():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("arrays", [mx.nd, mx.np])
@pytest.mark.parametrize("way", WAYS)
def test_a_block_goes_with_its_last_name(no_search, arrays, way, tmp_path):
    with mx.util.np_array(arrays is mx.np), mx.util.np_shape(arrays is mx.np):
        net = WAYS[way](tmp_path)
    parts = [weakref.ref(net), *(weakref.ref(each) for each in net.collect_params().values())]
    del net
    assert [part() for part in parts] == [None] * len(parts)


def test_an_executor_goes_with_its_last_name(no_search):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    executor = net.simple_bind(mx.cpu(), data=(2, 3))
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((2, 2)))
    parts = [weakref.ref(executor), weakref.ref(executor.arg_arrays[0])]
    del executor
    assert [part() for part in parts] == [None, None]


def test_searches_for_leaks_know_arrays_and_symbols():
    assert isinstance(mx.np.ones(3), mx.nd._internal.NDArrayBase) and mx.nd.ones(3)._alive
    assert isinstance(mx.sym.var("x"), mx.sym._internal.SymbolBase)


@pytest.mark.parametrize("is_validated", [False, True])
def test_an_estimator_that_was_trained_is_no_cycle(is_validated):
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(mx.nd.ones((4, 3)), mx.nd.zeros((4,))), batch_size=2)
    net = gluon.nn.Dense(2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    estimator = gluon.contrib.estimator.Estimator(net, loss, mx.metric.Accuracy(), trainer=trainer)
    estimator.fit(data, val_data=data if is_validated else None, epochs=1)
    alive = weakref.ref(estimator)
    gc.disable()
    try:
        del estimator
        assert alive() is None
    finally:
        gc.enable()
