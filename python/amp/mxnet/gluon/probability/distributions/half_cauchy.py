"""The half-Cauchy distribution."""

import math

from ..transformation import AbsTransform
from .cauchy import Cauchy
from .constraint import Positive
from .transformed_distribution import Folded

__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """HalfCauchy(scale=1.0): |x| of Cauchy numbers around 0. Mean and variance are infinite.

    >>> mx.gluon.probability.HalfCauchy(mx.np.array([1])).mean
    array([inf])
    """

    has_grad = True
    support = Positive()
    arg_constraints = {"scale": Positive()}

    def __init__(self, scale=1.0, validate_args=None):
        self.scale = scale
        super().__init__(Cauchy(0, scale), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self):
        return self.scale * math.inf

    @property
    def variance(self):
        return self.scale * math.inf
