"""Blocks that collect losses."""

from . import stochastic_block
from .stochastic_block import *  # noqa: F403

__all__ = stochastic_block.__all__
