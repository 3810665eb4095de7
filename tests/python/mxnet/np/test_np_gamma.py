"""Gradients of gamma distributed numbers, and of those of `power` in graphs."""

import math

import numpy as np
import pytest
from test_np_functions import Call

import amp
import amp.mxnet as mx
from amp.mxnet.np.gamma import shape_gradient


def simpson(values, step):
    return step / 3 * (values[0] + values[-1] + 4 * values[1:-1:2].sum() + 2 * values[2:-1:2].sum())


def below(a, x):
    """The probability of less than x: the integral of the density, by which t = x v^k is smooth at 0."""
    power = 1 if a >= 2 else 2 / a
    v = np.linspace(0, 1, 40001)
    t = x * v**power
    with np.errstate(divide="ignore", invalid="ignore"):
        density = np.exp((a - 1) * np.log(t) - t - math.lgamma(a)) * x * power * v ** (power - 1)
    density[0] = 0 if a != 1 else density[1]
    return simpson(density, v[1])


@pytest.mark.parametrize("a", [0.3, 1.5, 4, 60, 900, 1100])
def test_quantiles_stay(a):
    for x in a + np.sqrt(a) * np.array([-0.5, 0, 2, 4]):
        if x > 0:
            step = 1e-4 * a
            density = math.exp((a - 1) * math.log(x) - x - math.lgamma(a))
            expected = -(below(a + step, x) - below(a - step, x)) / (2 * step) / density
            found = shape_gradient(np.array([a], "float64"), np.array([x]))
            np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_an_exponential_distribution():
    """The mean of the gradient is that of the mean, which is the shape itself."""
    mx.random.seed(1)
    a = mx.np.full((20000, 3), mx.np.array([0.2, 1, 30]))
    a.attach_grad()
    with mx.autograd.record():
        drawn = mx.np.random.gamma(a)
    drawn.backward()
    np.testing.assert_allclose(a.grad.asnumpy().mean(0), 1, atol=0.05)
    assert shape_gradient(np.array([0.001]), np.zeros(1)) == 0  # a number too small for its dtype


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_have_the_shapes_of_the_parameters(dtype):
    shape, scale = mx.np.array([2, 3, 4], dtype=dtype), mx.np.array([[1], [5]], dtype=dtype)
    for size in (None, (2, 3), (7, 2, 3)):
        shape.attach_grad()
        scale.attach_grad()
        with mx.autograd.record():
            drawn = mx.np.random.gamma(shape, scale, size=size)
        drawn.backward()
        assert drawn.shape == (size or (2, 3)) and drawn.dtype == np.dtype(dtype)
        numbers = drawn.asnumpy().reshape(-1, 2, 3)
        np.testing.assert_allclose(scale.grad, (numbers / scale.asnumpy()).sum((0, 2))[:, None], rtol=1e-5)
        each = shape_gradient(
            np.broadcast_to(shape.asnumpy(), numbers.shape).astype("float64"),
            (numbers / scale.asnumpy()).astype("float64"),
        )
        np.testing.assert_allclose(shape.grad, (each * scale.asnumpy()).sum((0, 1)), rtol=1e-4)


def test_one_parameter_is_a_number():
    scale = mx.np.array([2, 3])
    scale.attach_grad()
    with mx.autograd.record():
        drawn = mx.np.random.gamma(1.5, scale, dtype="float64")
    drawn.backward()
    assert drawn.dtype == np.float64
    np.testing.assert_allclose(scale.grad, drawn / scale, rtol=1e-5)
    scale.attach_grad()
    with mx.autograd.record():
        drawn = mx.np.random.gamma(scale, size=5 * [2])
    assert drawn.shape == (2, 2, 2, 2, 2)
    with mx.autograd.record(), pytest.raises(amp.ArgumentError, match="shape has to be positive"):
        mx.np.random.gamma(scale - 2)


@pytest.mark.usefixtures("mxnet_2")
def test_arrays_make_a_block_run_without_a_graph():
    block = Call(lambda m, a: m.random.gamma(a, 2.0))
    block.hybridize()
    a = mx.np.array([2, 3])
    a.attach_grad()
    with mx.autograd.record(), pytest.warns(RuntimeWarning, match="runs without a graph"):
        drawn = block(a)
    drawn.backward()
    expected = 2 * shape_gradient(np.array([2.0, 3]), drawn.asnumpy().astype("float64") / 2)
    np.testing.assert_allclose(a.grad, expected, rtol=1e-5)
    plain = Call(lambda m, x: x + m.random.gamma(2.0, 3.0, size=(2,)))
    plain.hybridize()
    assert plain(a).tolist() != plain(a).tolist()


@pytest.mark.parametrize("size", [None, (3, 2)])
def test_powers_in_graphs_have_gradients(size):
    block = Call(lambda m, a: m.random.power(a, size=size))
    block.hybridize()
    a = mx.np.array([2, 3])
    a.attach_grad()
    with mx.autograd.record():
        drawn = block(a)
    drawn.backward()
    numbers = drawn.asnumpy().reshape(-1, 2)
    np.testing.assert_allclose(a.grad, (-numbers * np.log(numbers)).sum(0) / a.asnumpy(), rtol=1e-4)
