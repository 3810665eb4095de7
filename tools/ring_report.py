"""Prints what ring attention has to show: mismatches of its variants, errors, bits, bytes, memory. `make ring-report`.

    ring_report.py [--heads 12] [--length 4096] [--seed 0]

The figures that are expected are those of TransformerEngine's pull request 821 and of an independent program; they are
percentages of elements that differ from attention over the whole sequence. 12 heads take some minutes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import ml_dtypes
import numpy as np

import amp
from amp import distributed

RANKS = 8
SIZE = 128  # of a head
TILES = {"key_block": 64, "last_key_first": True}
VARIANTS = {  # name: (accum_dtype, partial_dtype, merge)
    "A": ("bfloat16", "bfloat16", "lse"),
    "B": ("float32", "bfloat16", "lse"),
    "C": ("float32", "float32", "lse"),
    "D": ("float32", "float32", "state"),
}
AXES = {"bshd": 1, "sbhd": 0}


def options(variant, dtype="bfloat16"):
    """The arguments that make a variant of operands of that dtype."""
    accum, partial, merge = (dtype if name == "bfloat16" else name for name in VARIANTS[variant])
    return {"accum_dtype": accum, "partial_dtype": partial, "merge": merge}


class Problem(NamedTuple):
    """The whole sequence: arrays (batch, rows, heads, size)."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    dout: np.ndarray


def drawn(heads, length, seed=0, size=SIZE, batch=1, kv_heads=None, dtype=ml_dtypes.bfloat16):
    draws = np.random.default_rng(seed)
    shapes = [(batch, length, h, size) for h in (heads, kv_heads or heads, kv_heads or heads, heads)]
    return Problem(*(draws.standard_normal(shape).astype(np.float32).astype(dtype) for shape in shapes))


class Outcome(NamedTuple):
    """Of the whole sequence, and the bytes that each rank sent."""

    out: np.ndarray
    lse: np.ndarray
    gradients: tuple = ()
    sent: tuple = ()


def part_of(comm, problem, layout, call, feed=None, backward=True):
    """One rank's part of the work, as [out, lse, dq, dk, dv] and the bytes it sent."""
    axis = AXES[layout]

    def own(array, its_axis=axis):
        return distributed.split_for_ring(array, comm.rank, comm.size, its_axis)

    def laid_out(array):
        return np.ascontiguousarray(array if layout == "bshd" else array.swapaxes(0, 1))

    before = comm.bytes_sent
    q, k, v, dout = (own(laid_out(array)) for array in problem)
    out, lse = distributed.ring_attention(q, k, v, comm=comm, layout=layout, **call)
    found = [out, lse]
    if backward:
        fed = (out, lse) if feed is None else (own(laid_out(feed.out)), own(feed.lse, 2))
        found += distributed.ring_attention_backward(dout, q, k, v, *fed, comm=comm, layout=layout, **call)
    return [np.asarray(array) for array in found], comm.bytes_sent - before


def joined(parts, layout="bshd"):
    """The Outcome of all ranks' parts."""
    arrays = [[part[0][i] for part in parts] for i in range(len(parts[0][0]))]
    whole = [distributed.join_from_ring(array, 2 if i == 1 else AXES[layout]) for i, array in enumerate(arrays)]
    if layout == "sbhd":
        whole = [array if i == 1 else array.swapaxes(0, 1) for i, array in enumerate(whole)]
    return Outcome(whole[0], whole[1], tuple(whole[2:]), tuple(part[1] for part in parts))


def run(problem, ranks=RANKS, variant="D", layout="bshd", feed=None, backward=True, num_threads=1, **more):
    """The Outcome on threads. `feed`: the backward pass is given the result of this Outcome."""
    call = {**TILES, **options(variant, problem.q.dtype.name), **more}
    parts = distributed.run_local(
        ranks, lambda comm: part_of(comm, problem, layout, call, feed, backward), num_threads=num_threads
    )
    return joined(parts, layout)


def mismatch(found, expected, rank=None):
    """(percentage of elements that differ, greatest difference), of one rank's rows or of all."""
    if rank is not None:
        found, expected = (distributed.split_for_ring(array, rank, RANKS, 1) for array in (found, expected))
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    difference = abs(found - expected)
    return 100 * float(np.mean(difference > 1e-5 + 1.3e-6 * abs(expected))), float(difference.max(initial=0))


def gradient_mismatch(found, expected, rank=None):
    """The same of dq, dk and dv together."""
    each = [mismatch(f, e, rank) for f, e in zip(found.gradients, expected.gradients)]
    return sum(percent for percent, _ in each) / len(each), max(most for _, most in each)


