"""What the rounding of each tensor does to the outputs, seen by each reader: the table behind sensitivity.

The effect of an error d of a tensor on the outputs, seen by one reader, is a vector of numbers
p(n, k) = <adjoint of what the reader reads, d>, for sample n and random head gradient k. With such head gradients the
mean of p squared is the mean square of the outputs' change times how many numbers a sample of the outputs has: division
by that number makes it an error relative to the outputs' rms. Vectors of several readers add up.
"""

from typing import NamedTuple

import numpy as np

from .. import _core
from .._core import numpy_dtype
from .adjoints import Adjoints, Group
from .data import types_of, widened
from .graph import Builder
from .reference import as_function, bound
from .samples import HeadGradients, batch_axes, batch_size, per_sample
from .twins import Twins


class Reader(NamedTuple):
    """An edge by names: `node` is None for an output of the model, whose name `input` is then."""

    node: str
    input: str


class Effects:
    """The effects of rounding one tensor: `kind` is 'input', 'result' or 'parameter', or what is made of those alone.

    `plain[i]` and `behind[i]`, vectors of equal length, are what reader i sees: where the tensor's node reads float32,
    and where it reads rounded inputs (an operator that only moves data adds nothing then). Both are divided by the
    square root of the numbers of a sample. Those of parameters have signs that count: they are fixed errors.
    `compensated[i]`: the same of a weight with a batch norm in it that is rounded as conversions store it; []
    for all else.
    """

    def __init__(self, entry, name, node, kind, readers):
        self.entry, self.name, self.node, self.op, self.kind = entry, name, node.name, node.op, kind
        self.readers = readers
        self.plain, self.behind, self.compensated = [], [], []
        self._parts = {"plain": {}, "behind": {}, "compensated": {}}

    def add(self, form, reader, numbers):
        """Appends numbers of some samples to what `reader` sees of a form, 'plain', 'behind' or 'compensated'."""
        self._parts[form].setdefault(reader, []).append(numbers)

    def keep(self, count):
        """Forgets all but the first `count` numbers that each reader was given."""
        for readers in self._parts.values():
            for parts in readers.values():
                del parts[count:]

    def finish(self):
        """Joins the numbers of all samples."""
        for form, parts in self._parts.items():
            setattr(self, form, [np.concatenate(parts[reader]) for reader in sorted(parts)])


def rounded(array, target):
    """A float32 array rounded to nearest even in the dtype `target`, as float32."""
    return array.astype(numpy_dtype(target)).astype(np.float32)


