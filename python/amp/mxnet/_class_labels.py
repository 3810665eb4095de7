"""Labels that are numbers of classes, and their range."""

import json
import math
import warnings

import numpy as np


def warn_of_class_labels(owner, what, label, classes, weight=None, ignored=None):
    """Warns of the first label outside of [0, classes), unless it is `ignored` or its `weight` is 0.

    Computation goes on as in MXNet, which cuts such labels or has no class for them. There is one warning for each
    `owner`, a loss or a Module.
    """
    if getattr(owner, "_has_warned_of_labels", False):
        return
    values = label.asnumpy()
    if not values.size or (values.min() > -1 and values.max() < classes):
        return  # as a rule, and this costs next to nothing
    wrong = (values <= -1) | (values >= classes)
    if ignored is not None:
        wrong &= values != ignored
    if weight is not None:
        is_counted = np.asarray(weight.asnumpy()).reshape(_padded(weight.shape, wrong.ndim)) != 0
        wrong = _summed_to(wrong & is_counted, wrong.shape)
    if wrong.any():
        place = tuple(int(axis[0]) for axis in np.nonzero(wrong))
        owner._has_warned_of_labels = True
        warnings.warn(
            f"{what}: the label at {list(place)} is {values[place]:g}, but there are {classes} classes; as in MXNet "
            "this is no error. Further labels are not checked.",
            stacklevel=3,
        )


def _summed_to(truths, shape):
    """Whether any is true of those that a broadcast with weights made of each label."""
    front = truths.ndim - len(shape)
    truths = truths.any(axis=tuple(range(front)))
    repeated = tuple(i for i, size in enumerate(shape) if size != truths.shape[i])
    return truths.any(axis=repeated, keepdims=True)


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
