"""The work behind `amp.compare`: both models run, steps run again in float32, the outputs' error is shared out."""

import copy

import numpy as np

from .adjoints import Adjoints, differentiable_outputs
from .data import types_of, widened
from .matching import LOW, Matching
from .metrics import Difference, OwnError, noise_of
from .runs import FullRun
from .samples import batch_axes, batch_size
from .twins import Twins


class Measurement:
    """Sums over batches of all that a comparison says.

    `run` shows tensors of the low model on batches of the first one's shapes; `own` asks for own errors, `shares` for
    shares of the outputs' error; `problem` says why there are no shares.
    """

    def __init__(self, reference, low, run, own, shares):
        self.reference, self.low, self.run = reference, low, run
        self.matching = Matching(low, reference, run.stored)
        self.target = next((d for d in self.matching.dtypes.values() if d in LOW), "bfloat16")
        self.points = self.matching.points() if own or shares else []
        nodes = self.matching.with_twins() if self.points else []
        constants = self._low_constants()
        self._twins = Twins(low.graph, nodes, constants, run.stored, self.matching.bodies)
        products = [i for i in nodes if low.graph.sums_products[i]]
        sizes = {entry: np.abs(array) for entry, array in constants.items()}
        self._magnitudes = Twins(low.graph, products, sizes, run.stored)
        self.differences = {entry: Difference() for entry in self._compared_entries()}
        self.own = {point.entry: OwnError(self._dtype_of(point)) for point in self.points}
        self.problem = self.matching.problem if shares else "they were not asked for"
        self.bill = None if self.problem else Bill(self)
        self.outputs = [Difference() for _ in low.graph.heads]
        self.samples = self.batches = 0
        self._bound = {}

    def _dtype_of(self, point):
        dtype = self.matching.dtypes[point.entry]
        return dtype if dtype in LOW else self.target

    def _low_constants(self):
        return {entry: widened(array) for entry, array in self.low.constant_values().items()}

    def _compared_entries(self):
        """Float tensors of the low model that are in the reference, and inputs in low precision."""
        dtypes = self.matching.dtypes
        variables = {i for i, node in enumerate(self.low.graph.nodes) if node.is_variable}
        inputs = set(self.matching.low_inputs())
        entries = [e for e in self.low.graph.entries() if e in inputs or e[0] not in variables]
        entries = [entry for entry in entries if self.matching.is_shown(entry)]
        return [e for e in entries if (dtypes[e] or "").endswith(("float32", "float16")) and self._other(e) is not None]

    def _other(self, entry):
        return self.matching.in_reference(entry)

    def add(self, inputs):
        """Compares one batch, {input: array}. What interrupts it leaves the sums as they were."""
        inputs = self.reference.taken(inputs)
        before = copy.deepcopy(self._sums())
        try:
            self._add(inputs)
        except BaseException:
            self.differences, self.own, self.outputs, bill = before
            if self.bill:
                self.bill.__dict__.update(bill)
            raise
        self.samples += batch_size(inputs)
        self.batches += 1

    def _sums(self):
        return self.differences, self.own, self.outputs, self.bill.sums() if self.bill else None

    def _add(self, inputs):
        full, low, axes = self._run(inputs)
        for entry, difference in self.differences.items():
            other = self._other(entry)
            difference.add(full[other], widened(low[entry]), axes.get(other), self.samples)
        for k, (entry, other) in enumerate(zip(self.low.graph.heads, self.reference.graph.heads)):
            self.outputs[k].add(full[other], widened(low[entry]), axes.get(other), self.samples)
        own = self._own_errors(full, low)
        if self.bill:
            self.bill.add(inputs, full, low, own)

    def _run(self, inputs):
        types = types_of(inputs)
        key = tuple(sorted(types.items()))
        if key not in self._bound:
            known = {**self.reference.known_types, **types}
            entries = self.reference.graph.entries()
            axes = batch_axes(self.reference.graph, entries, known, inputs)
            low = self.run if not self._bound else self.run.for_types(types)
            runs = FullRun(self.reference, types), low, axes
            self._bound = {key: runs}
        full, low, axes = self._bound[key]
        return {entry: widened(array) for entry, array in full(inputs).items()}, low(inputs), axes

    def _own_errors(self, full, low):
        """{entry of a point: own error}"""
        values = {entry: widened(low[entry]) for entry in self._twins.inputs}
        twins = self._twins(values)
        sums = self._magnitudes({entry: np.abs(values[entry]) for entry in self._magnitudes.inputs})
        found = {}
        for point in self.points:
            exact = self._exact(point, full, low, twins)
            if exact is not None:
                source = self.matching.exact_of(point.entry)
                is_computed = point.kind == "result" or source not in low
                noise = noise_of(exact, sums.get(source)) if is_computed else 0.0
                found[point.entry] = self.own[point.entry].add(widened(low[point.entry]), exact, noise)
        return found

    def _exact(self, point, full, low, twins):
        """What the step would have written without rounding; None where the reference lacks the parameter."""
        node = self.low.graph.nodes[point.entry[0]]
        if point.kind == "result":
            return twins[point.entry]
        if node.is_variable:
            other = self._other(point.entry)
            return None if other is None or other not in full else full[other]
        source = self.matching.exact_of(point.entry)
        return widened(low[source]) if source in low else twins[source]


