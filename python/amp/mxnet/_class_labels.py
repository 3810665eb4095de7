"""Labels that are numbers of classes, and their range."""

import json
import math

import numpy as np

from ..base import ArgumentError


def check_class_labels(what, label, classes, weight=None, ignored=None):
    """Raises ArgumentError for a label outside of [0, classes), unless it is `ignored` or its `weight` is 0."""
    values = label.asnumpy()
    if not values.size or (values.min() > -1 and values.max() < classes):
        return  # as a rule, and this costs next to nothing
    wrong = (values <= -1) | (values >= classes)
    if ignored is not None:
        wrong &= values != ignored
    if weight is not None:
        wrong = wrong & (np.asarray(weight.asnumpy()).reshape(_padded(weight.shape, wrong.ndim)) != 0)
    if wrong.any():
        place = tuple(int(axis[0]) for axis in np.nonzero(wrong))
        number = values[place[: values.ndim]]
        raise ArgumentError(f"{what}: the label at {list(place)} is {number:g}, but there are {classes} classes")


def _padded(shape, rank):
    """A shape without trailing ones that the labels lack, or with more."""
    shape = tuple(shape)
    while len(shape) > rank and shape[-1] == 1:
        shape = shape[:-1]
    return shape + (1,) * (rank - len(shape))


def class_labels_of(symbol, output_shapes, input_shapes):
    """[(variable, number of classes, ignored label or None)] of the SoftmaxOutputs among the outputs of a symbol.

    A label of the output's shape holds probabilities and is left out. `input_shapes` is {variable: shape}.
    """
    graph = json.loads(symbol.tojson())
    found = []
    for (number, *_), shape in zip(graph["heads"], output_shapes):
        node = graph["nodes"][number]
        if node["op"] not in ("SoftmaxOutput", "Softmax") or len(node["inputs"]) < 2:
            continue
        label, attributes = graph["nodes"][node["inputs"][1][0]], node.get("attrs", {})
        if label["op"] == "null" and input_shapes.get(label["name"]) != tuple(shape):
            ignored = float(attributes.get("ignore_label", -1)) if _is_set(attributes, "use_ignore") else None
            found.append((label["name"], _class_count(attributes, shape), ignored))
    return found


def _class_count(attributes, shape):
    if _is_set(attributes, "multi_output"):
        return shape[1]
    return shape[-1] if _is_set(attributes, "preserve_shape") else math.prod(shape[1:])


def _is_set(attributes, name):
    return str(attributes.get(name, "0")) in ("1", "True", "true")
