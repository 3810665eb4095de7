"""Tokens of text: counts, indices and vectors that are read from files. Nothing is downloaded."""

from ..._missing import getter
from . import embedding, utils, vocab

__all__ = ["embedding", "utils", "vocab"]

__getattr__ = getter(__name__)
