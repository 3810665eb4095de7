"""Compares two builds of this package in one run: `python -m benchmarks.two_builds OLD NEW [options]`.

OLD and NEW are folders that hold a built package `amp`, as a wheel lays it out. Each build has a process of its own;
blocks of calls take turns, and a figure is the ratio NEW / OLD of the best blocks and of the medians.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from .compare.networks import NETWORKS, inputs_of, parameters_of, symbol_of
from .compare.processes import ROOT, Worker


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.two_builds", description=__doc__.partition("\n")[0])
    parser.add_argument("builds", nargs=2, metavar="FOLDER")
    parser.add_argument("--python", default=sys.executable, help="one whose environment has no package amp of its own")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=[], help=f"of {', '.join(NETWORKS)}")
    options = parser.parse_args(arguments)
    print(f"{'':24}{'old':>10}{'new':>10}{'best':>8}{'median':>8}")
    _imports(options)
    _small_calls(options)
    for network in options.networks:
        _network(network, options)


def _row(name, unit, old, new):
    ratios = min(new) / min(old), median(new) / median(old)
    print(f"{name + ', ' + unit:24}{min(old):10.2f}{min(new):10.2f}{ratios[0]:8.3f}{ratios[1]:8.3f}", flush=True)


def _environment(build):
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(Path(build).resolve()), str(ROOT)))}


def _imports(options):
    times = [], []
    for _ in range(options.rounds):
        for build, found in zip(options.builds, times):
            begin = time.perf_counter()
            command = [options.python, "-c", "import amp.mxnet"]
            subprocess.run(command, check=True, env=_environment(build), cwd="/")
            found.append((time.perf_counter() - begin) * 1e3)
    _row("import amp.mxnet", "ms", *times)


def _small_calls(options):
    command = [options.python, "-W", "ignore", "-m", "benchmarks.small_calls"]
    processes = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env=_environment(build)
        )
        for build in options.builds
    ]
    names = [json.loads(process.stdout.readline()) for process in processes][0]
    for name in names:
        times = [], []
        for i in range(options.rounds):
            turns = list(zip(processes, times))
            for process, found in turns if i % 2 else turns[::-1]:  # who follows whom must not decide
                process.stdin.write(name + "\n")
                process.stdin.flush()
                found.append(float(process.stdout.readline()))
        _row(name, "us", *times)
    for process in processes:
        process.communicate()


def _network(network, options):
    with tempfile.TemporaryDirectory() as folder:
        _write(network, Path(folder))
        specification = {"contestant": "ours", "precision": "fp32", "cpus": sorted(os.sched_getaffinity(0))[:2]}
        specification |= {"model": folder, "inputs": f"{folder}/inputs.npz"}
        times = [], []
        with contextlib.ExitStack() as stack:
            workers = [
                stack.enter_context(Worker(specification, _environment(build), options.python))
                for build in options.builds
            ]
            for worker in workers:
                worker.load()
            for _ in range(options.rounds):
                for worker, found in zip(workers, times):
                    found.extend(worker.ask("measure", seconds=0.1, calls=3)["times"])
    _row(network, "ms", *times)


def _write(network, folder):
    import amp

    symbol = symbol_of(network)
    amp.save_checkpoint(str(folder / "model"), 0, symbol, *parameters_of(network, symbol))
    np.savez(folder / "inputs.npz", **inputs_of(network, 1))


if __name__ == "__main__":
    main()
