"""`amp show`: the graph of a model with its dtypes, its casts, and the nodes that run as one step."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from typing import NamedTuple

from .._model_files import find_model
from .._options.checks import TARGETS
from ..base import ArgumentError, dtype_name
from ..executor import Executor
from . import drawing, models, outputs
from .inputs import types_of

_SECONDS = 120  # for Graphviz
_CASTS = ("amp_cast", "amp_multicast", "Cast")
_HOW_TO_GET = "Graphviz lays graphs out: `apt install graphviz`, or https://graphviz.org/download"


class GraphNode(NamedTuple):
    """A node that is drawn; parameters are not."""

    name: str
    op: str  # '' of an input
    reads: list  # indices of the nodes whose results it reads
    is_output: bool
    dtype: str | None
    shape: tuple | None
    is_low: bool  # reads or gives bfloat16 or float16
    group: int | None  # the step that computes it with others

    @property
    def is_cast(self):
        return self.op in _CASTS


class Graph(NamedTuple):
    """What is drawn."""

    title: str
    nodes: list
    groups: dict  # {number: what computes these nodes}


def show(options):
    """`amp show`"""
    output = outputs.output_file(options.output, [".html", ".svg", ".dot"], options.force)
    files = find_model(options.model, options.params, options.epoch)
    found = graph_of(models.load(files), *types_of(options), options.machine, os.path.basename(files.symbol))
    outputs.write_text(output, _text(found, os.path.splitext(output)[1]))
    casts = sum(node.is_cast for node in found.nodes)
    print(f"wrote {output}: {len(found.nodes)} nodes, {casts} casts, {len(found.groups)} steps of several nodes")


def _text(found, ending):
    dot = drawing.dot_text(found)
    if ending == ".dot":
        return dot
    svg = _laid_out(dot)
    if ending == ".html":
        return drawing.page(found, svg)
    if svg is None:
        raise ArgumentError("an .svg needs Graphviz; an .html does not")
    return svg


def _laid_out(dot):
    """The SVG of Graphviz, or None where it cannot be had; a line says why."""
    program = shutil.which("dot")
    if program is None:
        print(f"amp: note: {_HOW_TO_GET}", file=sys.stderr)
        return None
    try:
        done = subprocess.run([program, "-Tsvg"], input=dot, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"amp: note: the graph is too large: Graphviz was stopped after {_SECONDS} s", file=sys.stderr)
        return None
    if done.returncode:
        raise ArgumentError(f"{program} ended with {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


# ---- from a model ----


def graph_of(model, shapes, dtypes, machine, title):
    """The Graph of a model. Groups are known where the shapes of all inputs are."""
    symbol, arguments, states = model
    document = json.loads(symbol.tojson())
    types = _types(model, shapes, dtypes)
    groups, group_of = _groups(model, shapes, dtypes, machine)
    drawn = [i for i, node in enumerate(document["nodes"]) if node["name"] not in {**arguments, **states}]
    place = {index: number for number, index in enumerate(drawn)}
    heads = {head[0] for head in document["heads"]}
    nodes = []
    for index in drawn:
        node = document["nodes"][index]
        name, op = node["name"], "" if node["op"] == "null" else node["op"]
        dtype, shape = _type_of(node, types)
        sources = list(dict.fromkeys(source[0] for source in node["inputs"]))
        read = [_type_of(document["nodes"][source], types)[0] for source in sources]
        is_low = any(name in TARGETS for name in (dtype, *read))
        reads = [place[source] for source in sources if source in place]
        nodes.append(GraphNode(name, op, reads, index in heads, dtype, shape, is_low, group_of.get(name)))
    return Graph(title, nodes, groups)


def _types(model, shapes, dtypes):
    """{name of a result: (dtype or None, shape or None)}"""
    symbol, *params = model
    attributes, variables = symbol.attr_dict(), set(symbol.list_inputs())
    held = {name: array for group in params for name, array in group.items()}
    known = {name: (dtype_name(array.dtype), array.shape) for name, array in held.items() if name in variables}
    for name in variables - set(known):
        declared = "__dtype__" in attributes.get(name, {})
        known[name] = (dtypes.get(name) or (None if declared else "float32"), shapes.get(name))
    internals = symbol.get_internals()
    types = {}
    for name, found in zip(internals.list_outputs(), internals._handle.infer(known)[1]):
        types.setdefault(name, found)
    return types


def _type_of(node, types):
    name = node["name"]
    names = (name,) if node["op"] == "null" else (f"{name}_output", f"{name}_output0", name)
    return next((types[key] for key in names if key in types), (None, None))


def _groups(model, shapes, dtypes, machine):
    """({number: work and kernel}, {node: number}) of the steps that compute several nodes."""
    if models.missing_inputs(model, shapes):
        return {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes about precision are those of runs
        steps = Executor(*model, shapes, input_dtypes=dtypes, machine=machine).summary.steps
    groups, group_of = {}, {}
    for number, step in enumerate(steps):
        if step.fused:
            groups[number] = f"{step.work} ({step.implementation})"
            group_of.update(dict.fromkeys([step.node, *step.fused], number))
    return groups, group_of
