"""What `optimize_for` fuses of Gluon blocks: names, attributes and numbers, as MXNet's subgraph tests look at them.

Each network is run, fused, and run again; then the fused node's name and flags are those of MXNet's table, or there is
no such node. Blocks are written as in tests/python/dnnl/subgraphs of MXNet: convolution, dense layer, attention.
"""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import nn

anp, npx = mx.np, mx.npx
pytestmark = pytest.mark.usefixtures("mxnet_2")


def uniform(*shape, seed=1):
    return anp.array(np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4"))


def fuse(net, *data):
    """{name of a node: (operator, attributes)} behind fusion; the results have to stay the same."""
    net.initialize(mx.init.Normal(0.5))
    net(*data)
    for name, parameter in net.collect_params().items():
        if name.endswith(("running_var", "gamma")):
            parameter.data()[:] = 1.5
        elif name.endswith(("running_mean", "beta", "bias")):
            parameter.data()[:] = 0.25
    net.hybridize()
    expected = net(*data)
    outputs = net.optimize_for(*data, backend="ONEDNN")
    for got, wanted in zip(*(o if isinstance(o, (list, tuple)) else [o] for o in (outputs, expected))):
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-3, atol=1e-3)
    graph = json.loads(net.export(None)[0].tojson())
    return {node["name"]: (node["op"], node.get("attrs", {})) for node in graph["nodes"] if node["op"] != "null"}


def is_on(attributes, flag):
    return attributes.get(flag, "False").lower() in ("true", "1")


class Net(nn.HybridBlock):
    """`forward` is a function of the block and its input; layers are attributes."""

    def __init__(self, forward, **layers):
        super().__init__()
        self._function = forward
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, *args):
        return self._function(self, *args)


def conv(channels=4, **options):
    return nn.Conv2D(channels=channels, kernel_size=(3, 3), strides=1, padding=1, **options)


CONV = {
    "alone": (Net(lambda s, x: s.conv(x), conv=conv()), "sg_onednn_conv_0", []),
    "without bias": (Net(lambda s, x: s.conv(x), conv=conv(use_bias=False)), "sg_onednn_conv_0", []),
    "bn": (Net(lambda s, x: s.bn(s.conv(x)), conv=conv(), bn=nn.BatchNorm()), "sg_onednn_conv_bn_0", ["with_bn"]),
    "bn relu": (
        Net(lambda s, x: s.act(s.bn(s.conv(x))), conv=conv(), bn=nn.BatchNorm(), act=nn.Activation("relu")),
        "sg_onednn_conv_bn_act_0",
        ["with_bn", "with_act"],
    ),
    "add": (
        Net(lambda s, x: s.conv(x) + s.other(x), conv=conv(), other=nn.Conv2D(4, 1)),
        "sg_onednn_conv_add_0",
        ["with_sum"],
    ),
    "add relu": (
        Net(lambda s, x: s.act(s.conv(x) + s.pool(x)), conv=conv(3), pool=nn.AvgPool2D(1), act=nn.Activation("relu")),
        "sg_onednn_conv_add_act_0",
        ["with_sum", "with_postsum_act"],
    ),
    "bn add": (
        Net(lambda s, x: s.bn(s.conv(x)) + s.pool(x), conv=conv(3), bn=nn.BatchNorm(), pool=nn.AvgPool2D(1)),
        "sg_onednn_conv_bn_add_0",
        ["with_bn", "with_sum"],
    ),
    "bn add relu": (
        Net(
            lambda s, x: s.act(s.bn(s.conv(x)) + s.pool(x)),
            conv=conv(3),
            bn=nn.BatchNorm(),
            pool=nn.AvgPool2D(1),
            act=nn.Activation("relu"),
        ),
        "sg_onednn_conv_bn_add_act_0",
        ["with_bn", "with_sum", "with_postsum_act"],
    ),
    "clip": (Net(lambda s, x: anp.clip(s.conv(x), 0, 6), conv=conv()), "sg_onednn_conv_act_0", ["with_act"]),
}
for _act in ("relu", "sigmoid", "tanh", "softrelu", "log_sigmoid", "mish"):
    CONV[_act] = (
        Net(lambda s, x: s.act(s.conv(x)), conv=conv(), act=nn.Activation(_act)),
        "sg_onednn_conv_act_0",
        ["with_act"],
    )
