"""Optimizers: `mx.optimizer.create("sgd", learning_rate=0.1)`, or the classes themselves.

Formulas and defaults are those of MXNet 1.9.1; after `mx.install` of 2.x, and in `npx.set_np()` without `install`,
those of MXNet 2: `SGD()` has the learning rate 0.1 there. Updates are computed in float32, whatever the dtype of a
weight.

They import schedulers and random numbers; neither stores nor blocks.
"""

from .._missing import getter
from . import contrib
from .adaptive import FTML, LAMB, LANS, AdaBelief, AdaDelta, AdaGrad, Adam, Adamax, AdamW, Ftrl, Nadam, RMSProp
from .base import Optimizer, Updater
from .descent import DCASGD, LARS, LBSGD, NAG, SGD, SGLD, Signum, Test

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LANS",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "contrib",
    "create",
    "get_updater",
    "register",
]

create = Optimizer.create_optimizer
register = Optimizer.register


def get_updater(optimizer):
    """A function `updater(index, grad, weight)` that updates by the optimizer and keeps its states.

    >>> update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = amp.nd.array([1.0])
    >>> update(0, amp.nd.array([1.0]), weight)
    >>> weight.asnumpy()
    array([0.5], dtype=float32)
    """
    return Updater(optimizer)


__getattr__ = getter(__name__)
