"""The page of `amp diff`: what differs between two models, without network access."""

from html import escape

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em; color: #222; }
table { border-collapse: collapse; margin: 0 0 2em; }
th, td { text-align: left; padding: 2px 14px 2px 0; border-bottom: 1px solid #ddd; }
td.name { font-family: monospace; }
.low { color: #1a5fb4; } .wide { color: #a51d2d; }
"""


def page(found, titles):
    """The HTML text for the differences of `compare` between models of these titles."""
    parts = [_sizes(found["bytes"], titles)]
    if not found["common"]:
        parts.append("<p>The models have no tensor and no parameter in common.</p>")
    if found["equal"]:
        parts.append("<p>There are no differences in casts, dtypes and names.</p>")
    for title, casts in found["casts"].items():
        parts.append(_table(f"Casts {title}", ("cast", "to"), casts.items()))
    for title in ("tensors", "parameters"):
        changed = ((name, *dtypes) for name, dtypes in found[title]["changed"].items())
        parts.append(_table(f"{title.capitalize()} of another dtype", (title[:-1], *titles), changed))
        for key, which in (("only_first", titles[0]), ("only_second", titles[1])):
            parts.append(_table(f"{title.capitalize()} only in {which}", (title[:-1],), zip(found[title][key])))
    head = f"<meta charset=utf-8><title>amp diff</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body><h1>amp diff</h1>{''.join(parts)}</body></html>\n"


def _sizes(sizes, titles):
    rows = [(title, dtype, f"{count:,}") for title, one in zip(titles, sizes) for dtype, count in sorted(one.items())]
    return _table("Bytes of parameters", ("model", "dtype", "bytes"), rows)


def _table(title, header, rows):
    """A heading with the number of rows, and the table; nothing without rows. The first column has names."""
    rows = [[str("?" if cell is None else cell) for cell in row] for row in rows]
    if not rows:
        return ""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(_cell(cell, i == 0) for i, cell in enumerate(row))}</tr>" for row in rows)
    return f"<h2>{escape(title)} ({len(rows)})</h2><table><tr>{head}</tr>{body}</table>"


def _cell(text, is_name):
    kind = "name" if is_name else "low" if text in ("bfloat16", "float16") else "wide" if text == "float32" else ""
    return f"<td class={kind or 'plain'}>{escape(text)}</td>"
