"""Graphs as plain data: read from a symbol, changed, and made a symbol again."""

import functools
import json
from typing import NamedTuple

from .. import _core
from ..sym import Symbol, load_json

CASTS = ("amp_cast", "amp_multicast")


class Node(NamedTuple):
    """A node; `inputs` are entries, pairs (node id, output). `rest` is what else files say of it (subgraphs)."""

    op: str
    name: str
    attrs: dict
    inputs: list
    rest: dict

    @property
    def is_variable(self):
        return self.op == "null"


class Graph:
    """The nodes of a symbol in topological order.

    `heads` are the entries of the outputs, `slots[id]` the names of a node's inputs, `outputs[id]` the names of its
    visible outputs as tensors; `sums_products[id]` says whether the node sums up products, `commutes[id]` lists the low
    dtypes that it commutes with rounding to, `indices[id]` the slots of indices, lengths, axes and masks.
    """

    def __init__(self, symbol):
        document = json.loads(symbol.tojson())
        self.attrs = document.get("attrs", {})
        self.nodes = [_node(node) for node in document["nodes"]]
        self.heads = [(head[0], head[1]) for head in document["heads"]]
        facts = _core.facts_of_nodes(symbol._handle)
        self.slots = [node["inputs"] for node in facts]
        self.outputs = [node["outputs"] for node in facts]
        self.sums_products = [node["sums_products"] for node in facts]
        self.commutes = [node["commutes"] for node in facts]
        self.indices = [node["indices"] for node in facts]

    def operators(self):
        """Pairs (id, node) of all operators."""
        return [(i, node) for i, node in enumerate(self.nodes) if not node.is_variable]

    def entries(self):
        """All visible entries, in the order of nodes."""
        return [(i, k) for i, names in enumerate(self.outputs) for k in range(len(names))]

    def name_of(self, entry):
        """The tensor's name; hidden outputs have none in files."""
        names = self.outputs[entry[0]]
        return names[entry[1]] if entry[1] < len(names) else f"{self.nodes[entry[0]].name}_output{entry[1]}"

    @functools.cached_property
    def readers(self):
        """{entry: [edge]}: an edge is (reader, input slot), or (None, number of the output)."""
        found = {}
        for i, node in enumerate(self.nodes):
            for slot, entry in enumerate(node.inputs):
                found.setdefault(entry, []).append((i, slot))
        for k, entry in enumerate(self.heads):
            found.setdefault(entry, []).append((None, k))
        return found

    def depends_on(self, names):
        """Whether each node reads one of these variables, at whatever distance: a list."""
        found = []
        for node in self.nodes:
            found.append(node.name in names if node.is_variable else any(found[i] for i, _ in node.inputs))
        return found

    def symbol_of(self, entries):
        """A Symbol with these outputs."""
        builder = Builder(self.attrs)
        ids = builder.add_all(self.nodes)
        return builder.symbol([(ids[i], k) for i, k in entries])

    def types(self, entries, known):
        """[(dtype, shape)] of entries; `known` is {variable: (dtype, shape)}."""
        symbol = self.symbol_of(entries)
        names = set(symbol.list_inputs())
        return symbol._handle.infer({name: type for name, type in known.items() if name in names})[1]


class Builder:
    """Collects nodes and makes a symbol of them. Inputs and heads are entries (id, output) of this builder."""

    def __init__(self, attrs=None):
        self._attrs, self._nodes = attrs or {}, []

    def add(self, op, name, attrs=None, inputs=(), rest=None):
        """Adds a node; returns its id."""
        self._nodes.append(Node(op, name, attrs or {}, list(inputs), rest or {}))
        return len(self._nodes) - 1

    def variable(self, name):
        """Adds a variable; returns its entry."""
        return self.add("null", name), 0

    def add_all(self, nodes):
        """Adds a whole graph; returns the new ids."""
        ids = []
        for node in nodes:
            ids.append(self.add(node.op, node.name, node.attrs, [(ids[i], k) for i, k in node.inputs], node.rest))
        return ids

    def symbol(self, heads):
        """The Symbol of these outputs."""
        document = {
            "nodes": [_document(node) for node in self._nodes],
            "arg_nodes": [i for i, node in enumerate(self._nodes) if node.is_variable],
            "heads": [[i, k, 0] for i, k in heads],
            "attrs": self._attrs,
        }
        return Symbol(load_json(json.dumps(document))._handle)


def _node(node):
    rest = {key: value for key, value in node.items() if key not in ("op", "name", "attrs", "inputs")}
    return Node(node["op"], node["name"], node.get("attrs", {}), [(i, k) for i, k, *_ in node["inputs"]], rest)


def _document(node):
    inputs = [[i, k, 0] for i, k in node.inputs]
    return {"op": node.op, "name": node.name, "attrs": node.attrs, "inputs": inputs, **node.rest}
