"""How far rounding can move the outputs of a converted model, with a probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import ArgumentError
from .adjoints import Adjoints
from .compared import FullRun
from .data import first_and_rest, inputs_of_model, types_of, widened
from .effects import rounded
from .matching import LOW, Matching
from .metrics import half_units
from .reference import OpenModel, as_model, float32_reference
from .samples import batch_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .comparison import Model
    from .data import Data

_MOST_PASSES = 4096


class ErrorBound:
    """Bounds of some numbers of the outputs; `amp.error_bound` makes it.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> low = amp.convert_model(sym, args, aux)
    >>> found = amp.error_bound((sym, args, aux), low, np.float32([[1, 2, 3, 4.1]]))
    >>> row = found.bounds[0]
    >>> row["output"], 0 < row["bound"] < 0.2
    ('relu_output', True)
    """

    def __init__(self, bounds: list[dict[str, Any]], probability: float) -> None:
        self._bounds, self._probability = bounds, probability

    @property
    def probability(self) -> float:
        """How likely it is that a number moves by more than its bound, at most."""
        return self._probability

    @property
    def bounds(self) -> list[dict[str, Any]]:
        """Dicts with output, batch, index, value, bound, parameters and activations.

        value is what the float32 model gives; bound is |parameters| + activations; parameters is what the roundings of
        parameters do together, with their signs; activations is lambda times the root of the sum of the squares of
        what half a unit in the last place of each rounded number does.
        """
        return self._bounds

    def __str__(self) -> str:
        lines = [f"with a probability of {1 - self.probability:.9g} each number moves by no more than its bound"]
        for row in self.bounds:
            place = ", ".join(map(str, row["index"]))
            lines.append(f"  {row['output']}[{place}] = {row['value']:.6g}, bound {row['bound']:.2e}")
        return "\n".join(lines)


def error_bound(
    first: Model,
    low: Model,
    data: Data,
    probability: float = 1e-6,
    elements: Sequence[tuple[str, Sequence[int]]] | None = None,
) -> ErrorBound:
    """Bounds how far rounding can move numbers of the outputs, from the float32 run and its gradients.

    A number y moves by at most |sum over parameters of <g, d>| + lambda sqrt(sum over activations of (g h)^2), with
    lambda = sqrt(2 ln(2 / probability)), g the gradient of y, d the error of a stored parameter, and h half a unit in
    the last place of a number that is rounded. This is Azuma and Hoeffding's inequality, as in Higham and Mary (A New
    Approach to Probabilistic Rounding Error Analysis, 2019). It holds to first order, where rounding errors have mean
    zero given those before them; the rounding of float32 itself is left out. What lies beyond first order is what
    `share_sum` of `amp.compare` lacks to 1.

    - `first`, `low`: the float32 model, and its conversion.
    - `data`: an array (of a model with one input), {input: array}, or an iterable of such batches.
    - `elements`: the numbers, pairs (name of an output, index); by default the largest of each sample in each output.
      Each of them takes a backward run.

    Raises ArgumentError where `low` is no conversion of `first`, for a probability that is none, and for elements that
    the outputs lack.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> low = amp.convert_model(sym, args, aux)
    >>> data = np.float32([[1, 2, 3, 4.1]])
    >>> amp.error_bound((sym, args, aux), low, data, elements=[("relu_output", (0, 1))]).bounds[0]["index"]
    (0, 1)
    """
    if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0 < probability < 1:
        raise ArgumentError(f"probability: expected a number between 0 and 1, got {probability!r}")
    first, low = as_model(first), as_model(low)
    batch, every = first_and_rest(data, inputs_of_model(first))
    types = types_of(batch)
    opened = OpenModel(low, types)
    bounded = _Bounded(float32_reference(first, types, opened.batch_norms()), opened, probability)
    rows = []
    for number, inputs in enumerate(every):
        rows += [{"batch": number, **row} for row in bounded.rows(inputs, elements)]
    return ErrorBound(rows, float(probability))


class _Bounded:
    """What bounds are computed from: the reference, the rounding points of the low model, and gradients."""

    def __init__(self, reference, low, probability):
        self._reference, self._low = reference, low
        self._matching = Matching(low, reference)
        if self._matching.problem:
            raise ArgumentError(f"the second model is no conversion of the first one: {self._matching.problem}")
        if self._matching.bodies:
            names = ", ".join(low.graph.nodes[i].name for i in self._matching.bodies)
            raise ArgumentError(
                f"there is no bound for roundings inside of loops and branches: {names}; keep them in "
                "float32 (excluded_sym_names)"
            )
        self._outputs = list(dict.fromkeys(reference.graph.heads))
        self._names = {reference.graph.name_of(entry): entry for entry in self._outputs}
        self._points = [point for point in self._matching.points() if self._rounds(point)]
        self._groups = self._matching.groups(self._points, self._outputs)
        self._adjoints = Adjoints(reference, self._outputs, list(self._groups)) if self._groups else None
        self._factor = math.sqrt(2 * math.log(2 / probability))

    def _rounds(self, point):
        """Not float32 results, nor those of low inputs where rounding commutes with the operator."""
        dtype = self._matching.dtypes[point.entry]
        if point.kind != "result" or dtype not in LOW:
            return dtype in LOW
        node, graph = point.entry[0], self._low.graph
        inputs = [self._matching.dtypes.get(entry) for entry in graph.nodes[node].inputs]
        return dtype not in graph.commutes[node] or dtype not in inputs

    def rows(self, inputs, elements):
        """Dicts of the bounds of one batch."""
        inputs = self._reference.taken(inputs)
        types = types_of(inputs)
        values = {entry: widened(array) for entry, array in FullRun(self._reference, types)(inputs).items()}
        if elements is None:
            axes = batch_axes(self._reference.graph, self._outputs, {**self._reference.known_types, **types}, inputs)
            places = [place for e in self._outputs for place in _largest(e, values[e], axes[e])]
        else:
            places = [self._place(values, *element) for element in elements]
        if len(places) > _MOST_PASSES:
            raise ArgumentError(f"{len(places)} numbers take as many backward runs: name up to {_MOST_PASSES} elements")
        steps = self._steps(values)
        return [self._row(inputs, values, steps, place) for place in places]

    def _place(self, values, name, index):
        if name not in self._names:
            raise ArgumentError(f"elements: the model has no output {name!r}; it has {', '.join(self._names)}")
        entry, index = self._names[name], tuple(int(i) for i in np.atleast_1d(index))
        shape = values[entry].shape
        if len(index) != len(shape) or not all(0 <= i < n for i, n in zip(index, shape)):
            raise ArgumentError(f"elements: {index} is no place in {name!r} of shape {tuple(shape)}")
        return entry, index

    def _steps(self, values):
        """{entry of a point: error of a parameter, or half a unit of each number of an activation}"""
        stored = self._low.constant_values()
        found = {}
        for point in self._points:
            source, _ = self._matching.through(point.entry)
            exact = values[self._matching.in_reference(point.entry)]
            dtype = self._matching.dtypes[point.entry]
            if point.kind == "parameter":
                wrote = widened(stored[source]) if source in stored else exact
                found[point.entry] = rounded(wrote, dtype) - exact
            else:
                units = half_units(exact, dtype)
                is_input = self._low.graph.nodes[source[0]].is_variable
                found[point.entry] = np.where(rounded(exact, dtype) == exact, 0.0, units) if is_input else units
        return found

    def _row(self, inputs, values, steps, place):
        entry, index = place
        heads = [np.zeros(values[e].shape, np.float32) for e in self._outputs]
        heads[self._outputs.index(entry)][index] = 1
        shapes = {e: array.shape for e, array in values.items()}
        gradients = self._adjoints(inputs, shapes, heads) if self._adjoints else []
        whole = {}
        for seen, gradient in zip(self._groups.values(), gradients):
            for point in seen:
                whole[point] = whole.get(point, 0) + gradient.astype(np.float64)
        parameters = sum(float(np.sum(g * steps[p.entry])) for p, g in whole.items() if p.kind == "parameter")
        squares = sum(float(np.sum((g * steps[p.entry]) ** 2)) for p, g in whole.items() if p.kind != "parameter")
        activations = self._factor * math.sqrt(squares)
        return {
            "output": self._reference.graph.name_of(entry),
            "index": index,
            "value": float(values[entry][index]),
            "bound": abs(parameters) + activations,
            "parameters": parameters,
            "activations": activations,
        }


def _largest(entry, array, axis):
    """[(entry, index)] of the largest number of each sample, or of all of them."""
    size = np.abs(array)
    if axis is None or array.shape[axis] == 0:
        return [(entry, tuple(map(int, np.unravel_index(int(size.argmax()), array.shape))))] if array.size else []
    rows = np.moveaxis(size, axis, 0)
    found = []
    for n, row in enumerate(rows):
        place = [int(i) for i in np.unravel_index(int(row.argmax()), row.shape)]
        found.append((entry, (*place[:axis], n, *place[axis:])))
    return found
