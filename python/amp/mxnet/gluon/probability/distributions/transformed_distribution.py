"""Distributions of functions of random numbers."""

import math

from .... import np
from ..transformation import Transformation
from .distribution import Distribution
from .utils import sum_right_most

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of `transforms`, one after another, of numbers that `base_dist` draws.

    >>> exp = mx.gluon.probability.ExpTransform()
    >>> log_normal = mx.gluon.probability.TransformedDistribution(mx.gluon.probability.Normal(), exp)
    >>> log_normal.cdf(mx.np.array([1]))
    array([0.5])
    """

    arg_constraints = {}
    support = None  # not known

    def __init__(self, base_dist, transforms, validate_args=None):
        self._base_dist = base_dist
        self._transforms = [transforms] if isinstance(transforms, Transformation) else transforms
        event_dim = max([base_dist.event_dim, *(t.event_dim for t in self._transforms)])
        super().__init__(event_dim=event_dim, validate_args=validate_args)

    def _validate_samples(self, value):
        return value if self.support is None else super()._validate_samples(value)

    def sample(self, size=None):
        return self._transformed(self._base_dist.sample(size))

    def sample_n(self, size=None):
        return self._transformed(self._base_dist.sample_n(size))

    def _transformed(self, x):
        for transform in self._transforms:
            x = transform(x)
        return x

    def _log_prob(self, value):
        result = 0.0
        for transform in reversed(self._transforms):
            x = transform.inv(value)
            log_det = transform.log_det_jacobian(x, value)
            result = result - sum_right_most(log_det, self.event_dim - transform.event_dim)
            value = x
        return result + sum_right_most(self._base_dist.log_prob(value), self.event_dim - self._base_dist.event_dim)

    def _cdf(self, value):
        for transform in reversed(self._transforms):
            value = transform.inv(value)
        return self._sign() * (self._base_dist.cdf(value) - 0.5) + 0.5

    def icdf(self, value):
        return self._transformed(self._base_dist.icdf(self._sign() * (value - 0.5) + 0.5))

    def _sign(self):
        """1 where all transformations together grow, else -1."""
        result = 1
        for transform in self._transforms:
            result = result * transform.sign
        return result


class Folded(TransformedDistribution):
    """|x| of a distribution that is symmetric around 0."""

    def _log_prob(self, value):
        return np.where(value < 0, -math.inf, self._base_dist.log_prob(value) + math.log(2))

    def _cdf(self, value):
        return 2 * self._base_dist.cdf(value) - 1

    def icdf(self, value):
        return self._base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self._base_dist.entropy() - math.log(2)

    @property
    def loc(self):
        """Where it is folded: 0."""
        return self._base_dist.loc
