"""No finite result of float32 becomes infinite or no number by a conversion."""

import numpy as np
import pytest

import amp

WIDTH, ROWS = 16, 8
POLICIES = [{"policy": "default"}, {"policy": "optimal", "minimize": "casts"}, {"policy": "graphamp", "preset": "mp3"}]


class Net:
    """A symbol with its parameters, composed step by step."""

    def __init__(self, seed, spread=1.0):
        self.draw, self.args, self.count, self.spread = np.random.default_rng(seed), {}, 0, spread

    def dense(self, x, scale=None):
        """A dense layer without bias whose results have the size of `scale`."""
        name, self.count = f"fc{self.count}", self.count + 1
        size = self.spread if scale is None else scale
        weight = size * self.draw.standard_normal((WIDTH, WIDTH)) / np.sqrt(WIDTH)
        self.args[f"{name}_weight"] = weight.astype("float32")
        return amp.sym.FullyConnected(x, num_hidden=WIDTH, no_bias=True, name=name)


def lost(net, symbol, values, target, mode, **options):
    """How many results are finite in float32 and not finite after a conversion."""
    shapes = {"x": values.shape}
    exact = amp.Executor(symbol, net.args, {}, shapes, mode=mode, machine="any")(values)
    low, args, aux = amp.convert_model(symbol, net.args, {}, "float32", target, **options)
    found = amp.Executor(low, args, aux, shapes, mode=mode, machine="any")(values)
    pairs = [(a.asnumpy(), b.asnumpy()) for a, b in zip(exact, found)]
    assert any(np.isfinite(a).any() for a, _ in pairs)
    return sum(int((np.isfinite(a) & ~np.isfinite(b)).sum()) for a, b in pairs)


def log_of_rest(net, x):
    s = amp.sym.sigmoid(net.dense(x, 6))
    return amp.sym.Group([amp.sym.log(1 - s), net.dense(s)])


def logit(net, x):
    s = amp.sym.sigmoid(net.dense(x, 6))
    return amp.sym.log(s / (1 - s))


def odds(net, x):
    s = amp.sym.sigmoid(net.dense(x, 6))
    return net.dense(s / (1 - s))


def log_of_gaussian(net, x):
    return amp.sym.log(1 - amp.sym.exp(-amp.sym.square(net.dense(x, 0.1))))


PATTERNS = {
    "log(1 - sigmoid), and a product of it": log_of_rest,
    "logit": logit,
    "odds": odds,
    "log1p(-sigmoid)": lambda net, x: amp.sym.log1p(-amp.sym.sigmoid(net.dense(x, 6))),
    "log(1 - exp(-x^2))": log_of_gaussian,
    "log(sigmoid)": lambda net, x: amp.sym.log(amp.sym.sigmoid(net.dense(x, 20))),
    "log of a product": lambda net, x: amp.sym.log(net.dense(x)),
    "root of a product": lambda net, x: amp.sym.sqrt(net.dense(x)),
    "1 / (1 - tanh)": lambda net, x: 1 / (1 - amp.sym.tanh(net.dense(x, 3))),
    "arctanh": lambda net, x: amp.sym.arctanh(amp.sym.tanh(net.dense(x, 3))),
    "arccos": lambda net, x: amp.sym.arccos(amp.sym.L2Normalization(net.dense(x)) * 1.0),
    "power of -0.5": lambda net, x: (1 - amp.sym.sigmoid(net.dense(x, 6))) ** -0.5,
    "relu of large numbers": lambda net, x: amp.sym.relu(net.dense(x, 3e5)),
    "two layers of large numbers": lambda net, x: net.dense(amp.sym.relu(net.dense(x, 3e5)), 1e-4),
    "squares": lambda net, x: amp.sym.square(net.dense(x, 400)) * 1e-4,
    "sums": lambda net, x: (net.dense(x, 4e4) + net.dense(x, 4e4)) * 0.1,
    "exponentials": lambda net, x: net.dense(amp.sym.exp(net.dense(x, 5))),
    "own softmax": lambda net, x: amp.sym.broadcast_div(
        amp.sym.exp(net.dense(x, 8)), amp.sym.sum(amp.sym.exp(net.dense(x, 8)), axis=1, keepdims=True)
    ),
    "own norm": lambda net, x: amp.sym.broadcast_div(
        net.dense(x, 1e-3), amp.sym.sqrt(amp.sym.sum(amp.sym.square(net.dense(x, 1e-3)), axis=1, keepdims=True))
    ),
}


@pytest.mark.parametrize("mode", ["fast", "exact"])
@pytest.mark.parametrize("target", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_that_people_write(name, target, mode):
    for options in POLICIES:
        net = Net(1)
        symbol = PATTERNS[name](net, amp.sym.Variable("x"))
        values = net.draw.standard_normal((64, WIDTH)).astype("float32")
        assert lost(net, symbol, values, target, mode, **options) == 0, options


@pytest.mark.parametrize("target", ["bfloat16", "float16"])
def test_inputs_of_any_size(target):
    net = Net(2)
    x = amp.sym.Variable("x")
    values = (10.0 ** np.linspace(-30, 30, ROWS * WIDTH)).reshape(ROWS, WIDTH).astype("float32")
    symbol = amp.sym.Group([net.dense(x, 1e-20), amp.sym.log(x), 1 / x, amp.sym.sqrt(x)])
    assert lost(net, symbol, values, target, "fast") == 0


UNARY = ["sigmoid", "tanh", "exp", "square", "relu", "negative", "log", "sqrt", "log1p", "reciprocal", "abs", "rsqrt"]


def random_net(net, x):
    """Some operators over log, division, 1 - x and exp, one on the results of others."""
    known = [net.dense(x)]
    for _ in range(int(net.draw.integers(3, 8))):
        a, b = (known[int(i)] for i in net.draw.integers(0, len(known), 2))
        kind = net.draw.integers(0, 6)
        if kind == 0:
            known.append(net.dense(a))
        elif kind == 1:
            known.append(1 - a)
        elif kind == 2:
            known.append(a / b)
        elif kind == 3:
            known.append(a * b if net.draw.random() < 0.5 else a - b)
        else:
            known.append(getattr(amp.sym, UNARY[int(net.draw.integers(0, len(UNARY)))])(a))
    return amp.sym.Group(known[-2:])


@pytest.mark.parametrize("target", ["bfloat16", "float16"])
def test_random_networks(target):
    for seed in range(60):
        net = Net(seed, spread=float(np.random.default_rng(seed).choice([0.3, 1, 3])))
        symbol = random_net(net, amp.sym.Variable("x"))
        values = net.draw.standard_normal((ROWS, WIDTH)).astype("float32")
        options = POLICIES[seed % len(POLICIES)]
        try:
            count = lost(net, symbol, values, target, ["fast", "exact"][seed % 2], **options)
        except AssertionError:
            continue  # nothing of it is finite in float32
        assert count == 0, (seed, options)
