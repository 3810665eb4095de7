"""Random networks: products, batch norms, gates, exponentials, sums; with parameters and data."""

import numpy as np

import amp

from .networks import parameters_of


def random_model(seed):
    """((symbol, arguments, states), {input: array}) of a seeded network of 3 to 9 layers."""
    draw = np.random.default_rng(seed)
    image = bool(draw.integers(2))
    x = amp.sym.Variable("data")
    shape = (2, int(draw.integers(2, 6)), 7, 7) if image else (3, int(draw.integers(4, 24)))
    data = {"data": draw.standard_normal(shape).astype("float32")}
    for i in range(int(draw.integers(3, 10))):
        x = _layer(draw, x, i, image)
    if image:
        x = amp.sym.Pooling(x, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    x = amp.sym.FullyConnected(x, num_hidden=int(draw.integers(2, 12)), name="last")
    if draw.integers(3) == 0:
        x = amp.sym.softmax(x, name="softmax")
    return (x, *parameters_of(x, data, draw)), data


def _layer(draw, x, i, image):
    choices = [_product, _product, _norm if image else _gate, _gate, _exponential, _residual]
    return choices[int(draw.integers(len(choices)))](draw, x, i, image)


def _product(draw, x, i, image):
    if image:
        return amp.sym.Convolution(
            x,
            kernel=(3, 3),
            pad=(1, 1),
            num_filter=int(draw.integers(2, 8)),
            no_bias=bool(draw.integers(2)),
            name=f"p{i}",
        )
    return amp.sym.FullyConnected(x, num_hidden=int(draw.integers(4, 24)), name=f"p{i}")


def _norm(draw, x, i, image):
    x = amp.sym.BatchNorm(_product(draw, x, i, image), fix_gamma=False, name=f"norm{i}")
    return amp.sym.relu(x, name=f"relu{i}")


def _gate(draw, x, i, image):
    wide = _product(draw, x, i, image)
    kind = ("sigmoid", "tanh", "softsign")[int(draw.integers(3))]
    return amp.sym.elemwise_mul(wide, amp.sym.Activation(wide, act_type=kind, name=f"gate{i}"), name=f"gated{i}")


def _exponential(draw, x, i, image):
    return amp.sym.exp(amp.sym.tanh(x, name=f"tanh{i}"), name=f"exp{i}")


def _residual(draw, x, i, image):
    y = amp.sym.relu(x, name=f"relu{i}")
    return amp.sym.elemwise_add(y * 0.5, x, name=f"sum{i}")
