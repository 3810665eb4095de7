"""Small networks for tests of what rounding costs, with parameters and data; oracles that tools/trust has, too."""

import sys
from pathlib import Path

import numpy as np
from control_flow_nodes import foreach, var

import amp

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
from trust.bound_rows import slacks  # noqa: E402, F401
from trust.networks import error_of, parameters_of, run  # noqa: E402, F401
from trust.sensitivity_rows import rounded_alone  # noqa: E402, F401


def draw(seed):
    return np.random.default_rng(seed)


def dense(layers=5, width=32):
    """((symbol, arguments, states), data): dense layers with relus between them."""
    x = amp.sym.Variable("data")
    for i in range(layers):
        x = amp.sym.FullyConnected(x, num_hidden=width, name=f"fc{i}")
        if i < layers - 1:
            x = amp.sym.relu(x, name=f"relu{i}")
    data = {"data": draw(1).standard_normal((16, width)).astype("float32")}
    return (x, *parameters_of(x, data)), data


def residual():
    """The same of convolutions with batch norms, a sum, and two outputs."""
    x = amp.sym.Variable("data")
    x = amp.sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name="conv0")
    x = skip = amp.sym.relu(amp.sym.BatchNorm(x, name="bn0", fix_gamma=False), name="relu0")
    x = amp.sym.Convolution(x, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name="conv1")
    x = amp.sym.BatchNorm(x, name="bn1", fix_gamma=False)
    x = amp.sym.relu(amp.sym.elemwise_add(x, skip, name="sum"), name="relu1")
    x = amp.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    scores = amp.sym.FullyConnected(x, num_hidden=10, name="scores")
    both = amp.sym.Group([amp.sym.SoftmaxOutput(scores, name="softmax"), amp.sym.tanh(scores, name="tanh")])
    data = {"data": draw(2).standard_normal((8, 3, 12, 12)).astype("float32")}
    args, aux = parameters_of(both, {**data, "softmax_label": np.zeros(8)})
    return (both, args, aux), data


def attention():
    """The same of products of matrices, softmax and layer norm, with samples on axis 1 of what is inside."""
    x = amp.sym.Variable("data")
    x = amp.sym.transpose(x, axes=(1, 0, 2), name="turned")
    qkv = amp.sym.FullyConnected(x, num_hidden=96, flatten=False, name="qkv")
    scores = amp.sym.contrib.interleaved_matmul_selfatt_qk(qkv, heads=2, name="qk")
    mixed = amp.sym.contrib.interleaved_matmul_selfatt_valatt(
        qkv, amp.sym.softmax(scores, axis=-1, name="weights"), heads=2, name="valatt"
    )
    out = amp.sym.LayerNorm(amp.sym.FullyConnected(mixed, num_hidden=32, flatten=False, name="out") + x, name="norm")
    data = {"data": draw(3).standard_normal((4, 10, 32)).astype("float32")}
    return (out, *parameters_of(out, data)), data


def loop():
    """The same of a dense layer in a loop, whose state it reads and writes."""
    x = amp.sym.elemwise_add(var("x"), var("h"))
    state = amp.sym.relu(amp.sym.FullyConnected(x, var("w"), num_hidden=8, no_bias=True, name="fc"), name="act")
    net = foreach(amp.sym.Group([state, state]), {"x": var("data")}, {"h": var("start")}, {"w": var("W")})
    data = {"data": draw(4).standard_normal((5, 2, 8)).astype("float32"), "start": np.ones((2, 8), "float32")}
    return (net, {"W": draw(5).standard_normal((8, 8)).astype("float32") / 3}, {}), data
