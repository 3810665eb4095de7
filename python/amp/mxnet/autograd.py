"""MXNet's scopes around training, for programs that only run models: what trains is refused."""

import contextlib

from ._missing import getter, refusing

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


_REASON = "gradients are not supported: this package is for inference only"

record = refusing("autograd.record", _REASON)
train_mode = refusing("autograd.train_mode", _REASON)
mark_variables = refusing("autograd.mark_variables", _REASON)
backward = refusing("autograd.backward", _REASON)
grad = refusing("autograd.grad", _REASON)


def pause(train_mode=False):
    """A scope without effect. Raises UnsupportedError for `train_mode=True`.

    >>> with mx.autograd.pause():
    ...     pass
    """
    if train_mode:
        refusing("autograd.pause(train_mode=True)", _REASON)()
    return contextlib.nullcontext()


def predict_mode():
    """A scope without effect: operators always behave as in prediction.

    >>> with mx.autograd.predict_mode():
    ...     print(mx.autograd.is_training())
    False
    """
    return contextlib.nullcontext()


def is_training():
    """False

    >>> mx.autograd.is_training()
    False
    """
    return False


def is_recording():
    """False

    >>> mx.autograd.is_recording()
    False
    """
    return False


def set_training(train_mode):
    """Returns False, the mode that was; raises UnsupportedError for True.

    >>> mx.autograd.set_training(False)
    False
    """
    if train_mode:
        refusing("autograd.set_training(True)", _REASON)()
    return False


def set_recording(is_recording):
    """Returns False, what was; raises UnsupportedError for True.

    >>> mx.autograd.set_recording(False)
    False
    """
    if is_recording:
        refusing("autograd.set_recording(True)", _REASON)()
    return False


__getattr__ = getter(__name__)
