"""MXNet's scopes around training, for programs that only run models: what trains is refused."""

import contextlib

from ._missing import getter
from .base import UnsupportedError

__all__ = [
    "backward",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def _refuse(name):
    raise UnsupportedError(f"autograd.{name}: there are no gradients; this package runs models and does not train them")


def record(train_mode=True):
    """Raises UnsupportedError: nothing is recorded."""
    _refuse("record")


def train_mode():
    """Raises UnsupportedError: operators behave as in prediction."""
    _refuse("train_mode")


def pause(train_mode=False):
    """A scope without effect. Raises UnsupportedError for `train_mode=True`."""
    if train_mode:
        _refuse("pause(train_mode=True)")
    return contextlib.nullcontext()


def predict_mode():
    """A scope without effect: operators always behave as in prediction."""
    return contextlib.nullcontext()


def is_training():
    """False"""
    return False


def is_recording():
    """False"""
    return False


def set_training(train_mode):
    """Returns False, the mode that was; raises UnsupportedError for True."""
    if train_mode:
        _refuse("set_training(True)")
    return False


def set_recording(is_recording):
    """Returns False, what was; raises UnsupportedError for True."""
    if is_recording:
        _refuse("set_recording(True)")
    return False


def mark_variables(variables, gradients, grad_reqs="write"):
    """Raises UnsupportedError."""
    _refuse("mark_variables")


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Raises UnsupportedError."""
    _refuse("backward")


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """Raises UnsupportedError."""
    _refuse("grad")


__getattr__ = getter(__name__)
