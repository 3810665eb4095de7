"""The chi-squared distribution."""

from .constraint import Positive
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """Chi2(df): the sum of the squares of `df` standard normal numbers.

    >>> mx.gluon.probability.Chi2(mx.np.array([3])).mean
    array([3.])
    """

    arg_constraints = {"df": Positive()}

    def __init__(self, df, validate_args=None):
        super().__init__(df / 2, 2, validate_args)

    @property
    def df(self):
        """The degrees of freedom."""
        return self.shape * 2
