"""Gradients of blocks: plain, hybridized, with shapes that the first call tells; losses."""

import copy
import gc
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import nn

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[5] / "shared")
PROGRAMS = SHARED / "cases" / "train"


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(), nn.Conv2D(3, 3))
    net.add(nn.BatchNorm(scale=False), nn.GlobalAvgPool2D(), nn.Dense(5), nn.LayerNorm())
    net.initialize()
    return net


def step(net, x, y):
    """{name: gradient or state, "data": gradient of x, "loss": values} of one training step."""
    data = nd.array(x)
    data.attach_grad()
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(data), nd.array(y))
    loss.backward()
    found = {"data": data.grad.asnumpy(), "loss": loss.asnumpy()}
    for name, p in net.collect_params().items():
        found[name] = (p.data() if p.grad_req == "null" else p.grad()).asnumpy()
    return found


# ---- parameters ----


def test_gradients_of_parameters():
    weight = gluon.Parameter("weight", shape=(2,))
    with pytest.raises(amp.ArgumentError, match="has no array"):
        weight.grad()
    weight.initialize("ones")
    assert weight.grad_req == "write" and weight.list_grad()[0] is weight.grad() is weight.data().grad
    with autograd.record():
        loss = weight.data() * weight.data()
    loss.backward()
    assert weight.grad().asnumpy().tolist() == [2, 2]
    gradient = weight.grad()
    weight.set_data(nd.array([3, 4]))
    assert weight.grad() is gradient  # it stays with the parameter
    with autograd.record():
        loss = weight.data() * weight.data()
    loss.backward()
    assert gradient.asnumpy().tolist() == [6, 8]
    weight.zero_grad()
    assert gradient.asnumpy().tolist() == [0, 0]
    weight.cast("float64")
    assert weight.grad().dtype == np.float64


def test_requests_of_parameters():
    net = nn.Dense(1, in_units=2)
    net.initialize("ones")
    net.collect_params().setattr("grad_req", "add")
    for _ in range(3):
        with autograd.record():
            loss = net(nd.array([[1, 2]]))
        loss.backward()
    assert net.weight.grad().asnumpy().tolist() == [[3, 6]]
    net.zero_grad()
    assert net.weight.grad().asnumpy().tolist() == [[0, 0]]
    net.weight.grad_req = "null"
    with pytest.raises(amp.ArgumentError, match="its grad_req is 'null'"):
        net.weight.grad()
    with autograd.record():
        loss = net(nd.array([[1, 2]]))
    loss.backward()
    assert net.bias.grad().asnumpy().tolist() == [1]
    with pytest.raises(amp.ArgumentError, match="grad_req is 'write', 'add' or 'null', got 'often'"):
        net.weight.grad_req = "often"
    fixed = gluon.Parameter("mean", shape=(2,), differentiable=False)
    fixed.grad_req = "write"
    assert fixed.grad_req == "null"


def test_what_is_not_trained():
    net = nn.BatchNorm(scale=False, center=False, in_channels=2)
    assert {name: p.grad_req for name, p in net._reg_params.items()} == dict.fromkeys(
        ("gamma", "beta", "running_mean", "running_var"), "null"
    )
    assert nn.LayerNorm(in_channels=2).gamma.grad_req == "write"
    assert gluon.Constant([1, 2]).grad_req == "null"


def test_arrays_that_become_parameters_have_no_gradient_themselves():
    array = nd.ones((1, 2))
    data = amp.sym.Variable("data")
    net = amp.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
    block = gluon.SymbolBlock(net, data, {"fc_weight": array})
    with autograd.record():
        loss = block(nd.array([[1, 2]]))
    loss.backward()
    assert block.collect_params()["fc_weight"].grad().asnumpy().tolist() == [[1, 2]] and array.grad is None


def test_what_was_read_stays_what_it_was():
    net = nn.Dense(1, in_units=2)
    net.initialize("ones")
    with autograd.record():
        loss = net(nd.array([[1, 2]]))
    loss.backward()
    first = net.weight.grad().asnumpy()
    with autograd.record():
        loss = net(nd.array([[5, 6]]))
    loss.backward()
    assert first.tolist() == [[1, 2]]
    batch_norm = nn.BatchNorm(in_channels=1)
    batch_norm.initialize()
    before = batch_norm.running_mean.data().asnumpy()
    with autograd.record():
        loss = batch_norm(nd.ones((2, 1)))
    loss.backward()
    assert before.tolist() == [0] and batch_norm.running_mean.data().asnumpy() > 0.09


# ---- blocks ----


