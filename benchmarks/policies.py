"""Compares the policies on the shared networks: casts, predicted and measured time, error.

    python -m benchmarks.policies [--cases TEXT ...] [--seconds S]

Times and errors are relative to float32: medians of runs that take turns in one process, and the rms of the difference
over the rms of the float32 results (the worst output). "as written" runs dtypes as the policy decided them
(machine='any', emulated where the CPU has no bfloat16), "this machine" what is left of them where it pays. Where
optimal's error is above 1.25 times default's, the nodes that differ are named. Wants a machine that does nothing else.
"""

import argparse
import warnings

import numpy as np

import amp

from .compare.stats import relative_rms
from .shared_cases import SharedModel, interleaved_medians, names

GROUPS = ("zoo", "nlp", "real")
POLICIES = {
    "default": {"policy": "default"},
    "mxnet": {"policy": "mxnet"},
    "graphamp mp1": {"policy": "graphamp", "preset": "mp1"},
    "graphamp mp3": {"policy": "graphamp", "preset": "mp3"},
    "optimal": {"policy": "optimal"},
}
LARGER = 1.25  # an error of optimal's that asks for an explanation
HEADER = ("network", "policy", "casts", "predicted", "as written", "this machine", "rms error", "rms, this machine")


def _options(policy):
    options = dict(POLICIES[policy])
    if policy == "optimal":
        options["machine"] = "this"  # there is no decision without times
    return options


def _predicted(case, converted):
    """Of any converted model, relative to the model as it was: preset mp0 changes nothing and predicts."""
    known = {name: shape for name, shape in case.shapes.items() if name not in case.model[1]}
    dtypes = {name: case.dtypes[name] for name in known}
    given = {"input_shapes": known, "policy": "graphamp", "preset": "mp0", "machine": "this", "return_report": True}
    times = [amp.convert_model(*model, dtypes, **given)[3].predicted for model in (converted, case.model)]
    if None in times:
        return float("nan")  # AMP_MACHINE=any
    return times[0]["as_decided"] / times[1]["as_decided"]


def _outputs(executor, inputs):
    return [output.asnumpy().astype(np.float64) for output in executor(inputs)]


def _error(outputs, expected):
    pairs = [(got, want) for got, want in zip(outputs, expected) if want.size]
    return relative_rms(*zip(*pairs)) if pairs else 0.0


def _row(case, policy, float32, seconds):
    *low, report = case.convert(**_options(policy))
    written, fitted = case.bind(low, machine="any"), case.bind(low, machine="this")
    calls = [lambda run=run: run(case.inputs) for run in (float32, written, fitted)]
    base, *times = interleaved_medians(calls, seconds)
    expected = _outputs(float32, case.inputs)
    errors = [_error(_outputs(run, case.inputs), expected) for run in (written, fitted)]
    numbers = [_predicted(case, low), *(value / base for value in times)]
    return report, errors, [f"{number:.2f}" for number in numbers]


def _differing_nodes(reports):
    """Results that are low under one of default and optimal alone."""
    low = [
        {tensor["name"] for tensor in report.tensors if tensor["dtype"] == report.options["target_dtype"]}
        for report in reports
    ]
    return sorted(low[0] ^ low[1])


def compare(name, seconds):
    """Prints the rows of one network."""
    case = SharedModel(name)
    float32 = case.bind()
    reports, errors = {}, {}
    for policy in POLICIES:
        reports[policy], (errors[policy], fitted_error), cells = _row(case, policy, float32, seconds)
        casts = reports[policy].totals["casts"]["run_time"]
        shown = [name, policy, str(casts), *cells, f"{errors[policy]:.2e}", f"{fitted_error:.2e}"]
        print(f"| {' | '.join(shown)} |", flush=True)
    if errors["optimal"] > LARGER * errors["default"]:
        return _differing_nodes([reports["default"], reports["optimal"]])
    return []


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[], metavar="TEXT", help="cases with one of these in their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="per contestant (default: 1)")
    options = parser.parse_args()
    print(f"{amp.cpu_info()}\n\n| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
    notes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names(GROUPS, options.cases):
            try:
                nodes = compare(name, options.seconds)
            except amp.UnsupportedError as error:
                notes.append(f"{name}: not supported ({str(error).rpartition('/')[2][:80]})")
                continue
            if nodes:
                notes.append(f"{name}: optimal's error is above {LARGER} times default's; they differ in {nodes}")
    print("\n".join(["", *notes]))


if __name__ == "__main__":
    main()
