"""Operators' definitions in NumPy, and random uses of them. Knows nothing of the library."""

from . import boxes, elementwise, lookups, moves, numpy_shapes, sums, windows  # noqa: F401 - they fill the tables
from .core import DRAWERS, ORACLES, Case, Draw, Expected, is_float

__all__ = ["DRAWERS", "ORACLES", "Case", "Draw", "Expected", "is_float"]
