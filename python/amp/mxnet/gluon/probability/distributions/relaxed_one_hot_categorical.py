"""The relaxed categorical distribution of vectors."""

import math

from .... import np, npx
from ..transformation import ExpTransform
from ._probabilities import OfEvents
from .constraint import Real, Simplex
from .transformed_distribution import TransformedDistribution
from .utils import sample_n_shape_converter

__all__ = ["RelaxedOneHotCategorical"]

_LEAST_LOGARITHM = math.log(1e-20)


class _LogRelaxedOneHotCategorical(OfEvents):
    """Logarithms of the softmax of Gumbel numbers around `logit`, divided by the temperature T."""

    has_grad = True
    support = Real()
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, T, num_events, prob=None, logit=None, validate_args=None):  # noqa: N803 - MXNet's name
        self.T = T
        self._take_number(num_events)
        self._take_parameter(prob, logit)
        super().__init__(event_dim=1, validate_args=validate_args)

    def _log_prob(self, value):
        scores = npx.log_softmax(self.logit - value * self.T, axis=-1)
        return scores.sum(-1) + math.lgamma(self.num_events) + (self.num_events - 1) * np.log(self.T)

    def sample(self, size=None):
        logit = self.logit
        if size is not None:
            logit = np.broadcast_to(logit, (size, -2) if isinstance(size, int) else (*size, -2))
        return self._relaxed(np.random.gumbel(logit))

    def sample_n(self, size=None):
        return self._relaxed(np.random.gumbel(self.logit, size=sample_n_shape_converter(size)))

    def _relaxed(self, scores):
        return np.maximum(npx.log_softmax(scores / self.T, axis=-1), _LEAST_LOGARITHM)


class RelaxedOneHotCategorical(TransformedDistribution):
    """RelaxedOneHotCategorical(T, num_events, prob=None, logit=None): vectors that add up to 1.

    They are close to those of OneHotCategorical for a small temperature T. Gradients reach `prob` or `logit` through
    samples. Errors are those of Categorical.

    >>> mx.gluon.probability.RelaxedOneHotCategorical(1, 2, prob=mx.np.array([0.5, 0.5])).sample_n(3).shape
    (3, 2)
    """

    has_grad = True
    arg_constraints = {"prob": Simplex(), "logit": Real()}

    def __init__(self, T, num_events, prob=None, logit=None, validate_args=None):  # noqa: N803 - MXNet's name
        base = _LogRelaxedOneHotCategorical(T, num_events, prob, logit, validate_args)
        super().__init__(base, ExpTransform())

    @property
    def T(self):  # noqa: N802 - MXNet's name
        """The temperature."""
        return self._base_dist.T

    @property
    def prob(self):
        """The probabilities of events."""
        return self._base_dist.prob

    @property
    def logit(self):
        """Their logarithms."""
        return self._base_dist.logit
