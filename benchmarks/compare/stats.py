"""Ratios of interleaved rounds and how sure they are."""

import math
from statistics import mean, median


def ratio_interval(ratios):
    """(median, low, high): the 95 % interval of the median by order statistics (the inversion of the sign test).

    It assumes nothing about how disturbances are distributed, so a round that something else slowed down counts as one
    round, however slow it was. Its bounds are None below six rounds, which do not have such an interval.
    """
    ordered, outside = sorted(ratios), _ranks_outside(len(ratios))
    if outside == 0:
        return median(ratios), None, None
    return median(ratios), ordered[outside - 1], ordered[-outside]


def _ranks_outside(rounds):
    """The largest k for which less than k of `rounds` values are below their median in at most 2.5 % of all cases."""
    k, cases = 0, 1
    while cases <= 0.025 * 2**rounds:
        k += 1
        cases += math.comb(rounds, k)
    return k


def percentile(values, share):
    """The smallest of `values` that `share` percent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


def geometric_mean(values):
    return math.exp(mean(math.log(value) for value in values))


def relative_rms(outputs, expected):
    """The worst output's root mean square of the difference, relative to that of what is expected."""
    return max(_rms(got - want) / _rms(want) for got, want in zip(outputs, expected))


def relative_max(outputs, expected):
    """The worst output's largest difference, relative to the root mean square of what is expected."""
    return max(float(abs(got - want).max()) / _rms(want) for got, want in zip(outputs, expected))


def _rms(array):
    return math.sqrt(float((array.astype("float64") ** 2).mean())) or 1e-300
