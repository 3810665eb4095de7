"""The beta distribution."""

from .... import np
from .constraint import Positive, UnitInterval
from .exp_family import ExponentialFamily
from .utils import _clip_prob, digamma, gammaln, standing_for_all

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Beta(alpha, beta): numbers from 0 to 1 with the mean alpha / (alpha + beta).

    >>> mx.gluon.probability.Beta(mx.np.array([1]), 3).mean
    array([0.25])
    """

    has_grad = False
    support = UnitInterval()
    arg_constraints = {"alpha": Positive(), "beta": Positive()}

    def __init__(self, alpha, beta, validate_args=None):
        self.alpha, self.beta = alpha, beta
        super().__init__(event_dim=0, validate_args=validate_args)

    def sample(self, size=None):
        x = np.random.gamma(standing_for_all(self.alpha, self.beta), 1, size)
        y = np.random.gamma(standing_for_all(self.beta, self.alpha), 1, size)
        return _clip_prob(x / (x + y))

    @property
    def mean(self):
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self):
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total**2 * (total + 1))

    def _log_prob(self, value):
        return (self.alpha - 1) * np.log(value) + (self.beta - 1) * np.log1p(-value) - self._log_normalization()

    def _log_normalization(self):
        lgamma = gammaln()
        return lgamma(self.alpha) + lgamma(self.beta) - lgamma(self.alpha + self.beta)

    def entropy(self):
        a, b, dgamma = self.alpha, self.beta, digamma()
        return self._log_normalization() - (a - 1) * dgamma(a) - (b - 1) * dgamma(b) + (a + b - 2) * dgamma(a + b)