for _name, _layer in {"leaky": nn.LeakyReLU(0.25), "gelu": nn.GELU(), "gelu tanh": nn.GELU("tanh")}.items():
    CONV[_name] = (Net(lambda s, x: s.act(s.conv(x)), conv=conv(), act=_layer), "sg_onednn_conv_act_0", ["with_act"])


@pytest.mark.parametrize("name", CONV)
def test_convolutions(name):
    net, node, flags = CONV[name]
    nodes = fuse(net, uniform(2, 3, 8, 8))
    assert node in nodes, nodes
    op, attributes = nodes[node]
    assert op == "_sg_onednn_conv" and not any(op == "Convolution" for op, _ in nodes.values())
    known = ("with_bn", "with_act", "with_sum", "with_postsum_act")
    assert [flag for flag in known if is_on(attributes, flag)] == flags


NOT_FUSED_BEHIND_CONV = {
    "elu": Net(lambda s, x: s.act(s.conv(x)), conv=conv(), act=nn.ELU()),
    "softsign": Net(lambda s, x: s.act(s.conv(x)), conv=conv(), act=nn.Activation("softsign")),
    "clip below": Net(lambda s, x: anp.clip(s.conv(x), -1, 6), conv=conv()),
    "two readers": Net(lambda s, x: (lambda y: s.act(y) + y)(s.conv(x)), conv=conv(), act=nn.Activation("relu")),
    "a head": Net(lambda s, x: (lambda y: (y, s.act(y)))(s.conv(x)), conv=conv(), act=nn.Activation("relu")),
    "bn of another axis": Net(lambda s, x: s.bn(s.conv(x)), conv=conv(), bn=nn.BatchNorm(axis=2)),
    "multiplication": Net(lambda s, x: s.conv(x) * x[:, :1], conv=conv()),
}


@pytest.mark.parametrize("name", NOT_FUSED_BEHIND_CONV)
def test_convolutions_that_stay_apart(name):
    nodes = fuse(NOT_FUSED_BEHIND_CONV[name], uniform(2, 3, 8, 8))
    fused = [(name, attributes) for name, (op, attributes) in nodes.items() if op == "_sg_onednn_conv"]
    assert fused
    for _, attributes in fused:
        assert not any(is_on(attributes, f) for f in ("with_bn", "with_act", "with_sum", "with_postsum_act"))


def activation(act):
    return lambda x: npx.activation(x, act_type=act)


ELTWISE = {
    **{act: activation(act) for act in ("relu", "sigmoid", "tanh", "mish")},
    "softrelu": lambda x: npx.activation(x, act_type="softrelu"),
    "log_sigmoid": lambda x: npx.activation(x, act_type="log_sigmoid"),
    "leaky": lambda x: npx.leaky_relu(x, act_type="leaky"),
    "elu": lambda x: npx.leaky_relu(x, act_type="elu"),
    "gelu_erf": lambda x: npx.leaky_relu(x, act_type="gelu_erf"),
    "gelu_tanh": lambda x: npx.leaky_relu(x, act_type="gelu_tanh"),
    "square": anp.square,
    "abs": anp.abs,
    "exp": anp.exp,
    "square root": lambda x: anp.sqrt(anp.square(x)),
    "clip": lambda x: anp.clip(x, 0, 1),
}


@pytest.mark.parametrize("name", ELTWISE)
@pytest.mark.parametrize("flatten", [True, False])
def test_dense_layers(name, flatten):
    function = ELTWISE[name]
    nodes = fuse(Net(lambda s, x: function(s.fc(x)), fc=nn.Dense(8, flatten=flatten)), uniform(3, 4, 5))
    op, attributes = nodes["sg_onednn_fully_connected_eltwise_0"]
    assert op == "_sg_onednn_fully_connected" and is_on(attributes, "with_eltwise")
    assert len(nodes) == (2 if name == "square root" else 1)


NOT_FUSED_BEHIND_DENSE = {
    "selu": lambda s, x: npx.leaky_relu(s.fc(x), act_type="selu"),
    "softmax": lambda s, x: npx.softmax(s.fc(x)),
    "clip below": lambda s, x: anp.clip(s.fc(x), -1, 1),
    "two readers": lambda s, x: (lambda y: npx.relu(y) + y)(s.fc(x)),
    "sum of np": lambda s, x: s.fc(x) + x,
}


