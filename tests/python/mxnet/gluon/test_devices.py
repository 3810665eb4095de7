"""Data-parallel programs: each device of a list has parameters of its own, and a trainer adds their gradients."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import nn

TWO = [mx.cpu(0), mx.cpu(1)]
SEVERAL = [TWO, [mx.cpu(1), mx.cpu(2), mx.cpu(5), mx.cpu(3)]]
X = np.random.default_rng(0).standard_normal((8, 5)).astype("f4")
Y = np.arange(8) % 3


def network(devices, hybridized=False):
    mx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Dense(7, activation="tanh"), nn.Dense(3))
    net.initialize(mx.init.Xavier(), ctx=devices)
    if hybridized:
        net.hybridize()
    return net


def losses_of(net, devices):
    parts = zip(gluon.utils.split_and_load(X, devices), gluon.utils.split_and_load(Y, devices))
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    with autograd.record():
        losses = [loss(net(x), y) for x, y in parts]
    autograd.backward(losses)
    return losses


def trained(devices, optimizer="sgd", hybridized=False, steps=3):
    net = network(devices, hybridized)
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.1})
    for _ in range(steps):
        losses_of(net, devices)
        trainer.step(len(X))
    return net


def arrays_of(net):
    return [[array.asnumpy() for array in parameter.list_data()] for parameter in net.collect_params().values()]


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("devices", SEVERAL, ids=repr)
def test_a_divided_batch_trains_as_the_whole_one(devices, optimizer, hybridized):
    expected = arrays_of(trained([mx.cpu()], optimizer))
    for (whole,), copies in zip(expected, arrays_of(trained(devices, optimizer, hybridized))):
        assert len(copies) == len(devices)
        for copy in copies:
            np.testing.assert_allclose(copy, whole, rtol=1e-4, atol=1e-5)


def test_each_device_has_its_own_array_and_gradient():
    net = network(TWO)
    losses_of(net, TWO)
    weight = net[1].weight
    assert weight.list_ctx() == TWO and len(weight.list_data()) == len(weight.list_grad()) == 2
    assert weight.data(mx.cpu(1)).context == weight.grad(mx.cpu(1)).context == mx.cpu(1)
    first, second = (gradient.asnumpy() for gradient in weight.list_grad())
    assert np.abs(first - second).max() > 1e-3  # of other halves of the batch
    weight.data(mx.cpu(1))[:] = 0
    assert weight.data(mx.cpu(0)).asnumpy().any()
    assert not net(mx.nd.array(X, ctx=mx.cpu(1))).asnumpy()[0].any()
    assert net(mx.nd.array(X, ctx=mx.cpu(0))).asnumpy()[0].any()


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_graph_computes_with_the_parameters_of_its_inputs(hybridized):
    net = network(TWO, hybridized)
    net(mx.nd.array(X))
    net[0].weight.data(mx.cpu(1))[:] = 0
    for _ in range(2):
        assert np.ptp(net(mx.nd.array(X, ctx=mx.cpu(1))).asnumpy(), axis=0).max() == 0
        assert np.ptp(net(mx.nd.array(X, ctx=mx.cpu(0))).asnumpy(), axis=0).min() > 0


def test_what_is_not_there_is_an_error():
    weight = network(SEVERAL[1])[0].weight
    weight.shape = (7, 5)
    weight.finish_initialization()
    with pytest.raises(
        RuntimeError, match=r"not initialized on cpu\(0\), but on cpu\(1\), cpu\(2\), cpu\(5\), cpu\(3\)"
    ):
        weight.data()
    with pytest.raises(RuntimeError, match=r"not initialized on cpu\(4\)"):
        weight.grad(mx.cpu(4))
    with mx.cpu(5):
        assert weight.data() is weight.data(mx.cpu(5))
    one = gluon.Parameter("one", shape=(1,))
    one.initialize()
    with pytest.raises(RuntimeError, match="not initialized on"):
        one.data(mx.cpu(1))


def test_gradients_may_be_added_before_the_update():
    net = network(TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, update_on_kvstore=False)
    losses_of(net, TWO)
    with pytest.raises(amp.ArgumentError, match=r"another gradient on each device; call allreduce_grads\(\) before"):
        trainer.update(len(X))
    trainer.allreduce_grads()
    gradients = [parameter.list_grad() for parameter in net.collect_params().values()]
    for first, second in gradients:
        np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    trainer.update(len(X))
    for (whole,), copies in zip(arrays_of(trained([mx.cpu()], steps=1)), arrays_of(net)):
        np.testing.assert_allclose(copies[0], whole, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(*copies)


def test_a_missing_half_is_noticed():
    net = network(TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        loss = net(mx.nd.array(X))
    loss.backward()
    with pytest.raises(UserWarning, match="was not written by backward"):
        trainer.step(1)


def test_the_statistics_of_devices_are_saved_as_their_mean(tmp_path):
    norm = nn.BatchNorm(in_channels=2, momentum=0)
    norm.initialize(ctx=TWO)
    for device, value in zip(TWO, (1, 3)):
        with autograd.record():
            result = norm(mx.nd.full((4, 2), value, ctx=device))
        result.backward()
    assert [array.asnumpy().tolist() for array in norm.running_mean.list_data()] == [[1, 1], [3, 3]]
    norm.save_parameters(str(tmp_path / "norm.params"))
    assert mx.nd.load(str(tmp_path / "norm.params"))["running_mean"].asnumpy().tolist() == [2, 2]
    other = nn.BatchNorm()
    other.load_parameters(str(tmp_path / "norm.params"), ctx=SEVERAL[1])
    assert other.running_mean.list_ctx() == SEVERAL[1]
    assert other(mx.nd.full((1, 2), 2, ctx=mx.cpu(5))).asnumpy().tolist() == [[0, 0]]


def test_parameters_move():
    net = network(mx.cpu(2))
    net(mx.nd.array(X, ctx=mx.cpu(2)))
    net.cast("float16")
    net.collect_params().reset_ctx(TWO)
    assert net[0].weight.list_ctx() == TWO and {a.dtype.name for a in net[0].weight.list_data()} == {"float16"}
    net[0].weight.set_data(mx.nd.ones((7, 5)))
    assert [array.asnumpy().mean() for array in net[0].weight.list_data()] == [1, 1]
    net.setattr("grad_req", "null")
    assert net[0].weight._grad is None
    constant = gluon.Constant("c", [1, 2])
    constant.initialize(ctx=TWO)
    assert constant.data(mx.cpu(1)).asnumpy().tolist() == [1, 2]


def test_results_are_where_their_inputs_are():
    x = mx.nd.ones((2, 3), ctx=mx.cpu(1))
    y = mx.np.ones((2, 3), device=mx.cpu(1))
    for result in (x + 1, x[0], x.reshape((3, 2)), x.astype("int32"), x.copy(), mx.nd.concat(x, x, dim=0), -x, y.sum()):
        assert result.context == mx.cpu(1), result
    assert mx.nd.array([1], ctx=mx.cpu(2)).context == mx.nd.random.uniform(shape=(1,), ctx=mx.cpu(2)).ctx == mx.cpu(2)
    assert x.as_in_context(mx.cpu(1)) is x and x.as_in_context(mx.cpu(0)).context == mx.cpu(0)
    assert x.copyto(mx.cpu(3)).context == mx.cpu(3)
    with mx.Context("cpu", 4):
        assert mx.nd.zeros((1,)).context == mx.np.arange(3).ctx == mx.cpu(4)
        assert (x * 2).context == mx.cpu(1)
    assert mx.nd.zeros((1,)).context == mx.cpu(0)


def test_a_copy_on_another_device_has_gradients():
    x = mx.nd.array([1, 2], ctx=mx.cpu(1))
    x.attach_grad()
    with autograd.record():
        y = (x * x).as_in_context(mx.cpu(0)) * 3
    y.backward()
    assert x.grad.asnumpy().tolist() == [6, 12] and x.grad.context == mx.cpu(1) and y.context == mx.cpu(0)


def test_an_imported_graph_has_copies(tmp_path):
    net = network([mx.cpu()], hybridized=True)
    expected = net(mx.nd.array(X)).asnumpy()
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], ["data"], files[1], ctx=TWO)
    assert all(parameter.list_ctx() == TWO for parameter in block.collect_params().values())
    results = [block(part) for part in gluon.utils.split_and_load(X, TWO)]
    assert [result.context for result in results] == TWO
    np.testing.assert_allclose(np.concatenate([result.asnumpy() for result in results]), expected, rtol=1e-6)


def test_pickles_and_copies_keep_devices():
    import copy

    net = network(TWO)
    net(mx.nd.array(X))
    twin = copy.deepcopy(net)
    twin[0].weight.data(mx.cpu(1))[:] = 0
    assert twin[0].weight.list_ctx() == TWO and net[0].weight.data(mx.cpu(1)).asnumpy().any()


def test_a_parameter_may_compute_its_array():
    """As a weight drop does: it overrides `data` without the names of MXNet 2."""

    class Halved(gluon.Parameter):
        def data(self, ctx=None):
            return super().data(ctx) / 2

    weight = Halved("weight", shape=(1,), init="ones")
    weight.initialize()
    with autograd.record():
        result = weight.data() * 3
    result.backward()
    assert weight.grad().asnumpy().tolist() == weight.list_grad()[0].asnumpy().tolist() == [1.5]
    gluon.Trainer([weight], "sgd", {"learning_rate": 1.0}).step(1)
    assert weight.data().asnumpy().tolist() == [-0.25]


# ---- what programs for MXNet ask a trainer and a Module ----


def test_a_trainer_of_several_devices_has_a_store():
    net = network(TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, kvstore="local")
    losses_of(net, TWO)
    trainer.step(len(X))
    store, weight = trainer._kvstore, net[0].weight
    assert store.type == "local" and store._updater.optimizer is trainer.optimizer
    pulled = mx.nd.zeros(weight.shape)
    store.pull(trainer._params.index(weight), out=pulled)
    assert (pulled.asnumpy() == weight.data(TWO[1]).asnumpy()).all()
    assert gluon.Trainer(network([mx.cpu()]).collect_params(), "sgd")._kvstore is None
    assert gluon.Trainer(net.collect_params(), "sgd", kvstore=None)._kvstore is None


def test_a_store_without_an_optimizer_is_refused_by_the_first_step():
    net = network(TWO)
    trainer = gluon.Trainer(net.collect_params(), "sgd", kvstore=mx.kv.create("teststore"), update_on_kvstore=True)
    losses_of(net, TWO)
    before = net[0].weight.data().asnumpy()
    with pytest.raises(ValueError, match="update_on_kvstore"):
        trainer.step(1)
    assert (net[0].weight.data().asnumpy() == before).all()


@pytest.mark.parametrize("layout, shapes", [("NTC", [(2, 3, 4), (3, 3, 4)]), ("TNC", [(5, 2, 4), (5, 1, 4)])])
def test_arrays_of_a_module_by_device(layout, shapes):
    symbol = mx.sym.Activation(mx.sym.Variable("data"), act_type="relu", __layout__=layout)
    module = mx.mod.Module(symbol, label_names=None, context=TWO)
    x = np.random.default_rng(1).standard_normal((5, 3, 4)).astype("f4")
    module.bind([mx.io.DataDesc("data", x.shape, layout=layout)], inputs_need_grad=True)
    module.init_params()
    module.forward(mx.io.DataBatch([mx.nd.array(x)]), is_train=True)
    module.backward([mx.nd.ones(x.shape)])
    axis = layout.index("N")
    for whole, parts in (
        (np.maximum(x, 0), module.get_outputs(merge_multi_context=False)[0]),
        ((x > 0).astype("f4"), module.get_input_grads(merge_multi_context=False)[0]),
    ):
        assert [part.shape for part in parts] == shapes
        assert [part.context for part in parts] == TWO
        assert (np.concatenate([part.asnumpy() for part in parts], axis) == whole).all()


def test_states_of_a_module_by_device():
    symbol = mx.sym.Variable("data") + mx.sym.Variable("total")
    module = mx.mod.Module(symbol, label_names=None, state_names=["total"], context=TWO)
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    module.set_states([[mx.nd.ones((2, 2)), mx.nd.ones((2, 2)) * 2]])
    assert [state.asnumpy()[0, 0] for state in module.get_states(merge_multi_context=False)[0]] == [1, 2]
    module.forward(mx.io.DataBatch([mx.nd.zeros((4, 2))]))
    module.set_states(module.get_outputs(merge_multi_context=False))
    assert module.get_states()[0].asnumpy()[:, 0].tolist() == [1, 1, 2, 2]


def test_groups_of_variables_have_devices():
    with mx.AttrScope(ctx_group="first"):
        hidden = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc1")
    with mx.AttrScope(ctx_group="second"):
        net = mx.sym.FullyConnected(hidden, num_hidden=2, name="fc2")
    places = {"first": mx.cpu(1), "second": mx.cpu(2)}
    bound = net.simple_bind(mx.cpu(), data=(4, 5), group2ctx=places)
    for name, array in bound.arg_dict.items():
        expected = places["second" if name.startswith("fc2") else "first"]
        assert array.context == bound.grad_dict[name].context == expected
    with pytest.raises(amp.ArgumentError, match="group2ctx"):
        net.simple_bind(mx.cpu(), data=(4, 5), group2ctx={"first": "cpu"})
