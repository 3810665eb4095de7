"""Symbols as tables and as pictures; the short name of this module is `mx.viz`."""

import json
import math
import re
import warnings
from importlib import import_module

from .. import sym
from ..base import ArgumentError, UnsupportedError
from ..sym.slots import inputs_of
from ._missing import getter

__all__ = ["plot_network", "print_summary"]

_HEADINGS = ("Layer (type)", "Output Shape", "Param #", "Previous Layer")

# Ends of the names of variables that are parameters.
_WEIGHT_ENDINGS = (
    *("weight", "bias", "gamma", "beta", "parameters"),
    *("moving_mean", "moving_var", "running_mean", "running_var"),
)


class _SymbolTypeError(ArgumentError, TypeError):
    """What is given is no Symbol."""


class _PackageError(UnsupportedError, ImportError):
    """A package is not installed."""


class _Graph:
    """The nodes of a symbol in the order of a depth-first visit, and what is known of their outputs."""

    def __init__(self, symbol):
        if not isinstance(symbol, sym.Symbol):
            raise _SymbolTypeError(f"expected a Symbol, got {type(symbol).__name__}")
        self._symbol, self._internals = symbol, symbol.get_internals()
        graph = json.loads(self._internals.tojson())
        self.nodes = graph["nodes"]
        self.states = set(symbol.list_auxiliary_states())
        self._entries = {(node, output): i for i, (node, output, *_) in enumerate(graph["heads"])}

    def shapes(self, given):
        """{(node, output): shape}. Without `given`, {name: shape}, unknown dimensions are -1, and shapes may be None.

        Raises ArgumentError where shapes stay unknown although some are given.
        """
        found = self._internals._infer_shapes((), given or {})[1]
        names = self._internals.list_outputs()
        unknown = [name for name, shape in zip(names, found) if shape is None or min(shape, default=0) < 0]
        if given is not None and unknown:
            raise ArgumentError(f"these shapes stay unknown, provide more of them: {', '.join(unknown[:5])}")
        return {entry: found[i] for entry, i in self._entries.items()}

    def dtypes(self, given):
        """{(node, output): NumPy type}, given {name: dtype}. Raises ArgumentError where some stay unknown."""
        found = self._internals.infer_type(**given)[1]
        if found is None:
            raise ArgumentError("some dtypes stay unknown, provide more of them")
        return {entry: found[i] for entry, i in self._entries.items()}

    def variables(self, names):
        """Numbers of the variables with these names."""
        return {i for i, node in enumerate(self.nodes) if node["op"] == "null" and node["name"] in names}

    def parameters(self, given):
        """Names of the arguments that are parameters, where shapes of `given` are those of inputs."""
        declared = self._symbol.attr_dict()
        inputs = {
            name
            for name in inputs_of(self._symbol)
            if not name.endswith(_WEIGHT_ENDINGS)
            and ("__shape__" not in declared.get(name, ()) or name.endswith(("data", "label")))
        }
        return set(self._symbol.list_arguments()) - inputs - set(given or ())


def print_summary(symbol, shape=None, line_length=120, positions=(0.44, 0.64, 0.74, 1.0)):
    """Prints a table of a symbol's inputs and operators, with output shapes, sizes of parameters and previous layers.

    `shape` is {input: shape}; without it there are no output shapes, and parameters whose shape follows from the input
    are not counted: the last line says how many arrays these are. Output shapes lack the first axis, the batch. A
    parameter counts where it is read first, auxiliary states such as moving means do not. `positions` are the ends of
    columns, in characters or in parts of the line.
    Raises ArgumentError, which is a TypeError, too, for what is no Symbol, and ArgumentError for incomplete shapes.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> mx.viz.print_summary(net, {"data": (2, 5)}, line_length=60, positions=[20, 34, 44, 60])
    ____________________________________________________________
    Layer (type)        Output Shape  Param #   Previous Layer
    ============================================================
    data(null)          5             0
    ____________________________________________________________
    fc(FullyConnected)  3             18        data
    ============================================================
    Total params: 18
    ____________________________________________________________
    """
    ends = [int(line_length * end) for end in positions] if positions[-1] <= 1 else list(positions)
    graph = _Graph(symbol)
    layers, uncounted = _layers(graph, shape), _uncounted(graph, shape)
    print("_" * line_length)
    print(_row(_HEADINGS, ends))
    print("=" * line_length)
    for number, (label, size, count, previous) in enumerate(layers, 1):
        print(_row((label, size, count, *previous[:1]), ends))
        for name in previous[1:]:
            print(_row(("", "", "", name), ends))
        print(("=" if number == len(layers) else "_") * line_length)
    rest = f", and those of {uncounted} arrays whose shapes follow from inputs" if uncounted else ""
    print(f"Total params: {sum(count for _, _, count, _ in layers)}{rest}")
    print("_" * line_length)


def _row(fields, ends):
    """A line of a table; what is too long is cut."""
    line = ""
    for field, end in zip(fields, ends):
        line = f"{line}{field}"[:end].ljust(end)
    return line.rstrip()


def _layers(graph, given):
    """[(label, output shape as text, number of parameters, names of previous layers)]"""
    shapes, parameters, counted, layers = graph.shapes(given), graph.parameters(given), set(), []
    weights, states = graph.variables(parameters), graph.variables(graph.states)
    hidden = weights | states
    for i, node in enumerate(graph.nodes):
        if i in hidden:
            continue
        sources = [source for source, *_ in node["inputs"]]
        new = set(sources) & weights - counted
        counted |= new
        count = sum(_size(shapes[source, 0]) for source in new)
        size = "" if given is None else "x".join(map(str, shapes[i, 0][1:]))
        previous = dict.fromkeys(graph.nodes[source]["name"] for source in sources if source not in hidden)
        layers.append((f"{node['name']}({node['op']})", size, count, list(previous)))
    return layers


