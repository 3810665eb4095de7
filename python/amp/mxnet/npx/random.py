"""Random `ndarray`s: those of `mx.np.random`, and functions whose first axes repeat the parameters."""

import numpy as np

from ... import _devices
from ...sym.attributes import attribute_text
from ..np import random as _random
from ..np.invoke import run
from ..np.random import *  # noqa: F403 - all of them
from ..np.random import as_parameter, as_result, normal, uniform, whole_size

__all__ = [*_random.__all__, "bernoulli", "categorical", "normal_n", "uniform_n"]


def bernoulli(prob=None, logit=None, size=None, dtype=None, ctx=None, out=None, *, device=None):
    """1 with probability `prob`, or 1 / (1 + exp(-logit)), else 0; `size` by default that of the parameter.

    float32 by default. Raises ValueError unless one of the two is given, and for what is no probability; raises
    UnsupportedError where the parameter's gradient would be lost.

    >>> mx.npx.random.bernoulli(prob=0.5, size=(2, 3)).shape
    (2, 3)
    """
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: expected one of prob and logit")
    size = whole_size(size, prob if logit is None else logit)
    if _random.becomes_part_of_graph(out):
        given, other = ({"prob": prob}, "logit") if logit is None else ({"logit": logit}, "prob")
        kind = {other: "None", "is_logit": str(logit is not None)}
        return _random.draw_in_graph("_npi_bernoulli", given, size, dtype, **kind)
    values = np.asarray(as_parameter(prob if logit is None else logit), np.float64)
    probabilities = values if logit is None else 1 / (1 + np.exp(-values))
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError("bernoulli: expected probabilities from 0 to 1")
    size = probabilities.shape if size is None and out is None else out.shape if size is None else size
    drawn = uniform(size=size, dtype="float64").asnumpy() < np.broadcast_to(probabilities, _shape(size))
    return as_result(drawn, dtype, out)


def _shape(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size,)


def _repeated(batch_shape, *parameters):
    """The shape of the parameters behind `batch_shape`."""
    return (*(() if batch_shape is None else _shape(batch_shape)), *np.broadcast_shapes(*map(np.shape, parameters)))


def normal_n(loc=0.0, scale=1.0, batch_shape=None, dtype=None, ctx=None, *, device=None):
    """`mx.np.random.normal` of shape `batch_shape` followed by that of the parameters.

    float32 by default. Errors are those of `normal`.

    >>> mx.npx.random.normal_n(mx.np.zeros((3,)), 1, batch_shape=(2,)).shape
    (2, 3)
    """
    return normal(loc, scale, _repeated(batch_shape, loc, scale), dtype)


def uniform_n(low=0.0, high=1.0, batch_shape=None, dtype=None, ctx=None, *, device=None):
    """`mx.np.random.uniform` of shape `batch_shape` followed by that of the parameters.

    float32 by default. Errors are those of `uniform`.

    >>> mx.npx.random.uniform_n(mx.np.zeros((3,)), 1, batch_shape=2).shape
    (2, 3)
    """
    return uniform(low, high, _repeated(batch_shape, low, high), dtype)


def scalar_poisson(lam=1.0, shape=(), dtype="float32", ctx=None):
    """Poisson distributed counts of the mean `lam`, a number. Gradients do not reach it.

    >>> mx.npx.scalar_poisson(3, (2, 3)).shape
    (2, 3)
    """
    return tensor_poisson(np.float32(lam), shape, dtype)


def tensor_poisson(lam, shape=(), dtype="float32", ctx=None):
    """Poisson distributed counts: `shape` ones for each element of `lam`, their means, whose shape leads.

    >>> mx.npx.tensor_poisson(mx.np.ones((2,)), 3).shape
    (2, 3)
    """
    return run("_sample_poisson", [lam], _drawn_as(shape, dtype))


def _drawn_as(shape, dtype):
    shape = tuple(int(size) for size in _shape(() if shape is None else shape))
    return {"shape": attribute_text(shape), "dtype": np.dtype(dtype).name}


def categorical(data, shape=None, get_prob=False, out=None, dtype="int32"):
    """Numbers below the size of the last axis, whose elements are their probabilities: `shape` ones for each line.

    The result has the shape of the lines followed by `shape`. With `get_prob` a list: numbers, and the logarithms of
    their probabilities, through which gradients reach `data`. Raises GraphError for an array without axes.

    >>> mx.npx.random.categorical(mx.np.array([[0, 1], [1, 0]]))
    array([1, 0], dtype=int32)
    """
    attributes = {"get_prob": str(bool(get_prob)), "dtype": np.dtype(dtype).name}
    if shape is not None:
        attributes["shape"] = attribute_text(_shape(shape))
    return run("_sample_multinomial", [data], attributes, out)


def multinomial(n, pvals, size=None, *, shape=None, dtype=None):
    """How often each outcome comes in `n` draws with the probabilities in the last axis of `pvals`; int64 by default.

    `size` is that of `mx.np.random.multinomial`. With MXNet's `shape` the result has the shape of `n`, then `shape`,
    then an axis for the outcomes. Raises ValueError for what are no probabilities.

    >>> mx.npx.random.multinomial(mx.np.array([5, 6]), mx.np.full((2, 3), 1 / 3), shape=4).shape
    (2, 4, 3)
    """
    counts = np.asarray(as_parameter(n)).astype(np.int64)
    weights = np.asarray(as_parameter(pvals), np.float64)
    if shape is not None:
        lines = np.broadcast_shapes(counts.shape, weights.shape[:-1])
        ones = (1,) * len(_shape(shape))
        counts, size = np.broadcast_to(counts, lines).reshape(*lines, *ones), (*lines, *_shape(shape))
        weights = np.broadcast_to(weights, (*lines, weights.shape[-1])).reshape(*lines, *ones, -1)
    drawn = _random.multinomial(counts, weights, size)
    return drawn if dtype is None else drawn.astype(dtype)


_devices.take_device(globals())
