"""The normal distribution."""

import math

from .... import np, npx
from .constraint import Positive, Real
from .exp_family import ExponentialFamily
from .utils import erf, erfinv

__all__ = ["Normal"]


class Normal(ExponentialFamily):
    """Normal(loc=0.0, scale=1.0): mean `loc`, standard deviation `scale`.

    >>> mx.gluon.probability.Normal(0, mx.np.array([2])).variance
    array([4.])
    """

    has_grad = True
    support = Real()
    arg_constraints = {"loc": Real(), "scale": Positive()}

    def __init__(self, loc=0.0, scale=1.0, validate_args=None):
        self.loc, self.scale = loc, scale
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value):
        return -((value - self.loc) ** 2) / (2 * self.variance) - np.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def sample(self, size=None):
        return np.random.normal(self.loc, self.scale, size)

    def sample_n(self, size=None):
        return npx.random.normal_n(self.loc, self.scale, size)

    def _cdf(self, value):
        return 0.5 * (1 + erf()((value - self.loc) / (math.sqrt(2) * self.scale)))

    def icdf(self, value):
        return self.loc + self.scale * erfinv()(2 * value - 1) * math.sqrt(2)

    @property
    def mean(self):
        return self.loc

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale**2

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + np.log(self.scale)

    @property
    def _natural_params(self):
        return self.loc / self.variance, -0.5 / self.variance

    def _log_normalizer(self, x, y):
        return -0.25 * x**2 / y + 0.5 * np.log(-math.pi / y)
