"""The negative binomial distribution."""

from .... import np
from ._probabilities import ByProbability
from .constraint import GreaterThanEq, Interval, NonNegativeInteger, Real
from .gamma import Gamma
from .poisson import Poisson
from .utils import gammaln

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ByProbability):
    """NegativeBinomial(n, prob=None, logit=None): counts of events among trials that go on until `n` others.

    `prob` is the probability of an event for the mean, the variance and samples, but that of one of the `n` others for
    `log_prob`: MXNet has it so. Raises ValueError unless one of `prob` and `logit` is given.

    >>> mx.gluon.probability.NegativeBinomial(3, prob=mx.np.array([0.5])).variance
    array([6.])
    """

    support = NonNegativeInteger()
    arg_constraints = {"n": GreaterThanEq(0), "prob": Interval(0, 1), "logit": Real()}

    def __init__(self, n, prob=None, logit=None, validate_args=None):
        self._take_parameter(prob, logit)
        self.n = n
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return self.n * np.exp(self.logit)

    @property
    def variance(self):
        return self.n * self.prob / (1 - self.prob) ** 2

    def _log_prob(self, value):
        lgamma = gammaln()
        ways = lgamma(value + self.n) - lgamma(1 + value) - lgamma(self.n)
        return ways + self.n * np.log(self.prob) + value * np.log1p(-self.prob)

    def sample(self, size=None):
        return Poisson(self._rates().sample(size)).sample()

    def sample_n(self, size=None):
        return Poisson(self._rates().sample_n(size)).sample()

    def _rates(self):
        return Gamma(shape=self.n, scale=np.exp(self.logit))
