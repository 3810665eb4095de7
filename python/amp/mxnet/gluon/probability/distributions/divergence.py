"""Kullback-Leibler divergences."""

import inspect
import math

import numpy as _numpy

from .... import np
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal, _product
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import digamma, gammaln

__all__ = ["empirical_kl", "kl_divergence", "register_kl"]

_FORMULAS = {}  # {(name of p's class, name of q's class): function of p and q}
_EULER = _numpy.euler_gamma


def empirical_kl(p, q, n_samples=1):
    """An estimate of the divergence of `q` from `p`: the mean of log(p(x) / q(x)) over `n_samples` draws of `p`.

    >>> p = mx.gluon.probability.Normal(mx.np.array([0]), 1)
    >>> mx.gluon.probability.empirical_kl(p, p, 10)
    array([0.])
    """
    samples = p.sample_n(n_samples)
    return (p.log_prob(samples) - q.log_prob(samples)).mean(0)


def register_kl(typeP, typeQ):  # noqa: N803 - MXNet's names
    """Decorates a function of `p` and `q`, distributions of these classes, as the one that `kl_divergence` calls.

    The first one that is registered for two classes stays. Raises TypeError for a function of other arguments.

    >>> class Mine(mx.gluon.probability.Normal):
    ...     pass
    >>> @mx.gluon.probability.register_kl(Mine, Mine)
    ... def kl_of_mine(p, q):
    ...     return 0
    >>> mx.gluon.probability.kl_divergence(Mine(), Mine())
    0
    """

    def decorator(func):
        count = len(inspect.signature(func).parameters)
        if count != 2:
            raise TypeError(f"Expect kl_divergence implementation to have exactly two arguments, but got {count}")
        _FORMULAS.setdefault((typeP.__name__, typeQ.__name__), func)
        return func

    return decorator


def kl_divergence(p, q):
    """The divergence of `q` from `p`, the mean of log(p(x) / q(x)) over all x that `p` draws.

    Raises NotImplementedError where there is no formula for the two classes.

    >>> mx.gluon.probability.kl_divergence(*[mx.gluon.probability.Normal(mx.np.array([x]), 1) for x in (0, 1)])
    array([0.5])
    """
    names = type(p).__name__, type(q).__name__
    if names not in _FORMULAS:
        raise NotImplementedError(f"KL divergence between {names[0]} and {names[1]} is not implemented.")
    return _FORMULAS[names](p, q)


# ---- two distributions of one kind ----


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - np.log(ratio))


register_kl(HalfNormal, HalfNormal)(_normal)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    return _xlogy(p.prob, p.prob / q.prob) + _xlogy(1 - p.prob, (1 - p.prob) / (1 - q.prob))


def _xlogy(x, y):
    """x * log(y), which is 0 where x is, whatever `y`."""
    is_zero = x == 0
    return np.where(is_zero, 0, x * np.log(np.where(is_zero, 1, y)))


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    return (p.prob * (p._log_probabilities - q._log_probabilities)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    is_outside = (q.low > p.low) | (q.high < p.high)
    return np.where(is_outside, math.inf, np.log((q.high - q.low) / (p.high - p.low)))


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    return np.log((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2) - np.log(4 * p.scale * q.scale)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, np.abs(p.loc - q.loc)
    return -np.log(ratio) + distance / q.scale + ratio * np.exp(-distance / p.scale) - 1


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (np.log(p.rate) - np.log(q.rate)) - (p.rate - q.rate)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - np.log1p(-q.prob) / p.prob - q.logit


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = p.scale / q.scale
    return -np.log(ratio) + ratio - 1


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio = q.alpha / p.alpha
    inside = q.alpha * np.log(p.scale / q.scale) - np.log(ratio) + ratio - 1
    return np.where(p.scale < q.scale, math.inf, inside)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -np.log(ratio) + distance + ratio * _EULER + np.exp(gammaln()(1 + ratio) - distance) - (1 + _EULER)


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    lgamma, ratio = gammaln(), p.scale / q.scale
    of_shapes = lgamma(q.shape) - lgamma(p.shape) + (p.shape - q.shape) * digamma()(p.shape)
    return of_shapes - q.shape * np.log(ratio) + p.shape * (ratio - 1)


@register_kl(Beta, Beta)
def _beta(p, q):
    dgamma, more = digamma(), (q.alpha - p.alpha) + (q.beta - p.beta)
    moved = (p.alpha - q.alpha) * dgamma(p.alpha) + (p.beta - q.beta) * dgamma(p.beta)
    return q._log_normalization() - p._log_normalization() + moved + more * dgamma(p.alpha + p.beta)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    dgamma = digamma()
    logarithms = dgamma(p.alpha) - np.expand_dims(dgamma(p.alpha.sum(-1)), -1)  # the mean of log x
    return q._log_normalization() - p._log_normalization() + ((p.alpha - q.alpha) * logarithms).sum(-1)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if p.n > q.n:
        return np.full_like(p.prob + q.prob, math.inf)
    same = p.n * (p.prob * (p.logit - q.logit) + np.log1p(-p.prob) - np.log1p(-q.prob))
    return same if p.n == q.n else same + _of_more_trials(p, q)


def _of_more_trials(p, q):
    """What q's larger number of trials adds."""
    lgamma, result = gammaln(), (p.n - q.n) * np.log1p(-q.prob)
    for x in range(int(p.n) + 1):
        ways = [lgamma(n + 1.0) - lgamma(n - x + 1.0) for n in (p.n, q.n)]
        result = result + p.pdf(np.full_like(p.prob, x)) * (ways[0] - ways[1])
    return result


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    distance = q.loc - p.loc
    spread = np.trace(np.matmul(q.precision, p.cov), axis1=-2, axis2=-1)
    squared = (distance * _product(q.precision, distance)).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (spread + squared - p._size())


# ---- two distributions of different kinds ----


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    span, distance = p.high - p.low, (p.high + p.low) / 2 - q.loc
    return np.log(math.sqrt(2 * math.pi) * q.scale / span) + 0.5 * (span**2 / 12 + distance**2) / q.scale**2


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p, q):
    ratio, low, high = q.scale / (p.high - p.low), (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return np.log(ratio) + 0.5 * (high + low) - ratio * (np.exp(-high) - np.exp(-low))


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p, q):
    ratio, loc = q.scale / p.scale, q.loc / q.scale
    return np.log(ratio) - 1 - loc + np.exp(loc) * ratio / (ratio + 1) + 1 / ratio


@register_kl(Exponential, Normal)
def _exponential_normal(p, q):
    squared = p.scale**2 - q.loc * p.scale + 0.5 * q.loc**2  # half of the mean of (x - loc)^2
    return 0.5 * np.log(2 * math.pi * (q.scale / p.scale) ** 2) - 1 + squared / q.variance


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    ratio = p.scale / q.scale
    return -q.shape * np.log(ratio) + ratio + gammaln()(q.shape) + q.shape * _EULER - (1 + _EULER)
