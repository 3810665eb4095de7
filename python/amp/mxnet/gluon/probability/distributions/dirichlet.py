"""The Dirichlet distribution."""

from .... import np
from .constraint import Positive, Simplex
from .exp_family import ExponentialFamily
from .utils import _clip_float_eps, digamma, gammaln, sample_n_shape_converter

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Dirichlet(alpha): probabilities that add up to 1, along the last axis.

    >>> mx.gluon.probability.Dirichlet(mx.np.array([1, 3])).mean
    array([0.25, 0.75])
    """

    has_grad = False
    support = Simplex()
    arg_constraints = {"alpha": Positive()}
    _event_axes = {"alpha": 1}

    def __init__(self, alpha, validate_args=None):
        self.alpha = alpha
        super().__init__(event_dim=1, validate_args=validate_args)

    def sample(self, size=None):
        alpha = self.alpha
        if size is not None:
            alpha = np.broadcast_to(alpha, (size, -2) if isinstance(size, int) else (*size, -2))
        return self._normalized(np.random.gamma(alpha, 1))

    def sample_n(self, size=None):
        return self._normalized(np.random.gamma(self.alpha, 1, sample_n_shape_converter(size)))

    def _normalized(self, x):
        return _clip_float_eps(x / x.sum(-1, keepdims=True))

    def _log_prob(self, value):
        return (np.log(value) * (self.alpha - 1.0)).sum(-1) - self._log_normalization()

    def _log_normalization(self):
        lgamma = gammaln()
        return lgamma(self.alpha).sum(-1) - lgamma(self.alpha.sum(-1))

    @property
    def mean(self):
        return self.alpha / self.alpha.sum(-1, keepdims=True)

    @property
    def variance(self):
        total = self.alpha.sum(-1, keepdims=True)
        return self.alpha * (total - self.alpha) / ((total + 1) * total**2)

    def entropy(self):
        dgamma, above = digamma(), self.alpha - 1
        of_total = above.sum(-1) * dgamma(self.alpha.sum(-1))
        return self._log_normalization() + of_total - (above * dgamma(self.alpha)).sum(-1)
