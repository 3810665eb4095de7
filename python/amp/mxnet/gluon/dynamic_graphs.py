"""Graphs with operators whose results have shapes that depend on values, such as `_contrib_boolean_mask`.

No plan can hold them: what is between such nodes runs as graphs, and each of them as a function of arrays.
"""

import json

from ... import _backward
from ...nd import NDArray
from ...sym import Group, load_json
from .. import autograd
from ..bound_symbol import BoundSymbol, cast_gradients
from ..operator.array_operators import ROWS, ArrayOperator
from .recorded_graph import RecordedGraph


def is_dynamic(symbol):
    """Whether a node of the symbol is of that kind."""
    return any(map(_is_dynamic, symbol._handle.count_operators()))


def _is_dynamic(name):
    return name in ROWS and ROWS[name].is_dynamic


class DynamicGraph:
    """Such a symbol, to be called with {name: array}: its outputs, recorded where gradients are asked for."""

    def __init__(self, symbol):
        self._graph = json.loads(symbol.tojson())
        self._first = {}  # {node: that which stands for it, or for its first output}
        nodes, dynamic, heads = [], [], []
        for i, node in enumerate(self._graph["nodes"]):
            self._first[i] = len(nodes)
            inputs = [self._place(entry) for entry in node["inputs"]]
            if not _is_dynamic(node["op"]):
                nodes.append({**node, "inputs": inputs})
                continue
            operator = ArrayOperator(ROWS[node["op"]], node.get("attrs", {}))
            names = [f"{node['name']}_{output}" for output in operator.outputs]
            nodes += [{"op": "null", "name": name, "inputs": []} for name in names]
            dynamic.append((operator, names, len(heads), len(heads) + len(inputs)))
            heads += inputs
        num_inputs = len(heads)
        heads += map(self._place, self._graph["heads"])
        whole = self._loaded(nodes, heads)
        self._stages = [(operator, names, _Part(whole[first:end])) for operator, names, first, end in dynamic]
        self._last = _Part(whole[num_inputs:])

    def _place(self, entry):
        source, output = entry[:2]
        if _is_dynamic(self._graph["nodes"][source]["op"]):
            return [self._first[source] + output, 0, 0]
        return [self._first[source], output, 0]

    def _loaded(self, nodes, heads):
        """The symbols of the heads, each by itself."""
        variables = [i for i, node in enumerate(nodes) if node["op"] == "null"]
        graph = {**self._graph, "nodes": nodes, "arg_nodes": variables, "heads": heads}
        graph.pop("node_row_ptr", None)
        return list(load_json(json.dumps(graph)))

    def __call__(self, arrays):
        arrays = dict(arrays)
        for operator, names, inputs in self._stages:
            results = operator.results([array.as_np_ndarray() for array in inputs(arrays)])
            arrays.update(zip(names, results))
        return self._last(arrays)


class _Part:
    """Symbols that are computed together; variables among them are the arrays themselves."""

    def __init__(self, symbols):
        self._names = [s.name if s.list_inputs() == [s.name] and not s.get_children() else None for s in symbols]
        computed = [symbol for symbol, name in zip(symbols, self._names) if name is None]
        self._graph = RecordedGraph(Group(computed), "graph") if computed else None

    def __call__(self, arrays):
        results = iter(self._graph(arrays) if self._graph is not None else ())
        return [next(results) if name is None else arrays[name] for name in self._names]


class DynamicBoundSymbol(BoundSymbol):
    """A bound symbol of that kind: every run with arguments that have gradients is recorded."""

    _recorded = ()

    @property
    def outputs(self):
        return self._outputs or []

    def forward(self, is_train=False, **inputs):
        self._take_in(inputs)
        if self._plan is None:
            self._plan = DynamicGraph(self._symbol)
        self._varied = {name: _backward.detached(self._arguments[name]) for name in self._gradients}
        for array in self._varied.values():
            array.attach_grad()
        with autograd.record(train_mode=bool(is_train)):
            self._recorded = self._plan({**self._arguments, **self._auxiliary_states, **self._varied})
        self._outputs = [_backward.detached(NDArray(output)) for output in self._recorded]
        return self._outputs

    def backward(self, out_grads=None, is_train=True):
        if not self._gradients:
            return
        if not self._recorded:
            self.forward(is_train)
        autograd.backward(self._recorded, cast_gradients(out_grads, self._outputs), retain_graph=True)
        for name, target in self._gradients.items():
            found = self._varied[name].grad
            target[...] = found + target if self._requests[name] == "add" else found
