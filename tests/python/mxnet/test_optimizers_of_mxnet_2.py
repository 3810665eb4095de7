"""Defaults, orders of arguments and formulas of optimizers that differ between MXNet 1.x and 2."""

import numpy as np
import pytest

import amp.mxnet as mx

# What the wheels 1.9.1 and 2.0.0b1 show of optimizers that are made without arguments.
DEFAULTS = {
    "sgd": ({"lr": 0.01, "momentum": 0.0}, {"lr": 0.1, "momentum": 0.0}),
    "nag": ({"lr": 0.01, "momentum": 0.0}, {"lr": 0.1, "momentum": 0.9}),
    "sgld": ({"lr": 0.01}, {"lr": 0.1}),
    "dcasgd": ({"lr": 0.01, "momentum": 0.0}, {"lr": 0.1, "momentum": 0.0}),
    "lars": ({"lr": 0.01, "eps": 0}, {"lr": 0.1, "eps": 1e-8}),
    "ftml": ({"lr": 0.01}, {"lr": 0.0025}),
    "adagrad": ({"lr": 0.01, "float_stable_eps": 1e-7}, {"lr": 0.01, "float_stable_eps": 1e-6}),
    "groupadagrad": ({"lr": 0.01, "float_stable_eps": 1e-5}, {"lr": 0.01, "float_stable_eps": 1e-6}),
    "adamax": ({"lr": 0.002, "epsilon": 0}, {"lr": 0.002, "epsilon": 1e-8}),
    "adadelta": ({"epsilon": 1e-5}, {"lr": 1.0, "epsilon": 1e-6}),
    "signum": ({"lr": 0.01, "momentum": 0.9}, {"lr": 0.01, "momentum": 0.9}),
    "adam": ({"lr": 0.001, "lazy_update": True}, {"lr": 0.001, "lazy_update": False}),
    "ftrl": ({"lr": 0.1, "lamda1": 0.01}, {"lr": 0.1, "lamda1": 0.01}),
}


def seen(optimizer, names):
    return {name: getattr(optimizer, name) for name in names}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults(name):
    first, second = DEFAULTS[name]
    assert seen(mx.optimizer.create(name), first) == first
    with mx.util.np_array():
        assert seen(mx.optimizer.create(name), second) == second
        mx.install("1.9.1", workers=False)  # MXNet 1.9.1 has set_np and its own optimizers
        assert seen(mx.optimizer.create(name), first) == first
    mx.install("2.0.0", workers=False)
    assert seen(mx.optimizer.create(name), second) == second


def test_arguments_without_names():
    assert mx.optimizer.SGD(0.5).momentum == 0.5 and mx.optimizer.AdaDelta(0.5).rho == 0.5
    assert mx.optimizer.Ftrl(0.5).lamda1 == 0.5
    mx.install("2.0.0", workers=False)
    for klass in (mx.optimizer.SGD, mx.optimizer.NAG, mx.optimizer.AdaDelta, mx.optimizer.Ftrl, mx.optimizer.FTML):
        assert klass(0.5).lr == 0.5
    assert seen(mx.optimizer.SGD(0.5, 0.25, wd=2), ("lr", "momentum", "wd")) == {"lr": 0.5, "momentum": 0.25, "wd": 2}
    assert mx.optimizer.AdaGrad(0.5, 0.25).float_stable_eps == 0.25
    with pytest.raises(TypeError, match="SGLD: expected at most 1 positional"):
        mx.optimizer.SGLD(0.5, 1)


def test_a_default_rate_is_that_of_a_scheduler_too():
    rates = [mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(9, base_lr=0.05)).learning_rate]
    mx.install("2.0.0", workers=False)
    rates.append(mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(9, base_lr=0.05)).learning_rate)
    assert rates == [0.05, 0.1]


LR, WD, CLIP, EPS = 0.2, 0.25, 0.5, 0.125
BIAS = np.sqrt(1 - 0.999) / (1 - 0.9)


def ada_grad(w, g):
    g = np.clip(g, -CLIP, CLIP) + WD * w
    return w - LR * g / (np.abs(g) + EPS)


def rms_prop(w, g):
    g = np.clip(g, -CLIP, CLIP) + WD * w
    return w - LR * g / (np.sqrt(0.1 * g * g) + EPS)


def adam(w, g):
    g = np.clip(g, -CLIP, CLIP) + WD * w
    return w - LR * BIAS * 0.1 * g / (np.sqrt(0.001 * g * g) + EPS)


def adam_w(w, g):
    g = np.clip(g, -CLIP, CLIP)
    return w - LR * BIAS * (0.1 * g / (np.sqrt(0.001 * g * g) + EPS) + WD * w)


def adamax(w, g):
    g = np.clip(g, -CLIP, CLIP) + WD * w
    return w - LR * g / (np.abs(g) + EPS)


def group(w, g):
    g = np.clip(g, -CLIP, CLIP)
    return w - LR * g / (np.sqrt((g * g).mean(axis=1, keepdims=True)) + EPS)


FIRST_STEPS = {
    "AdaGrad": ada_grad,
    "RMSProp": rms_prop,
    "Adam": adam,
    "AdamW": adam_w,
    "Adamax": adamax,
    "contrib.GroupAdaGrad": group,
}


@pytest.mark.parametrize("name", FIRST_STEPS)
def test_first_steps(name):
    mx.install("2.0.0", workers=False)
    klass = mx.optimizer
    for part in name.split("."):
        klass = getattr(klass, part)
    wd = 0 if name.startswith("contrib") else WD
    optimizer = klass(learning_rate=LR, epsilon=EPS, wd=wd, clip_gradient=CLIP, rescale_grad=0.5)
    values, gradients = np.linspace(-2, 3, 6, dtype="f4").reshape(2, 3), np.array([[3, 1, -3], [0.5, -0.5, 2]], "f4")
    weight = mx.nd.array(values)
    mx.optimizer.get_updater(optimizer)(0, mx.nd.array(gradients), weight)
    right = FIRST_STEPS[name](values.astype("f8"), gradients.astype("f8") / 2)
    np.testing.assert_allclose(weight.asnumpy(), right, rtol=2e-6)


def test_functions_follow():
    w, g, n = mx.nd.array([1.0]), mx.nd.array([2.0]), mx.nd.array([0.0])
    classic = mx.nd.rmsprop_update(w, g, n.copy(), lr=1, gamma1=0.75, epsilon=0.25).asscalar()
    mx.install("2.0.0", workers=False)
    new = mx.nd.rmsprop_update(w, g, n.copy(), lr=1, gamma1=0.75, epsilon=0.25).asscalar()
    np.testing.assert_allclose([classic, new], [1 - 2 / np.sqrt(1.25), 1 - 2 / 1.25], rtol=1e-6)
