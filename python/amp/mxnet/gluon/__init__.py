"""Blocks: models that are called like functions.

`HybridBlock` is what networks are made of, `nn` and `rnn` have the usual layers; a hybridized block runs as a graph.
`SymbolBlock` runs a symbol with its parameters.

Blocks import arrays, operators in Python, optimizers, stores, metrics, pictures and iterators, never modules of 1.x.
"""

from ..._core import NDArray
from ...sym import Symbol
from .._missing import getter
from . import _formats, contrib, data, loss, metric, model_zoo, nn, rnn, utils  # noqa: F401
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

tensor_types = (Symbol, NDArray)  # MXNet's

__getattr__ = getter(__name__, on_demand=("probability",))
