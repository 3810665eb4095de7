"""Blocks: models that are called like functions.

`HybridBlock` is what networks are made of, `nn` and `rnn` have the usual layers; a hybridized block runs as a graph.
`SymbolBlock` runs a symbol with its parameters.
"""

import sys

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

# Modules that MXNet has inside of these: what they define is in the packages themselves.
_INNER_MODULES = {
    contrib.cnn: "conv_layers",
    contrib.data: "sampler",
    contrib.nn: "basic_layers",
    model_zoo.vision: "densenet inception mobilenet resnet squeezenet vgg",
    nn: "basic_layers conv_layers",
    rnn: "rnn_cell rnn_layer",
}
for _package, _names in _INNER_MODULES.items():
    for _name in _names.split():
        setattr(_package, _name, _package)
        sys.modules[f"{_package.__name__}.{_name}"] = _package

__getattr__ = getter(__name__)
