"""The relaxed Bernoulli distribution."""

from .... import np
from ..transformation import SigmoidTransform
from ._probabilities import ByProbability
from .constraint import Interval, OpenInterval, Real
from .transformed_distribution import TransformedDistribution
from .utils import softplus

__all__ = ["RelaxedBernoulli"]


class _LogitRelaxedBernoulli(ByProbability):
    """Logistic numbers around `logit`, divided by the temperature T."""

    has_grad = True
    support = Real()
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, T, prob=None, logit=None, validate_args=None):  # noqa: N803 - MXNet's name
        self.T = T
        self._take_parameter(prob, logit)
        super().__init__(event_dim=0, validate_args=validate_args)

    def sample(self, size=None):
        return np.random.logistic(self.logit, 1, size) / self.T

    def _log_prob(self, value):
        distance = self.logit - self.T * value
        return np.log(self.T) + distance - 2 * softplus(distance)


class RelaxedBernoulli(TransformedDistribution):
    """RelaxedBernoulli(T, prob=None, logit=None): numbers between 0 and 1, close to those of Bernoulli for a small T.

    Gradients reach `prob` or `logit` through samples. Raises ValueError unless one of the two is given.

    >>> mx.gluon.probability.RelaxedBernoulli(1, prob=mx.np.array([0.5])).pdf(mx.np.array([0.5]))
    array([1.])
    """

    has_grad = True
    support = OpenInterval(0, 1)
    arg_constraints = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, T, prob=None, logit=None, validate_args=None):  # noqa: N803 - MXNet's name
        base = _LogitRelaxedBernoulli(T, prob, logit, validate_args)
        super().__init__(base, SigmoidTransform())

    @property
    def T(self):  # noqa: N802 - MXNet's name
        """The temperature."""
        return self._base_dist.T

    @property
    def prob(self):
        """The probabilities of 1."""
        return self._base_dist.prob

    @property
    def logit(self):
        """The logarithms of the odds."""
        return self._base_dist.logit