def test_hybridized_blocks_have_the_gradients_of_plain_ones():
    net = network()
    x, y = numbers(4, 3, 12, 12), [0, 1, 2, 3]
    net(nd.array(x))
    other = copy.deepcopy(net)
    other.hybridize()
    for seed in range(3):
        x = numbers(4 + seed % 2, 3, 12, 12, seed=seed)
        expected, found = step(net, x, y[:4] + [4] * (seed % 2)), step(other, x, y[:4] + [4] * (seed % 2))
        assert expected.keys() == found.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5, err_msg=name)
    # and at inference the statistics that have moved are used
    np.testing.assert_allclose(other(nd.array(x)).asnumpy(), net(nd.array(x)).asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("hybridize", [False, True])
def test_gradients_are_derivatives(hybridize):
    net = nn.HybridSequential()
    net.add(nn.Dense(4, activation="tanh"), nn.BatchNorm(), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.cast("float64")
    x = nd.array(numbers(6, 3), dtype="float64")
    net(x)
    net.hybridize(hybridize)

    def loss():
        return (net(x) ** 2).sum()

    with autograd.record():
        value = loss()
    value.backward()
    for name, p in net.collect_params().items():
        if p.grad_req == "null":
            continue
        expected = np.zeros(p.shape)
        for i in np.ndindex(p.shape):
            ends = []
            for move in (1e-5, -1e-5):
                p.data()[i] = float(p.data()[i].asscalar()) + move
                with autograd.train_mode():
                    ends.append(float(loss().asscalar()))
                p.data()[i] = float(p.data()[i].asscalar()) - move
            expected[i] = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(p.grad().asnumpy(), expected, rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("hybridize", [False, True])
def test_shapes_may_be_learned_while_recording(hybridize):
    net = nn.HybridSequential()
    net.add(nn.Dense(3), nn.Dense(1))
    net.initialize("ones")
    net.hybridize(hybridize)
    with autograd.record():
        loss = net(nd.array([[1, 2]]))
    loss.backward()
    assert net[0].weight.grad().asnumpy().tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_block_may_be_called_several_times_before_backward(hybridize):
    net = nn.Dense(1, in_units=2)
    net.initialize("ones")
    net.hybridize(hybridize)
    with autograd.record():
        loss = net(nd.array([[1, 2]])) * 2 + net(nd.array([[3, 4]])) * 3
    loss.backward()
    assert net.weight.grad().asnumpy().tolist() == [[11, 16]]
    with autograd.record():
        first, second = net(nd.array([[1, 2]])), net(nd.array([[3, 4], [5, 6]]))
    second.backward()
    assert net.weight.grad().asnumpy().tolist() == [[8, 10]]
    first.backward(retain_graph=True)
    first.backward()
    assert net.weight.grad().asnumpy().tolist() == [[1, 2]]


def _plans(net):
    return list(net._graphs.kept[0].block._recorded_graph._plans().plans.values())


def test_runs_of_a_hybridized_block_share_their_plan():
    net = nn.Dense(1, in_units=2)
    net.initialize("ones")
    net.hybridize()
    x = nd.array([[1, 2]])
    for _ in range(3):
        with autograd.record():
            loss = net(x)
        loss.backward()
    (plan,) = _plans(net)
    assert len(plan._idle) == 1
    with autograd.record():
        first, second = net(x), net(x)
    assert len(plan._idle) == 0
    second.backward()
    del first, loss  # without a backward run
    gc.collect()
    assert len(plan._idle) == 2 and _plans(net) == [plan]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_second_derivatives_of_a_hybridized_block(activation):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation=activation, in_units=2), nn.Dropout(0.5), nn.Dense(1, in_units=3))
    net.initialize(mx.init.Normal(0.5))
    x = nd.array([[1, 2]])
    x.attach_grad()
    found = []
    for hybridize in (False, True):
        net.hybridize(hybridize)
        mx.random.seed(1)
        with autograd.record(train_mode=False):
            first = autograd.grad(net(x), [x], create_graph=True)[0]
            loss = (first * first).sum()
        loss.backward()
        found.append([x.grad.asnumpy(), net[0].weight.grad().asnumpy()])
    for plain, hybridized in zip(*found):
        np.testing.assert_allclose(hybridized, plain, rtol=1e-4, atol=1e-6)
        assert np.abs(plain).max() > 0
    # what is dropped is the same in both halves
    with autograd.record():
        y = net(x)
        gradient = autograd.grad(y, [x], create_graph=True)[0]
    (plain,) = autograd.grad(y, [x], retain_graph=True)
    np.testing.assert_allclose(gradient.asnumpy(), plain.asnumpy(), rtol=1e-5)


def test_an_operator_without_gradient_in_a_graph_is_an_error_of_backward():
    class Net(gluon.HybridBlock):
        def forward(self, x):
            return nd.batch_take(x, nd.array([0, 1], dtype="int32"))

    net = Net()
    net.hybridize()
    x = nd.array([[1, 2], [3, 4]])
    x.attach_grad()
    with autograd.record():
        y = net(x)
    assert y.asnumpy().tolist() == [1, 4]
    with pytest.raises(amp.UnsupportedError, match="has no gradient"):
        y.backward()


@pytest.mark.parametrize("hybridize", [False, True])
def test_gradients_of_some_parameters_and_outputs(hybridize):
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(1, in_units=2), nn.Dense(1, in_units=2)

        def forward(self, x):
            return self.first(x), self.second(x), x

    net = Net()
    net.initialize("ones")
    net.hybridize(hybridize)
    x = nd.array([[1, 2]])
    with autograd.record():
        outputs = net(x)
    only = net.first.weight.data()
    assert autograd.grad(outputs[0], [only], retain_graph=True)[0].asnumpy().tolist() == [[1, 2]]
    assert net.first.weight.grad().asnumpy().tolist() == [[0, 0]]
    outputs[1].backward()
    assert net.second.weight.grad().asnumpy().tolist() == [[1, 2]]
    assert net.first.weight.grad().asnumpy().tolist() == [[0, 0]]


def test_a_block_that_is_recorded_by_hand_in_parts():
    class Net(gluon.Block):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Dense(3, in_units=2), nn.Dense(1, in_units=3)

        def forward(self, x):
            hidden = self.first(x)
            return self.second(hidden * (hidden > 0)) if autograd.is_training() else hidden

    net = Net()
    net.initialize("ones")
    net.first.hybridize()
    assert net(nd.array([[1, 2]])).shape == (1, 3)
    with autograd.record():
        loss = net(nd.array([[1, 2]]))
    loss.backward()
    assert net.first.weight.grad().asnumpy().tolist() == [[1, 2]] * 3


def test_hybridized_dropout_follows_the_mode_and_the_seed():
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5))
    net.hybridize()
    x = nd.ones((1000,))
    assert np.array_equal(net(x).asnumpy(), np.ones(1000))
    with autograd.train_mode():
        mx.random.seed(5)
        first, second = net(x).asnumpy(), net(x).asnumpy()
        mx.random.seed(5)
        again = net(x).asnumpy()
    assert set(first.tolist()) == {0, 2} and np.array_equal(first, again) and not np.array_equal(first, second)


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_norm_that_is_called_twice_moves_its_statistics_backwards(hybridized):
    class Twice(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm(in_channels=2)

        def hybrid_forward(self, F, x, y):  # noqa: N803 - MXNet's name
            return self.norm(x) + self.norm(y) * 2

    net = Twice()
    net.initialize()
    net.hybridize(hybridized)
    x, y = numbers(8, 2), numbers(8, 2) + 3
    with autograd.record():
        loss = net(nd.array(x), nd.array(y))
    loss.backward()
    # as MXNet 1.9.1 does: the last call first
    expected = 0.9 * 0.1 * y.mean(0) + 0.1 * x.mean(0)
    np.testing.assert_allclose(net.norm.running_mean.data().asnumpy(), expected, rtol=1e-5)


def test_symbol_blocks_train_states_included(tmp_path):
    net = network()
    x, y = numbers(4, 3, 12, 12), [0, 1, 2, 3]
    net(nd.array(x))
    net.hybridize()
    net(nd.array(x))
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    expected, found = step(net, x, y), step(block, x, y)
    assert np.array_equal(found.pop(f"{net[5].prefix}gamma"), [0, 0, 0])  # a graph does not tell that nobody trains it
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
    assert block.collect_params()[f"{net[1].prefix}running_mean"].grad_req == "null"


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("layer", [gluon.rnn.LSTM, gluon.rnn.GRU, gluon.rnn.RNN])
def test_recurrent_layers(layer, hybridize):
    options = {"activation": "tanh"} if layer is gluon.rnn.RNN else {}  # relu has kinks
    block = layer(3, num_layers=2, bidirectional=True, **options)
    block.initialize(mx.init.Normal(0.5))
    block.hybridize(hybridize)
    x = nd.array(numbers(4, 2, 3))
    x.attach_grad()
    states = block.begin_state(2)
    for state in states:
        state.attach_grad()
    with autograd.record():
        output, _ = block(x, states)
        loss = (output * nd.array(numbers(4, 2, 6, seed=1))).sum()
    loss.backward()
    gradient, of_state = x.grad.asnumpy(), states[0].grad.asnumpy()
    for array, found, i in [(x, gradient, (2, 1, 1)), (states[0], of_state, (1, 0, 2))]:
        ends = []
        for move in (1e-2, -1e-2):
            moved = nd.array(array)
            moved[i] = float(array[i].asscalar()) + move
            args = (moved, states) if array is x else (x, [moved, *states[1:]])
            output, _ = block(*args)
            ends.append(float((output * nd.array(numbers(4, 2, 6, seed=1))).sum().asscalar()))
        np.testing.assert_allclose(found[i], (ends[0] - ends[1]) / 2e-2, rtol=2e-2, atol=1e-3)
    assert all(np.abs(p.grad().asnumpy()).max() > 0 for p in block.collect_params().values())


def test_blocks_on_numpy_arrays():
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation="relu"), nn.Dense(1))
    net.initialize("ones")
    x = mx.np.array([[1, 2]])
    x.attach_grad()
    for hybridize in (False, True):
        net.hybridize(hybridize)
        with autograd.record():
            loss = net(x).sum()
        loss.backward()
        assert type(loss) is mx.np.ndarray and x.grad.tolist() == [[3, 3]]


