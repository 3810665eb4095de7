"""What notebooks show of objects."""

from typing import Any


def table(title, rows, header=()):
    """A table with a caption; cells are any values."""
    from html import escape  # slow to import

    return f"<table><caption>{escape(title)}</caption>{lines(rows, header)}</table>"


def lines(rows, header=(), style=lambda tag, text: ""):
    """The lines of a table; `style(tag, text)` is the CSS of a cell, whose tag is 'th' or 'td'."""
    head = _line("th", header, style) if header else ""
    return head + "".join(_line("td", row, style) for row in rows)


def _line(tag, row, style):
    return f"<tr>{''.join(_cell(tag, str(cell), style) for cell in row)}</tr>"


def _cell(tag, text, style):
    from html import escape  # slow to import

    css = style(tag, text)
    attribute = f' style="{css}"' if css else ""
    return f"<{tag}{attribute}>{escape(text)}</{tag}>"


def symbol_table(symbol: Any) -> str:
    """What a Symbol consists of: how many names of each kind, and the first of them."""
    kinds = (
        ("arguments", symbol.list_arguments()),
        ("auxiliary states", symbol.list_auxiliary_states()),
        ("outputs of nodes", symbol.get_internals().list_outputs()),
        ("outputs", symbol.list_outputs()),
    )
    rows = [(kind, len(names), ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")) for kind, names in kinds]
    return table(f"Symbol {symbol.name or ''}".strip(), rows, ("", "number", "names"))


def report_table(report: Any) -> str:
    """The tensors of a ConversionReport, each with the reason of its dtype."""
    rows = [
        (
            tensor["name"],
            tensor["kind"] if tensor["op"] == "null" else tensor["op"],
            tensor["before"],
            tensor["dtype"],
            tensor["reason"]["text"],
        )
        for tensor in report.tensors
    ]
    title = f"Conversion to {report.options['target_dtype']}: {report.totals['casts']['run_time']} casts in every run"
    return table(title, rows, ("tensor", "what", "before", "dtype", "reason"))
