"""What a plan file's note says of images and classes, for programs that show results.

labels: the names of the classes, in the order of the output.
image: {"mean", "std", "layout"}: an element of the input is (pixel / 255 - mean) / std, with a number for each channel
    or one for all; layout is NCHW or NHWC.
"""

from __future__ import annotations

import json
import math

from ..base import GraphError

_LAYOUTS = ("NCHW", "NHWC")


def parameters_of(note):
    """{"labels", "image"}, or fewer, of a note, which is JSON or ''. Raises GraphError for others than these."""
    try:
        known = json.loads(note) if note else {}
        found = {key: known[key] for key in ("labels", "image") if known.get(key) is not None}
    except (ValueError, AttributeError, TypeError):
        raise GraphError("the plan file's note cannot be read") from None
    labels, image = found.get("labels"), found.get("image")
    if labels is not None and not (isinstance(labels, list) and all(isinstance(label, str) for label in labels)):
        raise GraphError("labels of the plan file: expected a list of texts")
    if image is not None and not _is_image(image):
        raise GraphError("image of the plan file: expected mean and std, 1 or 3 numbers each, and layout NCHW or NHWC")
    return found


def _is_image(image):
    is_complete = isinstance(image, dict) and set(image) == {"mean", "std", "layout"} and image["layout"] in _LAYOUTS
    return is_complete and _are_numbers(image["mean"]) and _are_numbers(image["std"]) and 0 not in image["std"]


def _are_numbers(values):
    return (
        isinstance(values, list)
        and len(values) in (1, 3)
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) for v in values)
    )
