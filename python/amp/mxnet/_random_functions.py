"""Random functions under the names of MXNet's operators: `mx.nd.random_normal`, `mx.nd.sample_normal` and their kin.

`sample_` functions take arrays of parameters and draw `shape` numbers for each element.
"""

import numpy as np

from .. import _trace, nd, sym
from ..base import ArgumentError
from . import random

__all__ = ["FUNCTIONS", "rand_zipfian", "sample_unique_zipfian", "zipfian_symbols"]


def random_exponential(lam=1.0, shape=None, dtype=None, ctx=None, out=None):
    """Exponentially distributed numbers of rate `lam`: their mean is 1 / lam.

    >>> mx.nd.random_exponential(lam=4.0, shape=(2, 3)).shape
    (2, 3)
    """
    rate = nd.array(lam) if np.ndim(lam) and not isinstance(lam, nd.NDArray) else lam
    return random.exponential(1 / rate, shape, dtype, ctx, out)


def _sample(name, draw, parameters):
    def function(*args, shape=None, dtype=None, ctx=None, out=None, **kwargs):
        given = {**dict(zip(parameters, args)), **{key: kwargs.pop(key) for key in parameters if key in kwargs}}
        kwargs.pop("name", None)
        if kwargs or len(given) < len(parameters) or len(args) > len(parameters):
            raise ArgumentError(f"{name}: expected the arrays {', '.join(parameters)}, shape, dtype and out")
        return draw(*(given[key] for key in parameters), shape=shape, dtype=dtype, ctx=ctx, out=out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`shape` numbers for each element of the arrays {', '.join(parameters)}: see `mx.random`."
    return function


def rand_zipfian(true_classes, num_sampled, range_max, ctx=None):
    """Classes below `range_max` with probabilities log((k + 2) / (k + 1)) / log(range_max + 1): words of a vocabulary.

    A list: `num_sampled` classes, int64, how often each of `true_classes` is to be expected among so many, and how
    often each of those drawn, float64.

    >>> drawn, expected, _ = mx.nd.contrib.rand_zipfian(amp.nd.array([3]), 4, 5)
    >>> drawn.shape, expected.asnumpy().round(4)
    ((4,), array([0.4982]))
    """
    drawn = _zipfian((num_sampled,), range_max)

    def expected(classes):
        return np.log((classes + 2.0) / (classes + 1.0)) / np.log(range_max + 1) * num_sampled

    true = true_classes.asnumpy().astype(np.float64)
    return [nd.from_numpy(drawn), nd.from_numpy(expected(true)), nd.from_numpy(expected(drawn.astype(np.float64)))]


def zipfian_symbols(true_classes, num_sampled, range_max):
    """What `rand_zipfian` gives, of a symbol of classes: a list of three symbols, which draw in each run."""
    scale = np.log(range_max + 1)
    drawn = (sym.random.uniform(0, scale, (num_sampled,), "float64").exp() - 1).astype("int64") % range_max
    classes = [symbol.astype("float64") for symbol in (true_classes, drawn)]
    return [drawn, *(((k + 2) / (k + 1)).log() * (num_sampled / scale) for k in classes)]


def sample_unique_zipfian(range_max, shape=None, out=None):
    """Rows (N, M) of M different classes each, drawn as `rand_zipfian` does, and how many it took (N,); int64."""
    rows, count = shape
    if count > range_max:
        raise ArgumentError(f"sample_unique_zipfian: there are {range_max} classes, not {count}")
    drawn, tries = np.empty((rows, count), np.int64), np.empty(rows, np.int64)
    for row in range(rows):
        found, tries[row] = {}, 0
        while len(found) < count:
            for value in _zipfian((count,), range_max).tolist():
                tries[row] += 1
                found.setdefault(value)
                if len(found) == count:
                    break
        drawn[row] = list(found)
    return [nd.from_numpy(drawn), nd.from_numpy(tries)]


def _zipfian(shape, range_max):
    _trace.refuse("a sampler of classes, which would draw once and for all,")
    values = np.exp(random.generator().uniform(0, np.log(range_max + 1), shape)) - 1
    return values.astype(np.int64) % range_max


_SAMPLES = {
    "uniform": (random.uniform, ("low", "high")),
    "normal": (random.normal, ("mu", "sigma")),
    "gamma": (random.gamma, ("alpha", "beta")),
    "exponential": (random_exponential, ("lam",)),
    "poisson": (random.poisson, ("lam",)),
    "negative_binomial": (random.negative_binomial, ("k", "p")),
    "generalized_negative_binomial": (random.generalized_negative_binomial, ("mu", "alpha")),
}

# {name: function} of `mx.nd`.
FUNCTIONS = {f"sample_{name}": _sample(f"sample_{name}", *row) for name, row in _SAMPLES.items()}
FUNCTIONS["sample_multinomial"] = random.multinomial
FUNCTIONS["random_exponential"] = FUNCTIONS["exponential"] = random_exponential
FUNCTIONS["random_gamma"], FUNCTIONS["random_randint"] = random.gamma, random.randint
FUNCTIONS["shuffle"] = random.shuffle
for _name in ("uniform", "normal", "poisson", "negative_binomial", "generalized_negative_binomial"):
    FUNCTIONS[_name] = FUNCTIONS[f"random_{_name}"] = getattr(random, _name)

sym.random.categorical = sym.random.multinomial  # MXNet 2's name
