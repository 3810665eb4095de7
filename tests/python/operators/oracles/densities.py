"""Densities of distributions, of samples that lie behind their parameters."""

import math

import numpy as np

from .core import Case, Expected, operator, wide

log_gamma = np.vectorize(math.lgamma, otypes=[float])


def negative_binomial(x, k, p):
    return log_gamma(x + k) - log_gamma(x + 1) - log_gamma(k) + k * np.log(p) + x * np.log(1 - p)


# Logarithms of densities, and between what limits inputs are drawn.
DISTRIBUTIONS = {
    "uniform": (lambda x, low, high: -np.log(high - low) + 0 * x, (-2, 2), (-3, -1), (1, 3)),
    "normal": (
        lambda x, mean, scale: -(((x - mean) / scale) ** 2) / 2 - np.log(scale * math.sqrt(2 * math.pi)),
        *((-2, 2), (-2, 2), (0.5, 3)),
    ),
    "gamma": (
        lambda x, a, b: a * np.log(b) + (a - 1) * np.log(x) - b * x - log_gamma(a),
        *((0.25, 4), (0.5, 4), (0.25, 2)),
    ),
    "exponential": (lambda x, rate: np.log(rate) - rate * x, (0, 4), (0.25, 2)),
    "poisson": (lambda x, mean: x * np.log(mean) - log_gamma(x + 1) - mean, (0, 4), (0.25, 4)),
    "negative_binomial": (negative_binomial, (0, 4), (0.5, 4), (0.1, 0.9)),
    "generalized_negative_binomial": (
        lambda x, mean, a: negative_binomial(x, 1 / a, 1 / (mean * a + 1)),
        *((0, 4), (0.5, 4), (0.25, 2)),
    ),
}


def behind(parameters, rank):
    return wide(parameters).reshape(parameters.shape + (1,) * (rank - parameters.ndim))


def expected(attrs, logarithms, dtype):
    sizes = 4096 * (1 + np.abs(logarithms))
    if attrs.get("is_log", False):
        return Expected(logarithms, dtype, sizes)
    return Expected(np.exp(logarithms), dtype, sizes * np.exp(logarithms))


def density(log):
    def oracle(attrs, sample, *parameters):
        return expected(attrs, log(wide(sample), *(behind(p, sample.ndim) for p in parameters)), sample.dtype)

    return oracle


def draw_density(limits):
    def draw(d):
        dtype, shape = d.dtype(), d.shape(d.int(0, 2), 3)
        samples = shape + d.shape(d.int(0, 2), 3)
        inputs = [d.array(shape if i else samples, dtype, *limit) for i, limit in enumerate(limits)]
        return Case(d.some(is_log=d.flag()), inputs)

    return draw


for name, (log, *limits) in DISTRIBUTIONS.items():
    operator(f"_random_pdf_{name}", density(log), draw_density(limits))


def dirichlet(attrs, sample, alpha):
    x, size = wide(sample), alpha.shape[-1]
    a = wide(alpha).reshape(alpha.shape[:-1] + (1,) * (sample.ndim - alpha.ndim) + (size,))
    logarithms = ((a - 1) * np.log(x) - log_gamma(a)).sum(-1) + log_gamma(a.sum(-1))
    return expected(attrs, logarithms.reshape(logarithms.shape or 1), sample.dtype)


def draw_dirichlet(d):
    dtype, shape, size = d.dtype(), d.shape(d.int(0, 2), 3), d.int(1, 4)
    samples = shape + d.shape(d.int(0, 2), 3)
    inputs = [d.array((*samples, size), dtype, 0.1, 0.9), d.array((*shape, size), dtype, 0.5, 3)]
    return Case(d.some(is_log=d.flag()), inputs)


operator("_random_pdf_dirichlet", dirichlet, draw_dirichlet)