class Bill:
    """Who owes how much of the outputs' error: shares add up to 1 but for what lies beyond first order.

    The adjoints are taken halfway, with all own errors added at half their size.
    """

    def __init__(self, measurement):
        self._m = measurement
        reference = measurement.reference
        wanted = list(dict.fromkeys(reference.graph.heads))
        chosen = differentiable_outputs(reference.graph, reference.dtypes(), reference.depends_on_data, wanted)
        self.replaced = chosen.replaced
        self._outputs = chosen.entries
        self._groups = measurement.matching.groups(measurement.points, self._outputs)
        self._adjoints = Adjoints(reference, self._outputs, list(self._groups)) if self._groups else None
        self._weights = None
        self.owed = dict.fromkeys((point.entry for point in measurement.points), 0.0)
        self.total, self.is_finite = 0.0, True

    def sums(self):
        """What batches change, by name."""
        return {"owed": self.owed, "total": self.total, "is_finite": self.is_finite, "_weights": self._weights}

    def add(self, inputs, full, low, own):
        """Adds a batch: values of both runs and own errors by entry."""
        if self._adjoints is None:
            return
        exact = [full[entry] for entry in self._outputs]
        errors = [widened(low[self._m.matching.output_in_low(e)]) - y for e, y in zip(self._outputs, exact)]
        self.is_finite = self.is_finite and all(np.isfinite(error).all() for error in errors)
        if not self.is_finite:
            return
        if self._weights is None:
            self._weights = [1 / max(np.mean(np.square(y, dtype=np.float64)), 1e-300) for y in exact]
        heads = [(weight * error).astype(np.float32) for weight, error in zip(self._weights, errors)]
        changes = [sum(own[p.entry] for p in seen if p.entry in own) for seen in self._groups.values()]
        shapes = {entry: array.shape for entry, array in full.items()}
        halves = [np.float32(0.5) * np.broadcast_to(c, shapes[g.entry]) for c, g in zip(changes, self._groups)]
        gradients = self._adjoints(inputs, shapes, heads, halves)
        self.total += sum(w * float(np.sum(np.square(e, dtype=np.float64))) for w, e in zip(self._weights, errors))
        for seen, gradient in zip(self._groups.values(), gradients):
            for point in seen:
                if point.entry in own:
                    self.owed[point.entry] += float(np.sum(gradient * own[point.entry], dtype=np.float64))

    def share(self, entry):
        """The share of a point, or None where the outputs are equal."""
        return self.owed[entry] / self.total if self.total and self.is_finite else None
