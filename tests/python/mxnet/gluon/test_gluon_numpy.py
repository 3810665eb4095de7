"""Blocks in numpy mode, and where MXNet 2 and programs look for what blocks are made of."""

import importlib

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn


@pytest.fixture
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def test_parameters_are_numpy_arrays_in_numpy_mode(numpy_mode):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with mx.autograd.record():
        loss = (net(mx.np.ones((3, 5))) ** 2).sum()
    loss.backward()
    trainer.step(3)
    for name, parameter in net.collect_params().items():
        assert type(parameter.data()) is mx.np.ndarray, name
        assert parameter.grad_req == "null" or type(parameter.grad()) is mx.np.ndarray, name
    loaded = gluon.Parameter("w", shape=(2,))
    loaded.set_data(mx.nd.ones((2,)))
    assert type(loaded.data()) is mx.np.ndarray


def test_parameters_are_classic_arrays_otherwise():
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    assert type(net.weight.data()) is type(net.weight.grad()) is mx.nd.NDArray


@mx.use_np
class _Scaled(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.scale = gluon.Parameter("scale", shape=(3,), init="ones")

    def forward(self, x):
        return x * self.scale.data()


def test_use_np_on_a_class_is_for_inherited_methods_too():
    """Blocks inherit `initialize`, which makes the arrays."""
    block = _Scaled()
    block.initialize()
    assert type(block.scale.data()) is mx.np.ndarray and not mx.is_np_array()
    assert block(mx.np.ones((2, 3))).shape == (2, 3)
    assert gluon.HybridBlock.initialize is not _Scaled.initialize  # the base class stays as it is


def test_numpys_methods_of_numpys_symbols():
    """A `hybrid_forward` in numpy mode calls them while shapes are learned."""
    symbol = mx.sym.Variable("x").as_np_ndarray()
    for name in "all any cumsum diagonal ravel std trace var".split():
        expected = getattr(mx.np, name)(mx.np.ones((3, 3))).shape
        assert getattr(symbol, name)().infer_shape(x=(3, 3))[1] == [expected], name
    assert symbol.dot(mx.sym.Variable("y").as_np_ndarray()).infer_shape(x=(2, 3), y=(3, 4))[1] == [(2, 4)]
    assert not hasattr(mx.sym.Variable("x"), "dot")  # a classic symbol has no such method in MXNet either


def test_hybrid_forward_learns_shapes_with_numpys_symbols(numpy_mode):
    class Product(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.weight = self.params.get("weight", shape=(2, 0), allow_deferred_init=True, init="ones")

        def hybrid_forward(self, F, x, weight):  # noqa: N803 - MXNet's name
            return x.dot(x.T) + F.npx.fully_connected(x, weight, num_hidden=2, no_bias=True)

    block = Product()
    block.initialize()
    assert block(mx.np.ones((2, 3))).asnumpy().tolist() == [[6, 6], [6, 6]] and block.weight.shape == (2, 3)


def test_errors_of_uninitialized_parameters_are_runtime_errors():
    with pytest.raises(RuntimeError, match="call initialize"):
        gluon.Parameter("w", shape=(2,)).data()
    waiting = gluon.nn.Dense(2)
    waiting.initialize()
    with pytest.raises(RuntimeError, match="follows from the first call"):
        waiting.weight.data()


@pytest.mark.parametrize(
    "module, name",
    [
        ("gluon.nn.basic_layers", "Dense"),
        ("gluon.nn.conv_layers", "Conv2D"),
        ("gluon.rnn.rnn_cell", "LSTMCell"),
        ("gluon.rnn.rnn_layer", "LSTM"),
        ("gluon.contrib.nn.basic_layers", "Identity"),
        ("gluon.contrib.cnn.conv_layers", "DeformableConvolution"),
        ("gluon.contrib.data.sampler", "IntervalSampler"),
    ],
)
def test_modules_inside_of_gluons_packages(module, name):
    inner = importlib.import_module(f"amp.mxnet.{module}")
    package, _, last = module.rpartition(".")
    outer = importlib.import_module(f"amp.mxnet.{package}")
    assert getattr(inner, name) is getattr(outer, name) and getattr(outer, last) is inner


def test_layers_that_mxnet_2_has_in_nn():
    assert gluon.nn.PixelShuffle2D is gluon.contrib.nn.PixelShuffle2D
    assert gluon.nn.DeformableConvolution is gluon.contrib.cnn.DeformableConvolution
    assert gluon.nn.PixelShuffle3D((1, 2, 2))(mx.np.ones((1, 8, 3, 4, 5))).shape == (1, 2, 3, 8, 10)


def test_shapes_of_stacked_and_convolutional_cells():
    stacks = []
    for _ in range(2):
        stack = gluon.rnn.HybridSequentialRNNCell()
        stack.add(gluon.rnn.LSTMCell(5))
        stack.add(gluon.rnn.LSTMCell(5))
        stacks.append(stack)
    both = gluon.rnn.BidirectionalCell(*stacks)
    both.infer_shape(0, mx.nd.ones((2, 3, 4)), True)
    assert [stack[1].i2h_weight.shape for stack in stacks] == [(20, 5), (20, 5)]
    cell = gluon.rnn.Conv1DLSTMCell((-1, 7), 2, 3, 3)
    cell.infer_shape(0, mx.nd.ones((8, 4, 5, 7)), False)
    assert cell.i2h_weight.shape == (8, 5, 3)
    assert cell.h2h_weight.shape == (8, 2, 3)


@pytest.mark.parametrize(
    "layer, text",
    [
        (lambda: nn.Dense(3, activation="relu", in_units=2), "Dense(2 -> 3, Activation(relu))"),
        (lambda: nn.Dense(3), "Dense(None -> 3, linear)"),
        (lambda: nn.Dropout(0.5), "Dropout(p = 0.5, axes=())"),
        (lambda: nn.Embedding(3, 4), "Embedding(3 -> 4, float32)"),
        (lambda: nn.LeakyReLU(0.1), "LeakyReLU(0.1)"),
        (lambda: nn.HybridLambda("relu"), "HybridLambda(relu)"),
        (lambda: nn.LayerNorm(in_channels=4), "LayerNorm(eps=1e-05, axis=-1, center=True, scale=True, in_channels=4)"),
        (lambda: nn.Conv2D(4, 3, padding=1), "Conv2D(None -> 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))"),
        (
            lambda: nn.Conv2D(4, 3, in_channels=4, groups=2, use_bias=False, activation="tanh"),
            "Conv2D(2 -> 4, kernel_size=(3, 3), stride=(1, 1), groups=2, bias=False, Activation(tanh))",
        ),
        (
            lambda: nn.BatchNorm(scale=False),
            "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=True, use_global_stats=False, in_channels=None)",
        ),
        (
            lambda: nn.MaxPool2D(2, 2, 1, ceil_mode=True),
            "MaxPool2D(size=(2, 2), stride=(2, 2), padding=(1, 1), ceil_mode=True, global_pool=False, "
            "pool_type=max, layout=NCHW)",
        ),
    ],
)
def test_layers_say_their_settings_as_mxnets_do(layer, text):
    assert repr(layer()) == text


def test_a_channels_last_convolution_says_its_channels():
    assert repr(nn.Conv2D(4, 3, in_channels=5, layout="NHWC")).startswith("Conv2D(5 -> 4, ")


def test_gradients_that_are_not_asked_for_are_runtime_errors():
    weight = gluon.Parameter("w", shape=(2,), grad_req="null")
    weight.initialize()
    with pytest.raises(RuntimeError, match="its grad_req is 'null'"):
        weight.grad()


def test_known_shapes():
    known = gluon.utils.shape_is_known
    assert known((2, 3)) and not known(()) and not known(None) and not known((0, 3))
    with mx.np_shape():
        assert known((0, 3)) and known(()) and not known((-1, 3))


@pytest.mark.parametrize("is_hybridized", [False, True])
def test_classes_of_results_are_those_of_plain_calls(is_hybridized):
    class Classic(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x.as_nd_ndarray() + 1, F.relu(x)

    net = Classic()
    if is_hybridized:
        net.hybridize()
    classic, numpys = net(mx.np.ones((2, 3)))
    assert type(classic) is mx.nd.NDArray and type(numpys) is mx.np.ndarray
    with mx.util.np_array(True), pytest.raises(TypeError, match="mx.np"):
        net(mx.np.ones((2, 3)))


def test_numpy_arithmetic_behind_a_classic_operator():
    class Compares(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.relu(x) > 0

    net, x = Compares(), mx.np.array([-1.0, 2.0])
    expected = net(x)
    net.hybridize()
    assert expected.dtype == net(x).dtype == np.bool_ and net(x).tolist() == expected.tolist() == [False, True]


def test_parameters_of_mxnet_2_are_shown_by_place(numpy_mode):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=4, use_bias=False))
    assert str(net.collect_params()).startswith("{'0.weight': Parameter ")
