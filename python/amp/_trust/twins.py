"""Operators by themselves, in float32, on given inputs."""

import numpy as np

from .graph import Builder
from .reference import as_function, bound


class Twins:
    """Copies of nodes, each of which reads arrays that it is given: they have no part of each other's errors.

    `nodes` are ids of the graph. Copies write float32, sum as they please and keep no precision of their own.
    `constants` is {entry: array} of what is always the same.
    """

    def __init__(self, graph, nodes, constants):
        builder = Builder(graph.attrs)
        self._names, self._constants = {}, {}
        self.entries = []
        heads = []
        for i in nodes:
            node = as_function(graph.nodes[i])
            inputs = [self._variable(builder, entry, constants) for entry in node.inputs]
            attrs = {key: value for key, value in node.attrs.items() if not key.startswith("__")}
            copy = builder.add(node.op, f"~twin{i}", attrs, inputs, node.rest)
            self.entries += [(i, k) for k in range(len(graph.outputs[i]))]
            heads += [(copy, k) for k in range(len(graph.outputs[i]))]
        self._symbol = builder.symbol(heads) if heads else None
        self._bound = {}

    def _variable(self, builder, entry, constants):
        name, variable = self._names.get(entry, (f"~in{entry[0]}_{entry[1]}", None))
        if variable is None:
            variable = builder.variable(name)
            self._names[entry] = name, variable
            if entry in constants:
                self._constants[name] = constants[entry]
        return variable

    @property
    def inputs(self):
        """The entries that copies read and that are no constants."""
        return [entry for entry, (name, _) in self._names.items() if name not in self._constants]

    def __call__(self, values):
        """{entry: NumPy array} of what each copy gives; `values` is {entry: array} of at least `inputs`."""
        if self._symbol is None:
            return {}
        feed = {self._names[entry][0]: widened(values[entry]) for entry in self.inputs}
        types = {name: (array.dtype, tuple(array.shape)) for name, array in feed.items()}
        key = tuple(sorted((name, str(dtype), shape) for name, (dtype, shape) in types.items()))
        if key not in self._bound:
            self._bound = {key: bound(self._symbol, self._constants, types)}
        run = self._bound[key]
        wanted = set(run.input_names)
        results = run({name: array for name, array in feed.items() if name in wanted})
        return {entry: array.asnumpy() for entry, array in zip(self.entries, results)}


def widened(array):
    """A NumPy array; bfloat16 and float16 as float32."""
    array = array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
    is_low = array.dtype.name in ("bfloat16", "float16")
    return array.astype(np.float32) if is_low else array