def test_functions_inside_of_plain_blocks():
    class Doubled(autograd.Function):
        def forward(self, x):
            return x

        def backward(self, dy):
            return 2 * dy

    net = nn.Sequential()
    net.add(nn.Dense(1, in_units=1), nn.Lambda(lambda x: Doubled()(x)))
    net.initialize("ones")
    with autograd.record():
        loss = net(nd.array([[3]]))
    loss.backward()
    assert net[0].weight.grad().asnumpy().tolist() == [[6]]


def test_norms_are_clipped():
    arrays = [nd.array([3, 0]), nd.array([[4]])]
    assert gluon.utils.clip_global_norm(arrays, 10) == 5 and arrays[1].asscalar() == 4
    assert gluon.utils.clip_global_norm(arrays, 1, check_isfinite=False).asscalar() == 5
    np.testing.assert_allclose(arrays[0].asnumpy(), [0.6, 0], rtol=1e-6)
    with pytest.warns(UserWarning, match="the norm is inf"):
        gluon.utils.clip_global_norm([nd.array([np.inf])], 1)
    with pytest.raises(amp.ArgumentError, match="got none"):
        gluon.utils.clip_global_norm([], 1)


# ---- Trainer ----


def test_weights_that_were_read_stay_what_they_were():
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    before, array = net.weight.data().asnumpy(), net.weight.data()
    with autograd.record():
        loss = net(nd.array([[1, 2]]))
    loss.backward()
    trainer.step(1)
    assert before.tolist() == [[1, 1]] and array.asnumpy().tolist() == [[0.5, 0]] and net.weight.data() is array


