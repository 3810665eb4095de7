"""Every layer of mx.gluon.nn and mx.gluon.rnn against its definition in NumPy, with and without a graph."""

import math

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp.mxnet import gluon
from amp.mxnet.gluon import nn, rnn


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")


def filled(net, *args):
    """Gives the block seeded parameters of all shapes; {place in the block: NumPy array} of them."""
    net.initialize()
    net(*args)
    arrays = {}
    names = {id(parameter): name for name, parameter in net._collect_params_with_prefix().items()}
    names.update({id(parameter): name for name, parameter in net._reg_params.items()})  # of recurrent layers
    for i, parameter in enumerate(net.collect_params().values()):
        name = names[id(parameter)]
        values = numbers(*parameter.shape, seed=i + 1)
        arrays[name] = np.abs(values) + 0.5 if name.endswith("running_var") else values
        parameter.set_data(arrays[name])
    return arrays


def check(net, x, define, rtol=2e-5):
    """`define(x, arrays)` is what the layer shall compute; a graph of it computes the same."""
    arrays = filled(net, nd.array(x))
    expected = define(x, arrays)
    for make in (nd.array, mx.np.array):
        result = net(make(x))
        assert type(result) is type(make(x)) and result.shape == expected.shape
        np.testing.assert_allclose(result.asnumpy(), expected, rtol=rtol, atol=rtol)
    net.hybridize()
    np.testing.assert_allclose(net(nd.array(x)).asnumpy(), expected, rtol=rtol, atol=rtol)
    symbol = net(amp.sym.var("data"))  # parameters have the same names there
    held = {name: parameter.data() for name, parameter in net.collect_params().items()}
    args = {name: array for name, array in held.items() if name in symbol.list_arguments()}
    aux = {name: array for name, array in held.items() if name not in args}
    (got,) = amp.Executor(symbol, args, aux, {"data": x.shape})(x)
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=rtol, atol=rtol)


def relu(x):
    return np.maximum(x, 0)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


ERF = np.vectorize(math.erf)
ACTIVATIONS = {
    "relu": (lambda: nn.Activation("relu"), relu),
    "sigmoid": (lambda: nn.Activation("sigmoid"), sigmoid),
    "tanh": (lambda: nn.Activation("tanh"), np.tanh),
    "softrelu": (lambda: nn.Activation("softrelu"), lambda x: np.log1p(np.exp(x))),
    "softsign": (lambda: nn.Activation("softsign"), lambda x: x / (1 + np.abs(x))),
    "leaky": (lambda: nn.LeakyReLU(0.1), lambda x: np.where(x > 0, x, 0.1 * x)),
    "elu": (lambda: nn.ELU(0.5), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    "selu": (lambda: nn.SELU(), lambda x: 1.0507009873 * np.where(x > 0, x, 1.6732632423 * np.expm1(x))),
    "gelu": (lambda: nn.GELU(), lambda x: x * 0.5 * (1 + ERF(x / np.sqrt(2)))),
    "gelu tanh": (
        lambda: nn.GELU("tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    ),
    "swish": (lambda: nn.Swish(1.5), lambda x: x * sigmoid(1.5 * x)),
    "silu": (lambda: nn.SiLU(), lambda x: x * sigmoid(x)),
    "identity": (lambda: nn.Identity(), lambda x: x),
    "dropout": (lambda: nn.Dropout(0.5), lambda x: x),
    "lambda": (lambda: nn.HybridLambda("square"), np.square),
    "lambda of 1.x": (lambda: nn.HybridLambda(lambda F, x: F.sqrt(F.abs(x))), lambda x: np.sqrt(np.abs(x))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_functions_of_each_element(name):
    make, define = ACTIVATIONS[name]
    check(make(), numbers(3, 4, 5), lambda x, _: define(x))


def test_prelu():
    check(nn.PReLU(in_channels=3), numbers(2, 3, 4), lambda x, p: np.where(x > 0, x, p["alpha"][:, None] * x))


def test_dense():
    x = numbers(2, 3, 4)
    check(nn.Dense(5), x, lambda x, p: x.reshape(2, 12) @ p["weight"].T + p["bias"])
    check(nn.Dense(5, flatten=False, use_bias=False), x, lambda x, p: x @ p["weight"].T)
    check(
        nn.Dense(5, activation="relu", in_units=12), x, lambda x, p: relu(x.reshape(2, -1) @ p["weight"].T + p["bias"])
    )
    check(nn.Flatten(), x, lambda x, _: x.reshape(2, 12))


def test_embedding():
    x = np.array([[1, 0], [4, 2]], "f4")
    check(nn.Embedding(5, 3), x, lambda x, p: p["weight"][x.astype(int)])


def convolved(x, weight, stride, pad, dilation, groups):
    """The convolution of (N, C, ...) with (O, C / groups, ...), by its definition."""
    axes = x.ndim - 2
    x = np.pad(x.astype("f8"), [(0, 0), (0, 0), *[(p, p) for p in pad]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:])]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + axes)))
    windows = windows[
        (slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))
    ]
    letters, kernel = "xyz"[:axes], "ijk"[:axes]
    parts = zip(np.split(windows, groups, 1), np.split(weight, groups, 0))
    return np.concatenate([np.einsum(f"nc{letters}{kernel},oc{kernel}->no{letters}", w, v) for w, v in parts], 1)


