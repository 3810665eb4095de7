"""States of trainers between MXNet and this package: each state reaches its weight, and MXNet's classes are written."""

import pickle
import pickletools
import warnings
from pathlib import Path

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import nn

STATES = Path(__file__).parents[2] / "data" / "mxnet_states"

# Behind two steps and three, computed by MXNet 1.9.1 (SGD with momentum) and 2.0.0b1 (RMSProp) in new processes.
TWO_LAYERS = (
    [
        [[0.46283665, 0.3523072], [-0.10255739, -0.8753031], [0.2287015, 0.5614415]],
        [[0.008846775, -0.080958374, -0.7352415], [-0.12541522, -0.031257167, 0.6901146]],
    ],
    [
        [[0.38778713, 0.34175643], [-0.056442928, -0.8644896], [0.20677693, 0.42925817]],
        [[0.021574013, -0.14619532, -0.5947504], [-0.13334852, 0.03593076, 0.5501504]],
    ],
)
OF_2 = (
    [[[0.8129464, 0.5135976], [-0.4182021, -0.2881491]], [[0.11310826, 0.07792044], [-0.9233996, -0.6582867]]],
    [[[0.51330376, 0.22387826], [-0.70360887, -0.47713202]], [[0.023064651, 0.13016966], [-0.60241014, -0.8681396]]],
)


def net_of(weights):
    """Two layers without a prefix of their own, numbered as the process does."""
    net = nn.HybridSequential()
    for weight in weights:
        net.add(nn.Dense(len(weight), in_units=len(weight[0]), use_bias=False))
    net.initialize()
    for layer, weight in zip(net, weights):
        layer.weight.set_data(np.array(weight, "float32"))
    return net


def step(net, trainer, number):
    array = mx.np.array if mx.is_np_array() else mx.nd.array
    x = array(np.sin(np.arange(4) + number).reshape(2, 2), dtype="float32")
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()
    trainer.step(2)


def assert_weights(net, weights):
    for layer, weight in zip(net, weights):
        np.testing.assert_allclose(layer.weight.data().asnumpy(), weight, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("number", [0, 9])
def test_states_of_1x_reach_their_weights_whatever_numbers_blocks_have(number):
    """With 9 the layers are dense9 and dense10, and 'dense10_weight' comes first in a sorted list."""
    with mx.name.NameManager() as manager:
        for _ in range(number):
            manager.get(None, "dense")
        net = net_of(TWO_LAYERS[0])
        assert net[0].weight.name == f"dense{number}_weight"
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        trainer.load_states(str(STATES / "two_layers.states"))
        step(net, trainer, 2)
    assert_weights(net, TWO_LAYERS[1])


def test_what_a_file_of_1x_leaves_open_is_a_warning(tmp_path):
    """Both layers have the same shape; the file, as MXNet writes it, has no names."""
    weights = [[[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.25], [0.125, 1.0]]]
    with mx.name.NameManager() as manager:
        for _ in range(9):
            manager.get(None, "dense")
        net = net_of(weights)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"momentum": 0.5})
        step(net, trainer, 0)
        (tmp_path / "states").write_bytes(trainer._updater.get_states(dump_optimizer=True))
        with pytest.warns(UserWarning, match="first state that of 'dense10_weight', .* or of 'dense9_weight'"):
            trainer.load_states(str(tmp_path / "states"))


def test_own_files_name_their_parameters(tmp_path):
    weights = [[[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.25], [0.125, 1.0]]]
    options = {"momentum": 0.5, "learning_rate": 0.01}
    with mx.name.NameManager():
        net = net_of(weights)
        trainer = gluon.Trainer(net.collect_params(), "sgd", options)
        step(net, trainer, 0)
        trainer.save_states(str(tmp_path / "states"))
        middle = [layer.weight.data().asnumpy() for layer in net]
        step(net, trainer, 1)
    with mx.name.NameManager() as manager, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(9):
            manager.get(None, "dense")
        other = net_of(middle)
        again = gluon.Trainer(other.collect_params(), "sgd", options)
        again.load_states(str(tmp_path / "states"))
        step(other, again, 1)
    assert_weights(other, [layer.weight.data().asnumpy() for layer in net])


def test_states_of_2():
    with mx.np_shape(), mx.np_array():
        net = net_of(OF_2[0])
        trainer = gluon.Trainer(net.collect_params(), "rmsprop", {"learning_rate": 1.0})
        trainer.load_states(str(STATES / "rmsprop_of_2.states"))
        step(net, trainer, 2)
        assert trainer.optimizer.gamma1 == 0.5  # which is `rho` there
        assert_weights(net, OF_2[1])


def named_in(content):
    """Classes that a pickle names, and its texts."""
    texts = [argument for _, argument, _ in pickletools.genops(content) if isinstance(argument, str)]
    return {text.replace(" ", ".") for text in texts if " " in text} | {
        ".".join(pair) for pair in zip(texts, texts[1:]) if pair[0] == "builtins"
    }, set(texts)


def attributes_that_mxnet_saved(name):
    """All that MXNet's own file names, which are attributes and classes."""
    return named_in((STATES / f"{name}.states").read_bytes())[1]


@pytest.mark.parametrize("semantics", [1, 2])
def test_files_hold_classes_and_attributes_of_the_wheels(semantics, tmp_path):
    """Objects that MXNet unpickles have no defaults: each attribute has to be there."""
    options = {"lr_scheduler": mx.lr_scheduler.FactorScheduler(5, base_lr=0.5)}
    algorithm, own_file = ("sgd", "two_layers") if semantics == 1 else ("rmsprop", "rmsprop_of_2")
    with mx.np_shape(semantics == 2), mx.np_array(semantics == 2):
        net = net_of(TWO_LAYERS[0])
        trainer = gluon.Trainer(net.collect_params(), algorithm, options)
        step(net, trainer, 0)
        trainer.save_states(str(tmp_path / "states"))
    classes, texts = named_in((tmp_path / "states").read_bytes())
    optimizer = "mxnet.optimizer.optimizer.SGD" if semantics == 1 else "mxnet.optimizer.rmsprop.RMSProp"
    assert classes - {"mxnet.lr_scheduler.FactorScheduler", "builtins.bytearray"} == {
        optimizer,
        "mxnet.ndarray.ndarray.NDArray",
    } - ({"mxnet.ndarray.ndarray.NDArray"} if algorithm == "sgd" else set())
    attributes = {text for text in attributes_that_mxnet_saved(own_file) if text.isidentifier()}
    assert attributes - texts <= {"NDArray", "SGD", "RMSProp", "builtins", "bytearray", "handle"}


def test_an_optimizer_of_the_program_keeps_its_own_class(tmp_path):
    @mx.optimizer.register
    class Tenth(mx.optimizer.SGD):
        """A program's own."""

    try:
        updater = mx.optimizer.get_updater(Tenth(learning_rate=0.5, momentum=0.5))
        updater(0, mx.nd.ones((2,)), mx.nd.ones((2,)))
        other = mx.optimizer.get_updater(mx.optimizer.SGD())
        # A class inside of a function cannot be pickled by name.
        with pytest.raises((AttributeError, pickle.PicklingError)):
            updater.get_states(dump_optimizer=True)
        other.set_states(updater.get_states())
        np.testing.assert_array_equal(other.states[0].asnumpy(), updater.states[0].asnumpy())
    finally:
        mx.optimizer.Optimizer.opt_registry.pop("tenth")
