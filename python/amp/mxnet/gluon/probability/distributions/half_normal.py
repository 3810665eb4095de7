"""The half-normal distribution."""

import math

from ..transformation import AbsTransform
from .constraint import Positive
from .normal import Normal
from .transformed_distribution import Folded

__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """HalfNormal(scale=1.0): |x| of normal numbers with mean 0 and standard deviation `scale`.

    >>> mx.gluon.probability.HalfNormal(mx.np.array([1])).log_prob(mx.np.array([-1]))
    array([-inf])
    """

    has_grad = True
    support = Positive()
    arg_constraints = {"scale": Positive()}

    def __init__(self, scale=1.0, validate_args=None):
        self.scale = scale
        super().__init__(Normal(0, scale), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale**2 * (1 - 2 / math.pi)
