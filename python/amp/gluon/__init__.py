"""Blocks: models that are called like functions.

`SymbolBlock` runs a symbol with its parameters. Layers (`nn`, `rnn`), data loaders and trainers are not there yet.
"""

from .symbol_block import SymbolBlock

__all__ = ["SymbolBlock"]


def __getattr__(name):
    raise AttributeError(f"module 'amp.gluon' has no attribute {name!r}: so far, SymbolBlock is all that is there")
