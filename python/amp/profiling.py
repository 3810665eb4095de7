"""Where the time of a model's runs goes: as a table and as a page with a chart."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from . import _core
from ._pages import Bar, bars, page
from ._paths import write_file

if TYPE_CHECKING:
    from typing import Any

    from . import _types

__all__ = ["Profile"]

_HEADER = ("us (median)", "best", "share", "GFLOP/s", "of peak", "GB/s", "work", "implementation", "layout", "node")
_LEFT_ALIGNED = _HEADER[6:]


class Profile:
    """What `Executor.profile` found; str() is a table.

    steps: a list of dicts, in the order of execution: node, work ('convolution', 'reorder', ...), implementation
        (oneDNN's name of the kernel), alternate ('auto', 'f32' or 'scaled' where it keeps small numbers, else ''),
        layout of the result, reason (of reorders), dtype of the first operand, dtypes of all {'src', 'weights', 'dst',
        ...: name}, post_ops (what is fused, by oneDNN's names), bytes of operands and results (each
        once and whole: a lookup reads less of its table), flops of sums of products (else 0), is_backward (of runs
        with gradients), min_seconds, median_seconds and mean_seconds over the runs.
    min_seconds, median_seconds: of whole runs, fresh outputs included.
    num_runs, num_threads: how often, and by how many threads, the model was run.
    outside_share: the part of a run that no step accounts for.
    peaks: {dtype name: GFLOP/s} of the machine at that time.
    bandwidth: GB/s of a copy in memory by the same threads at that time.
    others: the share of the CPUs (0 to 1) that other programs took meanwhile; None where the system does not tell.

    Times are medians: one interrupted run does not move them.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> run = amp.Executor(sym, args, aux, {"data": (2, 4)})
    >>> profile = run.profile(np.ones((2, 4), "float32"), runs=3)
    >>> profile.num_runs, [step["node"] for step in profile.steps][-1]
    (3, 'fc')
    >>> [step["node"] for step in profile.hotspots(1)]
    ['fc']
    """

    steps: list[dict[str, Any]]
    min_seconds: float
    median_seconds: float
    num_runs: int
    num_threads: int
    outside_share: float
    peaks: dict[str, float]
    bandwidth: float
    others: float | None

    def __init__(self, handle: Any, peaks: dict[str, float], bandwidth: float, others: float | None = None) -> None:
        self.steps = handle.steps
        self.min_seconds, self.median_seconds = handle.min_seconds, handle.median_seconds
        self.num_runs, self.num_threads = handle.num_runs, handle.num_threads
        self.outside_share = handle.outside_share
        self.peaks, self.bandwidth, self.others = peaks, bandwidth, others
        self._inside = sum(step["median_seconds"] for step in self.steps)

    def __str__(self) -> str:
        rows = [_HEADER, *(self._row(step) for step in self.steps)]
        return "\n".join([*self._head(), "", *_aligned(rows), "", *self._totals()])

    def save_html(self, path: _types.Path, title: str = "profile") -> None:
        """Writes one HTML file with a chart; it needs no network. Hovering over a bar tells all about its step."""
        text = [*self._head(), "", *self._totals()]
        write_file(path, page(title, text, _LEGEND + self._chart()).encode())

    def to_dict(self) -> dict[str, Any]:
        """All that the table says, as a dict that JSON can hold.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> profile = amp.Executor(sym, args, aux, {"data": (2, 4)}).profile(np.ones((2, 4), "float32"), runs=3)
        >>> profile.to_dict()["steps"][-1]["node"]
        'fc'
        """
        return {
            "runs": self.num_runs,
            "threads": self.num_threads,
            "median_seconds": self.median_seconds,
            "min_seconds": self.min_seconds,
            "outside_share": self.outside_share,
            "peak_gflops": self.peaks,
            "bandwidth_gb_per_second": self.bandwidth,
            "others_share": self.others,
            "steps": [{key: step[key] for key in _FACTS} | {"share": self.share(step)} for step in self.steps],
        }

    def hotspots(self, count: int = 5) -> list[dict[str, Any]]:
        """The steps that take most of the time, the slowest first."""
        return sorted(self.steps, key=lambda step: step["median_seconds"], reverse=True)[:count]

    def share(self, step: dict[str, Any]) -> float:
        """The part of a run's time that a step takes: all of them and `outside_share` make up 1."""
        return (1 - self.outside_share) * step["median_seconds"] / self._inside if self._inside else 0.0

    def of_peak(self, step: dict[str, Any]) -> float | None:
        """Achieved arithmetic relative to the machine's peak in the step's dtype; None where that means nothing."""
        peak = self.peaks.get(step["dtype"])
        return _rate(step["flops"], step["median_seconds"]) / peak if peak and step["flops"] else None

    def _headline(self):
        threads = f"{self.num_threads} thread{'' if self.num_threads == 1 else 's'}"
        peaks = ", ".join(f"{dtype} {peak:.0f}" for dtype, peak in self.peaks.items())
        return (
            f"{1e3 * self.median_seconds:.3f} ms per run (median of {self.num_runs}; best "
            f"{1e3 * self.min_seconds:.3f}; {threads}), {100 * self.outside_share:.1f} % outside of the "
            f"{len(self.steps)} steps; peak GFLOP/s of the machine: {peaks}; GB/s of memory: {self.bandwidth:.1f}"
        )

    def _doubts(self):
        """Lines about what makes the times less than true of an idle machine."""
        lines = []
        if self.others is not None and self.others > _BUSY:
            lines.append(
                f"other programs took {self.others:.0%} of the CPUs meanwhile: on an idle machine times are shorter"
            )
        if self.median_seconds > _UNSTEADY * self.min_seconds:
            ratio = self.median_seconds / self.min_seconds
            lines.append(
                f"the median run took {ratio:.1f} times as long as the best one: something disturbs this machine"
            )
        if any((self.of_peak(step) or 0) > _ABOVE_PEAK for step in self.steps):
            lines.append(
                "steps were faster than the peak that was measured: the machine was busy while that was measured"
            )
        return lines

    def _halves(self):
        """A line about forward and backward, where there are both."""
        if not any(step["is_backward"] for step in self.steps):
            return []
        forward, backward = (
            sum(step["median_seconds"] for step in self.steps if step["is_backward"] == half) for half in (False, True)
        )
        ratio = f", {backward / forward:.2f} times forward" if forward else ""
        return [f"forward {1e3 * forward:.3f} ms, backward {1e3 * backward:.3f} ms{ratio}"]

    def _head(self):
        """The headline, and where most of the time goes."""
        slow, mixed = (
            100 * sum(self.share(step) for step in self.steps if _is_slow_code(step) and _is_mixed(step) == is_mixed)
            for is_mixed in (False, True)
        )
        on_reference = f"{slow:.1f} %" + (f" to {slow + mixed:.1f} %" if mixed else "")
        lines = [
            self._headline(),
            *self._doubts(),
            *self._halves(),
            f"on reference code: {on_reference}",
            "",
            "most of the time:",
        ]
        return lines + [
            f"{100 * self.share(step):5.1f} %  {step['node']} ({step['work']}): {self._remark(step)}"
            for step in self.hotspots()
        ]

    def _remark(self, step):
        """How fast a step is, and why it is not faster where that is known."""
        moved = f"{_rate(step['bytes'], step['median_seconds']):.1f} GB/s"
        part = self.of_peak(step)
        if step["implementation"] == "reference":
            return f"a reference kernel, {moved}; {step['reason'] or 'there is no other one'}"
        if _is_mixed(step):
            return f"{moved}; {step['reason']}"
        if _is_slow_code(step):
            return f"oneDNN has only reference code for this, {moved}"
        if part is None:
            return f"{moved}; {step['reason']}" if step["reason"] else moved
        at_peak = f"{100 * part:.0f} % of the machine's arithmetic"
        if part < 0.5 and self._waits_for_memory(step):
            return f"{at_peak}, {moved} of the {self.bandwidth:.1f} GB/s of memory: bound by memory"
        return at_peak

    def _waits_for_memory(self, step):
        """Whether a step moves about as much as memory gives; nothing is said of caches, nor by a busy machine."""
        is_busy = self.others is not None and self.others > _BUSY
        rate = _rate(step["bytes"], step["median_seconds"])
        return not is_busy and step["bytes"] > _BEYOND_CACHES and rate > _MUCH_OF_BANDWIDTH * self.bandwidth

    def _row(self, step):
        part = self.of_peak(step)
        return (
            f"{1e6 * step['median_seconds']:.1f}",
            f"{1e6 * step['min_seconds']:.1f}",
            f"{100 * self.share(step):.1f} %",
            f"{_rate(step['flops'], step['median_seconds']):.1f}" if step["flops"] else "",
            "" if part is None else f"{100 * part:.0f} %",
            f"{_rate(step['bytes'], step['median_seconds']):.1f}",
            step["work"],
            step["implementation"] + (f" [{step['alternate']}]" if step.get("alternate") else ""),
            step["layout"],
            step["node"],
        )

    def _totals(self):
        """A line per kind of work, the largest first."""
        shares, counts = defaultdict(float), defaultdict(int)
        for step in self.steps:
            shares[step["work"]] += self.share(step)
            counts[step["work"]] += 1
        ordered = sorted(shares, key=shares.get, reverse=True)
        return [f"{100 * shares[work]:5.1f} %  {work} ({counts[work]})" for work in ordered]

    def _chart(self):
        return bars([self._bar(step) for step in self.steps])

    def _bar(self, step):
        seconds, at_peak = self._lengths(step)
        parts = [(seconds, "#9fc5e8"), (at_peak, "#1f4e79")]
        return Bar(self._label(step), self._tooltip(step), parts, f"{1e6 * seconds:.1f} us")

    def _label(self, step):
        return f"{step['node']} ({step['work']})"

    def _tooltip(self, step):
        facts = zip(_HEADER, self._row(step))
        lines = [f"{name}: {value}" for name, value in facts if value]
        return "\n".join([*lines, *([f"why: {step['reason']}"] if step["reason"] else [])])

    def _lengths(self, step):
        """(seconds, what of it the arithmetic would need at the machine's peak)"""
        return step["median_seconds"], min(self.of_peak(step) or 0, 1) * step["median_seconds"]


# What `to_dict` says of a step.
_FACTS = (
    "node work implementation layout reason dtype dtypes post_ops bytes flops is_backward min_seconds median_seconds"
).split()
_BUSY = 0.1  # of the CPUs
_UNSTEADY = 1.5
_ABOVE_PEAK = 1.05
_MUCH_OF_BANDWIDTH = 0.5
_BEYOND_CACHES = 1 << 20  # bytes, of one core
_COPIED = 16 << 20  # bytes that a thread copies


def measured_profile(measure, runs):
    """The Profile of `measure(runs)`, with what the machine can do at this time."""
    load = SystemLoad()
    handle = measure(runs)
    peaks, bandwidth = _core.measure_peak(handle.num_threads), _measure_bandwidth(handle.num_threads)
    return Profile(handle, peaks, bandwidth, load.others())


def _measure_bandwidth(threads):
    """GB/s that a copy reads and writes, the best of some."""
    pairs = [(np.ones(_COPIED, np.uint8), np.ones(_COPIED, np.uint8)) for _ in range(threads)]

    def seconds_of_copies(pool):
        begin = time.perf_counter()
        list(pool.map(lambda pair: np.copyto(*pair), pairs))
        return time.perf_counter() - begin

    with ThreadPoolExecutor(threads) as pool:
        return _rate(2 * _COPIED * threads, min(seconds_of_copies(pool) for _ in range(5)))


class SystemLoad:
    """What other programs, and other guests of the host, take of the CPUs from now on."""

    def __init__(self):
        self._begin = self._times()

    @staticmethod
    def _times():
        """Seconds since the system started: CPUs busy, CPUs in all, and CPUs busy with this process."""
        try:
            fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        except (OSError, ValueError):
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        own = os.times()
        idle = fields[3] + fields[4]
        return (sum(fields) - idle) / ticks, sum(fields) / ticks, own.user + own.system

    def others(self):
        """A share of all CPUs, or None where the system does not tell."""
        end = self._times()
        if self._begin is None or end is None:
            return None
        busy, total, own = (b - a for a, b in zip(self._begin, end))
        return min(1.0, max(0.0, busy - own) / total) if total > 0 else None


def _is_slow_code(step):
    return "ref" in step["implementation"]


def _is_mixed(step):
    """A loop whose body has some steps on reference code; its time is known as a whole."""
    return step["implementation"] == "own+reference"


def _rate(amount, seconds):
    """Billions per second."""
    return amount / seconds / 1e9 if seconds else 0.0


def _aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    for row in rows:
        cells = zip(_HEADER, row, widths)
        yield "  ".join(t.ljust(w) if name in _LEFT_ALIGNED else t.rjust(w) for name, t, w in cells).rstrip()


_LEGEND = (
    "<p>A bar is the median time of a step, in the order of execution; its dark part is what the arithmetic would "
    "need at the machine's peak.</p>\n"
)
