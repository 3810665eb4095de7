"""Where the time of a model's runs goes: as a table and as a page with a chart."""

from __future__ import annotations

from collections import defaultdict
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ._types import Path

__all__ = ["Profile"]

_HEADER = ("us", "best", "share", "GFLOP/s", "of peak", "GB/s", "work", "implementation", "layout", "node")
_LEFT_ALIGNED = _HEADER[6:]


class Profile:
    """What `Executor.profile` found; str() is a table.

    steps: a list of dicts, in the order of execution: node, work ('convolution', 'reorder', ...), implementation
        (oneDNN's name of the kernel), alternate ('auto', 'f32' or 'scaled' where it keeps small numbers, else ''),
        layout of the result, reason (of reorders), dtype of the first operand, bytes of operands and results (each
        once and whole: a lookup reads less of its table), flops of sums of products (else 0), is_backward (of runs
        with gradients), min_seconds and mean_seconds over the runs.
    min_seconds, mean_seconds: of whole runs, fresh outputs included.
    num_runs, num_threads: how often, and by how many threads, the model was run.
    outside_share: the part of a run that no step accounts for.
    peaks: {dtype name: GFLOP/s} of the machine at that time.

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
    mean_seconds: float
    num_runs: int
    num_threads: int
    outside_share: float
    peaks: dict[str, float]

    def __init__(self, handle: Any, peaks: dict[str, float]) -> None:
        self.steps = handle.steps
        self.min_seconds, self.mean_seconds = handle.min_seconds, handle.mean_seconds
        self.num_runs, self.num_threads = handle.num_runs, handle.num_threads
        self.outside_share = handle.outside_share
        self.peaks = peaks

    def __str__(self) -> str:
        rows = [_HEADER, *(self._row(step) for step in self.steps)]
        return "\n".join([*self._head(), "", *_aligned(rows), "", *self._totals()])

    def save_html(self, path: Path, title: str = "profile") -> None:
        """Writes one HTML file with a chart; it needs no network. Hovering over a bar tells all about its step."""
        text = _page(title, [*self._head(), "", *self._totals()], self._chart())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def hotspots(self, count: int = 5) -> list[dict[str, Any]]:
        """The steps that take most of the time, the slowest first."""
        return sorted(self.steps, key=lambda step: step["mean_seconds"], reverse=True)[:count]

    def share(self, step: dict[str, Any]) -> float:
        """The part of a run's time that a step takes."""
        return step["mean_seconds"] / self.mean_seconds if self.mean_seconds else 0.0

    def of_peak(self, step: dict[str, Any]) -> float | None:
        """Achieved arithmetic relative to the machine's peak in the step's dtype; None where that means nothing."""
        peak = self.peaks.get(step["dtype"])
        return _rate(step["flops"], step["mean_seconds"]) / peak if peak and step["flops"] else None

    def _headline(self):
        threads = f"{self.num_threads} thread{'' if self.num_threads == 1 else 's'}"
        peaks = ", ".join(f"{dtype} {peak:.0f}" for dtype, peak in self.peaks.items())
        return (
            f"{1e3 * self.mean_seconds:.3f} ms per run (best {1e3 * self.min_seconds:.3f}, {self.num_runs} runs, "
            f"{threads}), {100 * self.outside_share:.1f} % outside of the {len(self.steps)} steps; "
            f"peak GFLOP/s of the machine: {peaks}"
        )

    def _halves(self):
        """A line about forward and backward, where there are both."""
        if not any(step["is_backward"] for step in self.steps):
            return []
        forward, backward = (
            sum(step["mean_seconds"] for step in self.steps if step["is_backward"] == half) for half in (False, True)
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
        lines = [self._headline(), *self._halves(), f"on reference code: {on_reference}", "", "most of the time:"]
        return lines + [
            f"{100 * self.share(step):5.1f} %  {step['node']} ({step['work']}): {self._remark(step)}"
            for step in self.hotspots()
        ]

    def _remark(self, step):
        """How fast a step is, and why it is not faster where that is known."""
        moved = f"{_rate(step['bytes'], step['mean_seconds']):.1f} GB/s"
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
        return f"{at_peak}, {moved}: bound by memory" if part < 0.5 and _reads_much(step) else at_peak

    def _row(self, step):
        part = self.of_peak(step)
        return (
            f"{1e6 * step['mean_seconds']:.1f}",
            f"{1e6 * step['min_seconds']:.1f}",
            f"{100 * self.share(step):.1f} %",
            f"{_rate(step['flops'], step['mean_seconds']):.1f}" if step["flops"] else "",
            "" if part is None else f"{100 * part:.0f} %",
            f"{_rate(step['bytes'], step['mean_seconds']):.1f}",
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
        return _bars([(self._label(step), self._tooltip(step), *self._lengths(step)) for step in self.steps])

    def _label(self, step):
        return f"{step['node']} ({step['work']})"

    def _tooltip(self, step):
        facts = zip(_HEADER, self._row(step))
        lines = [f"{name}: {value}" for name, value in facts if value]
        return "\n".join([*lines, *([f"why: {step['reason']}"] if step["reason"] else [])])

    def _lengths(self, step):
        """(seconds, what of it the arithmetic would need at the machine's peak)"""
        return step["mean_seconds"], min(self.of_peak(step) or 0, 1) * step["mean_seconds"]


_FLOPS_PER_BYTE = 8  # with fewer, a CPU waits for memory


def _is_slow_code(step):
    return "ref" in step["implementation"]


def _is_mixed(step):
    """A loop whose body has some steps on reference code; its time is known as a whole."""
    return step["implementation"] == "own+reference"


def _reads_much(step):
    return step["flops"] < _FLOPS_PER_BYTE * step["bytes"]


def _rate(amount, seconds):
    """Billions per second."""
    return amount / seconds / 1e9 if seconds else 0.0


def _aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADER))]
    for row in rows:
        cells = zip(_HEADER, row, widths)
        yield "  ".join(t.ljust(w) if name in _LEFT_ALIGNED else t.rjust(w) for name, t, w in cells).rstrip()