CONVS = [(nn.Conv1D, (7,)), (nn.Conv2D, (7, 6)), (nn.Conv3D, (5, 6, 5))]


@pytest.mark.parametrize("cls, size", CONVS, ids=lambda v: getattr(v, "__name__", ""))
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions(cls, size, groups):
    n = len(size)
    bias = (None, slice(None), *[None] * n)
    net = cls(4, 3, strides=2, padding=1, groups=groups)
    check(
        net,
        numbers(2, 4, *size),
        lambda x, p: convolved(x, p["weight"], [2] * n, [1] * n, [1] * n, groups) + p["bias"][bias],
    )
    net = cls(6, (2,) * n, dilation=2, use_bias=False, activation="relu")
    check(net, numbers(2, 3, *size), lambda x, p: relu(convolved(x, p["weight"], [1] * n, [0] * n, [2] * n, 1)))


@pytest.mark.parametrize(
    "cls, size", [(nn.Conv1DTranspose, (5,)), (nn.Conv2DTranspose, (4, 5)), (nn.Conv3DTranspose, (3, 4, 3))]
)
def test_transposed_convolutions(cls, size):
    n = len(size)

    def define(x, p):
        out = np.zeros((2, 4, *[(s - 1) * 2 - 2 + 3 + 1 for s in size]), "f8")
        big = np.zeros((2, 4, *[(s - 1) * 2 + 3 + 1 for s in size]), "f8")
        for place in np.ndindex(*size):
            part = np.einsum("nc,co...->no...", x[(slice(None), slice(None), *place)].astype("f8"), p["weight"])
            big[(slice(None), slice(None), *(slice(2 * i, 2 * i + 3) for i in place))] += part
        out[:] = big[(slice(None), slice(None), *[slice(1, 1 + o) for o in out.shape[2:]])]
        return out + p["bias"][(None, slice(None), *[None] * n)]

    check(cls(4, 3, strides=2, padding=1, output_padding=1), numbers(2, 3, *size), define)


@pytest.mark.parametrize("kind", ["Max", "Avg"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pooling(kind, axes):
    size = (6, 5, 4)[:axes]
    reduce = np.max if kind == "Max" else np.mean
    over = tuple(range(2 + axes, 2 + 2 * axes))

    def define(x, _):
        windows = np.lib.stride_tricks.sliding_window_view(x, (2,) * axes, tuple(range(2, 2 + axes)))
        return reduce(windows[(slice(None), slice(None), *[slice(None, None, 2)] * axes)], over)

    check(getattr(nn, f"{kind}Pool{axes}D")(), numbers(2, 3, *size), define)
    everything = tuple(range(2, 2 + axes))
    layer = getattr(nn, f"Global{kind}Pool{axes}D")()
    check(layer, numbers(2, 3, *size), lambda x, _: reduce(x, everything, keepdims=True))


def test_pooling_with_borders():
    x = numbers(1, 2, 5, 5)
    assert nn.MaxPool2D(2, 2, ceil_mode=True)(nd.array(x)).shape == (1, 2, 3, 3)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    sums = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3)).sum((4, 5))
    counts = np.lib.stride_tricks.sliding_window_view(np.pad(np.ones((5, 5)), 1), (3, 3)).sum((2, 3))
    check(nn.AvgPool2D(3, 1, 1), x, lambda x, _: sums / 9)
    check(nn.AvgPool2D(3, 1, 1, count_include_pad=False), x, lambda x, _: sums / counts)
    check(nn.ReflectionPad2D(2), x, lambda x, _: np.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], "reflect"))


