"""What a conversion did and why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ._conversion.measured_facts import MeasuredFacts
from ._html import report_table
from ._paths import write_file
from .base import ArgumentError, did_you_mean

if TYPE_CHECKING:
    from typing import Any

    from ._types import Path

__all__ = ["ConversionReport"]

_FORMAT = "amp-conversion-report"


class ConversionReport(MeasuredFacts):
    """The record of a conversion, as `convert_model(..., return_report=True)` returns it.

    ConversionReport(text): the JSON text that `to_json()` gives; ArgumentError for any other text.
    `str(report)` is a table for people, `to_json()` everything for machines, `why(tensor)` the reasons of one
    tensor.

    Tensors are dicts with id, name, node, op, kind ('input', 'parameter', 'state' or 'result'), before and dtype
    (names of element types), bytes (None where the shape is not known) and reason; a reason has class ('fact',
    'list', 'user', 'propagation' or 'refusal'), kind (a name such as 'reads_low', for programs), text and because_of
    (the id of the tensor whose reason comes before, or None).

    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> args = {"fc_weight": np.ones((3, 4), "float32"), "fc_bias": np.ones(3, "float32")}
    >>> _, _, _, report = amp.convert_model(net, args, {}, return_report=True)
    >>> report.totals["casts"]
    {'run_time': 2, 'offline': 0}
    """

    def __init__(self, text: str) -> None:
        try:
            self._facts = json.loads(text)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"this is no conversion report: {error}") from None
        if not isinstance(self._facts, dict) or self._facts.get("format") != _FORMAT:
            raise ArgumentError("this is no conversion report: it lacks the format 'amp-conversion-report'")
        self._took = None
        self._by_id = {tensor["id"]: tensor for tensor in [*self.tensors, *self.gradients]}

    @classmethod
    def load(cls, path: Path) -> ConversionReport:
        """Reads the file that `save` wrote."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    def save(self, path: Path) -> None:
        """Writes `to_json()` to a file.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> report = amp.convert_model(sym, args, aux, return_report=True)[3]
        >>> report.save("report.json")
        >>> amp.ConversionReport.load("report.json").options["target_dtype"]
        'bfloat16'
        """
        write_file(path, self.to_json().encode())

    def to_json(self) -> str:
        """The whole report as text; equal conversions give equal texts."""
        return json.dumps(self._facts, indent=1)

    @property
    def options(self) -> dict[str, Any]:
        """What was asked for: target_dtype, policy, cast_params_offline, fold_batch_norm.

        Where a minimum cut decided, `minimize` says what it made as small as possible.
        """
        return self._facts["options"]

    @property
    def took(self) -> dict[str, float] | None:
        """What the conversion took: seconds, and peak_bytes, the rise of the process' largest memory."""
        return self._took

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Proof that no decision costs less, where a minimum cut decided: unit ("ps" or "casts"), cut, flow, constant.

        No flow is larger than a cut, so equal ones are both best. The decision costs the cut and the constant.
        """
        return self._facts.get("certificate")

    @property
    def predicted(self) -> dict[str, Any] | None:
        """What the decision costs, and the model as it was: unit ("ps" or "casts"), as_decided, unchanged.

        None where neither a machine nor a minimum cut says so.
        """
        return self._facts.get("predicted")

    @property
    def machine(self) -> dict[str, Any] | None:
        """Whose speed was asked: name, cpu, isa, threads, onednn, source and the digest of its file; None for 'any'."""
        return self._facts.get("machine")

    @property
    def totals(self) -> dict[str, Any]:
        """Counts: casts {run_time, offline}, tensors and bytes {dtype: n}, parameters."""
        return self._facts["totals"]

    @property
    def casts(self) -> list[dict[str, Any]]:
        """Every cast: dicts with name, tensor, tensor_id, from, to, run_time, readers ({node, input, reason}).

        tensor_id is None where the tensor is itself a cast that the conversion made.
        """
        return self._facts["casts"]

    @property
    def tensors(self) -> list[dict[str, Any]]:
        """Every visible tensor of the model, and what it is computed in now."""
        return self._facts["tensors"]

    @property
    def gradients(self) -> list[dict[str, Any]]:
        """The tensors that gradients consist of, where the model was converted with `training=True`: as `tensors`.

        Their kind is 'gradient'; the gradient of `x` is called 'x_grad'. [] where the model has an operator without a
        gradient.

        >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, no_bias=True, name="fc")
        >>> args = {"fc_weight": np.ones((3, 4), "float32")}
        >>> *_, report = amp.convert_model(net, args, {}, training=True, return_report=True)
        >>> report.tensor("fc_weight_grad")["dtype"]
        'float32'
        """
        return self._facts.get("gradients", [])

    @property
    def kept(self) -> list[dict[str, Any]]:
        """Float tensors that are not in the target dtype; `chain(tensor)` says why."""
        low = self.options["target_dtype"]
        return [tensor for tensor in self.tensors if "float" in tensor["dtype"] and tensor["dtype"] != low]

    @property
    def folded(self) -> list[dict[str, Any]]:
        """Batch norms that became part of another node: dicts with batch_norm and into.

        Where the weight is read in low precision, weight and rounding, 'nearest' or 'compensated', say how it was
        rounded. Without data that is a bet on compensation. With data or a sensitivity error_nearest and
        error_compensated, what either does to the outputs, decided. Where the model has no sensitivity it stays a bet,
        and why_bet says why.
        """
        return self._facts["folded"]

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The graphs that loops and branches run: dicts with path and why_not.

        why_not says why one stays as it is, and is None where it was converted. The full names of its nodes, in casts
        and tensors as well as in the options of a conversion, begin with path: 'loop/body/fc'.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> amp.convert_model(sym, args, aux, return_report=True)[3].bodies
        []
        """
        return self._facts.get("bodies", [])

    @property
    def not_folded(self) -> list[dict[str, str]]:
        """Other batch norms: dicts with batch_norm and why."""
        return self._facts["not_folded"]

    @property
    def note_on_mxnet(self) -> str:
        """What stock MXNet does with the saved model, a sentence; '' where it runs it."""
        if self.options["policy"] == "mxnet" or not self.casts:
            return ""
        return "stock MXNet loads the saved model but cannot run it; policy 'mxnet' makes one that it runs"

    def tensor(self, name: str) -> dict[str, Any]:
        """The tensor (or the first output of the node) of this name. Raises ArgumentError with near matches.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> report = amp.convert_model(sym, args, aux, return_report=True)[3]
        >>> report.tensor("fc_weight")["kind"]
        'parameter'
        """
        for key in ("name", "node"):
            for tensor in self._by_id.values():
                if tensor[key] == name:
                    return tensor
        names, nodes = (dict.fromkeys(tensor[key] for tensor in self._by_id.values()) for key in ("name", "node"))
        hint = did_you_mean(name, names) or did_you_mean(name, nodes)
        if self.folded and not hint:
            hint = f" ({len(self.folded)} batch norms were folded: their parameters are gone)"
        raise ArgumentError(f"the model has no tensor {name!r}{hint}")

    def chain(self, tensor: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The reasons that led to a tensor's dtype, the nearest first: [(tensor, reason)]."""
        steps, seen = [], set()
        while tensor is not None and tensor["id"] not in seen:
            seen.add(tensor["id"])
            steps.append((tensor, tensor["reason"]))
            tensor = self._by_id.get(tensor["reason"]["because_of"])
        return steps

    def why(self, name: str) -> str:
        """Why a tensor (or a node's output) is in its dtype, as text of several lines.

        Raises ArgumentError for a name that the model does not have.
        """
        return "\n".join(_why_lines(self, name))

    def __str__(self) -> str:
        return "\n".join([*_total_lines(self), "", *_kept_lines(self)]).rstrip()

    _repr_html_ = report_table  # of notebooks

    def __repr__(self) -> str:
        casts = self.totals["casts"]
        return f"<ConversionReport to {self.options['target_dtype']}: {casts['run_time']} casts in every run>"


def _why_lines(report, name):
    lines = []
    for batch_norm in report.folded:
        if name in (batch_norm["batch_norm"], f"{batch_norm['batch_norm']}_output"):
            lines.append(f"the batch norm {name} was folded into {batch_norm['into']}, in float32")
            name = batch_norm["into"]
    tensor = report.tensor(name)
    what = tensor["kind"] if tensor["op"] == "null" else tensor["op"]
    lines.append(f"{tensor['name']} ({what}) is {tensor['dtype']}{_before(tensor)}")
    for step, reason in report.chain(tensor):
        lines.append(f"  {step['name']}: {reason['text']}  [{reason['class']}]")
    lines += [f"  {_range_text(row)}" for row in report.ranges if row["id"] == tensor["id"]]
    for cast in report.casts:
        if cast["tensor_id"] == tensor["id"]:
            lines += _cast_lines(cast)
    for batch_norm in report.not_folded:
        if batch_norm["batch_norm"] == tensor["node"]:
            lines.append(f"  it was not folded: {batch_norm['why']}")
    return lines


def _range_text(row):
    """A row of `ConversionReport.ranges` as a sentence."""
    met = f"in [{row['smallest']:.4g}, {row['largest']:.4g}]" if row["smallest"] is not None else "no finite number"
    odd = f", and {row['not_finite']} numbers that are not finite" if row["not_finite"] else ""
    low, high = row["proven"]
    ends = "-inf" if low is None else f"{low:.4g}", "inf" if high is None else f"{high:.4g}"
    proven = f"proven is [{', '.join(ends)}]" if (low, high) != (None, None) else "nothing is proven"
    return f"on the data it is {met}{odd}; {proven}"


def _cast_lines(cast):
    when = "in every run" if cast["run_time"] else "once, offline"
    yield f"  it is cast to {cast['to']} {when}, for"
    for reader in cast["readers"]:
        who = f"{reader['node']}.{reader['input']}" if reader["node"] else f"the output {reader['input']}"
        yield f"    {who}: {reader['reason']['text']}  [{reader['reason']['class']}]"


def _total_lines(report):
    totals, casts = report.totals, report.totals["casts"]
    parameters = totals["parameters"]
    yield f"conversion to {report.options['target_dtype']}, policy {report.options['policy']}"
    yield f"  casts in every run        {casts['run_time']}"
    yield f"  casts made once, offline  {casts['offline']} of {parameters['after']} parameters"
    for dtype, count in sorted(totals["tensors"].items()):
        yield f"  {dtype + ' tensors':<25} {count:<8} {totals['bytes'].get(dtype, 0):,} bytes"
    if totals["tensors_of_unknown_size"]:
        yield f"  of unknown size           {totals['tensors_of_unknown_size']} (give the inputs' shapes)"
    yield from _part_lines(report)
    yield from _parameter_lines(report)
    if report.machine:
        yield f"  machine                   {report.machine.get('name')} ({report.machine['digest']})"
    if report.accuracy:
        yield f"  accuracy                  {_accuracy(report.accuracy)}"
    if report.verified:
        yield f"  verified                  on {report.verified['samples']} samples{_not_judged(report.verified)}"
    if report.predicted:
        decided, unchanged = (_cost(report.predicted, key) for key in ("as_decided", "unchanged"))
        yield f"  predicted                 {decided}, as it was {unchanged}"
    if report.took:
        seconds, memory = report.took["seconds"], report.took["peak_bytes"]
        yield f"  took                      {seconds:.3g} s and {memory:,} bytes of memory"
    if report.note_on_mxnet:
        yield f"  note: {report.note_on_mxnet}"


def _part_lines(report):
    if report.folded or report.not_folded:
        yield f"  batch norms folded        {len(report.folded)} of {len(report.folded) + len(report.not_folded)}"
    bets = [fold for fold in report.folded if "rounding" in fold and "error_nearest" not in fold]
    if bets:
        why = bets[0].get("why_bet", "data= decides for each")
        yield f"  rounded on a bet          {len(bets)} of their weights, with compensation ({why})"
    if report.bodies:
        converted = sum(body["why_not"] is None for body in report.bodies)
        yield f"  bodies converted          {converted} of {len(report.bodies)}"
    if report.gradients:
        low = sum(tensor["dtype"] == report.options["target_dtype"] for tensor in report.gradients)
        yield f"  tensors of gradients      {len(report.gradients)}, {low} of them {report.options['target_dtype']}"


def _parameter_lines(report):
    rounded = [parameter for parameter in report.parameters if not parameter["is_exact"]]
    if rounded:
        worst = max(rounded, key=lambda parameter: parameter["error"])
        most = f"{worst['error']:.2g} of the rms ({worst['name']})"
        yield f"  parameters rounded        {len(rounded)}, at most by {most}"
    if report.ranges:
        largest = max(report.ranges, key=_magnitude)
        yield f"  largest on the data       {_magnitude(largest):.4g} ({largest['name']})"
    if report.denormal_parameters:
        counts = report.denormal_parameters.values()
        are, become = (sum(count[key] for count in counts) for key in ("are", "become"))
        yield f"  denormal numbers          {are} of parameters, {become} more by the conversion"


def _magnitude(row):
    return 0.0 if row["smallest"] is None else max(abs(row["smallest"]), abs(row["largest"]))


def _kept_lines(report):
    results = [tensor for tensor in report.kept if tensor["kind"] == "result"]
    if results:
        yield "results left in another float dtype"
        width = min(40, max(len(tensor["name"]) for tensor in results))
        for tensor in results:
            yield f"  {tensor['name']:<{width}}  {tensor['dtype']:<9} {tensor['reason']['text']}"
    left = [body for body in report.bodies if body["why_not"]]
    if left:
        yield "bodies of loops and branches left as they were"
        for body in left:
            yield f"  {body['path']}  {body['why_not']}"


def _cost(predicted, key):
    return f"{predicted[key]} casts" if predicted["unit"] == "casts" else f"{predicted[key] * 1e-9:.4g} ms"


def _not_judged(verified):
    names = verified["not_judged"]
    return f", but for what loops and branches round: {', '.join(names)}" if names else ""


def _accuracy(facts):
    name, goal = next(iter(facts["goal"].items()))
    if not facts["reached"]:
        return f"no conversion meets {name} {goal:g}: what may be float32 is"
    measured = facts.get("measured_error", facts.get("metric"))
    return f"{measured:.4g} measured ({name} {goal:g}), {len(facts['kept'])} nodes kept in float32"


def _before(tensor):
    return "" if tensor["before"] == tensor["dtype"] else f" (it was {tensor['before']})"
