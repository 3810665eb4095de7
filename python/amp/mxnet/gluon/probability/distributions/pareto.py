"""The Pareto distribution."""

from .... import np
from ..transformation import AffineTransform, ExpTransform
from .constraint import GreaterThanEq, Positive, dependent_property
from .distribution import Distribution
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .utils import standing_for_all

__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """Pareto(alpha, scale=1.0): numbers from `scale` on, whose density falls as x ** -(alpha + 1).

    The mean is infinite up to alpha = 1, the variance up to 2.

    >>> mx.gluon.probability.Pareto(mx.np.array([2]), 3).mean
    array([6.])
    """

    has_grad = True
    arg_constraints = {"scale": Positive(), "alpha": Positive()}

    def __init__(self, alpha, scale=1.0, validate_args=None):
        self.alpha, self.scale = alpha, scale
        transforms = [ExpTransform(), AffineTransform(0, scale)]
        super().__init__(Exponential(1 / alpha), transforms, validate_args)

    def sample(self, size=None):
        return self.scale * (np.random.pareto(standing_for_all(self.alpha, self.scale), size) + 1)

    sample_n = Distribution.sample_n

    @dependent_property
    def support(self):
        return GreaterThanEq(self.scale)

    @property
    def mean(self):
        alpha = np.clip(self.alpha, 1, None)
        return alpha * self.scale / (alpha - 1)

    @property
    def variance(self):
        alpha = np.clip(self.alpha, 2, None)
        return self.scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))

    def entropy(self):
        return np.log(self.scale / self.alpha) + 1 / self.alpha + 1
