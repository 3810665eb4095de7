"""Exponential families."""

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with the density exp(<t(x), theta> - F(theta) + k(x)).

    Subclasses may define their natural parameters theta and the logarithm of the normalizer, F.

    >>> issubclass(mx.gluon.probability.Normal, mx.gluon.probability.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    def _mean_carrier_measure(self, x):
        raise NotImplementedError
