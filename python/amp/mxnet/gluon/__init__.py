"""Blocks: models that are called like functions.

`HybridBlock` is what networks are made of, `nn` and `rnn` have the usual layers; a hybridized block runs as a graph.
`SymbolBlock` runs a symbol with its parameters.
"""

from .._missing import getter
from . import contrib, data, loss, metric, model_zoo, nn, rnn, utils
from .block import Block, HybridBlock
from .parameter import Constant, DeferredInitializationError, Parameter, ParameterDict
from .symbol_block import SymbolBlock
from .trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "contrib",
    "data",
    "loss",
    "metric",
    "model_zoo",
    "nn",
    "rnn",
    "utils",
]

__getattr__ = getter(__name__)
