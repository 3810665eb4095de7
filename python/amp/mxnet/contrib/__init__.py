"""Interfaces of MXNet 1.x: `mx.contrib.amp`, `mx.contrib.tensorboard`."""

from .._missing import getter
from . import amp, tensorboard

__all__ = ["amp", "tensorboard"]

__getattr__ = getter(__name__)
