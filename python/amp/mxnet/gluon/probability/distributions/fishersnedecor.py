"""Snedecor's F distribution."""

import math

from .... import np
from .constraint import Positive
from .distribution import Distribution
from .gamma import Gamma
from .utils import gammaln, standing_for_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """FisherSnedecor(df1, df2): the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    The mean is NaN up to df2 = 2, the variance up to df2 = 4.

    >>> mx.gluon.probability.FisherSnedecor(3, mx.np.array([4])).mean
    array([2.])
    """

    support = Positive()
    arg_constraints = {"df1": Positive(), "df2": Positive()}

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = df1, df2
        self._gamma1, self._gamma2 = _chi2_per_degree(df1, df2), _chi2_per_degree(df2, df1)
        super().__init__(event_dim=0, validate_args=validate_args)

    @property
    def mean(self):
        df2 = np.where(self.df2 <= 2, math.nan, self.df2)
        return df2 / (df2 - 2)

    @property
    def variance(self):
        df1, df2 = self.df1, np.where(self.df2 <= 4, math.nan, self.df2)
        return 2 * df2**2 * (df1 + df2 - 2) / (df1 * (df2 - 2) ** 2 * (df2 - 4))

    def sample(self, size=None):
        return self._gamma1.sample(size) / self._gamma2.sample(size)

    def _log_prob(self, value):
        lgamma, half1, half2, ratio = gammaln(), self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = lgamma(half1) + lgamma(half2) - lgamma(half1 + half2)
        log_value = np.log(ratio) * half1 + (half1 - 1) * np.log(value)
        return log_value - log_beta - (half1 + half2) * np.log1p(ratio * value)


def _chi2_per_degree(df, other):
    return Gamma(standing_for_all(0.5 * df, other), 1 / df)