def test_shared_parameters_are_updated_once():
    net = nn.Sequential()
    net.add(nn.Dense(2, in_units=2, use_bias=False), nn.Dense(2, in_units=2, use_bias=False))
    net[1].share_parameters(net[0].collect_params())
    net.initialize("ones")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        loss = net(nd.array([[1, 1]])).sum()
    loss.backward()
    gradient = net[0].weight.grad().asnumpy()
    trainer.step(1)
    np.testing.assert_allclose(net[1].weight.data().asnumpy(), 1 - gradient)


@pytest.mark.parametrize("hybridize", [False, True])
def test_training_learns(hybridize):
    mx.random.seed(1)
    x = numbers(64, 4)
    y = (x[:, 0] * x[:, 1] > 0).astype("float32")
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize(hybridize)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    for _ in range(60):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(nd.array(x)), nd.array(y))
        loss.backward()
        trainer.step(64)
    assert loss.mean().asscalar() < 0.2
    assert (net(nd.array(x)).asnumpy().argmax(axis=1) == y).mean() > 0.9


# ---- losses ----

LOSSES = gluon.loss


def test_weights_of_losses():
    pred, label, weights = nd.array(numbers(3, 4)), nd.array(numbers(3, 4, seed=1)), nd.array([[1], [0], [2]])
    plain = LOSSES.L2Loss()(pred, label).asnumpy()
    np.testing.assert_allclose(LOSSES.L2Loss(weight=3)(pred, label).asnumpy(), 3 * plain, rtol=1e-6)
    np.testing.assert_allclose(LOSSES.L2Loss()(pred, label, weights).asnumpy(), plain * [1, 0, 2], rtol=1e-6)
    np.testing.assert_allclose(
        LOSSES.L1Loss(batch_axis=1)(pred, label).asnumpy(),
        np.abs(pred.asnumpy() - label.asnumpy()).mean(axis=0),
        rtol=1e-6,
    )


