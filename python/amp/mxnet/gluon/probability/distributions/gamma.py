"""The gamma distribution."""

from .... import np
from .constraint import Positive, Real
from .exp_family import ExponentialFamily
from .utils import digamma, gammaln

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma(shape, scale=1.0): positive numbers with the mean shape * scale.

    >>> mx.gluon.probability.Gamma(mx.np.array([3]), 2).mean
    array([6.])
    """

    has_grad = False
    support = Real()
    arg_constraints = {"shape": Positive(), "scale": Positive()}

    def __init__(self, shape, scale=1.0, validate_args=None):
        self.shape, self.scale = shape, scale
        super().__init__(event_dim=0, validate_args=validate_args)

    def _log_prob(self, value):
        shape, rate = self.shape, 1 / self.scale
        return shape * np.log(rate) + (shape - 1) * np.log(value) - rate * value - gammaln()(shape)

    def sample(self, size=None):
        return np.random.gamma(self.shape, self.scale, size)

    @property
    def mean(self):
        return self.shape * self.scale

    @property
    def variance(self):
        return self.shape * self.scale**2

    def entropy(self):
        shape = self.shape
        return shape + np.log(self.scale) + gammaln()(shape) + (1 - shape) * digamma()(shape)

    @property
    def _natural_params(self):
        return self.shape - 1, -1 / self.scale

    def _log_normalizer(self, x, y):
        return gammaln()(x + 1) - (x + 1) * np.log(-y)
