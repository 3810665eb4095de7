"""What distributions have in common."""

import copy
from numbers import Number

from .... import np
from .utils import cached_property, sample_n_shape_converter

__all__ = ["Distribution"]


class Distribution:
    """A distribution. Subclasses define its parameters and `_log_prob`, `sample` and what else they know.

    `arg_constraints` has the constraint of each parameter; `validate_args=True` checks them, and values that `log_prob`
    and `cdf` get (ValueError). `event_dim` is the number of last axes that are one value. What a distribution does not
    define raises NotImplementedError.

    >>> isinstance(mx.gluon.probability.Normal(), mx.gluon.probability.Distribution)
    True
    """

    has_grad = False  # whether gradients reach the parameters through samples
    has_enumerate_support = False
    _validate_args = False
    _event_axes = {}  # {parameter: number of its last axes that are one parameter}, where it has some

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions that are made without `validate_args` check values. Raises ValueError for no bool."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: expected True or False, got {value!r}")
        Distribution._validate_args = value

    def __init__(self, event_dim=None, validate_args=None):
        self.event_dim = event_dim
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()

    def _check_parameters(self):
        for name, constraint in self.arg_constraints.items():
            if name in vars(self):
                setattr(self, name, constraint.check(getattr(self, name)))
            elif not isinstance(getattr(type(self), name), cached_property):  # which follows from another parameter
                constraint.check(getattr(self, name))

    def log_prob(self, value):
        """The logarithm of the density, or of the probability of a discrete value."""
        self._check_value(value)
        return self._log_prob(value)

    def _log_prob(self, value):
        raise NotImplementedError

    def pdf(self, value):
        """The density, or the probability of a discrete value."""
        return np.exp(self.log_prob(value))

    def cdf(self, value):
        """The probability of what is not above `value`."""
        self._check_value(value)
        return self._cdf(value)

    def _cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        """The number of which `cdf` is `value`."""
        raise NotImplementedError

    def sample(self, size=None):
        """Drawn values of shape `size`, by default that of the parameters."""
        raise NotImplementedError

    def sample_n(self, size=None):
        """Drawn values: the shape is `size`, a number or a tuple, followed by that of the parameters."""
        return self.sample(sample_n_shape_converter(size))

    def broadcast_to(self, batch_shape):
        """The distribution with parameters of that shape."""
        new, names = copy.copy(self), self._parameter_names()
        for name, value in vars(self).items():
            if isinstance(value, Distribution):
                setattr(new, name, value.broadcast_to(batch_shape))
            elif name in names:
                shape = (*batch_shape, *[-2] * self._event_axes.get(name, 0))
                setattr(new, name, np.broadcast_to(value, shape))
            elif isinstance(getattr(type(self), name, None), cached_property):
                delattr(new, name)  # it has the old shape
        return new

    def _parameter_names(self):
        """Those of its own, and of the distribution that it is a case of."""
        tables = [vars(cls).get("arg_constraints") for cls in type(self).__mro__]
        return {name for table in tables if isinstance(table, dict) for name in table}

    def enumerate_support(self):
        """All values that there are, along a new first axis."""
        raise NotImplementedError

    @property
    def arg_constraints(self):
        """{name of a parameter: constraint}"""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The square root of the variance."""
        return np.sqrt(self.variance)

    @property
    def support(self):
        """The constraint that values obey."""
        raise NotImplementedError

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """exp of the entropy."""
        return np.exp(self.entropy())

    def __repr__(self):
        sizes = [f"{name}: size {self._size_of(name)}" for name in self.arg_constraints]
        return f"{type(self).__name__}({', '.join([*sizes, f'event_dim: {self.event_dim}'])})"

    def _size_of(self, name):
        """None where it was not computed yet."""
        value = vars(self).get(name)
        return () if isinstance(value, Number) else getattr(value, "shape", None)

    def _check_value(self, value):
        if self._validate_args:
            self._validate_samples(value)

    def _validate_samples(self, value):
        """`value`; ValueError where it is outside of the support."""
        return self.support.check(value)
