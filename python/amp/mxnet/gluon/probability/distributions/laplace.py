"""The Laplace distribution."""

from .... import np
from .constraint import Positive, Real
from .distribution import Distribution

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace(loc=0.0, scale=1.0): the density falls as exp(-|x - loc| / scale).

    >>> mx.gluon.probability.Laplace(0, mx.np.array([2])).variance
    array([8.])
    """

    has_grad = False
    support = Real()
    arg_constraints = {"loc": Real(), "scale": Positive()}

    def __init__(self, loc=0.0, scale=1.0, validate_args=None):
        self.loc, self.scale = loc, scale
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value):
        return -np.log(2 * self.scale) - np.abs(value - self.loc) / self.scale

    def sample(self, size=None):
        return np.random.laplace(self.loc, self.scale, size)

    def _cdf(self, value):
        distance = value - self.loc
        return 0.5 - 0.5 * np.sign(distance) * np.expm1(-np.abs(distance) / self.scale)

    def icdf(self, value):
        value = value - 0.5
        return self.loc - self.scale * np.sign(value) * np.log1p(-2 * np.abs(value))

    @property
    def mean(self):
        return self.loc

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    @property
    def variance(self):
        return 2 * self.scale**2

    def entropy(self):
        return 1 + np.log(2 * self.scale)
