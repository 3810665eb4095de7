"""Times of whole training steps (forward, backward, SGD with momentum) against PyTorch and MXNet 1.9.1.

    python -m benchmarks.training_steps [--networks NAME:BATCH ...] [--seconds S] [--rounds N] [--threads N]

Engines are processes that take turns; times are medians of all calls, in ms. A ratio is the best time of
this package (float32, or bfloat16 in automatic precision) over the best of PyTorch's: eager or compiled, float32 or
bfloat16 by autocast. MXNet takes part where MXNET_PYTHON names a Python that has it. Wants the environment of `make
bench` and a machine that does nothing else.
"""

import argparse
import math
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import amp

from .compare import prepare
from .compare.processes import Worker, WorkerError

DEFAULT = ("resnet50_v1:16", "mobilenetv2_1.0:16", "bert_base:8")
ENGINES = [
    (f"{name} {precision}", contestant, precision)
    for name, contestant in (
        ("ours", "ours-steps"),
        ("torch eager", "torch-steps"),
        ("torch compiled", "torch-compiled-steps"),
    )
    for precision in ("fp32", "bf16")
]


def _engines(options):
    mxnet = [("MXNet fp32", "mxnet-steps", "fp32")] if options.mxnet_python else []
    return ENGINES + mxnet


def _measure(folder, inputs, options):
    """{engine: times in ms, or what went wrong}"""
    cpus = sorted(os.sched_getaffinity(0))[: options.threads]
    found, running = {}, {}
    with ExitStack() as stack:
        for label, contestant, precision in _engines(options):
            specification = {"contestant": contestant, "precision": precision, "cpus": cpus}
            specification.update(model=str(folder), inputs=str(inputs))
            python = options.mxnet_python if contestant.startswith("mxnet") else sys.executable
            worker = stack.enter_context(Worker(specification, python=python, timeout=900))
            try:
                worker.load()
                running[label], found[label] = worker, []
            except WorkerError as error:
                found[label] = str(error)
        for _ in range(options.rounds):
            for label, worker in running.items():
                found[label] += worker.ask("measure", seconds=options.seconds, calls=2)["times"]
    return found


def _row(text, options):
    network, _, batch = text.rpartition(":")
    with tempfile.TemporaryDirectory() as path:
        prepare.main(network, batch, path)
        found = _measure(Path(path), prepare.batch_folder(path, int(batch)) / "inputs.npz", options)
    for label, times in found.items():
        if isinstance(times, str):
            print(f"{text}: {label}: {times}", file=sys.stderr)
    times = {label: median(value) for label, value in found.items() if not isinstance(value, str)}
    best = {who: min(time for label, time in times.items() if label.startswith(who)) for who in ("ours", "torch")}
    ratio = best["ours"] / best["torch"]
    shown = [f"{times[label]:.0f}" if label in times else "-" for label, _, _ in _engines(options)]
    return f"| {network}, {batch} | {' | '.join(shown)} | {ratio:.2f} |", ratio


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=DEFAULT, metavar="NAME:BATCH")
    parser.add_argument("--seconds", type=float, default=3.0, help="per engine and round (default: 3)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each engine (default: 3)")
    parser.add_argument("--threads", type=int, default=None, help="CPUs (default: all)")
    parser.add_argument("--mxnet-python", default=os.environ.get("MXNET_PYTHON"), help="default: MXNET_PYTHON")
    options = parser.parse_args()
    print(f"{amp.cpu_info()}\n")
    labels = [label for label, _, _ in _engines(options)]
    print(f"| network, batch | {' | '.join(labels)} | ours / torch, best |\n|{'---|' * (len(labels) + 2)}")
    ratios = []
    for text in options.networks:
        row, ratio = _row(text, options)
        ratios.append(ratio)
        print(row, flush=True)
    print(f"\ngeometric mean: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
