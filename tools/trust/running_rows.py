"""Rows about runs: audits, kernels that are checked by value, bits of rows in every batch.

cd tools && ../.venv/bin/python -m trust.running_rows resnet50_v1    # these rows alone, of some networks
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .report import Row, print_table

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "python" / "trust")]

from benchmarks.compare.networks import NETWORKS, inputs_of, parameters_of, symbol_of  # noqa: E402

import amp  # noqa: E402

BATCHES = (1, 3, 8, 16)
CLASS = "avx512_bf16_fast"  # with own kernels of bfloat16


def rows(networks=NETWORKS):
    """Audits against oneDNN's log, then each network's kernels and bits."""
    yield from audit_rows()
    for network in networks:
        yield checked_kernels_row(network)
    for network in networks:
        yield batch_row(network)


def audit_rows():
    """Against oneDNN's own log, in child processes."""
    import test_audit

    found, _ = test_audit.logged(low=True)
    primitives = differences = 0
    for lines, steps in found.values():
        by_audit = [step for step in steps if step["fpmath"] is not None]
        primitives += len(lines)
        differences += abs(len(lines) - len(by_audit))
        differences += sum(not test_audit.is_as_logged(step, line) for step, line in zip(by_audit, lines))
    seen = f"{primitives} primitives, {differences} differences"
    yield Row(f"audit: {len(found)} runs against ONEDNN_VERBOSE", "0 differences", seen, differences == 0)
    found, _ = test_audit.logged(low=False, ONEDNN_DEFAULT_FPMATH_MODE="BF16")
    carry = sum("fpmath" in line[6] for lines, _ in found.values() for line in lines)
    yield Row("audit: ONEDNN_DEFAULT_FPMATH_MODE=BF16", "no primitive carries it", f"{carry} do", carry == 0)


# Binds a model in an empty cache folder and prints how long the checks took. Times are of the CPU.
CHECKS = """
import json, sys, time
sys.path.insert(0, {root!r})
import amp
from benchmarks.compare.networks import inputs_of, parameters_of, symbol_of
symbol = symbol_of({network!r})
shapes = {{name: array.shape for name, array in inputs_of({network!r}, 1).items()}}
low = amp.convert_model(symbol, *parameters_of({network!r}, symbol), cast_params_offline=True)
amp.Executor(*low, shapes, machine={machine!r}, num_threads=1)
print("FOUND " + json.dumps(amp._core.checked_kernels()))
"""


def checked_kernels_row(network):
    """Kinds of kernels of a network, and the CPU time that checking them took, in a process that knows none."""
    with tempfile.TemporaryDirectory() as folder:
        code = CHECKS.format(root=str(ROOT), network=network, machine=CLASS)
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.partition("FOUND ")[2])
    verdicts = list(found["kernels"].values())
    right, wrong, unchecked = (verdicts.count(verdict) for verdict in ("right", "wrong", "unchecked"))
    milliseconds = 1000 * found["seconds"]
    seen = f"{right} kinds right in {milliseconds:.0f} ms of CPU, {wrong} wrong, {unchecked} have no small form"
    return Row(f"kernels by value: {network}", "300 ms, none wrong", seen, milliseconds <= 300 and not wrong)


def batch_row(network):
    """Bits of the rows of several batches in bfloat16, and what that costs beside mode exact at the largest batch."""
    symbol = symbol_of(network)
    model = amp.convert_model(symbol, *parameters_of(network, symbol), cast_params_offline=True)
    data = inputs_of(network, max(BATCHES))
    run, known, same, seconds = None, None, True, 0
    for batch in BATCHES:
        part = {name: np.ascontiguousarray(array[:batch]) for name, array in data.items()}
        shapes = {name: array.shape for name, array in part.items()}
        run = run.reshape(shapes) if run else amp.Executor(*model, shapes, mode="exact", batch_invariant=True)
        begin = time.perf_counter()
        results = [result.asnumpy() for result in run(part)]
        seconds = time.perf_counter() - begin
        known = known or [result[:0] for result in results]
        same = same and all(a[: len(b)].tobytes() == b.tobytes() for a, b in zip(results, known))
        known = results
    plain = amp.Executor(*model, shapes, mode="exact")
    plain(part)
    begin = time.perf_counter()
    plain(part)
    cost = seconds / (time.perf_counter() - begin)
    check = f"batch_invariant: {network}, batches {', '.join(map(str, BATCHES))}"
    seen = f"{'equal' if same else 'other'} bits; takes {cost:.2f} of the time of mode exact at batch {max(BATCHES)}"
    return Row(check, "equal bits", seen, same)


if __name__ == "__main__":
    print_table(rows(sys.argv[1:] or NETWORKS))
