"""The option `accuracy` of conversions: the cheapest precision whose outputs are accurate enough, as measured.

The extension finds the cheapest decision whose squared error, a sum of what single roundings add, is within a limit
(AccuracySearch). Here the sums come from a sensitivity, which predicts the error of each decision that is found better
than its sum does: errors of parameters have signs. The measured error of one decision, divided by the predicted one,
scales what the next may be predicted to have.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._conversion.calls import converted_model, report_of
from ..base import ArgumentError, log
from ..sym import Symbol
from .data import batches, inputs_of_model
from .folding import Foldings, fitting_sensitivity
from .measuring import Measure, Runner
from .progress import part, tell
from .ranges import kept_batch_norms

if TYPE_CHECKING:
    from ..report import ConversionReport

_MOST_EVALUATIONS = 4
_NEAR = 0.85  # an error of this part of the goal is as near as a further evaluation would come
# What is left of the aim after so many evaluations that missed the goal; the first one is of everything low.
_MARGINS = (1.0, 1.0, 0.95, 0.8)
_MOST_LIMITS = 6  # that are tried for one aim
_PART_OF_SENSITIVITY = 0.25  # of the whole work, for those who watch it
_MEASURED = {"error": "measured_error", "drop": "metric"}  # what is measured of a goal


class Found(NamedTuple):
    """A conversion (the extension's dict), its report, and what was measured of it, if anything, and on how much."""

    model: dict
    report: ConversionReport
    predicted: float
    measured: float | None = None
    samples: int | None = None

    @property
    def squared_error(self):
        """As the search predicts it."""
        return self.report.accuracy["squared_error"]

    @property
    def is_reached(self):
        """Whether the predicted error is within the limit that was asked for."""
        return self.report.accuracy["reached"]

    @property
    def is_float32(self):
        """Whether nothing is rounded."""
        low = self.report.options["target_dtype"]
        return not self.report.casts and all(tensor["dtype"] != low for tensor in self.report.tensors)

    @property
    def cost(self):
        """What the conversion is predicted to take."""
        return self.report.predicted["as_decided"]

    @property
    def kept(self):
        """Nodes that accuracy keeps in float32: dicts with node and why."""
        reasons = {t["node"]: t["reason"] for t in self.report.tensors}
        return [{"node": n, "why": r["text"]} for n, r in reasons.items() if r["kind"] == "too_sensitive"]

    def is_same(self, other):
        """Whether both are one decision, as far as costs and errors tell."""
        return (self.cost, self.squared_error) == (other.cost, other.squared_error)


def _parts(readers):
    """{node: the part of a tensor's squared error that this reader sees}"""
    squares = {}
    for reader in readers:
        if reader["node"] is not None:  # an output of the model
            squares[reader["node"]] = squares.get(reader["node"], 0.0) + reader["own"] ** 2
    whole = math.fsum(squares.values())
    return {node: square / whole for node, square in squares.items()} if whole else {}


class Search:
    """Conversions of one model with limits on their squared errors, and those of them that were measured."""

    def __init__(self, model, options, table):
        self._model, self._options, self._table = model, options, table
        self._foldings = Foldings(table)
        self.squared_errors = {tensor["name"]: tensor["own"] ** 2 for tensor in table.tensors if tensor["own"]}
        self.squared_errors |= {folding.weight: folding.least**2 for folding in self._foldings}
        self._parts = {tensor["name"]: _parts(tensor["readers"]) for tensor in table.tensors if tensor["own"]}
        self.evaluations, self.most_evaluations = [], _MOST_EVALUATIONS
        self.interrupted = False

    @property
    def everything(self):
        """A limit within which every decision is."""
        return 2 * math.fsum(self.squared_errors.values()) or 1.0

    def convert(self, limit):
        """The cheapest conversion found within the limit; float32 for 0, and where there is none."""
        target = {"squared_errors": self.squared_errors, "parts": self._parts, "limit": limit}
        nearest = self._foldings.rounded_to_nearest
        model = converted_model(*self._model, **self._options, target=target, rounded_to_nearest=nearest, report=True)
        found = Found(model, report_of(model), math.nan)
        self._foldings.add_to(found.report)
        return found._replace(predicted=self._table.predict(found.report))

    def within(self, aim):
        """The cheapest conversion found whose predicted error is at most `aim`; else float32."""
        if aim == math.inf:
            return self.convert(self.everything)
        low, high, limit, best = 0.0, self.everything, aim**2, None
        for _ in range(_MOST_LIMITS):
            found = self.convert(limit)
            if found.predicted <= aim:
                low, best = limit, found if best is None or found.cost < best.cost else best
            else:
                high = found.squared_error  # larger limits may find the same again
            if _NEAR * aim <= found.predicted <= aim or not found.is_reached or _NEAR * high <= low:
                break
            limit = _next_limit(found, limit, aim, low, high)
        return best or self.convert(0)

    def evaluate(self, found, measure):
        """The same with what `measure`, a function of a model, says of it: a number, and of how many samples."""
        model = Symbol(found.model["symbol"]), found.model["arguments"], found.model["auxiliary_states"]
        with part(min(len(self.evaluations) / self.most_evaluations, 1.0), 1 / self.most_evaluations):
            measured, samples = measure(model)
        self.evaluations.append(found._replace(measured=measured, samples=samples))
        log("accuracy: measured %.3g", self.evaluations[-1].measured)
        return self.evaluations[-1]

    def interrupt(self):
        """Notes that ctrl-C ended the search, with what was measured."""
        self.interrupted = True
        warnings.warn(
            f"accuracy: interrupted: this is the best conversion of {len(self.evaluations)} that were measured",
            stacklevel=7,
        )

    def result(self, best, goal, is_reached):
        """(the extension's dict, the report), which says how `best` was found."""
        tell(1.0)
        if not is_reached:
            text = ", ".join(f"{name} {number:g}" for name, number in goal.items())
            warnings.warn(f"accuracy: no conversion meets {text}: what may be float32 is", stacklevel=6)
        measured = _MEASURED[next(iter(goal))]
        curve = self._curve(best, measured)
        best.report._facts["accuracy"] = {
            "goal": goal,
            "reached": is_reached,
            "interrupted": self.interrupted,
            "samples": best.samples,
            "evaluations": len(self.evaluations),
            "predicted_error": best.predicted,
            measured: best.measured,
            "kept": best.kept,
            "curve": curve,
        }
        return best.model, best.report

    def _curve(self, best, measured):
        """What was measured, and what else the search found, by predicted error."""
        points = [self._point(f.cost, f.predicted, f, measured) for f in self.evaluations]
        known = {found.squared_error for found in self.evaluations}
        others = [p for p in best.report.accuracy["curve"] if p["squared_error"] not in known]
        points += [self._point(p["cost"], math.sqrt(p["squared_error"]), best, measured, False) for p in others]
        return sorted(points, key=lambda point: point["predicted_error"])

    def _point(self, cost, error, found, measured, is_measured=True):
        return {
            "predicted_time": cost * 1e-12 if found.report.predicted["unit"] == "ps" else None,
            "predicted_error": error,
            measured: found.measured if is_measured else None,
            "kept": len(found.kept) if is_measured else None,
        }


def convert_to_target(model, accuracy, data, sensitivity, **options):
    """(what `converted_model` returns, its report with `accuracy`) of the options of `convert_model`.

    `data` are Reruns, or None where no error is measured.
    """
    if options["training"]:
        raise ArgumentError("accuracy: expected training=False: parameters that training moves have no fixed errors")
    without_goal = report_of(converted_model(*model, report=True, **options))
    with part(0, _PART_OF_SENSITIVITY):
        sensitivity = fitting_sensitivity(model, data, sensitivity, without_goal)
    search = Search(model, options, sensitivity)
    with part(_PART_OF_SENSITIVITY, 1 - _PART_OF_SENSITIVITY):
        if "error" in accuracy:
            measure = Measure(model, sensitivity, data, kept_batch_norms(without_goal))
            return _for_error(search, accuracy["error"], measure)
        return _for_metric(search, accuracy["drop"], Metric(accuracy["metric"], inputs_of_model(model)))


# ---- an error of the outputs ----


def _for_error(search, goal, measure):
    found = None
    try:
        found = _evaluate_for_error(search, goal, measure)
    except KeyboardInterrupt:
        if not search.evaluations:
            raise
        search.interrupt()
    if not search.evaluations and found.is_float32:  # nothing may be rounded
        return search.result(found._replace(measured=0.0), {"error": goal}, True)
    met = [one for one in search.evaluations if one.measured <= goal]  # the last one on a part of the data, maybe
    best = min(met, key=lambda one: (-one.samples, one.cost)) if met else search.convert(0)
    return search.result(best, {"error": goal}, bool(met))


def _next_limit(found, limit, aim, low, high):
    """Between `low` and `high`: what the error of `found` at `limit` lets one expect to meet the aim, or their mean."""
    guess = limit * (aim / found.predicted) ** 2 if found.predicted else 2 * limit
    return guess if low < guess < high else math.sqrt(max(low, high / 16) * high)


def _evaluate_for_error(search, goal, measure):
    """Evaluates until the goal is met closely enough. Returns the last conversion that the search found."""
    aim, misses = math.inf, 0
    while True:
        found = search.within(aim)
        if found.is_float32 or not found.is_reached or any(map(found.is_same, search.evaluations)):
            return found
        last = search.evaluate(found, measure)
        if measure.interrupted:
            raise KeyboardInterrupt
        misses += last.measured > goal
        met = misses < len(search.evaluations)
        is_near = _NEAR * goal <= last.measured <= goal
        is_enough = met and (is_near or not last.measured or len(search.evaluations) in (1, 3))
        if is_enough or len(search.evaluations) == _MOST_EVALUATIONS:
            return found  # an error of 0 says nothing of the scale
        aim = goal * last.predicted / last.measured * _MARGINS[misses]


# ---- a metric of the caller ----


class Metric:
    """The caller's function of a model's runs."""

    def __init__(self, function, inputs):
        self._function, self._inputs = function, inputs

    def __call__(self, model):
        symbol, args, aux = model
        runner = Runner(symbol, {**args, **aux})
        value = self._function(lambda inputs: runner(next(batches([inputs], self._inputs))))
        if not isinstance(value, (int, float, np.integer, np.floating)) or not math.isfinite(value):
            raise ArgumentError(f"accuracy: metric: expected it to return a finite number, got {value!r}")
        return float(value), None


def _for_metric(search, drop, metric):
    float32 = search.evaluate(search.convert(0), metric)
    try:
        _bisect(search, float32, drop, metric)
    except KeyboardInterrupt:
        search.interrupt()
    enough = [found for found in search.evaluations[1:] if found.measured >= float32.measured - drop]
    best = enough[-1] if enough else float32
    is_reached = bool(enough) or search.convert(search.everything).is_float32  # nothing may be rounded
    return search.result(best, {"drop": drop}, is_reached)


def _bisect(search, float32, drop, metric):
    """Looks for the cheapest decision, and takes for granted that more error is no better."""
    curve = [point["squared_error"] for point in float32.report.accuracy["curve"]]
    low, high = 0, len(curve)
    search.most_evaluations = 2 + math.ceil(math.log2(high))
    at = high - 1  # the cheapest one first
    while low < at < high:
        found = search.evaluate(search.convert(curve[at] * (1 + 1e-9)), metric)
        if found.measured >= float32.measured - drop:
            low = at
        else:
            high = at
        at = (low + high) // 2