@pytest.mark.parametrize("name", NOT_FUSED_BEHIND_DENSE)
def test_dense_layers_that_stay_apart(name):
    nodes = fuse(Net(NOT_FUSED_BEHIND_DENSE[name], fc=nn.Dense(5, flatten=False)), uniform(3, 5))
    _, attributes = nodes["sg_onednn_fully_connected_0"]
    assert not is_on(attributes, "with_eltwise") and not is_on(attributes, "with_sum")


def test_a_legacy_sum_behind_a_dense_layer_is_fused():
    def forward(s, x):
        y = s.fc(x).as_nd_ndarray()
        return amp.nd.elemwise_add(y, s.other(x).as_nd_ndarray()).as_np_ndarray()

    nodes = fuse(Net(forward, fc=nn.Dense(5), other=nn.Dense(5)), uniform(3, 4))
    assert sum(is_on(attributes, "with_sum") for _, attributes in nodes.values()) == 1
    assert "elemwise_add" not in [op for op, _ in nodes.values()]


@pytest.mark.parametrize("make", [lambda: nn.Activation("relu"), lambda: nn.HybridLambda(npx.relu)])
def test_batch_norm_with_relu(make):
    nodes = fuse(Net(lambda s, x: s.act(s.bn(x)), bn=nn.BatchNorm(axis=1), act=make()), uniform(2, 3, 4, 4))
    assert [op for op, _ in nodes.values()] == ["_sg_onednn_batch_norm"]
    assert "sg_onednn_batch_norm_relu_0" in nodes


def test_powers_times_numbers():
    nodes = fuse(Net(lambda s, x: (x**2) * 3), uniform(2, 3))
    assert nodes["_sg_pow_mul_scalar0"][1]["multiplier"] == "3"
    assert "_sg_pow_mul_scalar0" not in fuse(Net(lambda s, x: (lambda y: (y * 3, y))(x**2)), uniform(2, 3))


class Attention(nn.HybridBlock):
    """Self-attention over (N, T, units) in the form of GluonNLP 2."""

    def __init__(self, units=8, heads=2, batch_first=True):
        super().__init__()
        self.fc = nn.Dense(3 * units, flatten=False, use_bias=False)
        self._units, self._heads = units, heads

    def forward(self, x, mask):
        query, key, value = anp.split(self.fc(x), 3, axis=-1)
        query, key, value = (npx.reshape(part, (-2, -2, self._heads, -1)) for part in (query, key, value))
        scores = npx.batch_dot(anp.swapaxes(query, 1, 2), anp.swapaxes(key, 1, 2), transpose_b=True)
        mask = anp.expand_dims(mask, axis=1).astype(bool)
        weights = npx.masked_softmax(scores, mask=mask, axis=-1, temperature=2)
        context = npx.batch_dot(weights, anp.swapaxes(value, 1, 2))
        return npx.reshape(context.transpose((0, 2, 1, 3)), (-2, -2, -1))


def test_attention():
    mask = anp.array(np.random.default_rng(0).integers(0, 2, (3, 5, 5)), dtype="int32")
    nodes = fuse(Attention(), uniform(3, 5, 8), mask)
    ops = [op for op, _ in nodes.values()]
    assert "_sg_onednn_selfatt_qk_split" in ops and "_sg_onednn_selfatt_valatt" in ops and "batch_dot" not in ops
    assert next(a for op, a in nodes.values() if op == "_sg_onednn_selfatt_valatt")["heads"] == "2"


def test_a_batch_dot_that_is_no_attention():
    nodes = fuse(Net(lambda s, x, y: npx.batch_dot(x, y, transpose_b=True)), uniform(2, 3, 4), uniform(2, 5, 4))
    assert [op for op, _ in nodes.values()] == ["_sg_onednn_batch_dot"]


def test_convolutions_that_share_their_weights_stay_two():
    """Equal nodes become one before fusion, but not those that ask for scratch memory."""
    net = Net(lambda s, x: s.act(s.conv(x)) + s.other(x), conv=conv(), other=conv(), act=nn.Activation("relu"))
    net.other.share_parameters(net.conv.collect_params())
    nodes = fuse(net, uniform(2, 3, 8, 8))
    assert is_on(nodes["sg_onednn_conv_act_0"][1], "with_act") and is_on(nodes["sg_onednn_conv_add_1"][1], "with_sum")
    twice = Net(lambda s, x: anp.sin(x) * anp.sin(x))
    assert [op for op, _ in fuse(twice, uniform(2, 3)).values()] == ["sin", "_npi_multiply"]
