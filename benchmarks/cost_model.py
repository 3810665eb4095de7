"""Compares predicted with measured times of the steps of the benchmark networks.

    python -m benchmarks.cost_model [--networks NAME ...] [--save FILE.json]

AMP_MACHINE says by which machine file times are predicted: by default by that of `amp calibrate`, or the class that
fits. Wants a machine that does nothing else, and a machine file of the same hour: clocks of shared machines drift.
"""

import argparse
import json
import time
import warnings

import numpy as np

import amp

from .compare import networks

_SECONDS = 1.5  # of profiled runs per model
_BATCHES = (1, 16)
_DTYPES = ("float32", "bfloat16")


def profiles(names):
    """{(network, batch, dtype): steps}, measured now."""
    found = {}
    for name in names:
        symbol = networks.symbol_of(name)
        params = networks.parameters_of(name, symbol)
        for batch in _BATCHES:
            for dtype in _DTYPES:
                found[name, batch, dtype] = _steps(symbol, params, networks.inputs_of(name, batch), dtype)
                print(_line((name, batch, dtype), found[name, batch, dtype]), flush=True)
    return found


def _steps(symbol, params, inputs, dtype):
    # every node in bfloat16, whatever pays: both dtypes are to be predicted
    reduced = None if dtype == "float32" else {"target_dtype": dtype, "emulate": True}
    shapes = {name: array.shape for name, array in inputs.items()}
    dtypes = {name: array.dtype for name, array in inputs.items()}
    run = amp.Executor(symbol, *params, shapes, input_dtypes=dtypes, reduce_precision=reduced)
    begin = time.perf_counter()
    run(inputs)
    runs = int(np.clip(_SECONDS / (time.perf_counter() - begin), 3, 60))
    return run.profile(inputs, runs=runs).steps


def _pairs(steps):
    timed = [step for step in steps if step["bytes"]]
    return (
        np.array([step["predicted_seconds"] for step in timed]),
        np.array([step["median_seconds"] for step in timed]),
    )


def _rank_correlation(first, second):
    """Spearman's."""
    ranks = [np.argsort(np.argsort(values)) for values in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def _line(key, steps):
    predicted, measured = _pairs(steps)
    name, batch, dtype = key
    ratio, correlation = predicted.sum() / measured.sum(), _rank_correlation(predicted, measured)
    return (
        f"{name:16} {batch:3} {dtype:9} predicted {1e3 * predicted.sum():8.2f} ms, measured {1e3 * measured.sum():8.2f}"
        f" ms, ratio {ratio:5.2f}, rank correlation {correlation:.3f}"
    )


def _by_node(steps):
    """{node: (predicted, measured)}, casts and reorders with the node that they belong to."""
    times = {}
    for step in steps:
        if step["bytes"]:
            predicted, measured = times.get(step["node"], (0.0, 0.0))
            times[step["node"]] = predicted + step["predicted_seconds"], measured + step["median_seconds"]
    return times


def _right_signs(full, low):
    """(right, all) of steps in float32 whose nodes take another time in bfloat16, by a tenth or more."""
    of_low, fused = _by_node(low), {}
    for step in full:
        fused.setdefault(step["node"], {step["node"]}).update(step["fused"])
    right = total = 0
    for node, (predicted, measured) in _by_node(full).items():
        parts = [of_low[part] for part in fused[node] if part in of_low]
        ratio = sum(part[1] for part in parts) / measured
        if parts and not 0.9 <= ratio <= 1.1:
            total += 1
            right += (sum(part[0] for part in parts) > predicted) == (ratio > 1)
    return right, total


def summary(found):
    """Lines of text."""
    pairs = {key: _pairs(steps) for key, steps in found.items()}
    predicted, measured = (np.concatenate(side) for side in zip(*pairs.values()))
    errors = np.abs(predicted / measured - 1)
    totals = np.array([abs(p.sum() / m.sum() - 1) for p, m in pairs.values()])
    signs = [_right_signs(s, found[n, b, "bfloat16"]) for (n, b, dtype), s in found.items() if dtype == "float32"]
    right, total = (sum(counts) for counts in zip(*signs))
    return [
        f"steps: {len(errors)}, rank correlation {_rank_correlation(predicted, measured):.4f}, "
        f"error median {100 * np.median(errors):.1f} %, 90th percentile {100 * np.quantile(errors, 0.9):.1f} %",
        f"networks: rank correlation from {min(_rank_correlation(*pair) for pair in pairs.values()):.3f}, "
        f"error median {100 * np.median(totals):.1f} %, worst {100 * totals.max():.1f} %",
        f"sign of bfloat16's gain: right for {right} of {total} steps",
    ]


def main():
    """Measures, prints, saves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=networks.NETWORKS, default=networks.NETWORKS)
    parser.add_argument("--save", metavar="FILE.json", help="write all steps")
    options = parser.parse_args()
    print(amp.base.cpu_info())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = profiles(options.networks)
    print("\n".join(summary(found)))
    if options.save:
        with open(options.save, "w", encoding="utf-8") as file:
            json.dump({"|".join(map(str, key)): steps for key, steps in found.items()}, file, default=float)


if __name__ == "__main__":
    main()
