"""Blocks: models that are called like functions.

`HybridBlock` is what networks are made of, `nn` and `rnn` have the usual layers; a hybridized block runs as a graph.
`SymbolBlock` runs a symbol with its parameters.
"""

import importlib

from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .symbol_block import SymbolBlock

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "data",
    "model_zoo",
    "nn",
    "rnn",
    "utils",
]

_ON_DEMAND = ("data", "model_zoo", "nn", "rnn", "utils")


def __getattr__(name):
    if name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{name}")
    from .._missing import missing, stand_in

    module = stand_in(__name__, name)
    if module is None:
        raise missing(__name__, name, __dir__())
    return module


def __dir__():
    return sorted({*globals(), *_ON_DEMAND})
