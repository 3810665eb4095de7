"""Operators by themselves, in float32, on given inputs."""

from .data import types_of, widened
from .graph import CASTS, Builder
from .reference import as_function, bound


class Twins:
    """Copies of nodes, each of which reads arrays that it is given: they have no part of each other's errors.

    `nodes` are ids of the graph. Copies write float32, sum as they please and keep no precision of their own.
    `constants` is {entry: array} of what is always the same. `stored` are the entries that are known of a run; None:
    all of them. What a copy reads beside them is copied, too, without casts: a step that computes several nodes rounds
    once. `bodies` is {node: what files say of other subgraphs that its copy has}.
    """

    def __init__(self, graph, nodes, constants, stored=None, bodies=None):
        self._graph, self._stored, self._bodies = graph, stored, bodies or {}
        self._builder, self._copies = Builder(graph.attrs), {}
        self._names, self._constants = {}, constants
        self._held = {}
        for i in self._needed(nodes):
            self._copies[i] = self._copy(i)
        self.entries = [(i, k) for i in nodes for k in range(len(graph.outputs[i]))]
        self._symbol = self._builder.symbol([(self._copies[i], k) for i, k in self.entries]) if nodes else None
        self._bound = {}

    def _needed(self, nodes):
        """The nodes, and what they read that is not known, in topological order."""
        needed, rest = set(), list(nodes)
        while rest:
            i = rest.pop()
            if i not in needed:
                needed.add(i)
                entries = map(self._source, as_function(self._graph.nodes[i]).inputs)
                rest += [entry[0] for entry in entries if not self._is_known(entry)]
        return sorted(needed)

    def _is_known(self, entry):
        return self._stored is None or entry in self._stored or self._graph.nodes[entry[0]].is_variable

    def _source(self, entry):
        """The entry itself, or what is known or computed in front of casts."""
        while not self._is_known(entry) and self._graph.nodes[entry[0]].op in CASTS:
            entry = self._graph.nodes[entry[0]].inputs[entry[1]]
        return entry

    def _copy(self, i):
        node = as_function(self._graph.nodes[i])
        inputs = [self._read(self._source(entry)) for entry in node.inputs]
        attrs = {key: value for key, value in node.attrs.items() if not key.startswith("__")}
        return self._builder.add(node.op, f"~twin{i}", attrs, inputs, self._bodies.get(i, node.rest))

    def _read(self, entry):
        if not self._is_known(entry):
            return self._copies[entry[0]], entry[1]
        if entry not in self._names:
            name = f"~in{entry[0]}_{entry[1]}"
            self._names[entry] = name, self._builder.variable(name)
            if entry in self._constants:
                self._held[name] = self._constants[entry]
        return self._names[entry][1]

    @property
    def inputs(self):
        """The entries that copies read and that are no constants."""
        return [entry for entry, (name, _) in self._names.items() if name not in self._held]

    def __call__(self, values):
        """{entry: NumPy array} of what each copy gives; `values` is {entry: array} of at least `inputs`."""
        if self._symbol is None:
            return {}
        feed = {self._names[entry][0]: widened(values[entry]) for entry in self.inputs}
        types = types_of(feed)
        key = tuple(sorted(types.items()))
        if key not in self._bound:
            self._bound = {key: bound(self._symbol, self._held, types)}
        run = self._bound[key]
        wanted = set(run.input_names)
        results = run({name: array for name, array in feed.items() if name in wanted})
        return {entry: array.asnumpy() for entry, array in zip(self.entries, results)}
