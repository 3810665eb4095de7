"""Functions that distributions share. They take arrays and numbers."""

import functools
from numbers import Number

import numpy as _numpy

from ..... import _trace
from .... import np, npx

__all__ = [
    "cached_property",
    "constraint_check",
    "digamma",
    "erf",
    "erfinv",
    "gammaln",
    "logit2prob",
    "prob2logit",
    "sample_n_shape_converter",
]

_EPSILON = float(_numpy.finfo("float32").eps)


def constraint_check():
    """A function of a condition, True or False or an array of these, and a message: 1.0, or True as an array.

    It raises ValueError with the message where the condition does not hold.

    >>> mx.gluon.probability.constraint_check()(1 > 0, "positive numbers only")
    1.0
    """
    return _check


def _check(condition, err_msg):
    if not isinstance(condition, (bool, _numpy.bool_)):
        return npx.constraint_check(condition, err_msg)
    if not condition:
        raise ValueError(err_msg)
    return 1.0


def _of_numbers_too(name):
    """The operator as a function that gives a number for a number."""
    operator = getattr(npx, name)

    def function(value):
        if not isinstance(value, Number):
            return operator(value)
        with _trace.rehearsal():  # a number is a constant of any graph
            return operator(np.array(value, dtype="float64")).item()

    return function


_digamma, _gammaln, _erf, _erfinv = map(_of_numbers_too, ("digamma", "gammaln", "erf", "erfinv"))


def digamma():
    """The derivative of the logarithm of the gamma function, as a function of an array or a number.

    >>> round(mx.gluon.probability.digamma()(1.0), 4)
    -0.5772
    """
    return _digamma


def gammaln():
    """The logarithm of the absolute value of the gamma function, as a function of an array or a number.

    >>> mx.gluon.probability.gammaln()(2.0)
    0.0
    """
    return _gammaln


def erf():
    """The error function, as a function of an array or a number.

    >>> mx.gluon.probability.erf()(0.0)
    0.0
    """
    return _erf


def erfinv():
    """The inverse of the error function, as a function of an array or a number.

    >>> mx.gluon.probability.erfinv()(0.0)
    0.0
    """
    return _erfinv


def sample_n_shape_converter(size):
    """`size` as functions of `mx.np.random` take it: the shape of the parameters comes behind it.

    >>> mx.gluon.probability.sample_n_shape_converter(4)
    (-2, 4)
    """
    if size is None or size == ():
        return None
    return (-2, size) if isinstance(size, int) else (-2, *size)


def sum_right_most(x, ndim):
    """The sum over the last `ndim` axes."""
    return x.sum(tuple(range(-ndim, 0))) if ndim else x


def standing_for_all(value, *others):
    """`value` with the shape that it and the others broadcast to; a number where all are numbers."""
    arrays = [other for other in others if not isinstance(other, Number)]
    return value + np.zeros_like(sum(arrays)) if arrays else value


def softplus(x):
    """log(1 + exp(x))"""
    if isinstance(x, Number):
        return max(x, 0) + float(_numpy.log1p(_numpy.exp(-abs(x))))
    return npx.activation(x, act_type="softrelu")


def _clip_prob(prob):
    return np.clip(prob, _EPSILON, 1 - _EPSILON)


def _clip_float_eps(value):
    return np.maximum(value, _EPSILON)


def prob2logit(prob, binary=True):
    """The logarithms of odds (`binary`) or of probabilities, which are kept away from 0 and 1 by 1.2e-7.

    >>> mx.gluon.probability.prob2logit(mx.np.array([0.5]))
    array([0.])
    """
    clipped = _clip_prob(prob)
    return np.log(clipped) - np.log1p(-clipped) if binary else np.log(clipped)


def logit2prob(logit, binary=True):
    """1 / (1 + exp(-logit)) (`binary`), or the softmax over the last axis.

    >>> mx.gluon.probability.logit2prob(mx.np.array([0, 0]), binary=False)
    array([0.5, 0.5])
    """
    if not binary:
        return npx.softmax(logit)
    return float(1 / (1 + _numpy.exp(-logit))) if isinstance(logit, Number) else npx.sigmoid(logit)


class cached_property:  # noqa: N801 - MXNet's name
    """A property that is computed when it is first read; what is assigned to it counts from then on.

    >>> class Circle:
    ...     @mx.gluon.probability.cached_property
    ...     def area(self):
    ...         return 3
    >>> circle = Circle()
    >>> circle.area, vars(circle)
    (3, {'area': 3})
    """

    def __init__(self, func):
        self._func = func
        functools.update_wrapper(self, func)

    def __get__(self, instance, cls=None):
        if instance is None:
            return self
        value = vars(instance)[self._func.__name__] = self._func(instance)
        return value