_LABELS, _WIDTH, _ROW = 420, 640, 16


def _bars(rows):
    """SVG: a light bar of each step's time, dark what the arithmetic would need at peak."""
    longest = max((seconds for _, _, seconds, _ in rows), default=0) or 1
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABELS + _WIDTH + 90}" height="{_ROW * len(rows) + 4}" '
        'font-family="sans-serif" font-size="11">'
    ]
    for i, (label, tooltip, seconds, at_peak) in enumerate(rows):
        y, width, dark = _ROW * i, _WIDTH * seconds / longest, _WIDTH * at_peak / longest
        parts.append(
            f"<g><title>{escape(tooltip)}</title>"
            f'<rect x="0" y="{y}" width="{_LABELS + _WIDTH + 90}" height="{_ROW}" fill="transparent"/>'
            f'<text x="{_LABELS - 6}" y="{y + 12}" text-anchor="end">{escape(_shortened(label))}</text>'
            f'<rect x="{_LABELS}" y="{y + 2}" width="{width:.1f}" height="{_ROW - 4}" fill="#9fc5e8"/>'
            f'<rect x="{_LABELS}" y="{y + 2}" width="{dark:.1f}" height="{_ROW - 4}" fill="#1f4e79"/>'
            f'<text x="{_LABELS + width + 4:.1f}" y="{y + 12}" fill="#555">{1e6 * seconds:.1f} us</text></g>'
        )
    return "\n".join([*parts, "</svg>"])


def _shortened(label):
    return label if len(label) <= 66 else f"...{label[-63:]}"


def _page(title, lines, chart):
    text = escape("\n".join(lines))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f'<body style="font-family: sans-serif"><h1 style="font-size: 18px">{escape(title)}</h1>\n<pre>{text}</pre>\n'
        "<p>A bar is the mean time of a step, in the order of execution; its dark part is what the arithmetic would "
        f"need at the machine's peak.</p>\n{chart}\n</body></html>\n"
    )
