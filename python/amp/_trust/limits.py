"""The option `limits` of conversions: which nodes exceed them."""

from __future__ import annotations

import numpy as np

from .. import _core
from .._conversion.calls import converted_model, report_of, types_of_inputs
from ..base import ArgumentError
from .data import widened
from .matching import FLOATS
from .ranges import Ranges, kept_batch_norms
from .reference import OpenModel


def over_limits(model, limits, data, options):
    """({node: what exceeds which limit}, Ranges or None without data) of the options `limits` and `data`.

    `options` are the others of the conversion.
    """
    unlimited = report_of(converted_model(*model, report=True, **options))
    kept = kept_batch_norms(unlimited)
    ranges = None if data is None else Ranges(model, data, kept)
    if ranges is None:
        types = types_of_inputs(model[0], model[1], options["input_dtypes"], options["input_shapes"])
        opened = OpenModel(model, types, kept)
    else:
        opened = ranges.opened
    found = {}
    for name, excesses in {
        "activation": _activations(ranges, limits.get("activation")),
        "parameter": _parameters(opened, limits.get("parameter")),
        "depth": _depths(opened, limits.get("depth")),
    }.items():
        for node, text in excesses:
            found.setdefault(node, []).append(f"{text}, more than {name} {limits[name]:g}")
    return {node: "; ".join(dict.fromkeys(texts)) for node, texts in found.items()}, ranges


def _activations(ranges, limit):
    """Pairs (node, what exceeds the limit) of what data met: float tensors that a node reads or writes."""
    if limit is None:
        return
    dtypes = ranges.opened.dtypes()
    large = {e: met.magnitude for e, met in ranges.met.items() if met.magnitude > limit and dtypes.get(e) in FLOATS}
    yield from _with_largest(ranges.opened.graph, large, "is as large as {:.6g} on the data")


def _parameters(opened, limit):
    if limit is None:
        return
    sizes = {e: _magnitude(a) for e, a in opened.constant_values().items() if a.dtype.name in FLOATS}
    large = {e: size for e, size in sizes.items() if size > limit}
    yield from _with_largest(opened.graph, large, "is as large as {:.6g}")


def _magnitude(array):
    return float(np.abs(widened(array)).max(initial=0))


def _with_largest(graph, large, how):
    """The nodes that read one of the tensors, not as indices, or write one, each with the largest of them."""
    for i, node in graph.operators():
        reads = [entry for slot, entry in enumerate(node.inputs) if slot not in graph.indices[i]]
        writes = [(i, k) for k in range(len(graph.outputs[i]))]
        touched = [entry for entry in (*reads, *writes) if entry in large]
        if touched:
            entry = max(touched, key=large.get)
            yield node.name, f"{graph.name_of(entry)} {how.format(large[entry])}"


def _depths(opened, limit):
    if limit is None:
        return
    depths = _core.reduction_depths(opened.symbol._handle, opened.known_types)
    unknown = [node.name for (i, node) in opened.graph.operators() if depths[i] == -1]
    if unknown:
        raise ArgumentError(
            f"limits: depth: the shapes that it depends on are not known of {', '.join(unknown[:8])}"
            f"{' ...' if len(unknown) > 8 else ''}: pass input_shapes= or data="
        )
    for i, node in opened.graph.operators():
        if depths[i] is not None and depths[i] > limit:
            yield node.name, f"it sums up {depths[i]} terms"