def exact(problem, rows=None, causal=True):
    """(out, lse) of some rows in float64."""
    q, k, v = (array.astype(np.float64) for array in (problem.q, problem.k, problem.v))
    rows = np.arange(q.shape[1]) if rows is None else rows
    group = q.shape[2] // k.shape[2]
    out = np.empty((q.shape[0], len(rows), q.shape[2], v.shape[3]))
    lse = np.empty((q.shape[0], q.shape[2], len(rows)))
    for batch in range(q.shape[0]):
        for head in range(q.shape[2]):
            scores = q[batch, rows, head] @ k[batch, :, head // group].T / np.sqrt(q.shape[3])
            if causal:
                scores[np.arange(k.shape[1]) > rows[:, None]] = -np.inf
            largest = scores.max(1, keepdims=True)
            weights = np.exp(scores - largest)
            total = weights.sum(1, keepdims=True)
            out[batch, :, head] = weights / total @ v[batch, :, head // group]
            lse[batch, head] = (largest + np.log(total))[:, 0]
    return out, lse


def rows_of(rank, length):
    return distributed.split_for_ring(np.arange(length), rank, RANKS, 0)


def expected_bytes(problem, ranks, accum, backward=True):
    """What each rank sends: keys and values, and with the backward pass those again and the sums of their gradients."""
    keys = problem.k.nbytes // ranks
    sums = keys * np.dtype(getattr(ml_dtypes, accum, accum)).itemsize // problem.k.dtype.itemsize
    return (ranks - 1) * (2 * keys + (2 * keys + 2 * sums if backward else 0))


# ---- the report ----


class Report:
    """Lines of what was found and what is required."""

    def __init__(self):
        self.failed = 0

    def line(self, what, value, is_right=None, required=""):
        mark = {True: "ok", False: "FAILED", None: "  "}[is_right]
        self.failed += is_right is False
        print(f"  {mark:6} {what:58} {value}{f'   (required: {required})' if required else ''}", flush=True)

    def near(self, what, value, middle, radius):
        self.line(what, f"{value:.2f} %", abs(value - middle) <= radius, f"{middle} +- {radius}")

    def at_most(self, what, value, limit, unit=" %"):
        self.line(what, f"{value:.3g}{unit}", value <= limit, f"<= {limit:g}")


def check_mismatches(report, problem, reference, outcomes):
    print("1. Variants against attention over the whole sequence, elements that differ on rank 7 (rank 0)")
    percents = {}
    for name in VARIANTS:
        outcomes[name] = run(problem, variant=name)
        forward, most = mismatch(outcomes[name].out, reference.out, 7)
        backward, most_backward = gradient_mismatch(outcomes[name], reference, 7)
        percents[name] = forward
        of_zero = mismatch(outcomes[name].out, reference.out, 0)[0]
        of_zero_backward = gradient_mismatch(outcomes[name], reference, 0)[0]
        each = "/".join(f"{mismatch(f, e, 7)[0]:.1f}" for f, e in zip(outcomes[name].gradients, reference.gradients))
        report.line(
            f"{name} forward, backward (dq/dk/dv)",
            f"{forward:.2f} % ({of_zero:.2f}) max {most:.5f}, {backward:.2f} % ({each}; {of_zero_backward:.2f}) "
            f"max {most_backward:.5f}",
        )
        if name == "A":
            report.near("A forward", forward, 62, 1.5)
            report.near("A backward", backward, 59, 1.5)
            report.at_most("A forward, greatest difference", most, 0.002, "")
        elif name == "B":
            report.near("B forward", forward, 51, 1.5)
            report.near("B backward", backward, 41.4, 1.5)
            report.at_most("B forward, greatest difference", most, 0.001, "")
            report.line("B below A", f"{percents['A'] - forward:.1f} points", percents["A"] - forward >= 9, ">= 9")
        elif name == "C":
            report.at_most("C forward", forward, 45)
            report.at_most("C backward", backward, 12.5)


def check_bits(report, problem, reference, outcomes):
    print("2. The state that goes on from step to step (D)")
    same = np.array_equal(
        *(distributed.split_for_ring(array, 7, RANKS, 1) for array in (outcomes["D"].out, reference.out))
    )
    report.line("forward on rank 7", "the bits of the reference" if same else "other bits", same)
    for key_block in (64, 0):
        whole = run(problem, 1, p_dtype="float32", backward=False, key_block=key_block)
        ring = run(problem, p_dtype="float32", backward=False, key_block=key_block)
        worst = max(mismatch(ring.out, whole.out, rank)[0] for rank in range(RANKS))
        report.at_most(f"P in float32, key_block={key_block}, worst rank", worst, 0.05)
    for name in ("C", "D"):
        fed = run(problem, variant=name, feed=reference)
        worst = max(gradient_mismatch(fed, reference, rank)[0] for rank in range(RANKS))
        report.at_most(f"{name} backward, fed with the reference's out and lse, worst rank", worst, 0.02)


def check_errors(report, problem, outcomes):
    print("3. Error against float64 on rank 7 (root mean square)")
    rows = rows_of(7, problem.q.shape[1])
    expected, lse = exact(problem, rows)
    errors = {}
    for name, outcome in outcomes.items():
        errors[name] = float(np.sqrt(np.mean((outcome.out[:, rows].astype(np.float64) - expected) ** 2)))
    for name, middle in (("A", 1.5e-4), ("B", 9.9e-5)):
        within = abs(errors[name] - middle) <= 0.1 * middle
        report.line(name, f"{errors[name]:.3g}", within, f"{middle:.2g} +- 10 %")
    for name in ("C", "D"):
        report.at_most(name, errors[name], 8.7e-5, "")
        report.at_most(f"{name} over B", errors[name] / errors["B"], 0.9, "")
    worst = max(float(abs(outcome.lse[:, :, rows] - lse).max()) for outcome in outcomes.values())
    report.at_most("8. log-sum-exp, greatest error", worst, 1e-5, "")


def check_shapes(report):
    print("4. Tolerance 2.5e-2 over layouts, masks, heads and ranks; one rank has the bits of the plain operator")
    worst, count, plain = 0.0, 0, True
    for kv_heads in (12, 1):
        problem = drawn(12, 64, seed=kv_heads, size=32, kv_heads=kv_heads)
        for causal in (True, False):
            expected, _ = exact(problem, causal=causal)
            for layout in AXES:
                for ranks in (1, 2, 4, 8):
                    for name in VARIANTS:
                        found = run(problem, ranks, name, layout, causal=causal, backward=False)
                        difference = abs(found.out.astype(np.float64) - expected) / (1 + abs(expected))
                        worst, count = max(worst, float(difference.max())), count + 1
                        plain &= ranks > 1 or np.array_equal(found.out, plain_operator(problem, causal).out)
    report.at_most(f"{count} cases, greatest difference / (1 + |expected|)", worst, 2.5e-2, "")
    report.line("one rank", "the bits of the plain operator" if plain else "other bits", plain)


def plain_operator(problem, causal=True, **more):
    """The Outcome of attention over the whole sequence by the operator of one rank."""
    arrays = [amp.nd.array(array, dtype=array.dtype) for array in problem[:3]]
    out, lse = amp.nd.contrib.attention(*arrays, causal=causal, layout="bshd", **{**TILES, **more})
    return Outcome(np.asarray(out), np.asarray(lse))


def finite_difference_error(ranks=2, length=8):
    """The relative error of float32 gradients along random directions."""
    problem = drawn(2, length, seed=3, size=8, dtype=np.float32)
    gradients = run(problem, ranks).gradients
    draws, errors = np.random.default_rng(4), []
    for i, gradient in enumerate(gradients):
        direction = draws.standard_normal(gradient.shape)
        moved = []
        for sign in (1, -1):
            arrays = [array.astype(np.float64) for array in problem]
            arrays[i] = arrays[i] + sign * 1e-5 * direction
            moved.append(float((exact(Problem(*arrays))[0] * arrays[3]).sum()))
        slope = (moved[0] - moved[1]) / 2e-5
        errors.append(abs(float((gradient * direction).sum()) - slope) / abs(slope))
    return max(errors)


def check_gradients(report):
    print("5. Gradients in float32")
    report.at_most("against finite differences, relative", finite_difference_error(), 1e-3, "")
    problem = drawn(2, 64, seed=5, size=16, dtype=np.float32)
    whole, ring = run(problem, 1), run(problem, 4)
    pairs = [(whole.out, ring.out), *zip(whole.gradients, ring.gradients)]
    worst = max(float((abs(a - b) / (1 + abs(a))).max()) for a, b in pairs)
    report.at_most("ring against one rank", worst, 1e-5, "")


def mpi_part(folder, heads, length):
    """What each process of check 6 runs: it leaves bits for the first one to compare."""
    comm = distributed.mpi()
    found, sent = part_of(comm, drawn(heads, length), "bshd", {**TILES, **options("D")})
    sums = [comm.all_reduce(found[0].astype(np.float32), dtype=dtype).asnumpy() for dtype in ("float32", "bfloat16")]
    bits = [array.tobytes().hex() for array in (*found, *sums)]
    Path(folder, str(comm.rank)).write_text(json.dumps([bits, sent]))


# OpenMPI refuses root, and more ranks than CPUs, unless it is told; mpich reads none of it.
MPI_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def mpi_outcomes(ranks, heads, length, launcher="mpiexec"):
    """[[bits], bytes sent] by rank, under mpiexec."""
    with tempfile.TemporaryDirectory() as folder:
        started = [launcher, "-n", str(ranks), sys.executable, __file__, "--mpi-part", folder]
        arguments = ["--heads", str(heads), "--length", str(length)]
        subprocess.run([*started, *arguments], check=True, env={**os.environ, **MPI_VARIABLES})
        return [json.loads(Path(folder, str(rank)).read_text()) for rank in range(ranks)]


def local_outcomes(ranks, heads, length):
    def one(comm):
        found, sent = part_of(comm, drawn(heads, length), "bshd", {**TILES, **options("D")})
        sums = [comm.all_reduce(found[0].astype(np.float32), dtype=d).asnumpy() for d in ("float32", "bfloat16")]
        return [[array.tobytes().hex() for array in (*found, *sums)], sent]

    return distributed.run_local(ranks, one)


def check_engines(report, problem, outcomes):
    print("6. MPI against threads, and bytes on the wire")
    for name in VARIANTS:
        expected = expected_bytes(problem, RANKS, VARIANTS[name][0])
        sent = set(outcomes[name].sent)
        report.line(f"{name}: bytes of each rank, forward and backward", sorted(sent), sent == {expected}, expected)
    launcher = Path(sys.executable).parent / "mpiexec"
    if not launcher.is_file():
        report.line("MPI", "left out: pip install mpi4py mpich")
        return
    for ranks in (2, 8):
        same = mpi_outcomes(ranks, 2, 512, str(launcher)) == local_outcomes(ranks, 2, 512)
        report.line(
            f"{ranks} ranks: out, lse, dq, dk, dv, sums in both dtypes", "equal bits" if same else "differ", same
        )


MEMORY = """
import sys
from pathlib import Path
sys.path.insert(0, {folder!r})
import ring_report
problem = ring_report.drawn(12, 4096)
before = ring_report.memory("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
ring_report.run(problem, variant={variant!r})
print(ring_report.memory("VmHWM") - before)
"""


def memory(field):
    """KiB of this process. (getrusage also knows peaks of the parent.)"""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def check_memory(report, problem, outcomes):
    print("7. Memory, threads")
    peaks = {}
    for name in VARIANTS:
        script = MEMORY.format(folder=str(Path(__file__).parent), variant=name)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        peaks[name] = int(done.stdout) / 1024
        report.line(f"{name}: peak of 8 ranks, 12 heads, 4096 rows, over the operands", f"{peaks[name]:.0f} MiB")
    two = run(problem, variant="D", num_threads=2)
    same = all(
        np.array_equal(a, b)
        for a, b in zip(
            (two.out, two.lse, *two.gradients), (outcomes["D"].out, outcomes["D"].lse, *outcomes["D"].gradients)
        )
    )
    report.line("two threads in each rank", "equal bits" if same else "other bits", same)


def check_empty_rows(report):
    print("8. Rows that see no key")
    right = all(no_keys_give_zeros(name) for name in VARIANTS)
    report.line("out 0, lse -inf, gradients 0 in every variant", "so" if right else "not so", right)


def no_keys_give_zeros(variant):
    """Whether a ring without keys gives zeros and a log-sum-exp of -inf."""
    problem = drawn(2, 8, size=8)
    empty = problem._replace(k=problem.k[:, :0], v=problem.v[:, :0])
    found = run(empty, 2, variant, causal=False)
    return not found.out.any() and bool(np.isneginf(found.lse).all()) and not any(g.any() for g in found.gradients)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mpi-part", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.mpi_part:
        return mpi_part(chosen.mpi_part, chosen.heads, chosen.length)
    report, outcomes = Report(), {}
    problem = drawn(chosen.heads, chosen.length, chosen.seed)
    print(f"{chosen.heads} heads of {SIZE}, {chosen.length} rows, {RANKS} ranks, causal, bfloat16; {TILES}")
    reference = run(problem, 1, num_threads=os.cpu_count())
    check_mismatches(report, problem, reference, outcomes)
    check_bits(report, problem, reference, outcomes)
    check_errors(report, problem, outcomes)
    check_shapes(report)
    check_gradients(report)
    check_engines(report, problem, outcomes)
    check_memory(report, problem, outcomes)
    check_empty_rows(report)
    print("all checks passed" if not report.failed else f"{report.failed} checks FAILED")
    return int(report.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
