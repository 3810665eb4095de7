"""Runs that show tensors: all of them, or those that a fast plan stores."""

from collections import Counter

from .data import widened
from .graph import CASTS
from .intake import Intake
from .reference import bound

_MARK = "__amp_dtype__"  # of parameters that a conversion cast offline


class FullRun:
    """Runs of an OpenModel that show every tensor."""

    stored, kernels, differences = None, {}, ()

    def __init__(self, model, types, **options):
        self._model, self._options, graph = model, options, model.graph
        self._open(model, types, [e for e in graph.entries() if not graph.nodes[e[0]].is_variable], options)

    def _open(self, model, types, entries, options):
        self._constants, self._entries = model.constant_values(), entries
        self._inputs = {node.name: (i, 0) for i, node in enumerate(model.graph.nodes) if node.is_variable}
        self._executor = bound(model.graph.symbol_of(entries), model.arrays, model.taken_types(types), **options)

    def for_types(self, types):
        """The same for other shapes of inputs, {input: (dtype, shape)}."""
        return type(self)(self._model, types, **self._options)

    def __call__(self, inputs):
        """{entry: array} of all tensors that are shown, of inputs and of parameters."""
        inputs = self._model.taken(inputs)
        wanted = set(self._executor.input_names)
        results = self._executor({name: array for name, array in inputs.items() if name in wanted})
        given = {self._inputs[name]: array for name, array in inputs.items() if name in self._inputs}
        return {**self._constants, **given, **dict(zip(self._entries, results))}


class StoredRun(FullRun):
    """Runs in mode `fast` that show what the plan stores: the result of the last node of each step.

    The plan that runs has these tensors as outputs, too. `stored` are their entries, `kernels` {entry: name of the own
    kernel that computed it}, `differences` the nodes whose steps are not those of the plan without these outputs.
    """

    def __init__(self, model, types, **options):
        self._model, self._options = model, options
        options = {"machine": "this", **options, "mode": "fast"}
        plan = bound(model.symbol, model.arrays, model.taken_types(types), **options).summary.steps
        steps = _last_nodes(model.graph, plan)
        depends = model.depends_on_data
        stored = {entry for entry in [*((i, 0) for i in steps), *model.graph.heads] if depends[entry[0]]}
        casts = {(i, 0) for i in _casts_of_reorders(model, plan) if depends[i]}
        self.kernels = {(i, 0): step.choice for i, step in steps.items() if step.choice}
        self._show(model, types, stored | casts, plan)
        with_casts = self.differences
        if with_casts and casts:
            self._show(model, types, stored, plan)
            if set(with_casts) <= set(self.differences):  # the casts change nothing
                self._show(model, types, stored | casts, plan)

    def _show(self, model, types, stored, plan):
        self.stored = sorted(stored)
        self._open(model, types, self.stored, {"machine": "this", **self._options, "mode": "fast"})
        self._constants |= _values_of_constants(model)
        self.differences = _differences(plan, self._executor.summary.steps)


def _values_of_constants(model):
    """{entry: array} of what operators compute from parameters alone."""
    depends = model.depends_on_data
    entries = [(i, k) for i, _ in model.graph.operators() if not depends[i] for k in range(len(model.graph.outputs[i]))]
    return dict(zip(entries, bound(model.graph.symbol_of(entries), model.arrays, {})({}))) if entries else {}


def _last_nodes(graph, plan):
    """{node: step} of the last node, in the order of the graph, that each step computes."""
    known = {node.name: i for i, node in graph.operators()}
    found = {}
    for step in plan:
        nodes = [known[name] for name in (step.node, *step.fused) if name in known]
        if nodes and step.work != "reorder":
            found[max(nodes)] = step
    return found


def _casts_of_reorders(model, plan):
    """Casts that no step names: reorders round on their way."""
    named = {name for step in plan for name in (step.node, *step.fused)}
    return [i for i, node in model.graph.operators() if node.op in CASTS and node.name not in named]


def _differences(plan, shown):
    """Names of nodes whose step in the first plan is not in the second."""
    counts = [Counter(map(_signature, steps)) for steps in (plan, shown)]
    return sorted({node for _, _, node, _ in counts[0] - counts[1]})


def _signature(step):
    work = "" if step.work == "reorder" else step.implementation
    return step.work, work, step.node, tuple(step.fused)


def as_bound(model, types, options):
    """The model as an executor of mode `fast` runs it: low precision that does not pay on its machine is gone."""
    symbol, args, aux = model
    arrays = {**args, **aux}
    run = bound(symbol, arrays, Intake(symbol, arrays).types(types), **{"machine": "this", **options, "mode": "fast"})
    before, after = symbol.attr_dict(), run.symbol.attr_dict()
    wide = {name for name in args if _MARK in before.get(name, {}) and _MARK not in after.get(name, {})}
    return run.symbol, {name: widened(a) if name in wide else a for name, a in args.items()}, aux
