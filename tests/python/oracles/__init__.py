"""Operators' definitions in NumPy, and random uses of them. Knows nothing of the library."""

from . import elementwise, moves, sums, windows
from .core import DRAWERS, ORACLES, Case, Draw, Expected, is_float

__all__ = ["DRAWERS", "ORACLES", "Case", "Draw", "Expected", "elementwise", "is_float", "moves", "sums", "windows"]
