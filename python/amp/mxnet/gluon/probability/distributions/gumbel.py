"""The Gumbel distribution."""

import math

import numpy as _numpy

from .... import np
from .constraint import Positive, Real
from .distribution import Distribution

__all__ = ["Gumbel"]


class Gumbel(Distribution):
    """Gumbel(loc, scale=1): largest values, with the distribution function exp(-exp((loc - x) / scale)).

    >>> mx.gluon.probability.Gumbel(mx.np.array([0])).mean.round(4)
    array([0.5772])
    """

    has_grad = True
    support = Real()
    arg_constraints = {"loc": Real(), "scale": Positive()}

    def __init__(self, loc, scale=1, validate_args=None):
        self.loc, self.scale = loc, scale
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value):
        y = (self.loc - value) / self.scale
        return y - np.exp(y) - np.log(self.scale)

    def _cdf(self, value):
        return np.exp(-np.exp((self.loc - value) / self.scale))

    def icdf(self, value):
        return self.loc - self.scale * np.log(-np.log(value))

    def sample(self, size=None):
        return np.random.gumbel(self.loc, self.scale, size)

    @property
    def mean(self):
        return self.loc + self.scale * _numpy.euler_gamma

    @property
    def stddev(self):
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self):
        return self.stddev**2

    def entropy(self):
        return np.log(self.scale) + (1 + _numpy.euler_gamma)
