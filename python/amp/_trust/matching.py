"""A converted model beside its reference: which tensor is which, and which edges see which rounding."""

from typing import NamedTuple

import numpy as np

from ..base import ArgumentError
from .adjoints import Group
from .graph import CASTS
from .reference import as_function

LOW = ("bfloat16", "float16")
FLOATS = (*LOW, "float32")


class Point(NamedTuple):
    """A rounding point of the low model.

    `entry` is what the step wrote, `kind` is 'input', 'cast', 'result' or 'parameter'.
    """

    entry: tuple
    kind: str


class Matching:
    """Entries and edges of `low` and of `reference`, two OpenModels.

    Nodes are one where they have the same name, operator and place among the nodes of that name. Casts of `low` are
    looked through. `problem` says where the models are not one graph, '' where they are. `stored` are the entries that
    are known of a run of the low model; None: all of them. `bodies` is {node of the low model: what files say of its
    subgraphs in the reference} of loops and branches whose bodies differ.
    """

    def __init__(self, low, reference, stored=None):
        self._stored = None if stored is None else set(stored)
        self._low, self._reference = low.graph, reference.graph
        types = low.types()
        self.dtypes = {entry: dtype for entry, (dtype, _) in types.items()}
        self._given = low.input_types
        self._depends, self._low_arrays = low.depends_on_data, low.arrays
        self._changed = _changed(low.arrays, reference.arrays)
        self._is_low = [any(self.dtypes.get((i, k)) in LOW for k in range(n)) for i, n in self._sizes()]
        self._node = _nodes_of(self._low, self._reference)
        self._of_low = {other: i for i, other in self._node.items()}
        self.bodies = dict(self._changed_bodies())
        self.problem = self._difference()
        self._check_shapes(types, reference.types())

    def _changed_bodies(self):
        for i, other in self._node.items():
            low, reference = self._low.nodes[i].rest, self._reference.nodes[other].rest
            if "subgraphs" in reference and low.get("subgraphs") != reference["subgraphs"]:
                yield i, reference

    def _sizes(self):
        return [(i, len(names)) for i, names in enumerate(self._low.outputs)]

    def through(self, entry):
        """(the entry behind casts, the entries of these casts) of an entry of the low model."""
        casts = []
        while self._low.nodes[entry[0]].op in CASTS:
            casts.append(entry)
            entry = self._low.nodes[entry[0]].inputs[entry[1]]
        return entry, casts

    def readers_behind_casts(self, entry):
        """Nodes of the low model that read an entry, by themselves or through casts."""
        found, rest = [], [entry]
        while rest:
            for reader, _ in self._low.readers.get(rest.pop(), []):
                if reader is not None and self._low.nodes[reader].op in CASTS:
                    rest += [(reader, k) for k in range(len(self._low.outputs[reader]))]
                elif reader is not None:
                    found.append(reader)
        return found

    def in_reference(self, entry):
        """The entry of the reference that an entry of the low model is the rounded form of, or None."""
        source, _ = self.through(entry)
        node = self._node.get(source[0])
        return None if node is None else (node, source[1])

    def in_low(self, entry):
        """The entry of the low model for one of the reference; None where there is none."""
        node = self._of_low.get(entry[0])
        return None if node is None else (node, entry[1])

    def with_twins(self):
        """Nodes of the low model whose own errors are worth a twin: what reads or writes low precision.

        Where only some entries are stored, all that a step ends with: low precision may be inside of it.
        """
        if self._stored is not None:
            return sorted({self.exact_of(entry)[0] for entry in self._stored} - self._without_runs())
        return [
            i
            for i, node in self._low.operators()
            if node.op not in CASTS
            and self._depends[i]
            and (self._is_low[i] or i in self.bodies or any(self.dtypes.get(entry) in LOW for entry in node.inputs))
        ]

    def _without_runs(self):
        """Nodes whose values are known without a run, and casts of what is stored."""
        return {i for i, node in enumerate(self._low.nodes) if node.is_variable or node.op in CASTS}

    def is_shown(self, entry):
        """Whether an entry is known of a run."""
        return self._stored is None or entry in self._stored or self._low.nodes[entry[0]].is_variable

    def exact_of(self, entry):
        """The entry that a step rounds when it writes this one: for a cast what it reads, if not what is before it."""
        while self._low.nodes[entry[0]].op in CASTS:
            entry = self._low.nodes[entry[0]].inputs[entry[1]]
            if self.is_shown(entry):
                break
        return entry

    def points(self):
        """All rounding points, in the order of execution."""
        twins = set(self.with_twins())
        found = []
        for entry in self._low.entries():
            kind = self._kind(entry, twins)
            if kind:
                found.append(Point(entry, kind))
        return found

    def _kind(self, entry, twins):
        node, dtype = self._low.nodes[entry[0]], self.dtypes[entry]
        if not self.is_shown(entry) and self._depends[entry[0]]:
            return ""
        if self._is_low_input(entry):
            return "input"
        if node.is_variable:
            is_rounded = dtype in LOW or node.name in self._changed
            return "parameter" if node.name in self._low_arrays and is_rounded else ""
        if node.op in CASTS:
            source = node.inputs[entry[1]]
            rounds = dtype in LOW and self.dtypes.get(source) != dtype
            return ("cast" if self._depends[entry[0]] else "parameter") if rounds else ""
        return "result" if entry[0] in twins and dtype in FLOATS else ""

    def low_inputs(self):
        """Entries of inputs in low precision: who gives data in float32 rounds them."""
        return [entry for entry in self._low.entries() if self._is_low_input(entry)]

    def _is_low_input(self, entry):
        node = self._low.nodes[entry[0]]
        return node.is_variable and node.name in self._given and self.dtypes[entry] in LOW

    def groups(self, points, outputs):
        """{Group of edges of the reference: [Point] that they see}; `outputs` are entries of the reference."""
        by_entry = {point.entry: point for point in points}
        found = {}
        for other, node in enumerate(self._reference.nodes):
            for slot, entry in enumerate(as_function(node).inputs):
                read = self._low.nodes[self._of_low[other]].inputs[slot]
                self._add(found, entry, (other, slot), read, by_entry)
        for k, entry in enumerate(outputs):
            self._add(found, entry, (None, k), self.output_in_low(entry), by_entry)
        return {Group(entry, tuple(edges)): seen for (entry, seen), edges in found.items()}

    def output_in_low(self, entry):
        """What the low model gives for an output of the reference, or holds for a tensor inside."""
        if entry in self._reference.heads:
            return self._low.heads[self._reference.heads.index(entry)]
        return self.in_low(entry)

    def _add(self, found, entry, edge, read, by_entry):
        source, casts = self.through(read)
        seen = tuple(by_entry[e] for e in (*casts, source) if e in by_entry)
        if seen:
            found.setdefault((entry, seen), []).append(edge)

    def _difference(self):
        for i, node in self._reference.operators():
            if i not in self._of_low:
                return f"the second model has no {node.op} '{node.name}'"
        for i, node in self._low.operators():
            if node.op not in CASTS and i not in self._node:
                return f"the first model has no {node.op} '{node.name}'"
        for other, node in enumerate(self._reference.nodes):
            low = self._low.nodes[self._of_low[other]] if other in self._of_low else node
            reads = [self.in_reference(entry) for entry in low.inputs] if low is not node else node.inputs
            if reads != node.inputs:
                return f"{node.op} '{node.name}' reads other tensors in the second model"
        if [self.in_reference(entry) for entry in self._low.heads] != self._reference.heads:
            return "the models have other outputs"
        return ""

    def _check_shapes(self, types, others):
        """Raises ArgumentError where tensors that are compared have different shapes."""
        heads = self._low.heads, self._reference.heads
        if len(heads[0]) != len(heads[1]):
            raise ArgumentError(f"expected models with as many outputs, got {len(heads[1])} and {len(heads[0])}")
        pairs = [(entry, self.in_reference(entry)) for entry in types]
        for entry, other in [*pairs, *zip(*heads)]:
            shapes = [found.get(e, (None, None))[1] for found, e in ((others, other), (types, entry))]
            if None not in shapes and tuple(shapes[0]) != tuple(shapes[1]):
                raise ArgumentError(
                    f"{self._low.name_of(entry)!r} has the shape {tuple(shapes[1])}, and "
                    f"{self._reference.name_of(other)!r} of the first model {tuple(shapes[0])}: expected models that "
                    "differ in precision alone"
                )


def _changed(low, reference):
    """Names of float32 parameters that both models have and whose numbers differ."""
    pairs = {name: (array, reference[name]) for name, array in low.items() if name in reference}
    return {
        name
        for name, pair in pairs.items()
        if all(array.dtype.name == "float32" for array in pair) and not np.array_equal(*map(np.asarray, pair))
    }


def _nodes_of(low, reference):
    """{node of the low graph: node of the reference}"""
    known = {key: i for key, i in _numbered(reference)}
    return {i: known[key] for key, i in _numbered(low) if key in known}


def _numbered(graph):
    """((operator, name, how many of them came before), id) of all nodes but casts."""
    seen = {}
    for i, node in enumerate(graph.nodes):
        if node.op not in CASTS:
            key = node.op, node.name
            seen[key] = seen.get(key, -1) + 1
            yield (*key, seen[key]), i
