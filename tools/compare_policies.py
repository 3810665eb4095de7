"""Casts and accuracy of the policies default and mxnet on every reference case.

    .venv/bin/python tools/compare_policies.py CASES
    .venv/bin/python tools/compare_policies.py CASES --only nlp --inputs 3

For each case: casts in every run (those of parameters are made offline) under both policies, and the relative rms
error of the outputs against the model in its own precision, the mean of seeded inputs. Inputs that hold integers are
the case's own in every round. Ends with status 1 where default needs more casts than mxnet, where its error is more
than 1.1 times that of mxnet on one case, or larger in the geometric mean.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from run_cases import case_class, load

import amp

LARGEST_RATIO = 1.1


def rounds(case, count):
    """Inputs of several runs: the case's own first, then others of the same distribution."""
    inputs = case.inputs()
    yield inputs
    for seed in range(1, count):
        generator = np.random.default_rng(seed)
        yield {name: _other(array, generator) for name, array in inputs.items()}


def _other(array, generator):
    if array.dtype.kind != "f" or np.array_equal(array, np.round(array)):
        return array
    return (generator.standard_normal(array.shape) * array.std() + array.mean()).astype(array.dtype)


def relative_rms(expected, actual):
    """The largest of all outputs' errors. Integers and single numbers (which may be near 0 by chance) do not count."""
    errors = [0.0]
    for e, a in zip(expected, actual):
        e, a = e.asnumpy().astype(np.float64), a.asnumpy().astype(np.float64)
        if e.size > 1 and np.isfinite(e).all() and e.any():
            errors.append(float(np.linalg.norm(e - a) / np.linalg.norm(e)))
    return max(errors)


def executor(model, inputs):
    return amp.Executor(
        *model,
        {name: array.shape for name, array in inputs.items()},
        input_dtypes={name: array.dtype for name, array in inputs.items()},
    )


def count_casts(symbol):
    return symbol._handle.count_operators().get("amp_cast", 0)


def compare(case, count):
    """{policy: (casts, error)}"""
    model, inputs = load(case), list(rounds(case, count))
    dtypes = {name: array.dtype for name, array in inputs[0].items()}
    plain = executor(model, inputs[0])
    expected = [plain(arrays) for arrays in inputs]
    found = {}
    for policy in ("default", "mxnet"):
        converted = amp.convert_model(*model, dtypes, cast_params_offline=True, policy=policy)
        run = executor(converted, inputs[0])
        errors = [relative_rms(e, run(arrays)) for e, arrays in zip(expected, inputs)]
        found[policy] = count_casts(converted[0]), float(np.mean(errors))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="cases whose path contains this")
    parser.add_argument("--inputs", type=int, default=3, help="seeded inputs of each case (default: 3)")
    options = parser.parse_args()
    make_case = case_class(options.folder)
    ratios, bad = [], []
    print(f"{'case':<40} {'casts':>12} {'rms default':>12} {'rms mxnet':>12} {'ratio':>7}")
    for path in sorted(options.folder.glob("*/*/symbol.json")):
        name = str(path.parent.relative_to(options.folder))
        if options.only not in name:
            continue
        try:
            found = compare(make_case(str(path.parent)), options.inputs)
        except amp.UnsupportedError as error:
            print(f"{name:<40} {str(error).splitlines()[0][:70]}")
            continue
        (casts, error), (casts_mxnet, error_mxnet) = found["default"], found["mxnet"]
        ratio = error / error_mxnet if error_mxnet else 1.0 if error == 0 else float("inf")
        ratios.append(max(ratio, 1e-9))
        wrong = casts > casts_mxnet or ratio > LARGEST_RATIO
        bad += [name] * wrong
        print(
            f"{name:<40} {f'{casts} / {casts_mxnet}':>12} {error:>12.3%} {error_mxnet:>12.3%} {ratio:>7.3f}"
            f"{'  <-- worse' if wrong else ''}",
            flush=True,
        )
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0
    print(f"{len(ratios)} cases; geometric mean of the ratios {mean:.3f}; worse: {', '.join(bad) or 'none'}")
    return 1 if bad or mean > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
