"""Which steps take far longer than their arithmetic and their traffic?

    python -m benchmarks.slow_steps [--cases TEXT ...] [--times N]

Profiles every recorded case (AMP_SHARED) in float32 and in automatic precision, and prints the steps that take more
than N times (default 4) of their arithmetic and their bytes, and 2 % of their plan. How fast arithmetic and bytes are
is what large products and the usual mover of these cases say. Such a step is a slow path: of oneDNN, of an own kernel,
or one that decisions should avoid. Wants a machine that does nothing else.
"""

import argparse
import statistics
import sys
import warnings

import amp

from .shared_cases import SharedModel, names

RUNS = 5
LEAST_PART, LEAST_SECONDS, START_SECONDS = 0.02, 4e-5, 3e-6
LARGE_FLOPS, LARGE_BYTES = 1e8, 1 << 20


def _profiled(name):
    """The steps of a case whose bytes are known, in both precisions, each with its part of its plan."""
    case = SharedModel(name)
    for options in ({}, {"reduce_precision": "bfloat16"}):
        steps = case.bind(**options).profile(case.inputs, runs=RUNS).steps
        total = sum(step["median_seconds"] for step in steps)
        for step in steps:
            if step["bytes"] and step["min_seconds"]:
                part = step["min_seconds"] / total
                yield {**step, "case": name, "as": "automatic" if options else "float32", "part": part}


def _speeds(steps):
    """({dtype: operations per second}, bytes per second): of the best tenth of large products, and of the median mover.
    None where there is neither."""
    rates = {}
    for step in steps:
        if step["flops"] > LARGE_FLOPS:
            rates.setdefault(step["dtype"], []).append(step["flops"] / step["min_seconds"])
    movers = [s["bytes"] / s["min_seconds"] for s in steps if s["flops"] < s["bytes"] and s["bytes"] > LARGE_BYTES]
    peaks = {dtype: sorted(of_dtype)[int(0.9 * len(of_dtype))] for dtype, of_dtype in rates.items()}
    return (peaks, statistics.median(movers)) if peaks and movers else None


def _times(step, peaks, bandwidth):
    """How many times of its arithmetic and traffic it takes."""
    arithmetic = step["flops"] / peaks.get(step["dtype"], max(peaks.values()))
    return step["min_seconds"] / (START_SECONDS + arithmetic + step["bytes"] / bandwidth)


def main(arguments=None):
    """Prints the slow steps, those that take longest first."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.slow_steps", description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="+", default=(), metavar="TEXT")
    parser.add_argument("--times", type=float, default=4.0, metavar="N")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")  # of what does not pay
    steps = []
    for name in names(filters=options.cases):
        try:
            steps += _profiled(name)
        except amp.Error as error:
            print(f"{name}: {str(error).partition(chr(10))[0]}", file=sys.stderr)
    found = _speeds(steps)
    if found is None:
        parser.error("no large products, or nothing large that only moves, in these cases: name more of them")
    peaks, bandwidth = found
    speeds = ", ".join(f"{dtype} {peak / 1e9:.0f} GFLOP/s" for dtype, peak in sorted(peaks.items()))
    print(f"{len(steps)} steps; {speeds}; {bandwidth / 1e9:.0f} GB/s")
    for step in sorted(steps, key=lambda step: -step["min_seconds"]):
        times = _times(step, peaks, bandwidth)
        if times > options.times and step["part"] > LEAST_PART and step["min_seconds"] > LEAST_SECONDS:
            where = f"{step['case']}, {step['as']}: {step['node']} ({step['group']})"
            print(f"{1e6 * step['min_seconds']:9.1f} us, {times:5.1f} times, {100 * step['part']:4.1f} % of {where}")


if __name__ == "__main__":
    main()
