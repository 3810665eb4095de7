"""Interfaces of MXNet 1.x: `mx.contrib.amp`, `io`, `tensorboard`, `text`, and old names of others.

`mx.contrib.nd` and `mx.contrib.sym` are `mx.nd.contrib` and `mx.sym.contrib`.

They import blocks, modules and optimizers; of `amp.mxnet` only `amp` imports them.
"""

from ... import nd as _nd
from ... import sym as _sym
from .._missing import getter
from . import amp, autograd, io, svrg_optimization, tensorboard, text

__all__ = ["amp", "autograd", "io", "nd", "ndarray", "svrg_optimization", "sym", "symbol", "tensorboard", "text"]

nd = ndarray = _nd.contrib
sym = symbol = _sym.contrib

__getattr__ = getter(__name__)
