"""The multinomial distribution."""

from numbers import Number

from ._probabilities import OfEvents
from .constraint import IntegerInterval, Real, Simplex
from .one_hot_categorical import OneHotCategorical
from .utils import gammaln

__all__ = ["Multinomial"]


class Multinomial(OfEvents):
    """Multinomial(num_events, prob=None, logit=None, total_count=1): how often each event comes in so many draws.

    Raises ValueError unless one of `prob` and `logit` is given, without events, and where `total_count` is no number.

    >>> mx.gluon.probability.Multinomial(2, prob=mx.np.array([0.25, 0.75]), total_count=4).mean
    array([1., 3.])
    """

    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, num_events, prob=None, logit=None, total_count=1, validate_args=None):
        if not isinstance(total_count, Number):
            raise ValueError(f"Expect `total_count` to be scalar value, received {type(total_count).__name__}")
        self.total_count = total_count
        self._take_number(num_events)
        self._take_parameter(prob, logit)
        self._categorical = OneHotCategorical(num_events, prob, logit, validate_args)
        super().__init__(event_dim=1, validate_args=validate_args)

    @property
    def mean(self):
        return self.prob * self.total_count

    @property
    def variance(self):
        return self.total_count * self.prob * (1 - self.prob)

    @property
    def support(self):
        return IntegerInterval(0, self.total_count)

    def sample(self, size=None):
        if isinstance(size, Number):
            size = (size,)
        one_draw = self._categorical if size is None else self._categorical.broadcast_to(size)
        return one_draw.sample_n(self.total_count).sum(0)

    def sample_n(self, size=None):
        size = () if size is None else (size,) if isinstance(size, Number) else tuple(size)
        return self._categorical.sample_n((self.total_count, *size)).sum(0)

    def _log_prob(self, value):
        lgamma = gammaln()
        ways = lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1)
        return ways + self._categorical._log_prob(value)
