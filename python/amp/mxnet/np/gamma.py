"""Gamma distributed numbers whose gradients reach the parameters."""

import numpy as np

from ...nd.operators import find_function
from ..random import generator
from .array_class import ndarray
from .create import asarray
from .numpy_fallback_gradients import computed
from .shapes import broadcast_to

_SERIES_UP_TO = 1000  # shapes above are close to a normal distribution
_MOST_TERMS = 10000


def draw(shape, scale, size):
    """Gamma distributed numbers of a size, by default that of the parameters. No parts of graphs."""
    size = np.broadcast_shapes(np.shape(shape), np.shape(scale)) if size is None else size
    size = (size,) if hasattr(size, "__index__") else tuple(size)
    shape = broadcast_to(asarray(shape), size)
    return scale * computed("mx.np.random.gamma of arrays", _standard, _gradient, shape)[0]


def _standard(shape):
    return (generator().standard_gamma(shape).astype(shape.dtype),)


def _gradient(inputs, results, heads):
    return [heads[0] * shape_gradient(inputs[0].astype("float64"), results[0].astype("float64"))]


def shape_gradient(shape, drawn):
    """How numbers of the standard distribution move with its shape while their quantile stays, in float64.

    That is -(dP/da) / p for the distribution P(a, x) and its density p: implicit reparameterization (M. Figurnov,
    S. Mohamed and A. Mnih, Implicit Reparameterization Gradients, 2018). The power series of P
    gives x times the sum of t_n (digamma(a + n + 1) - log x), with t_0 = 1 / a and t_n = t_(n-1) x / (a + n).
    """
    result = np.zeros(shape.shape)
    is_small = shape <= _SERIES_UP_TO
    by_series, by_root = is_small & (drawn > 0), ~is_small
    result[by_series] = _by_series(shape[by_series], drawn[by_series])
    result[by_root] = _by_cube_root(shape[by_root], drawn[by_root])
    return result


def _by_series(a, x):
    term, factor, total = 1 / a, _digamma(a + 1) - np.log(x), np.zeros(a.shape)
    for n in range(1, _MOST_TERMS):
        total += term * factor
        factor = factor + 1 / (a + n)
        term = term * x / (a + n)
        # Terms shrink from x on: what is left is below a geometric series.
        if (a + n > 1.1 * x).all() and (term * np.abs(factor) <= 1e-17 * np.abs(total)).all():
            break
    return x * total


def _digamma(a):
    return find_function("digamma")(ndarray(a)).asnumpy()


def _by_cube_root(a, x):
    """E. Wilson and M. Hilferty (1931): the cube root of x / a is nearly normal: mean 1 - 1 / 9a, variance 1 / 9a."""
    root = np.cbrt(x / a)
    z = (root - 1 + 1 / (9 * a)) * 3 * np.sqrt(a)
    return x / a + 3 * a * root**2 * (1 / (9 * a**2) - z / (6 * a**1.5))
