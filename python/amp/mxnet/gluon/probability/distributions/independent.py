"""Distributions some of whose axes are one value."""

from .constraint import dependent_property
from .distribution import Distribution
from .utils import sum_right_most

__all__ = ["Independent"]


class Independent(Distribution):
    """Independent(base_distribution, reinterpreted_batch_ndims): the last so many axes of the base are one value.

    >>> base = mx.gluon.probability.Normal(mx.np.zeros((2, 3)), 1)
    >>> mx.gluon.probability.Independent(base, 1).log_prob(mx.np.zeros((2, 3))).shape
    (2,)
    """

    arg_constraints = {}

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(reinterpreted_batch_ndims + base_distribution.event_dim, validate_args)

    def broadcast_to(self, batch_shape):
        base = self.base_dist.broadcast_to((*batch_shape, *[-2] * self.reinterpreted_batch_ndims))
        return type(self)(base, self.reinterpreted_batch_ndims, self._validate_args)

    @property
    def has_enumerate_support(self):
        return not self.reinterpreted_batch_ndims and self.base_dist.has_enumerate_support

    @dependent_property
    def support(self):
        return self.base_dist.support

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, size=None):
        return self.base_dist.sample(size)

    def sample_n(self, size=None):
        return self.base_dist.sample_n(size)

    def _check_value(self, value):
        """The base does."""

    def _log_prob(self, value):
        return sum_right_most(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        return sum_right_most(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self):
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("values of several axes cannot be enumerated")
        return self.base_dist.enumerate_support()
