"""Training in bfloat16 under every policy: what is low, and that it learns what float32 learns."""

import functools
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from benchmarks import train_accuracy  # noqa: E402

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

POLICIES = [
    {"policy": "mxnet"},
    {"policy": "default"},
    {"policy": "graphamp", "preset": "mp1"},
    {"policy": "graphamp", "preset": "mp3"},
    {"policy": "optimal", "minimize": "casts"},
]


def name_of(policy):
    return " ".join(policy.values())


@pytest.fixture
def low_precision():
    yield
    amp._autocast.begin(None)


@functools.cache
def small_task(name):
    """A task of few batches, in which noise has no time to grow, and its losses in float32."""
    task = train_accuracy.TASKS[name](0.03)
    task.epochs, task.dropped = 2, 0
    return task, train_accuracy.losses_of(task, None, seed=1)


CASES = [(name, policy) for name in ("digits", "transformer") for policy in POLICIES]
CASES += [("resnet20", policy) for policy in POLICIES[:3]]


@pytest.mark.parametrize("name, policy", CASES, ids=lambda value: value if isinstance(value, str) else name_of(value))
def test_low_precision_learns_what_float32_learns(name, policy):
    task, exact = small_task(name)
    low = train_accuracy.losses_of(task, policy, seed=1)
    assert low != exact
    np.testing.assert_allclose(low, exact, rtol=train_accuracy.NEAR)


def classifier(hybridize):
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Dense(8, in_units=5, activation="relu"), nn.Dense(3, in_units=8))
    net.initialize(mx.init.Xavier())
    net.hybridize(hybridize)
    return net


def gradients(net):
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    with mx.autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(mx.nd.array(x)), mx.nd.array([0, 1, 2, 1]))
    loss.backward()
    return [parameter.grad().asnumpy() for parameter in net.collect_params().values()]


@pytest.mark.parametrize("policy", POLICIES[1:], ids=name_of)
def test_policies_of_graphs_concern_graphs(low_precision, policy):
    exact = gradients(classifier(False))
    mx.amp.init("bfloat16", **policy)
    single = gradients(classifier(False))
    graph = gradients(classifier(True))
    for one, other, low in zip(exact, single, graph):
        assert np.array_equal(one, other)
        assert np.abs(low - one).max() > 0
        np.testing.assert_allclose(low, one, rtol=0.05, atol=0.02)
    net = classifier(True)
    net(mx.nd.ones((1, 5)))
    assert "amp_cast" not in net.export(None)[0].tojson()


def test_second_gradients_are_those_of_the_converted_graph(low_precision):
    def second():
        net = classifier(True)
        x = mx.nd.array(np.random.default_rng(0).standard_normal((4, 5)))
        x.attach_grad()
        with mx.autograd.record():
            first = mx.autograd.grad((net(x) ** 2).sum(), [x], create_graph=True, retain_graph=True)[0]
            total = (first * first).sum()
        total.backward()
        return x.grad.asnumpy()

    exact = second()
    mx.amp.init("bfloat16", policy="graphamp")
    low = second()
    assert not np.array_equal(low, exact)
    np.testing.assert_allclose(low, exact, rtol=0.05, atol=0.05 * np.abs(exact).max())


@pytest.mark.parametrize("policy", POLICIES[1:], ids=name_of)
def test_modules_train_under_every_policy(low_precision, policy):
    rng = np.random.default_rng(0)
    data = rng.standard_normal((64, 4)).astype("float32")
    label = (data[:, 0] > data[:, 1]).astype("float32")
    mx.amp.init("bfloat16", **policy)
    scores = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=2, name="fc")
    mod = mx.mod.Module(amp.sym.SoftmaxOutput(scores, name="softmax"))
    batches = mx.io.NDArrayIter(data, label, batch_size=16)
    mod.fit(batches, num_epoch=10, optimizer_params={"learning_rate": 0.5})
    assert dict(mod.score(batches, "acc"))["accuracy"] > 0.9
    runs, _ = next(iter(mod._runs.values()))
    assert "amp_cast" in amp.sym.Symbol(runs.handle.symbol()).tojson()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"policy": "other"}, "policy: expected 'default' or 'mxnet'"),
        ({"policy": "graphamp", "preset": "mp9"}, "preset: expected one of mp0"),
        ({"policy": "graphamp", "presets": "mp1"}, "there is no option 'presets'"),
    ],
)
def test_mistakes(low_precision, options, message):
    with pytest.raises(amp.ArgumentError, match=message):
        mx.amp.init("bfloat16", **options)
    assert amp._autocast.rules is None


def test_the_verdict_of_the_experiment():
    assert train_accuracy.verdict([1.0, 1.02], [1.02, 1.02]) == (pytest.approx(0.0099, abs=1e-4), True)
    assert train_accuracy.verdict([1.0, 1.2], [1.18, 1.16])[1]  # within the spread
    assert not train_accuracy.verdict([1.0, 1.0], [1.05, 1.03])[1]
    assert not train_accuracy.verdict([1.0, 1.0], [np.nan, 1.0])[1]


def test_the_command_of_the_experiment(monkeypatch, capsys):
    arguments = ["train_accuracy", "--tasks", "digits", "--seeds", "2", "--scale", "0.05"]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit):
        train_accuracy.main()
    rows = [line.split("|")[1:-1] for line in capsys.readouterr().out.splitlines()]
    assert [row[1].strip() for row in rows[2:]] == list(train_accuracy.POLICIES)
    assert float(rows[2][4].strip(" %")) == 0 and len(rows[3][2].split(",")) == 2
