"""The uniform distribution."""

import math

from .... import np
from .constraint import Interval, Real
from .distribution import Distribution

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform(low=0.0, high=1.0): numbers from `low` to `high`.

    >>> mx.gluon.probability.Uniform(0, mx.np.array([2])).mean
    array([1.])
    """

    arg_constraints = {"low": Real(), "high": Real()}

    def __init__(self, low=0.0, high=1.0, validate_args=None):
        self.low, self.high = low, high
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value):
        is_inside = (value >= self.low) & (value <= self.high)
        return np.where(is_inside, -np.log(self.high - self.low), -math.inf)

    def sample(self, size=None):
        return np.random.uniform(self.low, self.high, size)

    @property
    def support(self):
        return Interval(self.low, self.high)

    def _cdf(self, value):
        return np.clip((value - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    @property
    def mean(self):
        return (self.low + self.high) / 2

    @property
    def variance(self):
        return (self.high - self.low) ** 2 / 12

    def entropy(self):
        return np.log(self.high - self.low)
