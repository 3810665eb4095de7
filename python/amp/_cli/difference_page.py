"""The page of `amp diff`: what differs between two models."""

from html import escape

from .. import _html, _pages

_COLOURS = {"bfloat16": "#1a5fb4", "float16": "#1a5fb4", "float32": "#a51d2d"}


def page(found, titles):
    """The HTML text for what `differences.compare` found between models of these titles."""
    body = [_table(f"Casts {title}", ("cast", "to"), casts.items()) for title, casts in found["casts"].items()]
    for title in ("tensors", "parameters"):
        changed = ((name, *dtypes) for name, dtypes in found[title]["changed"].items())
        body.append(_table(f"{title.capitalize()} of another dtype", (title[:-1], *titles), changed))
        for key, which in zip(("only_first", "only_second"), titles):
            body.append(_table(f"{title.capitalize()} only in {which}", (title[:-1],), zip(found[title][key])))
    return _pages.page(f"amp diff: {' and '.join(titles)}", _lines(found, titles), "".join(body))


def _lines(found, titles):
    if not found["common"]:
        yield "The models have no tensor and no parameter in common."
    if found["equal"]:
        yield "There are no differences in casts, dtypes and names."
    for title, sizes in zip(titles, found["bytes"]):
        text = ", ".join(f"{count:,} of {dtype}" for dtype, count in sorted(sizes.items()))
        yield f"{title}: bytes of parameters: {text or 'none'}"


def _table(title, header, rows):
    """A heading with the number of rows, and the table; nothing without rows."""
    rows = [["?" if cell is None else cell for cell in row] for row in rows]
    if not rows:
        return ""
    heading = f'<h2 style="font-size: 15px">{escape(title)} ({len(rows)})</h2>'
    return f"{heading}<table>{_html.lines(rows, header, _style)}</table>"


def _style(tag, text):
    colour = "" if tag == "th" else f"; color: {_COLOURS.get(text, 'black')}"
    return f"text-align: left; white-space: nowrap; padding-right: 14px{colour}"
