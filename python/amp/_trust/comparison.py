"""Two models compared tensor by tensor."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._paths import write_file
from ..base import ArgumentError, log
from ..executor import Executor
from .compared import Measurement
from .data import count_of, first_and_rest, inputs_of_model, types_of
from .graph import CASTS
from .progress import told
from .reference import OpenModel, as_model, float32_reference
from .runs import FullRun, StoredRun, as_bound

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from .._types import Arrays, Path
    from ..report import ConversionReport
    from ..sym import Symbol
    from .data import Data

    Model: TypeAlias = tuple[Symbol, Arrays | None, Arrays | None]

MODES = ("exact", "fast")
_FORMAT = "amp-comparison"
_SHOWN = 20
# A rounding to nearest is at most half a unit; weights that are rounded with compensation may go the other way.
_LIMIT = 1 + 2.0**-9
_LIMIT_OF_FOLDED = 2 + 2.0**-9
# Kernels that compute in another way err by more: twice the largest own error in docs/accuracy.md, rms.
_KERNELS = ("winograd", "strassen", "int16")
_LIMIT_OF_KERNELS = 8e-3


class Comparison:
    """What `amp.compare` found. `str()` is a table for people, `to_json()` everything for machines.

    Errors are root mean squares, relative to that of the reference; several outputs: each relative to its own, then
    over all numbers. A number is inf where the second model made something that is not finite.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> low = amp.convert_model(sym, args, aux)
    >>> data = np.random.default_rng(0).standard_normal((8, 4), dtype="float32")
    >>> c = amp.compare((sym, args, aux), low, data)
    >>> c.suspects
    []
    >>> 0.9 < c.share_sum < 1.1
    True
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts

    @property
    def error(self) -> float:
        """The error of all outputs."""
        return self._facts["error"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        """The outputs: dicts with name, error, snr_db, largest, gain, born, zeros_changed and sample."""
        return self._facts["outputs"]

    @property
    def share_sum(self) -> float | None:
        """The part of the outputs' squared error that the shares explain; None where there are no shares.

        What it lacks to 1 lies beyond first order.
        """
        return self._facts["share_sum"]

    @property
    def suspects(self) -> list[str]:
        """Names of tensors and parameters whose own error is more than that of one rounding to nearest: faults."""
        return self._facts["suspects"]

    @property
    def tensors(self) -> list[dict[str, Any]]:
        """Every float tensor that both models have, and every cast, in the order of execution.

        Dicts with name, node, op, kind ('input', 'cast' or 'result'), dtype, and

        - error, snr_db: rms of the difference over rms of the reference, and the same in decibels,
        - own: rms of what this step adds by itself, relative: what it wrote less what the operator gives in float32 for
          the same inputs; None where the step neither reads nor writes low precision,
        - kernel: the own kernel that computed it in mode 'fast', or None,
        - own_units: the largest own error in halves of a unit in the last place; more than 1 is a fault, but for a loop
          or branch whose bodies were converted (has_low_bodies): it is one step here, beside its float32 bodies,
        - share: the part of the outputs' squared error that is due to this step; negative where it cancels others,
        - largest: the largest difference over the largest number of the reference,
        - gain: systematic growth, <reference, tensor> / <reference, reference> - 1,
        - born: how many numbers are not finite that were; saturated: how many are the largest number of the dtype;
          flushed: how many the step made zero; zeros_changed: the part of numbers that are zero in one model alone,
        - sample: the number of the sample with the largest difference; None where samples cannot be told apart.
        """
        return self._facts["tensors"]

    @property
    def parameters(self) -> list[dict[str, Any]]:
        """Rounded parameters: dicts with name, dtype, own, own_units and share."""
        return self._facts["parameters"]

    @property
    def notes(self) -> list[str]:
        """Sentences about what could not be said, and why."""
        return self._facts["notes"]

    def to_dict(self) -> dict[str, Any]:
        """All facts, as a dict that JSON can hold: numbers that are not finite are None."""
        return _finite({"format": _FORMAT, "version": 1, **self._facts})

    def to_json(self) -> str:
        """All facts as text."""
        return json.dumps(self.to_dict(), indent=1)

    def save_html(self, path: Path, title: str = "amp compare") -> None:
        """Writes one HTML file with pictures and a table that sorts; it needs no network."""
        from .page import comparison_page

        write_file(path, comparison_page(self, title).encode())

    def __str__(self) -> str:
        return "\n".join([self._headline(), *self.notes, *self._share_lines()])

    def _headline(self):
        text = f"outputs differ by {_number(self.error).strip()} (rms, relative to them)"
        if self.share_sum is not None:
            count = sum(bool(row["own"]) for row in [*self.tensors, *self.parameters])
            text += f"; {count} roundings explain {100 * self.share_sum:.1f} % of it"
        suspects = f"{len(self.suspects)} suspects: {', '.join(self.suspects[:8])}" if self.suspects else "no suspects"
        return f"{text}, {suspects}"

    def _share_lines(self):
        rows = [{**row, "what": row["dtype"]} for row in self.tensors if row["own"] is not None]
        rows += [{**row, "error": None, "what": "parameter"} for row in self.parameters]
        rows = [row for row in rows if row["own"] or row["own_units"]]
        rows.sort(key=lambda row: (-abs(row["share"] or 0), -row["own"]))
        yield "  share      own    total    units  tensor"
        for row in rows[:_SHOWN]:
            share = "" if row["share"] is None else f"{100 * row['share']:.1f} %"
            cells = f"{share:>8} {_number(row['own'])} {_number(row['error'])} {row['own_units']:8.2f}"
            yield f"{cells}  {row['name']}  {row['what']}"
        if len(rows) > _SHOWN:
            yield f"  ... and {len(rows) - _SHOWN} more"


def compare(
    first: Model,
    low: Model | Executor,
    data: Data,
    report: ConversionReport | None = None,
    mode: Literal["exact", "fast"] = "exact",
    own: bool = True,
    shares: bool = True,
) -> Comparison:
    """Compares a float32 model with another one, such as its conversion, tensor by tensor on data.

    - `first`: (Symbol, arg_params, aux_params) in float32, the reference. Its batch norms are folded as those of the
      second model are.
    - `low`: another model, or an `amp.Executor` of it, whose back end, threads and machine are then used.
    - `data`: an array (of models with one input), {input: array}, or an iterable of such batches. Ctrl-C ends it: the
      result is of the batches that were compared until then.
    - `report`: that of the conversion, for the names of folded batch norms.
    - `mode`: 'exact', each node as if it ran alone; or 'fast', as it runs: tensors are those that an executor's plan
      stores, and what a step adds is measured against all of its nodes in float32.
    - `own`: whether each step's own error is measured; `shares`: whether shares of the outputs' error are, which takes
      a backward run.

    Raises ArgumentError where the first model has low precision itself, or the data do not fit.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> low = amp.convert_model(sym, args, aux, cast_params_offline=True)
    >>> c = amp.compare((sym, args, aux), low, np.float32([[1, 2, 3, 4.1]]))
    >>> [(row["name"], row["kind"]) for row in c.tensors if row["own"] is not None]
    [('data_0_amp_cast_bfloat16_output', 'cast'), ('fc_output', 'result')]
    """
    if mode not in MODES:
        raise ArgumentError(f"mode: expected {' or '.join(map(repr, MODES))}, got {mode!r}")
    first = as_model(first)
    second, options = _model_and_options(low)
    batch, rest = first_and_rest(data, inputs_of_model(first))
    types = types_of(batch)
    opened = OpenModel(second if mode == "exact" else as_bound(second, types, options), types)
    reference = float32_reference(first, types, opened.batch_norms())
    run = (FullRun if mode == "exact" else StoredRun)(opened, types, **options)
    measurement = Measurement(reference, opened, run, own, shares)
    interrupted = False
    try:
        for inputs in told(rest, count_of(data)):
            measurement.add(inputs)
            log("compared batch %d", measurement.batches)
    except KeyboardInterrupt:
        if not measurement.batches:
            raise
        interrupted = True
    return Comparison(_facts(measurement, report, interrupted))


def _model_and_options(low):
    """((Symbol, arguments, auxiliary states), options of executors)"""
    if not isinstance(low, Executor):
        return as_model(low), {}
    if low._origin.options.get("reduce_precision"):
        raise ArgumentError(
            "the executor converts its model when it is bound: convert it with amp.convert_model, and pass that model "
            "or an executor of it"
        )
    arrays = low._origin.parameters.read()
    symbol = low._origin.symbol
    states = set(symbol.list_auxiliary_states())
    groups = [{name: a for name, a in arrays.items() if (name in states) == is_state} for is_state in (False, True)]
    kept = ("backend", "num_threads", "machine")
    return (symbol, *groups), {key: v for key, v in low._origin.options.items() if key in kept and v is not None}


def _facts(m, report, interrupted):
    folded = {fold["into"]: fold["batch_norm"] for fold in report.folded} if report else _inverted(m.reference.folded)
    with_batch_norms = set(m.reference.folded.values())
    parameters = [_parameter(m, point, with_batch_norms) for point in m.points if point.kind == "parameter"]
    tensors = _tensors(m, folded)
    outputs = [{"name": m.low.graph.name_of(e), **d.facts()} for e, d in zip(m.low.graph.heads, m.outputs)]
    shares = [row["share"] for row in [*tensors, *parameters] if row["share"] is not None]
    return {
        "error": _error(m.outputs),
        "share_sum": float(sum(shares)) if shares else None,
        "suspects": [row["name"] for row in [*tensors, *parameters] if _is_suspect(row)],
        "samples": m.samples,
        "batches": m.batches,
        "outputs": outputs,
        "tensors": tensors,
        "parameters": parameters,
        "notes": list(_notes(m, interrupted)),
    }


def _inverted(pairs):
    return {into: name for name, into in pairs.items()}


def _notes(m, interrupted):
    if m.matching.bodies:
        names = ", ".join(m.low.graph.nodes[i].name for i in m.matching.bodies)
        yield f"tensors inside of loops and branches are not compared: each of these counts as one step: {names}"
    if m.run.differences:
        names = ", ".join(m.run.differences[:4])
        yield f"tensors are shown by a plan that computes {len(m.run.differences)} steps otherwise: {names}"
    if interrupted:
        yield f"interrupted: this is of the first {m.batches} batches"
    if m.problem or not m.bill.is_finite:
        yield f"no shares: {m.problem or 'the second model made numbers that are not finite'}"
    elif m.bill.replaced:
        names = ", ".join(m.bill.replaced)
        yield f"shares are of the last float tensors before {names}, through which no gradient goes"


def _error(outputs):
    """Of all outputs: each relative to its own rms, then over all numbers."""
    count = sum(d.count for d in outputs)
    squares = sum(d.count * d.error**2 if d.error < math.inf else math.inf for d in outputs)
    return math.sqrt(squares / count) if count else 0.0


def _tensors(m, folded):
    points = {point.entry: point for point in m.points if point.kind != "parameter"}
    graph, rows = m.low.graph, []
    for entry in graph.entries():
        node = graph.nodes[entry[0]]
        if entry not in m.differences:
            continue
        kind = "input" if node.is_variable else "cast" if node.op in CASTS else "result"
        row = {"name": graph.name_of(entry), "node": node.name, "op": node.op, "kind": kind}
        row |= {"dtype": m.matching.dtypes[entry], "batch_norm": folded.get(node.name), **m.differences[entry].facts()}
        row |= {"has_low_bodies": entry[0] in m.matching.bodies}
        row |= {"kernel": m.run.kernels.get(entry), **_own_facts(m, points.get(entry))}
        rows.append(row)
    return rows


def _own_facts(m, point):
    if point is None:
        return dict.fromkeys(("own", "own_units", "share", "saturated", "flushed"))
    return {**m.own[point.entry].facts(), "share": m.bill.share(point.entry) if m.bill else None}


def _parameter(m, point, folded):
    graph = m.low.graph
    source = m.matching.through(point.entry)[0]
    name = graph.name_of(source)
    is_folded = any(graph.nodes[reader].name in folded for reader in m.matching.readers_behind_casts(source))
    facts = {"name": name, "dtype": m.matching.dtypes[point.entry], "is_folded": is_folded}
    own = _own_facts(m, point)
    return {**facts, **{key: own[key] for key in ("own", "own_units", "share", "flushed")}}


def _is_suspect(row):
    if row.get("has_low_bodies"):
        return False
    if any(name in (row.get("kernel") or "") for name in _KERNELS):
        return row["own"] is not None and not row["own"] <= _LIMIT_OF_KERNELS
    limit = _LIMIT_OF_FOLDED if row.get("is_folded") else _LIMIT
    return row["own_units"] is not None and not row["own_units"] <= limit


def _number(value):
    return f"{value:8.1e}" if value is not None else " " * 8


def _finite(value):
    """The value with None for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value
