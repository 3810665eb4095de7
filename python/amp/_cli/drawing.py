"""Graphs as DOT text for Graphviz and as pages of HTML."""

from html import escape

# (what, colour of its nodes): the first that holds.
_KINDS = (
    ("cast", "#ffb74d", lambda node: node.is_cast),
    ("input", "#c8e6c9", lambda node: not node.op),
    ("reads or gives bfloat16 or float16", "#90caf9", lambda node: node.is_low),
    ("float32", "#f5f5f5", lambda node: node.dtype == "float32"),
    ("another dtype", "#e1bee7", lambda node: node.dtype is not None),
    ("unknown dtype", "#ffffff", lambda node: True),
)
_GROUP = "#e8eaf6"


def _kind(node):
    return next((what, colour) for what, colour, holds in _KINDS if holds(node))


def _shape_text(node):
    if node.shape is None:
        return ""
    return "x".join(str(dim) if dim >= 0 else "?" for dim in node.shape)


def _type_text(node):
    return " ".join(text for text in (node.dtype, _shape_text(node)) if text)


# ---- DOT ----


def dot_text(graph):
    """The graph in the language of Graphviz."""
    lines = [
        f"digraph {_quoted(graph.title)} {{",
        '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=8, color="#616161"];',
    ]
    members = {}
    for number, node in enumerate(graph.nodes):
        members.setdefault(node.group, []).append(_dot_node(number, node))
    lines += members.pop(None, [])
    for group, statements in members.items():
        lines += [f"  subgraph cluster_{group} {{", f'    style="filled,rounded"; color="{_GROUP}"; fontsize=8;']
        lines += [f"    label={_quoted(graph.groups[group])};", *statements, "  }"]
    for number, node in enumerate(graph.nodes):
        for source in node.reads:
            lines.append(f"  n{source} -> n{number} [label={_quoted(_type_text(graph.nodes[source]))}];")
    return "\n".join([*lines, "}", ""])


def _dot_node(number, node):
    label = f"{node.op}\n{node.name}" if node.op else node.name
    width = 3 if node.is_output else 1
    return f'  n{number} [label={_quoted(label)}, fillcolor="{_kind(node)[1]}", penwidth={width}];'


def _quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# ---- HTML ----


def page(graph, svg):
    """One HTML file that needs nothing else: the drawing, or a list of layers where `svg` is None."""
    legend = "".join(
        f'<span class="kind" style="background: {colour}">{escape(what)}</span>' for what, colour, _ in _KINDS
    )
    legend += f'<span class="kind" style="background: {_GROUP}">one step of several nodes</span>'
    body = _layers(graph) if svg is None else svg[svg.index("<svg") :]
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(graph.title)}</title>\n'
        "<style>body { font-family: sans-serif } .kind { padding: 2px 8px; margin-right: 6px }\n"
        "table { border-collapse: collapse; margin-top: 12px } td, th { padding: 2px 8px; text-align: left; "
        "border-bottom: 1px solid #ddd; font-size: 13px }</style></head>\n"
        f'<body><h1 style="font-size: 18px">{escape(graph.title)}</h1>\n<p>{legend}</p>\n{body}\n</body></html>\n'
    )


def _layers(graph):
    head = "<tr><th>node</th><th>operator</th><th>result</th><th>reads</th><th>computed by</th></tr>"
    rows = [_layer(number, node, graph) for number, node in enumerate(graph.nodes)]
    return "\n".join(["<table>", head, *rows, "</table>"])


def _layer(number, node, graph):
    reads = ", ".join(f'<a href="#n{source}">{escape(graph.nodes[source].name)}</a>' for source in node.reads)
    name = f"<b>{escape(node.name)}</b> (output)" if node.is_output else escape(node.name)
    step = "" if node.group is None else f"step {node.group}: {escape(graph.groups[node.group])}"
    shade = "" if node.group is None else f' style="background: {_GROUP}"'
    return (
        f'<tr id="n{number}"><td style="background: {_kind(node)[1]}">{name}</td><td>{escape(node.op)}</td>'
        f"<td>{escape(_type_text(node))}</td><td>{reads}</td><td{shade}>{step}</td></tr>"
    )
