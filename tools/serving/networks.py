"""Checkpoints of the benchmark's networks, for processes that load them."""

import functools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from benchmarks.compare.networks import inputs_of, parameters_of, symbol_of  # noqa: E402

import amp  # noqa: E402

NETWORKS = ("resnet50_v1", "vgg16", "bert_base", "mobilenetv2_1.0")


@functools.cache
def _folder():
    return tempfile.TemporaryDirectory(prefix="amp-serving-")


@functools.cache
def checkpoint(network):
    """(symbol file, parameter file)"""
    prefix = Path(_folder().name) / network
    symbol = symbol_of(network)
    amp.save_checkpoint(str(prefix), 0, symbol, *parameters_of(network, symbol))
    return f"{prefix}-symbol.json", f"{prefix}-0000.params"


def shapes_of(network):
    """{input: shape} of batch 1."""
    return {name: array.shape for name, array in inputs_of(network, 1).items()}


@functools.cache
def plan(network, precision, threads=1):
    """The path of a plan file; `precision` is fp32 or bf16."""
    path = Path(_folder().name) / f"{network}-{precision}-{threads}.plan"
    reduced = "bfloat16" if precision == "bf16" else None
    files = checkpoint(network)
    amp.Executor.open(*files, shapes_of(network), reduce_precision=reduced, num_threads=threads).save(path)
    return str(path)


def in_process(program, *arguments):
    """The JSON that a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return json.loads(done.stdout.splitlines()[-1])
