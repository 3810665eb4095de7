"""Student's t distribution."""

import math

from .... import np
from .chi2 import Chi2
from .constraint import Positive, Real
from .distribution import Distribution
from .utils import digamma, gammaln, standing_for_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """StudentT(df, loc=0.0, scale=1.0): with `df` degrees of freedom, around `loc`.

    The mean is NaN up to df = 1; the variance is NaN up to 1 and infinite up to 2.

    >>> mx.gluon.probability.StudentT(mx.np.array([4]), 1, 2).variance
    array([8.])
    """

    support = Real()
    arg_constraints = {"df": Positive(), "loc": Real(), "scale": Real()}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = df, loc, scale
        self._chi2 = Chi2(standing_for_all(df, loc, scale))
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        return np.where(self.df <= 1, math.nan, self.loc)

    @property
    def variance(self):
        finite = self.scale**2 * self.df / (np.clip(self.df, 2, None) - 2)  # inf up to 2
        return np.where(self.df <= 1, math.nan, finite)

    def sample(self, size=None):
        normal = np.random.normal(standing_for_all(0.0, self._chi2.shape), 1.0, size)
        return self.loc + normal * np.sqrt(self.df / self._chi2.sample(size)) * self.scale

    def _log_prob(self, value):
        lgamma, df, distance = gammaln(), self.df, (value - self.loc) / self.scale
        normalization = lgamma((df + 1) / 2) - lgamma(df / 2) - np.log(self.scale) - 0.5 * np.log(df * math.pi)
        return normalization - 0.5 * (df + 1) * np.log1p(distance**2 / df)

    def entropy(self):
        lgamma, dgamma, half, more = gammaln(), digamma(), 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = lgamma(half) + lgamma(0.5) - lgamma(more)
        return np.log(self.scale) + more * (dgamma(more) - dgamma(half)) + 0.5 * np.log(self.df) + log_beta
