"""What rounding each tensor would do to a model's outputs, and what any conversion will do to them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._options.checks import TARGETS
from .._paths import write_file
from ..base import ArgumentError, did_you_mean
from .adjoints import differentiable_outputs
from .data import samples_of, types_of
from .effects import EffectTable, Reader
from .graph import CASTS
from .progress import told
from .reference import as_model, float32_reference
from .samples import batch_size

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from .._types import Arrays, Path
    from ..report import ConversionReport
    from ..sym import Symbol
    from .data import Data
    from .effects import Effects


_SHOWN = 20


class Sensitivity:
    """What rounding each tensor of a model would do to its outputs; `amp.sensitivity` makes it.

    All errors are rms and relative to the rms of the outputs; of several outputs each is relative to its own, over all
    their numbers. They hold to first order.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> s = amp.sensitivity(sym, args, aux, np.float32([[1, 2, 3, 4.1]]))
    >>> [tensor["name"] for tensor in s.tensors]
    ['data', 'fc_weight', 'fc_bias', 'fc_output', 'relu_output']
    """

    def __init__(self, effects: list[Effects], facts: dict[str, Any]) -> None:
        self.effects = effects
        self._facts = facts
        self._by_name = {e.name: e for e in effects}
        self._by_node = {e.node: e for e in reversed(effects)}

    @property
    def outputs(self) -> list[str]:
        """Names of the tensors that errors are looked at."""
        return self._facts["outputs"]

    @property
    def replaced(self) -> list[str]:
        """Outputs that no gradient goes through; the last float tensors before them are in `outputs` instead."""
        return self._facts["replaced"]

    @property
    def samples(self) -> int:
        """How many samples of the data were used."""
        return self._facts["samples"]

    @property
    def tensors(self) -> list[dict[str, Any]]:
        """Dicts with name, node, op, kind, own and readers, in the order of the graph.

        kind is 'input', 'result' or 'parameter'; the last one is what operators make of parameters alone, too. own is
        the outputs' error where this tensor alone is rounded, for all its readers; readers are dicts with node (None:
        an output of the model), input and own, of this reader alone.
        """
        return [_facts_of(effects) for effects in self.effects]

    def to_dict(self) -> dict[str, Any]:
        """outputs, replaced, samples and tensors, as a dict that JSON can hold."""
        return {
            "outputs": self.outputs,
            "replaced": self.replaced,
            "samples": self.samples,
            "tensors": self.tensors,
        }

    def save_html(self, path: Path, title: str = "amp sensitivity") -> None:
        """Writes one HTML file with the largest errors and a table that sorts; it needs no network."""
        from .page import sensitivity_page

        write_file(path, sensitivity_page(self, title).encode())

    def __str__(self) -> str:
        rows = sorted((row for row in self.tensors if row["own"]), key=lambda row: -row["own"])
        lines = [f"what rounding each tensor alone does to {', '.join(self.outputs)}"]
        lines += [f"  {row['own']:.1e}  {row['name']}  {row['kind']}" for row in rows[:_SHOWN]]
        return "\n".join([*lines, *([f"  ... and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else [])])

    def predict(self, report: ConversionReport) -> float:
        """The outputs' error that a conversion of this model will have, from its report.

        Errors of parameters are fixed numbers and are summed with their signs, those of activations are taken to be
        independent. Where the report folds other batch norms than this sensitivity did, its tensors stand for those of
        the nodes that the norms were folded into.

        >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
        >>> *_, report = amp.convert_model(sym, args, aux, return_report=True)
        >>> data = np.random.default_rng(0).standard_normal((8, 4), dtype="float32")
        >>> error = amp.sensitivity(sym, args, aux, data).predict(report)
        >>> 1e-4 < error < 1e-2
        True
        """
        target = self._target_of(report)
        inside = [body["path"] for body in report.bodies if body["why_not"] is None]
        if inside:
            raise ArgumentError(
                f"the conversion rounds inside of {', '.join(inside)}, and a sensitivity does not look into loops and "
                "branches: convert with excluded_sym_names, or measure with amp.compare"
            )
        return float(np.sqrt(sum(self._squares(report, target))))

    def _target_of(self, report):
        """The low dtype of both. Raises ArgumentError where they differ."""
        target = report.options["target_dtype"]
        if target != self._facts["target_dtype"]:
            raise ArgumentError(
                f"the report is of a conversion to {target}, and the sensitivity is of {self._facts['target_dtype']}: "
                f"compute amp.sensitivity(..., target_dtype='{target}')"
            )
        return target

    def _require_fit(self, report):
        """Raises ArgumentError unless the report is of this model, with the same target and folded batch norms."""
        self._target_of(report)
        folds = {fold["batch_norm"] for fold in report.folded} ^ self._facts["folded"].keys()
        if folds:
            raise ArgumentError(
                f"sensitivity: it and the conversion differ in whether the batch norm {min(folds)!r} is folded: pass "
                "data= in its place, from which one is computed that fits"
            )
        tensors = {tensor["name"] for tensor in report.tensors if tensor["op"] not in CASTS} ^ self._facts["names"]
        if tensors:
            raise ArgumentError(
                f"sensitivity: it is of another model, one of both has no tensor {min(tensors)!r}; compute it for this "
                "model"
            )

    def _squares(self, report, target):
        """Mean squares that add up."""
        signed = 0.0
        for effects, form, readers in self._rounded(report, target):
            pairs = zip(getattr(effects, form), effects.readers)
            chosen = [vector for vector, reader in pairs if readers is None or reader in readers]
            if chosen and effects.kind == "parameter":
                signed = signed + sum(chosen)
            elif chosen:
                yield np.mean(np.square(sum(chosen)))
        yield np.mean(np.square(signed))

    def _rounded(self, report, target):
        """(Effects, which form of them, readers that see it or None for all) of each rounding."""
        low = [t for t in report.tensors if t["dtype"] == target and t["before"] == "float32"]
        by_id = {tensor["id"]: tensor for tensor in report.tensors}
        casts = [c for c in report.casts if c["run_time"] and c["to"] == target and c["from"] == "float32"]
        known = [(self._effects_of(tensor), tensor["node"], None) for tensor in low]
        known += [
            (self._effects_of(by_id[cast["tensor_id"]]), by_id[cast["tensor_id"]]["node"], self._readers_of(cast))
            for cast in casts
            if cast["tensor_id"] is not None
        ]
        known = [(effects, node, readers) for effects, node, readers in known if effects is not None]
        reads_low = {reader.node for effects, _, seen in known for reader in seen or effects.readers}
        into = {fold["into"] for fold in report.folded if fold.get("rounding") != "nearest"}
        for effects, node, readers in known:
            is_behind = self._facts["folded"].get(node, node) in reads_low
            is_stored = effects.compensated and effects.readers[0].node in into
            yield effects, "compensated" if is_stored else "behind" if is_behind else "plain", readers

    def _effects_of(self, tensor):
        into = self._facts["folded"].get(tensor["node"])
        return self._by_node.get(into) if into else self._by_name.get(tensor["name"])

    def _readers_of(self, cast):
        folded = self._facts["folded"]
        return {Reader(folded.get(reader["node"], reader["node"]), reader["input"]) for reader in cast["readers"]}


def sensitivity(
    sym: Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    data: Data,
    *,
    outputs: Sequence[str] | None = None,
    samples: int = 64,
    seed: int = 0,
    fold_batch_norm: bool = True,
    target_dtype: Literal["bfloat16", "float16"] = "bfloat16",
) -> Sensitivity:
    """What rounding each tensor alone would do to the outputs, without converting anything.

    One float32 run of the data and its gradients by what each node reads, with random head gradients: for a rounding
    error d and the adjoint g of what reads it, the mean of <g, d> squared is the mean square of the change of the
    outputs, to first order.

    - `data`: an array (of a model with one input), {input: array}, or an iterable of such batches, which is read until
      there are `samples` samples. Ctrl-C ends it: the result is of the batches that were measured until then.
    - `outputs`: names of tensors to look at instead of the outputs, such as logits in front of a softmax.
    - `samples`: how many numbers are averaged, samples times head gradients, at least.
    - `seed`: of the head gradients.
    - `fold_batch_norm`: whether batch norms are folded into the layers before them, as conversions do by default.
    - `target_dtype`: 'bfloat16' or 'float16'.

    Raises ArgumentError for data that the model does not take, UnsupportedError where no output depends on the data
    through operators that have gradients.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> s = amp.sensitivity(sym, args, aux, {"data": np.float32([[1, 2, 3, 4.1]])})
    >>> [tensor["name"] for tensor in s.tensors if tensor["kind"] == "input"]
    ['data']
    """
    kept = () if fold_batch_norm else None
    return measured_sensitivity((sym, arg_params, aux_params), data, target_dtype, kept, outputs, samples, seed)


def measured_sensitivity(model, data, target_dtype, kept, outputs=None, samples=64, seed=0):
    """What `sensitivity` returns of a model whose batch norms are folded but for those that are `kept`; None: all."""
    model = as_model(model)
    _check(samples, seed, target_dtype)
    collected = samples_of(data, model, samples)
    reference = float32_reference(model, types_of(collected[0]), kept)
    dtypes = reference.dtypes()
    chosen = _outputs_of(reference, dtypes, outputs)
    table = EffectTable(reference, chosen.entries, target_dtype, _candidates(reference, dtypes))
    passes = _passes(samples, sum(map(batch_size, collected)))
    generator = np.random.default_rng(seed)
    try:
        for batch in told(collected, len(collected)):
            table.add(reference.taken(batch), passes, generator)
    except KeyboardInterrupt:
        if not table.samples:
            raise
        warnings.warn(f"sensitivity: interrupted: this is of the first {table.samples} samples", stacklevel=3)
    return Sensitivity(table.finish(), _facts(reference, chosen, table, target_dtype))


def _check(samples, seed, target_dtype):
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or not 1 <= samples <= 1 << 20:
        raise ArgumentError(f"samples: expected a number from 1 to {1 << 20}, got {samples!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ArgumentError(f"seed: expected a number of at least 0, got {seed!r}")
    if target_dtype not in TARGETS:
        raise ArgumentError(f"target_dtype: expected {' or '.join(TARGETS)}, got {target_dtype!r}")


def _passes(samples, size):
    """The least power of 2 that gives `samples` numbers."""
    passes = 1
    while passes * size < samples:
        passes *= 2
    return passes


def _candidates(reference, dtypes):
    """Entries that a conversion may round: of float32, and dependent on data."""
    depends = reference.depends_on_data
    return [entry for entry in reference.data_entries() if depends[entry[0]] and dtypes[entry] == "float32"]


def _outputs_of(reference, dtypes, names):
    graph = reference.graph
    if names is None:
        wanted = graph.heads
    else:
        by_name = {graph.name_of(entry): entry for entry in reversed(graph.entries())}
        for name in names:
            if name not in by_name:
                raise ArgumentError(f"outputs: the model has no tensor {name!r}{did_you_mean(str(name), by_name)}")
        wanted = [by_name[name] for name in names]
    return differentiable_outputs(graph, dtypes, reference.depends_on_data, wanted)


def _facts(reference, chosen, table, target_dtype):
    return {
        "outputs": [reference.graph.name_of(entry) for entry in chosen.entries],
        "replaced": chosen.replaced,
        "samples": table.samples,
        "target_dtype": target_dtype,
        "folded": reference.folded,
        "names": set(map(reference.graph.name_of, reference.graph.entries())),
    }


def _facts_of(effects):
    def own(vectors):
        return float(np.sqrt(np.mean(np.square(sum(vectors))))) if vectors else 0.0

    readers = [
        {"node": reader.node, "input": reader.input, "own": own([vector])}
        for reader, vector in zip(effects.readers, effects.plain)
    ]
    facts = {"name": effects.name, "node": effects.node, "op": effects.op, "kind": effects.kind}
    return {**facts, "own": own(effects.plain), "readers": readers}
