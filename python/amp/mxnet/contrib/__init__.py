"""Interfaces of MXNet 1.x: `mx.contrib.amp`."""

from .._missing import getter
from . import amp

__all__ = ["amp"]

__getattr__ = getter(__name__)
