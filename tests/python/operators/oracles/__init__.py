"""Operators' definitions in NumPy, and random uses of them. Knows nothing of the library."""

# They fill the tables.
from . import (  # noqa: F401
    boxes,
    densities,
    elementwise,
    linalg,
    lookups,
    moves,
    multibox,
    numpy_shapes,
    numpy_sums,
    samplers,
    sequences,
    statistics,
    sums,
    targets,
    windows,
)
from .core import DRAWERS, ORACLES, Case, Draw, Expected, is_float

__all__ = ["DRAWERS", "ORACLES", "Case", "Draw", "Expected", "is_float"]
