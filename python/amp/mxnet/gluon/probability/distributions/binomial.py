"""The binomial distribution."""

from .... import np, npx
from ._probabilities import ByProbability
from .constraint import Interval, NonNegativeInteger, Real
from .utils import gammaln, sample_n_shape_converter

__all__ = ["Binomial"]


class Binomial(ByProbability):
    """Binomial(n=1, prob=None, logit=None): how many of `n` trials succeed; `n` is a number.

    Raises ValueError unless one of `prob` and `logit` is given, and for an `n` that is no count.

    >>> mx.gluon.probability.Binomial(4, prob=mx.np.array([0.5])).mean
    array([2.])
    """

    support = NonNegativeInteger()
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, n=1, prob=None, logit=None, validate_args=None):
        if n < 0 or n % 1 != 0:
            raise ValueError(f"Expect `n` to be non-negative integer, received n={n}")
        self._take_parameter(prob, logit)
        self.n = n
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return self.n * self.prob

    @property
    def variance(self):
        return self.n * self.prob * (1 - self.prob)

    def _log_prob(self, value):
        lgamma = gammaln()
        ways = lgamma(self.n + 1) - lgamma(1 + value) - lgamma(self.n - value + 1)
        return ways + value * np.log(self.prob) + (self.n - value) * np.log1p(-self.prob)

    def sample(self, size=None):
        return self._drawn(self.prob if size is None else np.broadcast_to(self.prob, size))

    def sample_n(self, size=None):
        return self._drawn(self.prob, sample_n_shape_converter(size))

    def _drawn(self, prob, size=None):
        trials = np.repeat(np.expand_dims(prob, -1), int(self.n), -1)
        return npx.random.bernoulli(prob=trials, size=size).sum(-1)
