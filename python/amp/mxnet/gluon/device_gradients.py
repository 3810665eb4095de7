"""Gradients of parameters that have an array on each of several devices, which share a batch."""

import numpy as np

from ... import nd
from ...base import ArgumentError


def total(parameter):
    """The gradient over all devices; the array itself where there is one device."""
    gradients = parameter.list_grad()
    return gradients[0] if len(gradients) == 1 else nd.add_n(*(gradient.copy() for gradient in gradients))


def write_total(parameter):
    """Every device has the sum of all gradients from now on."""
    gradients = parameter.list_grad()
    if len(gradients) > 1:
        added = total(parameter)
        for gradient in gradients:
            gradient[...] = added


def agreed(parameter):
    """The gradient that all devices have. Raises ArgumentError where they have several."""
    first, *others = parameter.list_grad()
    if any(not np.array_equal(np.asarray(first), np.asarray(other), equal_nan=True) for other in others):
        raise ArgumentError(
            f"update: parameter '{parameter.name}' has another gradient on each device; call allreduce_grads() before"
        )
    return first
