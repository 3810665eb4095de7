"""The multivariate normal distribution."""

import math

from .... import np
from .constraint import LowerCholesky, PositiveDefinite, Real
from .distribution import Distribution
from .utils import cached_property

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """MultivariateNormal(loc, cov=None, precision=None, scale_tril=None): vectors with the mean `loc`.

    One matrix is given: the covariance, its inverse `precision`, or its lower triangular factor `scale_tril`. Raises
    ValueError otherwise.

    >>> mx.gluon.probability.MultivariateNormal(mx.np.zeros((2,)), cov=4 * mx.np.eye(2)).scale_tril
    array([[2., 0.],
           [0., 2.]])
    """

    has_grad = True
    support = Real()
    arg_constraints = {
        "loc": Real(),
        "cov": PositiveDefinite(),
        "precision": PositiveDefinite(),
        "scale_tril": LowerCholesky(),
    }
    _event_axes = {"loc": 1, "cov": 2, "precision": 2, "scale_tril": 2}

    def __init__(self, loc, cov=None, precision=None, scale_tril=None, validate_args=None):
        given = {"cov": cov, "precision": precision, "scale_tril": scale_tril}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of `cov`, `precision` and `scale_tril` has to be specified")
        self.loc = loc
        vars(self).update(given)
        super().__init__(event_dim=1, validate_args=validate_args)

    @cached_property
    def scale_tril(self):
        """The lower triangular matrix L with L L^T = cov."""
        if "cov" in vars(self):
            return np.linalg.cholesky(self.cov)
        flipped = np.linalg.cholesky(np.flip(self.precision, (-1, -2)))  # precision = U U^T, U upper triangular
        return np.linalg.inv(np.flip(flipped, (-1, -2)).mT)

    @cached_property
    def cov(self):
        """The covariance."""
        if "scale_tril" in vars(self):
            return np.matmul(self.scale_tril, self.scale_tril.mT)
        return np.linalg.inv(self.precision)

    @cached_property
    def precision(self):
        """The inverse of the covariance."""
        if "cov" in vars(self):
            return np.linalg.inv(self.cov)
        inverse = np.linalg.inv(self.scale_tril)
        return np.matmul(inverse.mT, inverse)

    @property
    def mean(self):
        return self.loc

    @property
    def variance(self):
        return (self.scale_tril**2).sum(-1)

    def sample(self, size=None):
        like = self._like_values()
        if size is not None:
            like = np.broadcast_to(like, (size, -2) if isinstance(size, int) else (*size, -2))
        return self._from_standard(np.random.normal(np.zeros_like(like), 1.0))

    def sample_n(self, size=None):
        if size is None:
            return self.sample()
        size = (-2, size) if isinstance(size, int) else (-2, *size)
        return self._from_standard(np.random.normal(np.zeros_like(self._like_values()), 1.0, size))

    def _like_values(self):
        return self.loc + self.scale_tril[..., 0]

    def _from_standard(self, noise):
        return self.loc + _product(self.scale_tril, noise)

    def _log_prob(self, value):
        distance = value - self.loc
        squared = (distance * _product(self.precision, distance)).sum(-1)
        return -0.5 * squared - self._half_log_det() - self._size() * (0.5 * math.log(2 * math.pi))

    def _half_log_det(self):
        """Half of the logarithm of the covariance's determinant."""
        return np.log(np.diagonal(self.scale_tril, axis1=-2, axis2=-1)).sum(-1)

    def _size(self):
        return self.loc.shape[-1]

    def entropy(self):
        return self._half_log_det() + self._size() * (0.5 * math.log(2 * math.pi * math.e))


def _product(matrix, vector):
    return np.matmul(matrix, np.expand_dims(vector, -1)).squeeze(-1)
