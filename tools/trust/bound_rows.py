"""Rows about `amp.error_bound` and own errors, of random networks."""

import numpy as np

import amp

from . import networks
from .random_graphs import random_model
from .report import Row

_POLICIES = ("default", "mxnet", "graphamp")


def slacks(seeds):
    """(bound / measured of each number that moved, names of suspects) of networks with these seeds."""
    found, suspects = [], []
    for seed in seeds:
        model, data = random_model(seed)
        *low, _ = networks.convert(model, data, policy=_POLICIES[seed % len(_POLICIES)])
        exact, moved = networks.run(model, data)[0], networks.run(low, data)[0]
        for row in amp.error_bound(model, low, data).bounds:
            difference = abs(moved[row["index"]] - exact[row["index"]])
            found += [row["bound"] / difference] if difference else []
        suspects += [f"{seed}: {name}" for name in amp.compare(model, low, data, shares=False).suspects]
    return np.array(found), suspects


def rows(count=1000):
    """Violations and slack of the bound, and suspects."""
    found, suspects = slacks(range(count))
    violations, median = int(np.sum(found < 1)), float(np.median(found))
    yield Row(f"bound: violations of {len(found)} numbers of {count} graphs", "0", str(violations), not violations)
    low, high = np.percentile(found, [10, 90])
    seen = f"{median:.1f} (10 % below {low:.1f}, 90 % below {high:.1f})"
    yield Row("bound: median slack", "<= 20", seen, median <= 20)
    yield Row(f"own_units: suspects of {count} graphs", "0", str(len(suspects)), not suspects)
