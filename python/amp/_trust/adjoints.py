"""The reference run backwards: what a change of what an edge reads does to the outputs."""

import functools
from typing import NamedTuple

import numpy as np

from .. import _core
from .._gradient import gradient
from ..base import UnsupportedError
from ..sym import Variable
from .data import types_of
from .graph import Builder
from .reference import as_function, bound


class Outputs(NamedTuple):
    """What errors are looked at: `entries`, and `replaced`, names of outputs that no gradient goes through."""

    entries: list
    replaced: list


def differentiable_outputs(graph, dtypes, depends, wanted):
    """The Outputs in place of the `wanted` entries: the last float tensors before what has no gradient.

    `dtypes` is {entry: dtype}; `depends` says which nodes depend on data. Raises UnsupportedError where none is left.
    """
    walk = _Walk(graph, dtypes, depends)
    entries, replaced = [], []
    for entry in wanted:
        found = [entry] if walk.is_smooth(entry) else walk.before(entry)
        replaced += [graph.name_of(entry)] if found != [entry] else []
        entries += [other for other in found if other not in entries]
    if not entries:
        raise UnsupportedError("no output of the model depends on its inputs through operators that have gradients")
    return Outputs(entries, replaced)


class _Walk:
    """Which entries change smoothly with the data."""

    def __init__(self, graph, dtypes, depends):
        self._graph, self._dtypes, self._depends = graph, dtypes, depends
        self._clean, self._reached = [], []
        for i, node in enumerate(graph.nodes):
            kind = "rule" if node.is_variable else _gradient_kind(as_function(node).op)
            inputs = [entry for entry in as_function(node).inputs if self._is_candidate(entry)]
            self._clean.append(kind != "none" and all(self._clean[e[0]] for e in inputs))
            through = depends[i] if node.is_variable else any(self._reached[e[0]] for e in inputs)
            self._reached.append(kind == "rule" and through)

    def _is_candidate(self, entry):
        return self._depends[entry[0]] and self._dtypes.get(entry) == "float32"

    def is_smooth(self, entry):
        """Whether the entry is of float32 and gradients go from it to the data."""
        return self._is_candidate(entry) and self._clean[entry[0]] and self._reached[entry[0]]

    def before(self, entry):
        """The nearest smooth entries that an entry is computed from."""
        found, seen, rest = [], set(), [entry]
        while rest:
            for source in self._graph.nodes[rest.pop()[0]].inputs:
                if source in seen or not self._depends[source[0]]:
                    continue
                seen.add(source)
                is_result = self.is_smooth(source) and not self._graph.nodes[source[0]].is_variable
                (found if is_result else rest).append(source)
        return sorted(found)


@functools.cache
def _gradient_kind(op):
    return _core.gradient_kind(op)


class Group(NamedTuple):
    """Edges of one entry that see the same error."""

    entry: tuple
    edges: tuple


class Adjoints:
    """Gradients of the outputs by what groups of edges read.

    A group whose edges are (None, k) alone is what output k of `outputs` is read as. The graph gets a variable for each
    group, which is added to what its edges read: the gradients are taken where these variables are.
    """

    def __init__(self, reference, outputs, groups):
        graph = reference.graph
        self._reference, self._outputs, self._groups = reference, outputs, groups
        self._changes = [f"~change{i}" for i in range(len(groups))]
        self._heads = [f"~head{i}" for i in range(len(outputs))]
        symbol = _with_changes(graph, outputs, groups, self._changes)
        heads = [Variable(name) for name in self._heads]
        read = set(symbol.list_arguments())  # what no output depends on changes nothing
        self._reaching = [name for name in self._changes if name in read]
        self._symbol = gradient(symbol, self._reaching, head_gradients=heads, is_train=False)
        self._bound = {}

    def __call__(self, inputs, shapes, heads, changes=None):
        """The gradient of each group, NumPy arrays.

        `inputs` is {input: array}, `shapes` {entry: shape}, `heads` the gradient of each output, `changes` what is
        added for each group (None: nothing).
        """
        run = self._run_for(inputs, shapes)
        given = dict(zip(self._heads, heads))
        for name, group, change in zip(self._changes, self._groups, changes or [None] * len(self._groups)):
            given[name] = np.zeros(shapes[group.entry], np.float32) if change is None else change
        wanted = set(run.input_names)
        feed = {name: array for name, array in {**inputs, **given}.items() if name in wanted}
        found = dict(zip(self._reaching, run(feed)))
        return [
            found[name].asnumpy() if name in found else np.zeros(shapes[group.entry], np.float32)
            for name, group in zip(self._changes, self._groups)
        ]

    def _run_for(self, inputs, shapes):
        types = types_of(inputs)
        key = tuple(sorted(types.items()))
        if key not in self._bound:
            types |= {name: ("float32", shapes[g.entry]) for name, g in zip(self._changes, self._groups)}
            types |= {name: ("float32", shapes[entry]) for name, entry in zip(self._heads, self._outputs)}
            self._bound = {key: bound(self._symbol, self._reference.arrays, types)}  # one at a time: it is large
        return self._bound[key]


def _with_changes(graph, outputs, groups, names):
    """The Symbol of the outputs, with a variable added to what each group's edges read."""
    builder = Builder(graph.attrs)
    of_edge = {edge: (name, group.entry) for name, group in zip(names, groups) for edge in group.edges}
    ids, added = [], {}

    def read(edge, entry):
        source = ids[entry[0]], entry[1]
        if edge not in of_edge:
            return source
        name = of_edge[edge][0]
        if name not in added:
            change = builder.variable(name)
            added[name] = builder.add("elemwise_add", f"{name}_add", {}, [source, change]), 0
        return added[name]

    for i, given in enumerate(graph.nodes):
        node = as_function(given)
        inputs = [read((i, slot), entry) for slot, entry in enumerate(node.inputs)]
        ids.append(builder.add(node.op, node.name, node.attrs, inputs, node.rest))
    return builder.symbol([read((None, k), entry) for k, entry in enumerate(outputs)])
