"""The pages of comparisons and sensitivities."""

import math

from .._pages import Bar, Mark, bars, page, plot, table

_SHOWN = 20
_SILENT = 100  # dB; beyond it are sums of float32
_LOW, _FULL = "#1f4e79", "#bbbbbb"  # rims by dtype
_POSITIVE, _NEGATIVE = "#9fc5e8", "#f4b183"
_NUMBERS = ("error", "snr_db", "own", "own_units", "share", "largest", "gain", "born", "saturated", "flushed")
_HEADER = ("tensor", "op", "kind", "dtype", *_NUMBERS, "zeros_changed", "sample")


def comparison_page(comparison, title):
    """The whole page as text."""
    tensors, parameters = comparison.tensors, comparison.parameters
    body = [
        "<p>Signal to noise of each tensor in dB, in the order of execution: dots are of the whole error, squares of "
        "what the step adds by itself. A dark rim is low precision. Lower is worse.</p>",
        plot(list(_marks(tensors)), "tensors in the order of execution", "signal to noise, dB"),
        "<p>The largest shares of the outputs' error. Orange ones are negative: they cancel others.</p>",
        bars(list(_share_bars([*tensors, *parameters]))),
        "<p>All tensors and rounded parameters; a click on a head sorts.</p>",
        table(_HEADER, [_row(row) for row in [*tensors, *parameters]]),
    ]
    return page(title, str(comparison).split("\n"), "\n".join(body))


def sensitivity_page(sensitivity, title):
    """The page of a Sensitivity as text."""
    tensors = [row for row in sensitivity.tensors if row["own"]]
    largest = sorted(tensors, key=lambda row: -row["own"])[:_SHOWN]
    rows = [Bar(row["name"], row["name"], [(row["own"], _POSITIVE)], f"{row['own']:.1e}") for row in largest]
    cells = [
        [(row["name"],) * 2, (_op(row),) * 2, (row["kind"],) * 2, _number(row["own"]), _number(len(row["readers"]))]
        for row in tensors
    ]
    body = [
        "<p>The outputs' error where one tensor alone is rounded: the largest.</p>",
        bars(rows),
        "<p>All tensors, in the order of the graph; a click on a head sorts.</p>",
        table(("tensor", "op", "kind", "own", "readers"), cells),
    ]
    return page(title, str(sensitivity).split("\n")[:1], "\n".join(body))


def _marks(tensors):
    for x, row in enumerate(tensors):
        rim = _LOW if row["dtype"] in ("bfloat16", "float16") else _FULL
        for shape, decibels in (("dot", row["snr_db"]), ("square", _decibels(row["own"]))):
            if decibels is not None and decibels < _SILENT:
                text = f"{row['name']} ({row['op']}, {row['dtype']}): {decibels:.1f} dB"
                yield Mark(x, decibels, shape, _colour(decibels), rim, text)


def _decibels(error):
    return -20 * math.log10(error) if error and math.isfinite(error) else None


def _colour(decibels):
    """From red at 20 dB and below to green at 60 dB and above."""
    hue = 120 * min(max((decibels - 20) / 40, 0), 1)
    return f"hsl({hue:.0f}, 70%, 55%)"


def _share_bars(rows):
    rows = sorted((row for row in rows if row["share"]), key=lambda row: -abs(row["share"]))
    for row in rows[:_SHOWN]:
        colour = _POSITIVE if row["share"] > 0 else _NEGATIVE
        text = f"{100 * row['share']:.1f} %"
        yield Bar(row["name"], f"{row['name']}: {text}", [(abs(row["share"]), colour)], text)


def _row(row):
    kind = row.get("kind", "parameter")
    words = [(row["name"],) * 2, (_op(row),) * 2, (kind,) * 2, (row["dtype"],) * 2]
    return [*words, *(_number(row.get(key)) for key in (*_NUMBERS, "zeros_changed", "sample"))]


def _op(row):
    """The operator; '' for variables."""
    op = row.get("op", "")
    return "" if op == "null" else op


def _number(value):
    return None if value is None else (f"{value:.3g}", value)
