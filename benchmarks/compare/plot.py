"""The result as a picture: SVG by hand, one row per cell and precision, one mark per peer."""

import math
from html import escape

from .verdicts import cell_name

COLOURS = {"openvino": "#c0392b", "onnxruntime": "#2471a3", "torch": "#d68910", "mxnet": "#7d3c98"}
OTHER = "#566573"
LEFT, RIGHT, ROW, TOP = 320, 40, 26, 70
WIDTH = 720  # of the plotted part
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


def render(run):
    """An SVG document of our time / each peer's with its 95 % interval; hovering tells the figures."""
    rows = [row for cell in run["cells"] for row in _rows(cell)]
    marks = [mark for _, row in rows for mark in row]
    scale = _Scale([bound for _, _, low, high, _ in marks for bound in (low, high)] or [1])
    height = TOP + ROW * len(rows) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        '<text x="20" y="22" font-size="15">Our time / theirs (left of 1: ours is faster)</text>',
        _legend(sorted({name for name, *_ in marks})),
        _grid(scale, height - 40),
    ]
    for i, (label, row) in enumerate(rows):
        y = TOP + ROW * i + ROW // 2
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{escape(label)}</text>')
        parts += [_mark(scale, y, mark) for mark in row]
    return "\n".join([*parts, "</svg>\n"])


def _rows(cell):
    """(label, [(peer, ratio, low, high, void)]) per precision."""
    for precision in ("fp32", "bf16"):
        marks = [
            (result["name"], ratio[0], ratio[1] or ratio[0], ratio[2] or ratio[0], result.get("void", ""))
            for result in cell["results"]
            for ratio in [result.get("ratio")]
            if ratio and result["precision"] == precision
        ]
        if marks:
            yield f"{cell_name(cell)}, {precision}", marks


class _Scale:
    """Logarithmic, wide enough for the values and for 1; what lies far outside is drawn at the border."""

    def __init__(self, values):
        self.low = max(min([*values, 0.5]) / 1.1, TICKS[0])
        self.high = min(max([*values, 2]) * 1.1, TICKS[-1])

    def x(self, value):
        inside = min(max(value, self.low), self.high)
        return LEFT + WIDTH * math.log(inside / self.low) / math.log(self.high / self.low)


def _grid(scale, bottom):
    lines = []
    for tick in TICKS:
        if scale.low <= tick <= scale.high:
            x, colour = scale.x(tick), "#333" if tick == 1 else "#ddd"
            lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}" stroke="{colour}"/>')
            lines.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:g}</text>')
    return "\n".join(lines)


def _legend(names):
    spots = [
        f'<circle cx="{LEFT + 110 * i}" cy="44" r="5" fill="{COLOURS.get(name, OTHER)}"/>'
        f'<text x="{LEFT + 10 + 110 * i}" y="48">{escape(name)}</text>'
        for i, name in enumerate(names)
    ]
    return "".join([*spots, f'<text x="{LEFT + 110 * len(names)}" y="48" fill="#777">hollow: void</text>'])


def _mark(scale, y, mark):
    name, ratio, low, high, void = mark
    colour = COLOURS.get(name, OTHER)
    title = f"{name}: {ratio:.3f} [{low:.3f}, {high:.3f}]" + (f"; void: {void}" if void else "")
    return (
        f'<g><title>{escape(title)}</title><line x1="{scale.x(low):.1f}" x2="{scale.x(high):.1f}" y1="{y}" y2="{y}" '
        f'stroke="{colour}" stroke-width="2"/><circle cx="{scale.x(ratio):.1f}" cy="{y}" r="5" stroke="{colour}" '
        f'fill="{"white" if void else colour}"/></g>'
    )
