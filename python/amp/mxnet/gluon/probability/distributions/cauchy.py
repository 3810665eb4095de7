"""The Cauchy distribution."""

import math

from .... import np
from .constraint import Real
from .distribution import Distribution
from .utils import standing_for_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy(loc=0.0, scale=1.0): it has neither mean nor variance (NaN).

    >>> mx.gluon.probability.Cauchy(mx.np.array([1])).cdf(mx.np.array([1]))
    array([0.5])
    """

    has_grad = True
    support = Real()
    arg_constraints = {"loc": Real(), "scale": Real()}

    def __init__(self, loc=0.0, scale=1.0, validate_args=None):
        self.loc, self.scale = loc, scale
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return math.nan

    @property
    def variance(self):
        return math.nan

    def sample(self, size=None):
        return self.icdf(np.random.uniform(standing_for_all(0.0, self.loc, self.scale), 1.0, size))

    def _log_prob(self, value):
        return -math.log(math.pi) - np.log(self.scale) - np.log1p(((value - self.loc) / self.scale) ** 2)

    def _cdf(self, value):
        return np.arctan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return np.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + np.log(self.scale)