def test_losses_run_as_graphs_and_on_symbols():
    pred, label = nd.array(numbers(3, 4)), nd.array([0, 3, 1])
    loss = LOSSES.SoftmaxCrossEntropyLoss()
    expected = loss(pred, label).asnumpy()
    loss.hybridize()
    np.testing.assert_allclose(loss(pred, label).asnumpy(), expected, rtol=1e-6)
    symbol = LOSSES.SoftmaxCrossEntropyLoss()(amp.sym.Variable("pred"), amp.sym.Variable("label"))
    np.testing.assert_allclose(symbol.eval(pred=pred, label=label)[0].asnumpy(), expected, rtol=1e-6)


def test_losses_check_their_options():
    with pytest.raises(amp.ArgumentError, match="label_format is 'signed' or 'binary', got 'other'"):
        LOSSES.LogisticLoss(label_format="other")
    with pytest.raises(amp.ArgumentError, match="layouts are 'NTC' or 'TNC'"):
        LOSSES.CTCLoss(layout="CTN")


def test_the_full_poisson_loss():
    pred, target = numbers(2, 3), np.abs(numbers(2, 3, seed=1)) * 4
    found = LOSSES.PoissonNLLLoss(compute_full=True)(nd.array(pred), nd.array(target)).asscalar()
    stirling = target * np.log(target) - target + 0.5 * np.log(2 * np.pi * target)
    expected = np.mean(np.exp(pred) - target * pred + np.where(target > 1, stirling, 0))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_second_backward_pass_leaves_outputs_alone():
    """It computes them anew, by weights that changed in between, in memory of its own."""
    net = nn.Dense(2, in_units=3, use_bias=False)
    net.initialize(mx.init.One())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        out = net(mx.nd.ones((1, 3)))
        loss = (out * out).sum()
    loss.backward(retain_graph=True)
    seen = out.asnumpy()
    trainer.step(1)
    loss.backward()
    assert out.asnumpy().tolist() == seen.tolist() == [[3, 3]]


@pytest.mark.parametrize("anew", [False, True], ids=["the same trainer", "a new one"])
def test_states_of_a_trainer_whose_updates_run_in_a_store(tmp_path, anew):
    def make():
        weight = gluon.Parameter("weight", shape=(1,), init="ones")
        weight.initialize()
        return weight, trainer_of(weight)

    def trainer_of(weight):
        options = {"learning_rate": 0.1, "momentum": 0.9}
        return gluon.Trainer([weight], "sgd", options, kvstore=mx.kv.create("local"), update_on_kvstore=True)

    def step(weight, trainer):
        with autograd.record():
            loss = weight.data() * weight.data()
        loss.backward()
        trainer.step(1)

    weight, trainer = make()
    for _ in range(3):
        step(weight, trainer)
    trainer.save_states(str(tmp_path / "states"))
    saved = weight.data().copy()
    step(weight, trainer)
    expected = weight.data().asnumpy()
    weight.set_data(saved)
    trainer = trainer_of(weight) if anew else trainer
    trainer.load_states(str(tmp_path / "states"))
    step(weight, trainer)
    assert weight.data().asnumpy().tolist() == expected.tolist()


def test_states_that_are_none():
    update = mx.optimizer.get_updater(mx.optimizer.SGD(momentum=0.9))
    for wrong in ([1, 2], 5, ({}, 5)):
        with pytest.raises(amp.ArgumentError, match="no states of an optimizer"):
            update.set_states(pickle.dumps(wrong))


@pytest.mark.parametrize("hybridize", [False, True])
def test_losses_of_programs_weight_as_mxnets_do(hybridize):
    class Absolute(gluon.loss.Loss):
        def hybrid_forward(self, F, pred, label, sample_weight=None):
            label = gluon.loss._reshape_like(F, label, pred)
            return gluon.loss._apply_weighting(F, F.abs(pred - label), self._weight, sample_weight)

    loss = Absolute(weight=2.0, batch_axis=0)
    if hybridize:
        loss.hybridize()
    pred, label = amp.nd.array([[1, 2], [3, 4]]), amp.nd.zeros((4,))
    assert loss(pred, label, amp.nd.array([[1], [10]])).asnumpy().tolist() == [[2, 4], [60, 80]]
    assert Absolute(None, 0)(pred, label).asnumpy().tolist() == [[1, 2], [3, 4]]