def _uncounted(graph, given):
    """How many parameters have a shape that is not known."""
    shapes = graph.shapes(given)
    return sum(not _is_known(shapes[i, 0]) for i in graph.variables(graph.parameters(given)))


def _is_known(shape):
    return shape is not None and min(shape, default=0) >= 0


def _size(shape):
    return math.prod(shape) if _is_known(shape) else 0


# ---- pictures ----

_COLORS = {
    "input": "#a6cee3",
    "product": "#fb9a99",
    "activation": "#ffff99",
    "norm": "#cab2d6",
    "pooling": "#b2df8a",
    "shape": "#fdbf6f",
    "softmax": "#b3e2cd",
    "other": "#e0e0e0",
}

# Operator -> kind.
_KINDS = {
    **dict.fromkeys(("Convolution", "Deconvolution", "FullyConnected"), "product"),
    **dict.fromkeys(("Activation", "LeakyReLU"), "activation"),
    **dict.fromkeys(("BatchNorm", "LayerNorm", "InstanceNorm", "GroupNorm"), "norm"),
    **dict.fromkeys(("Concat", "Flatten", "Reshape"), "shape"),
    **dict.fromkeys(("softmax", "SoftmaxOutput"), "softmax"),
    "Pooling": "pooling",
}


def plot_network(symbol, title="plot", save_format="pdf", shape=None, dtype=None, node_attrs=None, hide_weights=True):
    """A picture of a symbol, a `graphviz.Digraph`; its methods `render` and `view` write and show it.

    `shape` is {input: shape} and `dtype` {input: dtype}: edges have those of the arrays then, shapes without the batch.
    `node_attrs` are attributes of Graphviz for all nodes. With `hide_weights` there are no weights, biases and
    statistics. Nodes that share a name are warned of and get numbers. Needs the package graphviz: where it is not
    installed the error is an UnsupportedError and an ImportError. Other errors are those of `print_summary`.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    >>> try:
    ...     picture = mx.viz.plot_network(net, shape={"data": (2, 5)})
    ... except amp.UnsupportedError as error:
    ...     assert "pip install graphviz" in str(error)
    """
    graph = _Graph(symbol)
    picture = _required_package().Digraph(name=title, format=save_format)
    identities = _identities(graph.nodes)
    hidden = set()
    for i, node in enumerate(graph.nodes):
        if hide_weights and node["op"] == "null" and node["name"].endswith(_WEIGHT_ENDINGS):
            hidden.add(i)
        else:
            picture.node(name=identities[i], label=_label(node), **{**_appearance(node), **(node_attrs or {})})
    labels = _edge_labels(graph, shape, dtype)
    for i, node in enumerate(graph.nodes):
        for source, output, *_ in node["inputs"]:
            if source not in hidden:
                look = {"dir": "back", "arrowtail": "open", "label": labels.get((source, output), "")}
                picture.edge(tail_name=identities[i], head_name=identities[source], **look)
    return picture


def _required_package():
    try:
        return import_module("graphviz")
    except ImportError:
        raise _PackageError("pictures of networks need a package that is not installed: pip install graphviz") from None


def _identities(nodes):
    """Names of nodes in a picture, one for each; a colon would separate a name from a port."""
    identities, seen, repeated = [], {}, {}
    for node in nodes:
        name = node["name"].replace(":", "_")
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            repeated[node["name"]] = True
        identities.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    if repeated:
        names = ", ".join(repeated)
        warnings.warn(
            f"There are multiple variables with the same name in your graph; they get numbers: {names}",
            RuntimeWarning,
            stacklevel=3,
        )
    return identities


def _appearance(node):
    kind = "input" if node["op"] == "null" else _KINDS.get(node["op"], "other")
    return {
        "shape": "oval" if kind == "input" else "box",
        "style": "filled",
        "fillcolor": _COLORS[kind],
        "fixedsize": "true",
        "width": "1.3",
        "height": "0.8",
    }


def _label(node):
    """What a node shows: its operator with the main attributes, or its name."""
    operator, attributes = node["op"], node.get("attrs", {})
    window = f"{_sizes(attributes, 'kernel', '[]')}/{_sizes(attributes, 'stride', '1')}"
    details = {
        "Convolution": f"{window}, {attributes.get('num_filter')}",
        "Deconvolution": f"{window}, {attributes.get('num_filter')}",
        "FullyConnected": attributes.get("num_hidden"),
        "Activation": attributes.get("act_type"),
        "LeakyReLU": attributes.get("act_type", "leaky"),
        "Pooling": f"{attributes.get('pool_type', 'max')}, {window}",
    }
    if operator == "Custom":
        return attributes.get("op_type", operator)
    return f"{operator}\n{details[operator]}" if operator in details else node["name"]


def _sizes(attributes, key, default):
    """'3x3' for '(3, 3)'"""
    return "x".join(re.findall(r"\d+", attributes.get(key, ""))) or default


def _edge_labels(graph, shape, dtype):
    """{(node, output): text}"""
    labels = {}
    if shape is not None:
        labels = {entry: "x".join(map(str, found[1:])) for entry, found in graph.shapes(shape).items()}
    if dtype is not None:
        labels = {entry: f"{labels.get(entry, '')}({found.__name__})" for entry, found in graph.dtypes(dtype).items()}
    return labels


__getattr__ = getter(__name__)
