"""Times of the shared networks against MXNet 1.9.1, and against OpenVINO where MXNet's exporter makes ONNX of them.

    MXNET_PYTHON=/path/to/python python -m benchmarks.zoo [--cases TEXT ...] [--seconds S] [--rounds N] [--onnx FOLDER]

Float32, as many threads as there are CPUs. Engines are processes of their own that take turns; a ratio is our time over
theirs, of the medians of all calls. "slow steps" is the share of our time in steps on reference code, ours or oneDNN's.
Wants a machine that does nothing else. ONNX needs the package `onnx` beside MXNet and `openvino` beside this program.
The exporter takes a minute and gigabytes for large networks; --onnx keeps what it made, or why it failed.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack
from pathlib import Path
from statistics import geometric_mean, median

import numpy as np

import amp

from .compare.prepare import load_outputs
from .compare.processes import ROOT, Worker, WorkerError
from .compare.stats import relative_rms
from .shared_cases import SharedModel, names

GROUPS = ("zoo", "nlp", "lstm")
SAME = 1e-3  # relative rms of the difference between two engines' results


def _prepare(case, folder):
    """The files that a worker reads."""
    amp.save_checkpoint(str(folder / "model"), 0, *case.model)
    np.savez(folder / "inputs.npz", **case.inputs)


def _export(name, folder, options):
    """Whether model.onnx could be made, or had been made."""
    if importlib.util.find_spec("openvino") is None:
        return False
    made = folder / "model.onnx"
    kept = options.onnx / f"{name.replace('/', '_')}.onnx" if options.onnx else made
    failed = kept.with_suffix(".txt")  # and why
    if failed.exists():
        return False
    if not kept.exists():
        command = [options.mxnet_python, "-m", "benchmarks.zoo_onnx", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            failed.write_text(done.stderr)
            return False
        if kept != made:
            shutil.copy(made, kept.with_suffix(".part"))
            kept.with_suffix(".part").rename(kept)
    if not made.exists():
        made.symlink_to(kept.resolve())
    return True


def _slow_share(case):
    """The part of the time in steps on reference code, in percent."""
    profile = case.bind().profile(case.inputs, runs=3)
    seconds = [(step["median_seconds"], "ref" in step["implementation"]) for step in profile.steps]
    return 100 * sum(s for s, is_slow in seconds if is_slow) / sum(s for s, _ in seconds)


def _times(folder, peers, options):
    """{engine: median ms or what went wrong}"""
    cpus = sorted(os.sched_getaffinity(0))
    results, running = {}, {}
    with ExitStack() as stack:
        for engine, python in peers.items():
            specification = {"contestant": engine, "precision": "fp32", "cpus": cpus, "model": str(folder)}
            specification["inputs"] = str(folder / "inputs.npz")
            worker = stack.enter_context(Worker(specification, python=python, timeout=300))
            try:
                worker.load()
                worker.ask("save", path=str(folder / f"{engine}.npz"))
                running[engine] = worker, []
            except WorkerError as error:
                results[engine] = str(error)
        for _ in range(options.rounds):
            for worker, times in running.values():
                times += worker.ask("measure", seconds=options.seconds / options.rounds, calls=1)["times"]
    return {**results, **{engine: median(times) for engine, (_, times) in running.items()}}


def _differs(folder, engine):
    """A remark where results are not ours."""
    ours, theirs = (load_outputs(folder / f"{name}.npz") for name in ("ours", engine))
    pairs = [(a, b) for a, b in zip(ours, theirs) if a.size]
    return " (other results)" if any(relative_rms([a], [b]) > SAME for a, b in pairs) else ""


def _row(name, options, ratios):
    case = SharedModel(name)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        _prepare(case, folder)
        peers = {"ours": sys.executable, "mxnet": options.mxnet_python}
        if _export(name, folder, options):
            peers["openvino"] = sys.executable
        times = _times(folder, peers, options)
        cells = [f"{times['ours']:.2f}"]
        for engine in ("mxnet", "openvino"):
            time = times.get(engine, "no ONNX")
            if isinstance(time, str):
                cells.append(time[:60])
                continue
            ratio = times["ours"] / time
            ratios[engine].append(ratio)
            cells.append(f"{ratio:.2f}{_differs(folder, engine)}")
    return [name, *cells, f"{_slow_share(case):.1f} %"]


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[], metavar="TEXT", help="cases with one of these in their names")
    parser.add_argument("--seconds", type=float, default=2.0, help="per engine and network (default: 2)")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each engine (default: 8)")
    parser.add_argument("--mxnet-python", default=os.environ.get("MXNET_PYTHON"), help="default: MXNET_PYTHON")
    parser.add_argument("--onnx", type=Path, metavar="FOLDER", help="where ONNX files are kept and found")
    options = parser.parse_args()
    if options.onnx:
        options.onnx.mkdir(parents=True, exist_ok=True)
    if not options.mxnet_python:
        parser.error("MXNET_PYTHON is not set: a Python with MXNet 1.9.1")
    print(f"{amp.cpu_info()}\n\n| network | ours, ms | / MXNet's | / OpenVINO's | slow steps |\n|---|---|---|---|---|")
    ratios = {"mxnet": [], "openvino": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names(GROUPS, options.cases):
            try:
                print(f"| {' | '.join(_row(name, options, ratios))} |", flush=True)
            except amp.UnsupportedError as error:
                print(f"| {name} | not supported: {str(error).rpartition('/')[2][:80]} | | | |", flush=True)
    print()
    for engine, values in ratios.items():
        if values:
            within = sum(value <= 1 for value in values)
            print(f"{engine}: geometric mean {geometric_mean(values):.2f}, {within} of {len(values)} at or below 1.00")


if __name__ == "__main__":
    main()
