"""How weights that batch norms are folded into are rounded: to nearest or with compensation, as data decide."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._conversion.calls import converted_model, report_of
from ..base import UnsupportedError
from .ranges import kept_batch_norms
from .reference import LowModel
from .sensitivity import measured_sensitivity


class Folding(NamedTuple):
    """A weight that a batch norm is folded into, and what both ways to round it do to the outputs."""

    node: str
    weight: str
    nearest: float
    compensated: float

    @classmethod
    def of(cls, effects):
        """The Folding of a weight's Effects."""
        errors = [math.sqrt(np.mean(np.square(sum(form)))) for form in (effects.plain, effects.compensated)]
        return cls(effects.readers[0].node, effects.name, *errors)

    @property
    def rounding(self):
        """The better way."""
        return "nearest" if self.nearest <= self.compensated else "compensated"

    @property
    def least(self):
        """The error of the better way."""
        return min(self.nearest, self.compensated)

    def facts(self):
        """What a report says of it."""
        return {
            "weight": self.weight,
            "rounding": self.rounding,
            "error_nearest": self.nearest,
            "error_compensated": self.compensated,
        }


class Foldings(list):
    """Every Folding that a sensitivity knows of."""

    def __init__(self, table):
        super().__init__(Folding.of(effects) for effects in table.effects if effects.compensated)

    @property
    def rounded_to_nearest(self):
        """The weights that are better rounded to nearest."""
        return {folding.weight for folding in self if folding.rounding == "nearest"}

    def add_to(self, report):
        """Says in a report what was found."""
        by_node = {folding.node: folding for folding in self}
        for facts in report.folded:
            if facts["into"] in by_node:
                facts.update(by_node[facts["into"]].facts())


def fitting_sensitivity(model, data, given, report):
    """The `given` Sensitivity, or that of `data` without one, of the model as the conversion of a report has it.

    Raises ArgumentError where the given one does not fit: another target, other tensors or other folded batch norms.
    """
    if given is None:
        return measured_sensitivity(model, data, report.options["target_dtype"], kept_batch_norms(report))
    given._require_fit(report)
    return given


def convert_with_better_rounding(model, data, sensitivity, **options):
    """(what `converted_model` returns, its report): each folded weight is rounded in the better of both ways.

    `data` is a list of batches, or None where there is a `sensitivity`. Where the model has no sensitivity the weights
    are rounded on a bet, as without data, and the report says why.
    """
    converted = converted_model(*model, report=True, **options)
    report = report_of(converted)
    rounded = [facts for facts in report.folded if "rounding" in facts]
    if not rounded:
        return converted, report
    try:
        foldings = Foldings(fitting_sensitivity(model, data, sensitivity, report))
    except (UnsupportedError, LowModel) as error:
        for facts in rounded:
            facts["why_bet"] = str(error)
        return converted, report
    converted = converted_model(*model, report=True, rounded_to_nearest=foldings.rounded_to_nearest, **options)
    report = report_of(converted)
    foldings.add_to(report)
    return converted, report
