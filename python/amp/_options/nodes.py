"""Queries for nodes: by operator, attributes, place in the graph, or any condition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import ArgumentError
from ..sym.attributes import attribute_text

__all__ = ["NodeQuery"]


@dataclass(frozen=True, eq=False)
class NodeQuery:
    """Stands for nodes where options name them, such as `excluded_sym_names` and the keys of `force`.

    All conditions that are given must hold. Where they hold for no node that is an error, as a name is that no node
    has, unless the query is `optional`.

    op: the operator, or several.
    attrs: {attribute: value, or a list of values}, as the file has them; an absent one has no value.
    after, before: names of nodes. The query stands for what depends on one of `after` and what one of `before` depends
        on, these nodes included: both together are a part of the graph.
    where: a function of {'name', 'op', 'attrs'} that says whether the node is one.

    >>> x = amp.sym.Variable("data")
    >>> net = amp.sym.FullyConnected(amp.sym.Activation(x, act_type="relu", name="relu"), num_hidden=2, name="fc")
    >>> amp.NodeQuery(op="Activation", attrs={"act_type": "relu"}).names_in(net)
    ['relu']
    >>> amp.NodeQuery(after="relu", before="fc").names_in(net)
    ['relu', 'fc']
    """

    op: str | Collection[str] | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)
    after: str | Collection[str] | None = None
    before: str | Collection[str] | None = None
    where: Callable[[dict[str, Any]], bool] | None = None
    optional: bool = False

    def __post_init__(self):
        for key in ("op", "after", "before"):
            _require_names(key, getattr(self, key))
        if not isinstance(self.attrs, Mapping):
            raise ArgumentError(f"NodeQuery: attrs: expected {{attribute: value}}, got {self.attrs!r}")
        if self.where is not None and not callable(self.where):
            raise ArgumentError(f"NodeQuery: where: expected a function of a node, got {self.where!r}")

    def names_in(self, sym: Any) -> list[str]:
        """Names of the operators of a Symbol that the query stands for, in the graph's order."""
        return self._names_among(nodes_of(sym))

    def _names_among(self, nodes):
        """The same, of what `nodes_of` gave for the Symbol."""
        chosen = [self._holds_for(node) for node in nodes]
        for names, reach in ((self.after, _behind), (self.before, _in_front)):
            if names is not None:
                reached = reach(nodes, _indices(nodes, _several(names)))
                chosen = [is_chosen and index in reached for index, is_chosen in enumerate(chosen)]
        return list(dict.fromkeys(node["name"] for node, is_chosen in zip(nodes, chosen) if is_chosen))

    def _holds_for(self, node):
        if node["op"] == "null" or (self.op is not None and node["op"] not in _several(self.op)):
            return False
        if not all(_has(node["attrs"], key, value) for key, value in self.attrs.items()):
            return False
        public = {"name": node["name"], "op": node["op"], "attrs": dict(node["attrs"])}
        return self.where is None or bool(self.where(public))

    def __str__(self):
        given = {key: getattr(self, key) for key in ("op", "attrs", "after", "before", "where")}
        return "NodeQuery(" + ", ".join(f"{key}={value!r}" for key, value in given.items() if value) + ")"


def nodes_of(sym):
    """The nodes of a Symbol, as its file has them, each with 'attrs'."""
    import json  # needed here only

    nodes = json.loads(sym.tojson())["nodes"]
    return [{**node, "attrs": node.get("attrs", node.get("param", {}))} for node in nodes]


def _require_names(key, value):
    """Raises ArgumentError unless it is a name, several or None."""
    if value is None or (isinstance(value, Collection) and all(isinstance(item, str) for item in value)):
        return
    raise ArgumentError(f"NodeQuery: {key}: expected a name or a list of names, got {value!r}")


def _several(value):
    return [value] if isinstance(value, str) else list(value)


def _has(attributes, key, value):
    values = value if isinstance(value, (list, set, frozenset)) else [value]
    return attributes.get(key) in [attribute_text(item, what=key) for item in values]


def _indices(nodes, names):
    found = {index for index, node in enumerate(nodes) if node["name"] in names}
    missing = [name for name in names if name not in {nodes[index]["name"] for index in found}]
    if missing:
        raise ArgumentError(f"NodeQuery: the model has no node {missing[0]!r}")
    return found


def _behind(nodes, reached):
    """Indices of what depends on those nodes, themselves included. Nodes are in topological order."""
    for index, node in enumerate(nodes):
        if any(entry[0] in reached for entry in node["inputs"]):
            reached.add(index)
    return reached


def _in_front(nodes, reached):
    """Indices of what those nodes depend on, themselves included."""
    for index in range(len(nodes) - 1, -1, -1):
        if index in reached:
            reached.update(entry[0] for entry in nodes[index]["inputs"])
    return reached
