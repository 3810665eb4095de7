"""The categorical distribution of vectors."""

from .... import npx
from ._probabilities import OfEvents
from .categorical import Categorical
from .constraint import Real, Simplex
from .utils import cached_property

__all__ = ["OneHotCategorical"]


class OneHotCategorical(OfEvents):
    """OneHotCategorical(num_events, prob=None, logit=None): vectors of 0 with one 1, at the event that was drawn.

    Parameters and errors are those of Categorical.

    >>> mx.gluon.probability.OneHotCategorical(2, prob=mx.np.array([0.25, 0.75])).mean
    array([0.25, 0.75])
    """

    support = Simplex()
    has_enumerate_support = True
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, num_events, prob=None, logit=None, validate_args=None):
        self._take_number(num_events)
        self._categorical = Categorical(num_events, prob, logit, validate_args)
        super().__init__(event_dim=1, validate_args=validate_args)

    @cached_property
    def prob(self):
        return self._categorical.prob

    @cached_property
    def logit(self):
        return self._categorical.logit

    @property
    def mean(self):
        return self.prob

    @property
    def variance(self):
        return self.prob * (1 - self.prob)

    def sample(self, size=None):
        return npx.one_hot(self._categorical.sample(size), self.num_events)

    def sample_n(self, size=None):
        return npx.one_hot(self._categorical.sample_n(size), self.num_events)

    def _log_prob(self, value):
        return (value * self._categorical._log_probabilities).sum(-1)

    def enumerate_support(self):
        return npx.one_hot(self._categorical.enumerate_support(), self.num_events)