class EffectTable:
    """Fills the Effects of all tensors of a reference model from batches of data.

    `outputs` are entries that errors are looked at, `target` names the low dtype.
    """

    def __init__(self, reference, outputs, target, entries):
        self._reference, self._target = reference, target
        self._graph, self._outputs = reference.graph, outputs
        self._entries = [entry for entry in entries if self._graph.readers.get(entry)]
        self._changes = ParameterChanges(reference, target)
        self._results = [e for e in self._entries if not self._graph.nodes[e[0]].is_variable]
        constants = reference.constant_values()
        self._twins = Twins(self._graph, sorted({entry[0] for entry in self._results}), constants)
        self._groups = [Group(entry, (edge,)) for entry in self._watched() for edge in self._edges_of(entry)]
        self._adjoints = Adjoints(reference, outputs, self._groups)
        self.effects = {e: self._effects_of(e, self._edges_of(e)) for e in self._entries}
        self.effects |= {e: self._effects_of(e, edges) for e, edges in self._changes.edges.items()}
        self.samples = self._passes = 0

    def _watched(self):
        """Entries whose adjoints are needed: those that are rounded, and those that parameters change."""
        return list(dict.fromkeys([*self._entries, *self._changes.changed_entries]))

    def _edges_of(self, entry):
        inner = [edge for edge in self._graph.readers.get(entry, []) if edge[0] is not None]
        inner = [e for e in inner if e[1] < len(as_function(self._graph.nodes[e[0]]).inputs)]
        return inner + [(None, k) for k, output in enumerate(self._outputs) if output == entry]

    def _effects_of(self, entry, edges):
        node = self._graph.nodes[entry[0]]
        kind = "result" if self._reference.depends_on_data[entry[0]] else "parameter"
        if node.is_variable and node.name not in self._reference.arrays:
            kind = "input"
        return Effects(entry, self._graph.name_of(entry), node, kind, [self._reader(edge) for edge in edges])

    def _reader(self, edge):
        reader, slot = edge
        if reader is None:
            return Reader(None, self._graph.name_of(self._outputs[slot]))
        return Reader(self._graph.nodes[reader].name, self._graph.slots[reader][slot])

    def add(self, inputs, passes, generator):
        """Adds the samples of one batch, {input: array}. What interrupts it leaves what was added before."""
        try:
            self._add(inputs, passes, generator)
        except BaseException:
            for effects in self.effects.values():
                effects.keep(self._passes)
            raise
        self._passes += passes
        self.samples += batch_size(inputs)

    def _add(self, inputs, passes, generator):
        run = _ReferenceRun(self._reference, self._watched(), self._outputs, self._changes, inputs)
        errors = self._errors(run)
        heads = HeadGradients(
            [run.values[e] for e in self._outputs], [run.axes[e] for e in self._outputs], run.size, passes, generator
        )
        for k in range(passes):
            self._add_pass(run, errors, list(heads.of_pass(k)), np.sqrt(heads.numbers))

    def finish(self):
        """The Effects in the order of the graph."""
        for effects in self.effects.values():
            effects.finish()
        return [self.effects[entry] for entry in sorted(self.effects)]

    def _errors(self, run):
        """{entry: (error where its node reads float32, error where it reads rounded inputs)}"""
        values = {entry: rounded(array, self._target) for entry, array in run.values.items()}
        values |= {e: run.others[e] for e in self._twins.inputs if e not in values}
        twins = self._twins({entry: values[entry] for entry in self._twins.inputs})
        found = {}
        for entry in self._entries:
            plain = values[entry] - run.values[entry]
            twin = twins.get(entry)
            found[entry] = plain, plain if twin is None else rounded(twin, self._target) - twin
        return found

    def _add_pass(self, run, errors, heads, scale):
        gradients = self._adjoints(run.inputs, run.shapes, heads)
        whole = {}
        number = {}
        for group, gradient in zip(self._groups, gradients):
            entry = group.entry
            whole[entry] = gradient if entry not in whole else whole[entry] + gradient
            if entry not in errors:
                continue
            for form, d in zip(("plain", "behind"), errors[entry]):
                part = per_sample(gradient * d, run.axes[entry], run.size) / scale
                self.effects[entry].add(form, number.get(entry, 0), part)
            number[entry] = number.get(entry, 0) + 1
        for change in self._changes.all():
            results = run.changes[change]
            part = sum(per_sample(whole[e] * d, run.axes[e], run.size) for e, d in results if e in whole)
            reader = self._changes.edges[change.parameter].index(change.edge)
            self.effects[change.parameter].add(change.form, reader, np.zeros(run.size) + part / scale)


class _ReferenceRun:
    """The float32 run of one batch: values, shapes, batch axes, and what rounded parameters change."""

    def __init__(self, reference, watched, outputs, changes, inputs):
        graph = reference.graph
        self.inputs, self.size = inputs, batch_size(inputs)
        types = types_of(inputs)
        known = {**reference.known_types, **types}
        entries = list(dict.fromkeys([*watched, *outputs, *reference.data_entries()]))
        builder = Builder(graph.attrs)
        ids = builder.add_all([as_function(node) for node in graph.nodes])
        changed = changes.add_to(builder, ids)
        heads = [(ids[i], k) for i, k in entries]
        flat = [(change, entry, head) for change, found in changed.items() for entry, head in found]
        run = bound(
            builder.symbol([*heads, *(head for *_, head in flat)]), {**reference.arrays, **changes.arrays}, types
        )
        results = run({name: array for name, array in inputs.items() if name in run.input_names})
        arrays = [array.asnumpy() for array in results]
        every = dict(zip(entries, arrays))
        self.values = {entry: array for entry, array in every.items() if array.dtype == np.float32}
        self.others = {entry: array for entry, array in every.items() if entry not in self.values}
        self.shapes = {entry: array.shape for entry, array in every.items()}
        self.changes = {change: [] for change in changed}
        for (change, entry, _), array in zip(flat, arrays[len(entries) :]):
            self.changes[change].append((entry, array - every[entry]))
        self.axes = batch_axes(graph, entries, known, inputs)


class Change(NamedTuple):
    """A parameter that one edge reads rounded, 'plain' or 'compensated'."""

    parameter: tuple
    edge: tuple
    form: str

    @property
    def variable(self):
        return f"~{self.form}{self.parameter[0]}"


