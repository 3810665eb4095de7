"""The Weibull distribution."""

import numpy as _numpy

from .... import np
from ..transformation import AffineTransform, PowerTransform
from .constraint import Positive
from .distribution import Distribution
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .utils import gammaln, standing_for_all

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Weibull(concentration, scale=1.0): scale * x ** (1 / concentration) of standard exponential numbers.

    >>> mx.gluon.probability.Weibull(mx.np.array([1]), 3).mean
    array([3.])
    """

    has_grad = True
    support = Positive()
    arg_constraints = {"scale": Positive(), "concentration": Positive()}

    def __init__(self, concentration, scale=1.0, validate_args=None):
        self.concentration, self.scale = concentration, scale
        transforms = [PowerTransform(1 / concentration), AffineTransform(0, scale)]
        super().__init__(Exponential(), transforms, validate_args)

    def sample(self, size=None):
        return self.scale * np.random.weibull(standing_for_all(self.concentration, self.scale), size)

    sample_n = Distribution.sample_n

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def variance(self):
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def _moment(self, n):
        return np.exp(gammaln()(1 + n / self.concentration))

    def entropy(self):
        inverse = 1 / self.concentration
        return _numpy.euler_gamma * (1 - inverse) + np.log(self.scale * inverse) + 1
