"""The exponential distribution."""

from .... import np
from .constraint import Positive
from .exp_family import ExponentialFamily
from .utils import cached_property

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Exponential(scale=1.0): positive numbers with the mean `scale`, which is 1 / `rate`.

    >>> mx.gluon.probability.Exponential(mx.np.array([2])).log_prob(mx.np.array([0])).round(4)
    array([-0.6931])
    """

    has_grad = True
    support = Positive()
    arg_constraints = {"scale": Positive()}

    def __init__(self, scale=1.0, validate_args=None):
        self.scale = scale
        super().__init__(event_dim=0, validate_args=validate_args)

    @cached_property
    def rate(self):
        """1 / scale"""
        return 1 / self.scale

    @property
    def mean(self):
        return self.scale

    @property
    def variance(self):
        return self.scale**2

    @property
    def stddev(self):
        return self.scale

    def sample(self, size=None):
        return np.random.exponential(self.scale, size)

    def _log_prob(self, value):
        return np.log(self.rate) - self.rate * value

    def _cdf(self, value):
        return -np.expm1(-self.rate * value)

    def icdf(self, value):
        return -self.scale * np.log1p(-value)

    def entropy(self):
        return 1.0 + np.log(self.scale)

    @property
    def _natural_params(self):
        return (-self.rate,)

    def _log_normalizer(self, x):
        return -np.log(-x)
