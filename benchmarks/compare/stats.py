"""Ratios of interleaved rounds and how sure they are."""

import math
from statistics import mean, median, stdev

# 97.5 % quantiles of Student's t by degrees of freedom; the last serves for more.
T_QUANTILES = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145)


def ratio_interval(ratios):
    """(median, low, high): the 95 % interval is that of the geometric mean, by Student's t on the logarithms.

    Its bounds are None for a single round, of which nothing is known.
    """
    logs = [math.log(ratio) for ratio in ratios]
    if len(logs) < 2:
        return median(ratios), None, None
    quantile = T_QUANTILES[min(len(logs) - 2, len(T_QUANTILES) - 1)]
    half = quantile * stdev(logs) / math.sqrt(len(logs))
    return median(ratios), math.exp(mean(logs) - half), math.exp(mean(logs) + half)


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
