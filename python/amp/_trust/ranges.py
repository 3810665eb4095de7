"""The values that tensors have on data."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from ..base import dtype_name, log
from .data import first_and_rest, inputs_of_model, types_of, widened
from .reference import OpenModel, bound

_AT_ONCE = 1 << 30  # bytes of tensors that are in memory together


class Met(NamedTuple):
    """The smallest and the largest finite number of a tensor, None where there is none, and how many are not finite."""

    smallest: float | None = None
    largest: float | None = None
    not_finite: int = 0
    is_infinite: bool = False  # some number is

    @classmethod
    def of(cls, array):
        """The Met of an array."""
        array = widened(array)
        if not array.size:
            return cls()
        ends = array.min(), array.max()
        if all(math.isfinite(end) for end in ends):  # a NaN is the smallest number and the largest
            return cls(*map(float, ends))
        finite = array[np.isfinite(array)]
        ends = (float(finite.min()), float(finite.max())) if finite.size else (None, None)
        return cls(*ends, array.size - finite.size, bool(np.isinf(array).any()))

    def __or__(self, other):
        """Both together."""
        smallest = [end for end in (self.smallest, other.smallest) if end is not None]
        largest = [end for end in (self.largest, other.largest) if end is not None]
        return Met(
            min(smallest, default=None),
            max(largest, default=None),
            self.not_finite + other.not_finite,
            self.is_infinite or other.is_infinite,
        )

    @property
    def magnitude(self):
        """The largest magnitude; 0 of nothing."""
        if self.is_infinite:
            return math.inf
        return 0.0 if self.smallest is None else max(abs(self.smallest), abs(self.largest))


class Ranges:
    """The values that the tensors of a model have on data, {entry: Met} in `met`.

    `kept` are names of batch norms that are not folded; None: all of them. `opened` is the OpenModel that ran, in
    float32; parameters are not among its entries. ctrl-C ends the runs, with a warning, and keeps what was met.
    """

    def __init__(self, model, data, kept):
        first, batches = first_and_rest(data, inputs_of_model(model))
        self.opened = OpenModel(model, types_of(first), kept)
        self.met, self._bound = {}, {}
        count = 0
        try:
            for batch in batches:
                self.met = self._with(batch)
                count += 1
                log("ranges: batch %d", count)
        except KeyboardInterrupt:
            if not count:
                raise
            warnings.warn(f"interrupted: the ranges are those of {count} batches", stacklevel=5)

    def _with(self, batch):
        met = dict(self.met)
        for entry, array in self._tensors(self.opened.taken(batch)):
            met[entry] = met.get(entry, Met()) | Met.of(array)
        return met

    def _tensors(self, inputs):
        """Pairs of entry and array, of inputs and results."""
        graph = self.opened.graph
        yield from (((i, 0), inputs[node.name]) for i, node in enumerate(graph.nodes) if node.name in inputs)
        types = types_of(inputs)
        for group, run in self._runs(types):
            yield from zip(group, run({name: inputs[name] for name in run.input_names if name in inputs}))

    def _runs(self, types):
        """Pairs of entries and an executor that shows them, all results together."""
        key = tuple(sorted(types.items()))
        if key not in self._bound:
            graph, arrays = self.opened.graph, self.opened.arrays
            runs = [(group, bound(graph.symbol_of(group), arrays, types)) for group in self._groups(types)]
            self._bound = {key: runs}
        return self._bound[key]

    def _groups(self, types):
        """Lists of results that fit into memory together."""
        graph = self.opened.graph
        entries = [entry for entry in graph.entries() if not graph.nodes[entry[0]].is_variable]
        sizes = map(_bytes, graph.types(entries, {**self.opened.known_types, **types}))
        groups, total = [], 0
        for entry, size in zip(entries, sizes):
            if not groups or total + size > _AT_ONCE:
                groups.append([])
                total = 0
            groups[-1].append(entry)
            total += size
        return groups

    def by_name(self):
        """{(name of a tensor, how many of that name came before): Met}, in the order of nodes."""
        found, seen = {}, {}
        for entry in self.opened.graph.entries():
            name = self.opened.graph.name_of(entry)
            seen[name] = seen.get(name, -1) + 1
            if entry in self.met:
                found[name, seen[name]] = self.met[entry]
        return found


def _bytes(type_of_tensor):
    dtype, shape = type_of_tensor
    return 0 if shape is None or dtype is None else math.prod(shape) * (8 if dtype_name(dtype).endswith("64") else 4)


def kept_batch_norms(report):
    """Names of batch norms that a conversion did not fold; None where it folded none."""
    return {one["batch_norm"] for one in report.not_folded} if report.options["fold_batch_norm"] else None


def facts_of_ranges(ranges, report):
    """What `ConversionReport.ranges` says."""
    met, seen, rows = ranges.by_name(), {}, []
    for tensor in report.tensors:
        name = tensor["name"]
        seen[name] = seen.get(name, -1) + 1
        one = met.get((name, seen[name]))
        if one is not None:
            finite = {"smallest": one.smallest, "largest": one.largest, "not_finite": one.not_finite}
            rows.append({"id": tensor["id"], "name": name, **finite, "proven": tensor["proven"]})
    return rows
