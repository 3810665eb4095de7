"""The check of a conversion on data: each step adds no more than one rounding."""

import warnings

from ..base import InternalError
from .comparison import compare
from .data import samples_of

ON_FAILURE = ("raise", "keep")
_SAMPLES = 64


def problems_of_request(data, on_failure):
    """Texts of why a conversion cannot be verified as it was asked for."""
    if data is None:
        yield "verify: pass data, which the conversion is verified on"
    if on_failure not in ON_FAILURE:
        yield f"on_failure: expected {' or '.join(map(repr, ON_FAILURE))}, got {on_failure!r}"


def verified(first, converted, data, on_failure):
    """(the model to go on with, facts for the report) of a conversion that is verified on the first samples of data.

    A step that adds more than half a unit in the last place is a fault of this library. Then `on_failure` says whether
    InternalError is raised ('raise'), or the model stays as it was, with a warning ('keep'). Loops and branches with
    converted bodies round many times in one step: they are not judged, and the facts name them.
    """
    found = compare(first, converted, samples_of(data, first, _SAMPLES), shares=False)
    facts = {
        "samples": found.to_dict()["samples"],
        "error": found.error,
        "suspects": found.suspects,
        "not_judged": list(dict.fromkeys(row["node"] for row in found.tensors if row["has_low_bodies"])),
        "kept": False,
    }
    if not found.suspects:
        return converted, facts
    text = f"the converted model computes something else than its operators say: {', '.join(found.suspects[:8])}"
    if on_failure == "raise":
        raise InternalError(text)
    warnings.warn(f"{text}; the model stays as it was", stacklevel=4)
    return first, {**facts, "kept": True}
