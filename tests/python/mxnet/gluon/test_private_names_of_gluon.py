"""Attributes with an underscore that toolkits of MXNet read and write: of parameters, blocks and trainers."""

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn


@pytest.fixture
def dense():
    block = nn.Dense(2, in_units=3, use_bias=False, prefix="fc_")
    block.initialize("ones")
    return block


def test_an_array_that_is_put_into_a_parameter_carries_gradients(dense):
    """As probabilistic toolkits replace weights by samples."""
    x = mx.nd.ones((2, 3))
    x.attach_grad()
    device = mx.cpu()
    with mx.autograd.record():
        sample = x * 2
        place = dense.weight._ctx_map[device.device_typeid & 1][device.device_id]
        dense.weight._data[place] = sample
        loss = (dense(mx.nd.array([[1, 2, 3]])) * mx.nd.array([[1, 10]])).sum()
    loss.backward()
    assert x.grad.asnumpy().tolist() == [[2, 4, 6], [20, 40, 60]]
    assert dense.weight.data() is sample


def test_lists_of_devices(dense):
    weight = dense.weight
    assert weight._ctx_list == [mx.cpu()] and weight._check_and_get(weight._data, list) == weight.list_data()
    assert weight._check_and_get(weight._data, mx.cpu()) is weight.data()
    copied = weight._reduce()
    copied[:] = 5
    assert weight.data().asnumpy().max() == 1
    weight._load_init(mx.nd.zeros((2, 3)), mx.cpu())
    assert not weight.data().asnumpy().any()


def test_parameters_that_wait_for_their_shapes():
    block = nn.Dense(2, prefix="fc_")
    assert block.weight._deferred_init == () and block.weight._data is None and block.weight._ctx_list is None
    block.initialize()
    init, devices, default_init, data = block.weight._deferred_init
    assert (init, devices, data) == (None, [mx.cpu()], None)
    with pytest.raises(gluon.DeferredInitializationError):
        block.weight._check_and_get(block.weight._data, None)


class _Halved(gluon.Parameter):
    """A parameter that toolkits make of another one, by its attributes."""

    def __init__(self, other):
        self._deferred_init = other._deferred_init
        super().__init__(
            name=other.name,
            shape=other._shape,
            dtype=other.dtype,
            init=other.init,
            allow_deferred_init=other._allow_deferred_init,
            differentiable=other._differentiable,
        )
        self._var, self._data, self._grad = other._var, other._data, other._grad
        self._ctx_list, self._ctx_map, self._trainer = other._ctx_list, other._ctx_map, other._trainer

    def data(self, ctx=None):
        return self._check_and_get(self._data, ctx) / 2


def test_a_parameter_that_is_made_of_another_ones_attributes(dense):
    dense._reg_params["weight"] = dense.params._params["fc_weight"] = _Halved(dense.weight)
    assert dense(mx.nd.ones((1, 3))).asnumpy().tolist() == [[1.5, 1.5]]
    assert dense.collect_params()["fc_weight"].data().asnumpy().max() == 0.5


def test_a_variable_that_is_put_into_a_parameter(dense):
    dense.weight._var = mx.sym.var("sampled") * 2
    assert dense(mx.sym.var("data")).list_arguments() == ["data", "sampled"]


def test_settings_of_layers_can_be_changed():
    block = nn.Conv2D(1, 3, strides=2, in_channels=1)
    block.initialize()
    block.hybridize()
    x = mx.nd.ones((1, 1, 7, 7))
    assert block(x).shape == (1, 1, 3, 3)
    block._kwargs["stride"] = (1, 1)
    block._clear_cached_op()
    assert block(x).shape == (1, 1, 5, 5)
    assert nn.BatchNorm(epsilon=0.5)._kwargs["eps"] == 0.5 and nn.MaxPool2D(3)._kwargs["kernel"] == (3, 3)


def test_the_graph_of_a_block(dense):
    dense.hybridize()
    assert not dense._cached_graph
    dense.forward(mx.nd.ones((1, 3)))
    inputs, symbol = dense._cached_graph
    assert [each.name for each in inputs] == ["data"]
    assert symbol.list_arguments() == ["data", "fc_weight"]


def test_names_of_parameter_dicts(dense):
    params = dense.collect_params()
    params._params["more"] = dense.weight
    assert params["more"] is dense.weight and params._prefix == "fc_" and params._shared is None


def test_states_of_a_trainer_as_toolkits_write_them(dense, tmp_path):
    trainer = gluon.Trainer(dense.collect_params(), "sgd", {"momentum": 0.5, "learning_rate": 1.0})
    with mx.autograd.record():
        loss = dense(mx.nd.ones((1, 3))).sum()
    loss.backward()
    trainer.step(1)
    assert trainer._kv_initialized and not trainer._params_to_init and not trainer._update_on_kvstore
    (tmp_path / "states").write_bytes(trainer._updaters[0].get_states(dump_optimizer=False))
    other = gluon.Trainer(dense.collect_params(), "sgd", {"momentum": 0.5, "learning_rate": 1.0})
    other.load_states(str(tmp_path / "states"))
    np.testing.assert_array_equal(other._updaters[0].states[0].asnumpy(), trainer._updaters[0].states[0].asnumpy())
    assert other._updaters[0].states[0].asnumpy().max() != 0


def test_names_that_a_program_sets():
    class Loss(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self._name = "perplexity"

    assert Loss().name == "perplexity" and Loss().prefix.startswith("loss")
    block = nn.Dense(2, prefix="a_")
    block._prefix = "b_"
    assert (block.prefix, block.name, block.weight.name) == ("b_", "b", "a_weight")


class _Distribution:
    """As time series toolkits hand their functions on."""

    @classmethod
    def of_the_class(cls, F, a, b):  # noqa: N803 - MXNet's name
        return F.broadcast_add(a, b)

    def method(self, F, a, b):  # noqa: N803
        return F.broadcast_sub(a, b)

    def module_first(self, module, a):
        return module.exp(a) * 0 + a


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_functions_of_any_kind_get_the_module_first(is_hybrid):
    a, b = mx.nd.array([1, 2]), mx.nd.array([10, 20])
    cases = [
        (_Distribution.of_the_class, (a, b), [11, 22]),
        (_Distribution().method, (a, b), [-9, -18]),
        (_Distribution().module_first, (a,), [1, 2]),
        (lambda module, x: module.square(x), (b,), [100, 400]),
        ("square", (b,), [100, 400]),
    ]
    for function, arguments, expected in cases:
        block = nn.HybridLambda(function)
        block.hybridize(is_hybrid)
        assert block(*arguments).asnumpy().tolist() == expected
    with mx.np_shape(), mx.np_array():
        assert nn.HybridLambda(lambda x: x * 2)(mx.np.ones((1,))).tolist() == [2]


def test_scopes_have_mxnets_private_names():
    with mx.AttrScope(a="1"), mx.AttrScope(b="2") as scope:
        assert scope._attr == {"a": "1", "b": "2"}
    with mx.name.NameManager() as manager:
        mx.sym.exp(mx.sym.var("x"))
    assert manager._counter == {"exp": 1}
