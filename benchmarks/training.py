"""Times of forward and backward passes against MXNet 1.9.1.

    MXNET_PYTHON=/path/to/python python -m benchmarks.training [--networks NAME:BATCH ...] [--seconds S] [--rounds N]

As many threads as there are CPUs. Engines are processes that take turns. A ratio is our time over MXNet's in float32,
of the medians of all calls; "best" is that of the fastest calls. "backward" is our backward over our forward time, by
the profile of the plan. "differs" is the relative root mean square of the difference of outputs and of three gradients.
"reference" is the share of steps on reference code. Wants a machine that does nothing else.
"""

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import numpy as np

import amp

from .compare.networks import inputs_of, parameters_of, symbol_of
from .compare.prepare import load_outputs
from .compare.processes import Worker, WorkerError
from .compare.stats import relative_rms

DEFAULT = ("resnet50_v1:16", "mobilenetv2_1.0:16", "bert_base:8")
ENGINES = (
    ("ours", "ours-training", "fp32"),
    ("automatic", "ours-training", "bf16"),
    ("MXNet", "mxnet-training", "fp32"),
)


def _prepare(network, batch, folder):
    symbol = symbol_of(network)
    amp.save_checkpoint(str(folder / "model"), 0, symbol, *parameters_of(network, symbol))
    np.savez(folder / "inputs.npz", **inputs_of(network, batch))


def _measure(folder, options):
    """{engine: (times in ms, peak MB, outputs) or what went wrong}"""
    cpus = sorted(os.sched_getaffinity(0))
    found, running = {}, {}
    with ExitStack() as stack:
        for label, contestant, precision in ENGINES:
            python = options.mxnet_python if contestant.startswith("mxnet") else sys.executable
            specification = {"contestant": contestant, "precision": precision, "cpus": cpus, "model": str(folder)}
            specification["inputs"] = str(folder / "inputs.npz")
            worker = stack.enter_context(Worker(specification, python=python, timeout=600))
            try:
                worker.load()
                worker.ask("save", path=str(folder / f"{contestant}-{precision}.npz"))
                running[label] = worker
                found[label] = [[], 0, load_outputs(folder / f"{contestant}-{precision}.npz")]
            except WorkerError as error:
                found[label] = str(error)
        for _ in range(options.rounds):
            for label, worker in running.items():
                answer = worker.ask("measure", seconds=options.seconds, calls=2)
                found[label][0] += answer["times"]
                found[label][1] = answer["peak_mb"]
    return found


def _backward_over_forward(folder):
    symbol, args, aux = amp.load(str(folder / "model-symbol.json"), str(folder / "model-0000.params"))
    inputs = dict(np.load(folder / "inputs.npz"))
    shapes = {name: array.shape for name, array in inputs.items()}
    requests = {name: "write" for name in symbol.list_arguments() if name in args}
    steps = amp.TrainingExecutor(symbol, args, aux, shapes, grad_req=requests).profile_training(inputs, runs=2).steps
    parts = [sum(s["min_seconds"] for s in steps if s["is_backward"] == half) for half in (False, True)]
    slow = sum(s["min_seconds"] for s in steps if "ref" in s["implementation"])
    return f"{parts[1] / parts[0]:.2f}", f"{100 * slow / sum(parts):.1f} %"


def _row(text, options):
    network, _, batch = text.rpartition(":")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        _prepare(network, int(batch), folder)
        found = _measure(folder, options)
        backward, slow = _backward_over_forward(folder)
    theirs = found["MXNet"]
    cells = [f"{median(found['ours'][0]):.0f}", f"{found['ours'][1]:.0f}"]
    for label in ("ours", "automatic"):
        if isinstance(theirs, str) or isinstance(found[label], str):
            cells.append(next(value for value in (theirs, found[label]) if isinstance(value, str))[:60])
            continue
        ratio, best = (f(found[label][0]) / f(theirs[0]) for f in (median, min))
        differs = relative_rms(found[label][2], theirs[2])
        cells.append(f"{ratio:.2f}, best {best:.2f} (differs {differs:.1e})")
    return [f"{network}, {batch}", *cells, backward, slow]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=DEFAULT, metavar="NAME:BATCH")
    parser.add_argument("--seconds", type=float, default=4.0, help="per engine and round (default: 4)")
    parser.add_argument("--rounds", type=int, default=4, help="turns of each engine (default: 4)")
    parser.add_argument("--mxnet-python", default=os.environ.get("MXNET_PYTHON"), help="default: MXNET_PYTHON")
    options = parser.parse_args()
    if not options.mxnet_python:
        parser.error("MXNET_PYTHON is not set: a Python with MXNet 1.9.1")
    print(f"{amp.cpu_info()}\n")
    print("| network, batch | ours, ms | peak MB | float32 / MXNet's | automatic / MXNet's | backward | reference |")
    print("|---|---|---|---|---|---|---|")
    for text in options.networks:
        print(f"| {' | '.join(_row(text, options))} |", flush=True)


if __name__ == "__main__":
    main()