def normed(x, axes, epsilon):
    x = x.astype("f8")
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def test_norms():
    x = numbers(2, 4, 3, 5)

    def batch(x, p, scale=True):
        shape = (1, 4, 1, 1)
        y = (x - p["running_mean"].reshape(shape)) / np.sqrt(p["running_var"].reshape(shape) + 1e-5)
        return y * (p["gamma"].reshape(shape) if scale else 1) + p["beta"].reshape(shape)

    check(nn.BatchNorm(), x, batch)
    check(nn.BatchNorm(scale=False), x, lambda x, p: batch(x, p, scale=False))
    check(nn.BatchNormReLU(), x, lambda x, p: relu(batch(x, p)))
    check(nn.SyncBatchNorm(in_channels=4, num_devices=2), x, batch)
    check(nn.LayerNorm(), x, lambda x, p: normed(x, -1, 1e-5) * p["gamma"] + p["beta"])
    columns = (slice(None), None, None)
    check(nn.InstanceNorm(), x, lambda x, p: normed(x, (2, 3), 1e-5) * p["gamma"][columns] + p["beta"][columns])

    def group(x, p):
        return (
            normed(x.reshape(2, 2, 2, 3, 5), (2, 3, 4), 1e-5).reshape(x.shape) * p["gamma"][columns]
            + p["beta"][columns]
        )

    check(nn.GroupNorm(2), x, group)


def test_norms_stay_float32_in_low_precision():
    net = nn.HybridSequential(nn.Conv2D(4, 1), nn.BatchNorm())
    net.initialize()
    net(nd.ones((1, 3, 2, 2)))
    net.cast("bfloat16")
    assert net[0].weight.dtype.name == "bfloat16" and net[1].gamma.dtype == np.float32
    assert net(nd.ones((1, 3, 2, 2), dtype="bfloat16")).dtype.name == "bfloat16"


def test_containers():
    net = nn.HybridConcatenate(axis=1)
    net.add(nn.Dense(2), nn.Dense(3), nn.Identity())
    check(net, numbers(4, 5), lambda x, p: np.concatenate(
        [x @ p["0.weight"].T + p["0.bias"], x @ p["1.weight"].T + p["1.bias"], x], 1
    ))  # fmt: skip
    assert len(nn.HybridSequential(nn.Dense(1), nn.Dense(2))) == 2


