"""The geometric distribution."""

from .... import np
from ._probabilities import ByProbability
from .constraint import Interval, NonNegativeInteger, Real
from .utils import softplus, standing_for_all

__all__ = ["Geometric"]


class Geometric(ByProbability):
    """Geometric(prob=None, logit=None): how often an event of probability `prob` fails before it happens.

    Raises ValueError unless one of the two is given.

    >>> mx.gluon.probability.Geometric(prob=mx.np.array([0.25])).mean
    array([3.])
    """

    support = NonNegativeInteger()
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, prob=None, logit=None, validate_args=None):
        self._take_parameter(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return 1 / self.prob - 1

    @property
    def variance(self):
        return (1 / self.prob - 1) / self.prob

    def _log_prob(self, value):
        return value * np.log1p(-self.prob) + np.log(self.prob)

    def sample(self, size=None):
        drawn = np.random.uniform(standing_for_all(0.0, self.prob), 1.0, size)  # below 1
        return np.floor(np.log1p(-drawn) / np.log1p(-self.prob))

    def entropy(self):
        return (self.logit * (1 - self.prob) + softplus(-self.logit)) / self.prob
