"""The Bernoulli distribution."""

from .... import np, npx
from ._probabilities import ByProbability
from .constraint import Boolean, Interval, Real
from .exp_family import ExponentialFamily
from .utils import softplus

__all__ = ["Bernoulli"]

_LARGEST_PROB = 1 - 2**-24  # of float32, below 1
_SMALLEST_PROB = 1e-12


class Bernoulli(ByProbability, ExponentialFamily):
    """Bernoulli(prob=None, logit=None): 1 with probability `prob`, or 1 / (1 + exp(-logit)), else 0.

    Raises ValueError unless one of the two is given.

    >>> mx.gluon.probability.Bernoulli(prob=mx.np.array([0.5])).variance
    array([0.25])
    """

    support = Boolean()
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, prob=None, logit=None, validate_args=None):
        self._take_parameter(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return self.prob

    @property
    def variance(self):
        return self.prob * (1 - self.prob)

    def _log_prob(self, value):
        if "prob" not in vars(self):
            return self.logit * value - softplus(self.logit)
        log_failure = np.log1p(-np.minimum(self.prob, _LARGEST_PROB))
        return np.log(self.prob + _SMALLEST_PROB) * value + log_failure * (1 - value)

    def sample(self, size=None):
        given = {"prob": self.prob} if "prob" in vars(self) else {"logit": self.logit}
        return npx.random.bernoulli(**given, size=size)

    @property
    def _natural_params(self):
        return (self.logit,)

    def _log_normalizer(self, x):
        return softplus(x)

    def entropy(self):
        return self.logit * (1 - self.prob) + softplus(-self.logit)
