"""Gradients of blocks: plain, hybridized, with shapes that the first call tells; losses."""

import copy
import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import nn

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[3] / "shared")
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
        found[name] = (p.data() if p.grad_req == "null" else p.grad()).asnumpy().copy()
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
    assert {name: p.grad_req for name, p in net.collect_params().items()} == dict.fromkeys(
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


def test_symbol_blocks_train_states_included(tmp_path):
    net = network()
    x, y = numbers(4, 3, 12, 12), [0, 1, 2, 3]
    net(nd.array(x))
    net.hybridize()
    net(nd.array(x))
    files = net.export(str(tmp_path / "net"))
    block = gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    expected, found = step(net, x, y), step(block, x, y)
    assert np.array_equal(found.pop("5.gamma"), [0, 0, 0])  # a graph does not tell that nobody trains it
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
    assert block.collect_params()["1.running_mean"].grad_req == "null"


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


# ---- MXNet's numbers ----


def _case(name):
    spec = importlib.util.spec_from_file_location("case", SHARED / "cases" / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TrainCase(str(PROGRAMS / name))


@pytest.mark.skipif(not PROGRAMS.exists(), reason=f"{PROGRAMS} does not exist: the reference cases are not here")
@pytest.mark.parametrize("name", ["autograd_functions", "gluon_losses"])
def test_programs_give_mxnets_numbers(name):
    case = _case(name)
    if name == "gluon_losses" and "CTCLoss" not in amp._core.operator_names():
        pytest.skip("the operator CTCLoss is not there yet")
    for key, errors in case.errors(case.run(mx)).items():
        assert np.max(errors) < 1e-4, key