def lstm_step(x, h, c, p, stem):
    gates = (
        x @ p[f"{stem}_i2h_weight"].T + p[f"{stem}_i2h_bias"] + h @ p[f"{stem}_h2h_weight"].T + p[f"{stem}_h2h_bias"]
    )
    i, f, g, o = np.split(gates, 4, 1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(x, h, c, p, stem):
    ri, zi, ni = np.split(x @ p[f"{stem}_i2h_weight"].T + p[f"{stem}_i2h_bias"], 3, 1)
    rh, zh, nh = np.split(h @ p[f"{stem}_h2h_weight"].T + p[f"{stem}_h2h_bias"], 3, 1)
    r, z = sigmoid(ri + rh), sigmoid(zi + zh)
    return (1 - z) * np.tanh(ni + r * nh) + z * h, c


def rnn_step(x, h, c, p, stem):
    sums = x @ p[f"{stem}_i2h_weight"].T + p[f"{stem}_i2h_bias"] + h @ p[f"{stem}_h2h_weight"].T + p[f"{stem}_h2h_bias"]
    return relu(sums), c


def recurrent(step, x, p, layers, directions, hidden, states):
    """Output (T, N, H * directions) and the last states, each (layers * directions, N, H)."""
    last = []
    for layer in range(layers):
        outputs = []
        for d, direction in enumerate(directions):
            h, c = (state[layer * len(directions) + d].astype("f8") for state in states)
            steps = x[::-1] if direction == "r" else x
            values = []
            for row in steps:
                h, c = step(row.astype("f8"), h, c, p, f"{direction}{layer}")
                values.append(h)
            outputs.append(np.stack(values[::-1] if direction == "r" else values))
            last.append((h, c))
        x = np.concatenate(outputs, 2)
    return x, [np.stack(part) for part in zip(*last)]


RECURRENT = {"lstm": (rnn.LSTM, lstm_step, 2), "gru": (rnn.GRU, gru_step, 1), "rnn": (rnn.RNN, rnn_step, 1)}


@pytest.mark.parametrize("name", RECURRENT)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layout", ["TNC", "NTC"])
def test_recurrent_layers(name, bidirectional, layout):
    cls, step, num_states = RECURRENT[name]
    layers, hidden, directions = 2, 4, ["l", "r"] if bidirectional else ["l"]
    net = cls(hidden, layers, layout=layout, bidirectional=bidirectional)
    x = numbers(5, 3, 6)
    data = nd.array(x if layout == "TNC" else x.swapaxes(0, 1))
    arrays = filled(net, data)
    shape = (layers * len(directions), 3, hidden)
    zeros = [np.zeros(shape, "f4")] * 2
    given = [numbers(*shape, seed=50), numbers(*shape, seed=51) if num_states == 2 else np.zeros(shape, "f4")]
    for hybridized in (False, True):
        net.hybridize(hybridized)
        expected, _ = recurrent(step, x, arrays, layers, directions, hidden, zeros)
        out = net(data).asnumpy()
        np.testing.assert_allclose(out if layout == "TNC" else out.swapaxes(0, 1), expected, rtol=1e-4, atol=1e-5)
        states = [nd.array(state) for state in given[:num_states]]
        out, new = net(data, states)
        expected, last = recurrent(step, x, arrays, layers, directions, hidden, given)
        out = out.asnumpy()
        np.testing.assert_allclose(out if layout == "TNC" else out.swapaxes(0, 1), expected, rtol=1e-4, atol=1e-5)
        for got, wanted in zip(new, last):
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


def test_recurrent_layers_say_what_they_refuse():
    with pytest.raises(amp.UnsupportedError, match="projection_size"):
        rnn.GRU(4, projection_size=2)
    with pytest.raises(amp.ArgumentError, match="layout is 'TNC' or 'NTC'"):
        rnn.GRU(4, layout="CNT")
    with pytest.raises(AttributeError, match="no layer or cell 'QRNN'"):
        rnn.QRNN  # noqa: B018
    net = rnn.LSTM(4)
    net.initialize()
    with pytest.raises(amp.ArgumentError, match="expected 2 states, got 1"):
        net(nd.ones((2, 1, 3)), nd.ones((1, 1, 4)))
    assert [state.shape for state in net.begin_state(batch_size=5)] == [(1, 5, 4)] * 2


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nn.Conv2D(3, (1, 2, 3)), r"expected 2 numbers, one for each axis of the window, got \(1, 2, 3\)"),
        (lambda: nn.Conv2D(3, 1, layout="NCX"), "unknown layout 'NCX'"),
        (lambda: nn.HybridSequential(3), "a child has to be a Block, got int"),
        (
            lambda: nn.BatchNorm(axis=7),
            r"BatchNorm\(axis=7, .*\): inputs of shape \(2, 3\).* lack an axis",
        ),
        (lambda: rnn.LSTM(4), r"inputs of shape \(2, 3\).* lack an axis"),
        (lambda: nn.Dropout(1.5), r"the rate lies in \[0, 1\], got 1.5"),
        (lambda: nn.LeakyReLU(-1), "the slope has to be >= 0"),
        (lambda: nn.GELU("sin"), "approximation is 'erf' or 'tanh'"),
        (lambda: nn.HybridLambda("no_such_function"), "there is no function 'no_such_function'"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        net = call()
        net.initialize()
        net(nd.ones((2, 3)))


# ---- cells ----

LAYERS = {"lstm": (rnn.LSTM, rnn.LSTMCell), "gru": (rnn.GRU, rnn.GRUCell), "rnn": (rnn.RNN, rnn.RNNCell)}


@pytest.mark.parametrize("options", [{}, {"bidirectional": True}, {"num_layers": 2, "dropout": 0.5}])
@pytest.mark.parametrize("kind", LAYERS)
def test_stacks_of_cells_compute_what_layers_do(kind, options):
    layer = LAYERS[kind][0](4, layout="TNC", prefix="net_", **options)
    layer.initialize(mx.init.Uniform(0.5))
    x = nd.array(numbers(5, 2, 3))
    expected, states = layer(x, layer.begin_state(2))
    stack = layer._unfuse()
    assert set(stack.collect_params()) == set(layer.collect_params())
    for _ in range(2):
        outputs, last = stack.unroll(5, x, layout="TNC", merge_outputs=True)
        np.testing.assert_allclose(outputs.asnumpy(), expected.asnumpy(), rtol=1e-4, atol=1e-5)
        of_kind = np.stack([state.asnumpy() for state in last[:: len(states)]])
        np.testing.assert_allclose(of_kind, states[0].asnumpy(), rtol=1e-4, atol=1e-5)
        stack.hybridize()


@pytest.mark.parametrize("layer", [layer for layer, _ in LAYERS.values()])
def test_dropout_between_layers(layer):
    net = layer(16, num_layers=2, dropout=0.5, bidirectional=True)
    net.initialize(mx.init.Uniform(0.5))
    x = nd.array(numbers(5, 2, 3))
    x.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            first, second = net(x), net(x)
        assert (first.asnumpy() != second.asnumpy()).any()
        first.backward()
        assert (x.grad.asnumpy() != 0).any()
        np.testing.assert_array_equal(net(x).asnumpy(), net(x).asnumpy())
        net.hybridize()


@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_with_projections(bidirectional):
    net = rnn.LSTM(6, num_layers=2, projection_size=4, bidirectional=bidirectional)
    net.initialize()
    output, states = net(nd.ones((3, 2, 5)), net.begin_state(2))
    ways = 1 + bidirectional
    assert output.shape == (3, 2, 4 * ways)
    assert [state.shape for state in states] == [(2 * ways, 2, 4), (2 * ways, 2, 6)]
    last = states[0].asnumpy()[-ways:]
    np.testing.assert_allclose(last[0], output.asnumpy()[-1, :, :4], rtol=1e-5, atol=1e-6)


def test_sequences_end_at_their_valid_length():
    x = nd.array(numbers(2, 4, 3))
    cells = rnn.BidirectionalCell(rnn.GRUCell(5), rnn.GRUCell(5))
    cells.initialize(mx.init.Uniform(0.5))
    outputs, states = cells.unroll(4, x, valid_length=nd.array([2, 4]))
    short, short_states = cells.unroll(2, x[:1, :2], merge_outputs=True)
    np.testing.assert_allclose(outputs.asnumpy()[0, :2], short.asnumpy()[0], rtol=1e-5, atol=1e-6)
    assert (outputs.asnumpy()[0, 2:] == 0).all()
    for whole, state in zip(states, short_states):
        np.testing.assert_allclose(whole.asnumpy()[0], state.asnumpy()[0], rtol=1e-5, atol=1e-6)


def test_graphs_of_cells_take_batches_of_any_size():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = rnn.LSTMCell(3)

        def hybrid_forward(self, F, x):  # noqa: N803
            return self.cell.unroll(2, x, merge_outputs=True)[0]

    net = Net()
    net.initialize()
    net.hybridize()
    for batch in (1, 3):
        x = nd.array(numbers(batch, 2, 4))
        graph = net(x).asnumpy()
        np.testing.assert_allclose(graph, net.cell.unroll(2, x, merge_outputs=True)[0].asnumpy(), rtol=1e-5, atol=1e-6)


def test_zoneout_keeps_what_was():
    cell = rnn.ZoneoutCell(rnn.RNNCell(64), zoneout_states=0.5)
    cell.initialize(mx.init.Uniform(0.5))
    state = nd.array(numbers(1, 64) + 2)  # outside of what tanh gives
    with mx.autograd.record():
        _, (following,) = cell(nd.ones((1, 4)), [state])
    kept = following.asnumpy() == state.asnumpy()
    assert kept.any() and not kept.all()
    output, (following,) = cell(nd.ones((1, 4)), [state])
    np.testing.assert_array_equal(following.asnumpy(), output.asnumpy())


def test_cells_say_what_they_refuse():
    cell = rnn.BidirectionalCell(rnn.GRUCell(5), rnn.GRUCell(5))
    with pytest.raises(amp.ArgumentError, match="no single steps"):
        cell(nd.ones((1, 4)), [])
    with pytest.raises(amp.ArgumentError, match="put its cells into ZoneoutCells"):
        rnn.ZoneoutCell(cell)
    inner = rnn.GRUCell(5)
    rnn.ResidualCell(inner)
    with pytest.raises(amp.ArgumentError, match="part of another one"):
        inner.begin_state(1)
    with pytest.raises(amp.ArgumentError, match="2 inputs do not fit 3 steps"):
        rnn.GRUCell(5).unroll(3, [nd.ones((1, 4))] * 2)
    with pytest.raises(amp.ArgumentError, match="odd sizes"):
        gluon.contrib.rnn.Conv1DRNNCell((2, 5), 3, 3, 2)


@pytest.mark.parametrize("factors", [(3,), (2, 3), (2, 1, 3)])
def test_pixels_are_shuffled(factors):
    rank, windows = len(factors), int(np.prod(factors))
    sizes = (3, 2, 4)[:rank]
    x = numbers(2, 2 * windows, *sizes)
    expected = x.reshape(2, 2, *factors, *sizes)
    order = [axis for i in range(rank) for axis in (2 + rank + i, 2 + i)]
    expected = expected.transpose(0, 1, *order).reshape(2, 2, *[f * s for f, s in zip(factors, sizes)])
    layer = getattr(gluon.contrib.nn, f"PixelShuffle{rank}D")(factors)
    for _ in range(2):
        np.testing.assert_array_equal(layer(nd.array(x)).asnumpy(), expected)
        layer.hybridize()


@pytest.mark.parametrize("name", ["DeformableConvolution", "ModulatedDeformableConvolution"])
def test_deformable_convolutions_begin_as_plain_ones(name):
    net = getattr(gluon.contrib.cnn, name)(4, kernel_size=3, padding=1, num_deformable_group=2)
    x = numbers(2, 4, 6, 5)
    net.initialize(mx.init.Uniform(0.5))
    for _ in range(2):
        with mx.autograd.record():
            out = net(nd.array(x))
        weight, bias = net.deformable_conv_weight.data(), net.deformable_conv_bias.data()
        expected = nd.Convolution(nd.array(x), weight, bias, kernel=(3, 3), pad=(1, 1), num_filter=4).asnumpy()
        np.testing.assert_allclose(out.asnumpy(), expected, rtol=1e-4, atol=1e-5)
        out.backward()
        assert (net.offset_weight.grad().asnumpy() != 0).any()
        net.hybridize()
    net.offset_bias.set_data(nd.ones(net.offset_bias.shape))
    assert not np.allclose(net(nd.array(x)).asnumpy(), expected)


def test_both_orders_of_layout_and_ceil_mode():
    x = mx.nd.ones((1, 5, 5, 3))
    for kind in (mx.gluon.nn.MaxPool2D, mx.gluon.nn.AvgPool2D):
        for settings in ((2, 2, 0, "NHWC", True), (2, 2, 0, True, "NHWC")):
            assert kind(*settings)(x).shape == (1, 3, 3, 3)
    assert mx.gluon.nn.AvgPool2D(2, 2, 0, True)(mx.nd.ones((1, 3, 5, 5))).shape == (1, 3, 3, 3)
    assert mx.gluon.nn.AvgPool2D(2, 2, 0, False)(mx.nd.ones((1, 3, 5, 5))).shape == (1, 3, 2, 2)
