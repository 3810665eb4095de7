"""Pages of measurements: one HTML file each, which needs no network."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

_LABELS, _WIDTH, _ROW = 420, 640, 16
_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" font-family="sans-serif" font-size="11">'


class Bar(NamedTuple):
    """A row of a chart: `parts` are pairs (length, colour) that lie over each other, all from the left."""

    label: str
    tooltip: str
    parts: list
    text: str


def page(title, lines, body):
    """A page with a title, text in lines, and what follows as HTML."""
    text = escape("\n".join(lines))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title></head>\n'
        f'<body style="font-family: sans-serif"><h1 style="font-size: 18px">{escape(title)}</h1>\n<pre>{text}</pre>\n'
        f"{body}\n</body></html>\n"
    )


def bars(rows):
    """SVG: a bar for each Bar, as long as its parts relative to the longest of all."""
    longest = max((length for row in rows for length, _ in row.parts), default=0) or 1
    parts = [_SVG.format(_LABELS + _WIDTH + 90, _ROW * len(rows) + 4)]
    for i, row in enumerate(rows):
        y, width = _ROW * i, _WIDTH * max(length for length, _ in row.parts) / longest
        rectangles = "".join(
            f'<rect x="{_LABELS}" y="{y + 2}" width="{_WIDTH * length / longest:.1f}" height="{_ROW - 4}" '
            f'fill="{colour}"/>'
            for length, colour in row.parts
        )
        parts.append(
            f"<g><title>{escape(row.tooltip)}</title>"
            f'<rect x="0" y="{y}" width="{_LABELS + _WIDTH + 90}" height="{_ROW}" fill="transparent"/>'
            f'<text x="{_LABELS - 6}" y="{y + 12}" text-anchor="end">{escape(_shortened(row.label))}</text>'
            f"{rectangles}"
            f'<text x="{_LABELS + width + 4:.1f}" y="{y + 12}" fill="#555">{escape(row.text)}</text></g>'
        )
    return "\n".join([*parts, "</svg>"])


def _shortened(label):
    return label if len(label) <= 66 else f"...{label[-63:]}"


class Mark(NamedTuple):
    """A mark of a plot: `shape` is 'dot' or 'square'; `rim` is the colour of its border."""

    x: float
    y: float
    shape: str
    fill: str
    rim: str
    tooltip: str


def plot(marks, x_label, y_label):
    """SVG: marks over a horizontal axis of numbers, with grid lines; y grows upwards."""
    width, height, left, bottom = 1100, 320, 60, 40
    if not marks:
        return ""
    low, high = _range([mark.y for mark in marks])
    last = max(mark.x for mark in marks) or 1
    parts = [_SVG.format(width, height)]
    for line in _ticks(low, high):
        y = _height_of(line, low, high, height, bottom)
        parts.append(
            f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{line:g}</text>'
        )
    for mark in marks:
        x = left + 10 + (width - left - 30) * mark.x / last
        parts.append(_mark(mark, x, _height_of(mark.y, low, high, height, bottom)))
    parts.append(
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">{escape(x_label)}</text>'
        f'<text x="14" y="{height / 2}" text-anchor="middle" transform="rotate(-90 14 {height / 2})">'
        f"{escape(y_label)}</text>"
    )
    return "\n".join([*parts, "</svg>"])


def _mark(mark, x, y):
    style = f'fill="{mark.fill}" stroke="{mark.rim}" stroke-width="1.5"><title>{escape(mark.tooltip)}</title>'
    if mark.shape == "dot":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" {style}</circle>'
    return f'<rect x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7" {style}</rect>'


def _range(values):
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 1, high + 1)


def _ticks(low, high):
    """Some round numbers in a range."""
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100) if (high - low) / s <= 8), (high - low) / 8)
    first = -(-low // step) * step
    return [first + i * step for i in range(int((high - first) / step) + 1)]


def _height_of(value, low, high, height, bottom):
    return 14 + (height - bottom - 20) * (high - value) / (high - low)


def table(header, rows):
    """A table that sorts by the column whose head is clicked. Cells are (text, value to sort by) or None."""
    head = "".join(f'<th style="cursor: pointer; text-align: left">{escape(name)}</th>' for name in header)
    body = "\n".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    style = "font-size: 12px; border-spacing: 10px 1px; white-space: nowrap"
    return (
        f'<table id="sorted" style="{style}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table>\n<script>{_SORT}</script>"
    )


def _cell(cell):
    text, value = ("", "") if cell is None else cell
    return f'<td data-v="{escape(str(value))}">{escape(str(text))}</td>'


_SORT = """
document.querySelectorAll("#sorted th").forEach((head, column) => {
  let down = false;
  head.addEventListener("click", () => {
    const body = document.querySelector("#sorted tbody"), rows = [...body.rows];
    const key = row => row.cells[column].dataset.v, number = text => text === "" ? -Infinity : Number(text);
    const numeric = rows.every(row => !Number.isNaN(number(key(row))));
    down = !down;
    rows.sort((a, b) => (numeric ? number(key(a)) - number(key(b)) : key(a).localeCompare(key(b))) * (down ? -1 : 1));
    rows.forEach(row => body.append(row));
  });
});
"""
