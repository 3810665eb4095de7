"""Attention against PyTorch's scaled_dot_product_attention: time and memory.

    python -m benchmarks.attention [--lengths S ...] [--sizes D ...] [--dtypes T ...] [--seconds S] [--threads N]
                                   [--memory]

Twelve heads; with and without causal mask; forward, and forward with backward. Ratios of medians of runs that take
turns in one process: below 1, ours is faster. PyTorch gets its own layout (batch, heads, sequence, size), ours is
(batch, sequence, heads, size). --memory compares what a process of its own needs at its peak, operands and results
included.
"""

import argparse
import ctypes
import gc
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np

HEADS = 12
KINDS = ("forward", "both")


def _numbers(length, size):
    random = np.random.default_rng(0)
    return [random.normal(size=(1, length, HEADS, size)).astype("float32") for _ in range(4)]


def ours(length, size, dtype, causal, kind, threads):
    """A function that runs once."""
    import amp

    query, key, value, gradient = (amp.nd.array(x).astype(dtype) for x in _numbers(length, size))
    arrays = {"query": query, "key": key, "value": value}
    variables = [amp.sym.Variable(name, dtype=dtype) for name in arrays]
    symbol = amp.sym.contrib.attention(*variables, causal=causal)[0]
    if kind == "forward":
        types = {name: dtype for name in arrays}
        shapes = {name: array.shape for name, array in arrays.items()}
        run = amp.Executor(symbol, {}, {}, shapes, input_dtypes=types, num_threads=threads)
        return lambda: run(query, key, value)
    run = amp.TrainingExecutor(symbol, arrays, {}, {}, grad_req="write", num_threads=threads)

    def both():
        run.forward(is_train=True)
        run.backward([gradient])

    return both


def theirs(length, size, dtype, causal, kind, threads):
    """The same of PyTorch."""
    import torch
    from torch.nn.functional import scaled_dot_product_attention

    torch.set_num_threads(threads)
    made = [torch.from_numpy(x.transpose(0, 2, 1, 3).copy()).to(getattr(torch, dtype)) for x in _numbers(length, size)]
    operands, gradient = made[:3], made[3]
    for operand in operands:
        operand.requires_grad_(kind == "both")

    def forward():
        with torch.no_grad():
            return scaled_dot_product_attention(*operands, is_causal=causal)

    def both():
        torch.autograd.grad(scaled_dot_product_attention(*operands, is_causal=causal), operands, gradient)

    return forward if kind == "forward" else both


def _peak(contestant, *case):
    """Bytes that a new process needs at its peak for operands and runs."""
    command = [sys.executable, "-m", "benchmarks.attention", "--peak-of", contestant, json.dumps(case)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def _print_peak(contestant, case):
    small = (64, *case[1:])  # what a library allocates once and for all
    make = {"ours": ours, "theirs": theirs}[contestant]
    make(*small)()
    _give_back()
    before = _memory("VmRSS")
    run = make(*case)
    _give_back()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    for _ in range(3):
        run()
    print(_memory("VmHWM") - before)


def _give_back():
    """What making operands left behind is nobody's need, and what is free already would be no memory."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def _cases(options):
    for kind in KINDS:
        for dtype in options.dtypes:
            for size in options.sizes:
                for causal in (False, True):
                    for length in options.lengths:
                        yield length, size, dtype, causal, kind, options.threads


def _report(options):
    from .shared_cases import interleaved_medians

    print("| what | dtype | d | causal | length | ours, ms | PyTorch, ms | ratio |" + " MiB | MiB |" * options.memory)
    print("|" + "---|" * (8 + 2 * options.memory))
    ratios = []
    for case in _cases(options):
        length, size, dtype, causal, kind, _ = case
        own, other = interleaved_medians([ours(*case), theirs(*case)], options.seconds)
        ratios.append(own / other)
        row = f"| {kind} | {dtype} | {size} | {causal} | {length} | {own * 1e3:.2f} | {other * 1e3:.2f} |"
        row += f" {ratios[-1]:.2f} |"
        if options.memory:
            row += "".join(f" {_peak(name, *case) / 2**20:.1f} |" for name in ("ours", "theirs"))
        print(row, flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    slower = sum(ratio > 1 for ratio in ratios)
    print(f"\ngeometric mean {mean:.3f}, worst {max(ratios):.3f}, {slower} of {len(ratios)} above 1")


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", nargs="+", type=int, default=[512, 1024, 2048, 4096, 8192])
    parser.add_argument("--sizes", nargs="+", type=int, default=[64, 128])
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    parser.add_argument("--seconds", type=float, default=1.0, help="per contestant (default: 1)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--peak-of", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak_of:
        return _print_peak(options.peak_of[0], json.loads(options.peak_of[1]))
    return _report(options)


if __name__ == "__main__":
    main()
