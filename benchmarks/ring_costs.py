"""Measures what ring attention costs, and draws how it grows: docs/images/ring_costs.svg.

    python -m benchmarks.ring_costs [--length 8192] [--rounds 5] [--svg FILE]

Efficiency is the time of one rank with one thread on half of the work over the time of two ranks with one thread each:
both take turns in one process. Wants a machine that does nothing else.
"""

import argparse
import statistics
import time

import ml_dtypes
import numpy as np

from amp import distributed

HEADS, SIZE = 12, 64
RANKS = [2**i for i in range(11)]
LENGTHS = [8192, 65536, 524288]


def arrays(length):
    draws = np.random.default_rng(0)
    shape = (1, length, HEADS, SIZE)
    return [draws.standard_normal(shape, np.float32).astype(ml_dtypes.bfloat16) for _ in range(4)]


def seconds(ranks, whole):
    """(forward, forward and backward) of the slowest rank."""

    def attend(comm):
        q, k, v, dout = (distributed.split_for_ring(array, comm.rank, comm.size, 1) for array in whole)
        comm.barrier()
        begin = time.perf_counter()
        out, lse = distributed.ring_attention(q, k, v, comm=comm)
        middle = time.perf_counter()
        distributed.ring_attention_backward(dout, q, k, v, out, lse, comm=comm)
        return middle - begin, time.perf_counter() - begin

    times = distributed.run_local(ranks, attend)
    return tuple(max(each) for each in zip(*times))


def link(size):
    """Seconds of a message to the next of two ranks and one from it, of `size` bytes."""

    def exchange(comm):
        send, recv = np.zeros(size, np.uint8), np.empty(size, np.uint8)
        times = []
        for _ in range(30):
            comm.barrier()
            begin = time.perf_counter()
            comm.send_recv(send, 1 - comm.rank, recv, 1 - comm.rank)
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    return max(distributed.run_local(2, exchange))


def predicted(length, ranks, flops, bandwidth, latency, threads=1):
    """Seconds of the forward pass: in each of W steps a hop goes on beside the work of the step."""
    work = 2 * length**2 * HEADS * SIZE / ranks**2 / (flops * threads)
    hop = latency + 4 * (length // ranks) * HEADS * SIZE / bandwidth
    return work + (ranks - 1) * max(work, hop) if ranks > 1 else work


def efficiencies(flops, bandwidth, latency):
    """{length: [time of one rank / W over the time of W ranks]}"""

    def of(length, ranks):
        costs = flops, bandwidth, latency
        return predicted(length, 1, *costs) / ranks / predicted(length, ranks, *costs)

    return {length: [of(length, ranks) for ranks in RANKS if 2 * ranks <= length] for length in LENGTHS}


def svg(curves, title):
    """A plot: ranks from 1 to 1024 (logarithmic) against efficiency from 0 to 1."""
    left, top, width, height = 60, 40, 520, 260
    colours = ["#1b6ca8", "#c8553d", "#3a7d44"]

    def place(i, value):
        return f"{left + width * i / (len(RANKS) - 1):.1f},{top + height * (1 - value):.1f}"

    parts = [f'<text x="{left}" y="22" font-size="14">{title}</text>']
    for value in (0, 0.25, 0.5, 0.75, 1):
        y = top + height * (1 - value)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{left + width}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 34}" y="{y + 4}" font-size="12">{value:.2f}</text>')
    for i, ranks in enumerate(RANKS):
        x = left + width * i / (len(RANKS) - 1)
        parts.append(f'<text x="{x - 8:.1f}" y="{top + height + 18}" font-size="12">{ranks}</text>')
    for colour, (length, values), line in zip(colours, curves.items(), range(3)):
        points = " ".join(place(i, value) for i, value in enumerate(values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = top + height - 52 + 18 * line
        parts.append(f'<text x="{left + 12}" y="{y}" font-size="12" fill="{colour}">{length} rows</text>')
    parts.append(f'<text x="{left + width / 2 - 20}" y="{top + height + 38}" font-size="12">ranks</text>')
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 350" font-family="sans-serif">\n'
        f'  <rect width="620" height="350" fill="white"/>\n  {body}\n</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--svg", help="where the plot goes")
    options = parser.parse_args()
    whole = arrays(options.length)
    rounds = [(seconds(1, whole), seconds(2, whole)) for _ in range(options.rounds)]
    for i, what in enumerate(("forward", "forward and backward")):
        ratios = [one[i] / 2 / two[i] for one, two in rounds]
        one = statistics.median(one[i] for one, _ in rounds)
        print(
            f"{what}: one rank {one:.3f} s, efficiency of two {statistics.median(ratios):.3f} "
            f"({min(ratios):.3f} to {max(ratios):.3f})"
        )
    flops = 2 * options.length**2 * HEADS * SIZE / statistics.median(one[0] for one, _ in rounds)
    latency, large = link(8), link(12 << 20)
    bandwidth = (12 << 20) / (large - latency)
    print(f"one thread: {flops / 1e9:.0f} GFLOP/s; link: {latency * 1e6:.0f} us, {bandwidth / 1e9:.2f} GB/s")
    for name, costs in (("this machine", (flops, bandwidth, latency)), ("network", (2 * flops, 1.25e9, 2e-5))):
        for length, values in efficiencies(*costs).items():
            print(f"{name}, {length} rows:", " ".join(f"{value:.2f}" for value in values))
    if options.svg:
        title = f"Efficiency of ranks of two threads over 10 Gbit/s ({2 * flops / 1e9:.0f} GFLOP/s, 20 us)"
        with open(options.svg, "w") as file:
            file.write(svg(efficiencies(2 * flops, 1.25e9, 2e-5), title))


if __name__ == "__main__":
    main()
