"""The Poisson distribution."""

from numbers import Number

from .... import np, npx
from .constraint import NonNegativeInteger, Positive
from .exp_family import ExponentialFamily
from .utils import gammaln

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Poisson(rate=1.0): counts with the mean `rate`.

    >>> mx.gluon.probability.Poisson(mx.np.array([2])).variance
    array([2.])
    """

    support = NonNegativeInteger()
    arg_constraints = {"rate": Positive()}

    def __init__(self, rate=1.0, validate_args=None):
        self.rate = rate
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return self.rate

    @property
    def variance(self):
        return self.rate

    def sample(self, size=None):
        if isinstance(self.rate, Number):
            return npx.scalar_poisson(self.rate, () if size is None else size)
        return npx.tensor_poisson(self.rate if size is None else np.broadcast_to(self.rate, size))

    def sample_n(self, size=None):
        if size is None or isinstance(self.rate, Number):
            return self.sample(size)
        size = (size,) if isinstance(size, Number) else tuple(size)
        return self.sample((*size, *self.rate.shape))

    def _log_prob(self, value):
        return value * np.log(self.rate) - self.rate - gammaln()(value + 1)

    @property
    def _natural_params(self):
        return (np.log(self.rate),)

    def _log_normalizer(self, x):
        return np.exp(x)