def _made_of_parameters(reference):
    """{node: array} of the first results of operators that read parameters, or such results, and nothing else."""
    graph, made = reference.graph, set()
    for i, node in enumerate(graph.nodes):
        is_parameter = node.is_variable and node.name in reference.args
        is_made = not node.is_variable and node.inputs and all(source in made for source, _ in node.inputs)
        made |= {i} if is_parameter or is_made else set()
    operators = [i for i in sorted(made) if not graph.nodes[i].is_variable]
    if not operators:
        return {}
    return dict(zip(operators, bound(graph.symbol_of([(i, 0) for i in operators]), reference.arrays, {})({})))


class ParameterChanges:
    """What changes where one reader of a parameter, or of what operators make of parameters alone, reads it rounded.

    `edges` is {entry: its edges}, `arrays` {variable: rounded array}. An edge changes the results of
    the first nodes behind it that depend on data: the reader, or what a reader of parameters alone leads to.
    """

    def __init__(self, reference, target):
        self._graph, self._depends = reference.graph, reference.depends_on_data
        self.arrays, self.edges, self._behind = {}, {}, {}
        self._with_batch_norms = set(reference.folded.values())
        computed = _made_of_parameters(reference)
        for i, node in enumerate(self._graph.nodes):
            array = reference.args.get(node.name) if node.is_variable else computed.get(i)
            if array is not None and array.dtype == np.float32:
                self._add(reference, i, array, target)
        self.changed_entries = [
            (i, k)
            for edges in self.edges.values()
            for edge in edges
            for i in self._behind[edge][1]
            for k in range(len(self._graph.outputs[i]))
        ]

    def _add(self, reference, i, array, target):
        node = self._graph.nodes[i]
        edges = [e for e in self._graph.readers.get((i, 0), []) if self._leads_to_data(e)]
        if not edges:
            return
        self.edges[i, 0] = edges
        self.arrays[f"~plain{i}"] = rounded(widened(array), target)
        if node.is_variable and self._graph.nodes[edges[0][0]].name in self._with_batch_norms:
            found = _core.rounded_with_compensation(reference.symbol._handle, node.name, array, target)
            self.arrays |= {} if found is None else {f"~compensated{i}": found}

    def _leads_to_data(self, edge):
        """Whether results that depend on data change; notes the constant nodes on the way and those first nodes."""
        reader, slot = edge
        if reader is None or slot >= len(as_function(self._graph.nodes[reader]).inputs):
            return False
        constant, first, seen, rest = [], [], {reader}, [reader]
        while rest:
            node = rest.pop()
            if self._depends[node]:
                first.append(node)
                continue
            constant.append(node)
            for k in range(len(self._graph.outputs[node])):
                behind = {i for i, _ in self._graph.readers.get((node, k), []) if i is not None} - seen
                seen |= behind
                rest += behind
        self._behind[edge] = sorted(constant), sorted(first)
        return bool(first)

    def all(self):
        """Every Change."""
        for parameter, edges in self.edges.items():
            for form in ("plain", "compensated"):
                changes = [Change(parameter, edge, form) for edge in edges]
                yield from (change for change in changes if change.variable in self.arrays)

    def add_to(self, builder, ids):
        """Adds copies of what changes; returns {Change: [(entry, entry of its copy in the builder)]}.

        `ids` are the builder's ids of the graph's nodes.
        """
        variables = {name: builder.variable(name) for name in self.arrays}
        return {
            change: self._add_copies(builder, ids, change.edge, variables[change.variable]) for change in self.all()
        }

    def _add_copies(self, builder, ids, edge, low):
        constant, first = self._behind[edge]
        copies = {}

        def read(reader, slot, entry):
            if (reader, slot) == edge:
                return low
            return (copies if entry[0] in copies else ids)[entry[0]], entry[1]

        for i in [*constant, *first]:
            node = as_function(self._graph.nodes[i])
            inputs = [read(i, slot, entry) for slot, entry in enumerate(node.inputs)]
            name = f"~{low[0]}_{edge[0]}_{edge[1]}_{i}"
            copy = builder.add(node.op, name, node.attrs, inputs, node.rest)
            if i in constant:
                copies[i] = copy
            else:
                copies.setdefault("first", []).append((i, copy))
        return [((i, k), (copy, k)) for i, copy in copies["first"] for k in range(len(self._graph.outputs[i]))]
