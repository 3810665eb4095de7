"""What callers give to bind a model: the symbol, its arrays, and the types of what has none."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..base import ArgumentError
from ..sym import Symbol


def checked_model(sym, arg_params, aux_params, input_shapes, input_dtypes, may_be_open=False):
    """(Symbol, {name: array} of its parameters and states, {name: (dtype, shape)} of what has none).

    `may_be_open`: shapes may have None for a size.
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(sym).__name__}")
    arrays = {
        **only(dict(arg_params or {}), sym.list_arguments()),
        **only(dict(aux_params or {}), sym.list_auxiliary_states()),
    }
    return sym, arrays, input_types(input_shapes, input_dtypes, may_be_open)


def only(arrays, names):
    """The arrays of these names."""
    known = set(names)
    return {name: array for name, array in arrays.items() if name in known}


def require_shapes(shapes, may_be_open=False):
    """{name: shape} as a dict. Raises ArgumentError for anything else; None is a size where shapes `may_be_open`."""
    if not isinstance(shapes, Mapping):
        hint = f"; write {{'data': {shapes!r}}}" if isinstance(shapes, (tuple, list)) else ""
        raise ArgumentError(f"input_shapes: expected a dict {{name: shape}}, got {type(shapes).__name__}{hint}")
    for name, shape in shapes.items():
        if not isinstance(shape, (list, tuple)) or (may_be_open and not any(map(_is_negative, shape))):
            continue
        if any(map(_is_unknown, shape)):
            raise ArgumentError(
                f"input_shapes: {name!r} is {tuple(shape)}: expected known sizes; of an Executor, None is a size that "
                "each call chooses"
            )
    return dict(shapes)


def _is_negative(size):
    return isinstance(size, (int, np.integer)) and size < 0


def _is_unknown(size):
    """What says elsewhere that any size will do."""
    return size is None or _is_negative(size)


def input_types(shapes, dtypes, may_be_open=False):
    """{name: (dtype or None, shape or None)} of shapes by name, and of dtypes by name or one for all."""
    shapes = require_shapes(shapes, may_be_open)
    if not isinstance(dtypes, dict):
        dtypes = {} if dtypes is None else dict.fromkeys(shapes, dtypes)
    return {name: (dtypes.get(name), shapes.get(name)) for name in {**shapes, **dtypes}}


def with_tiling(sym, tiling_accum, tile_k):
    """The Symbol whose dense layers and matrix products are summed in tiles; `sym` itself where nothing is said."""
    if tiling_accum is None and tile_k is None:
        return sym
    if tiling_accum is None or tile_k is None:
        raise ArgumentError("tiling_accum and tile_k are given together")
    if tiling_accum not in ("fp32", "bf16"):
        raise ArgumentError(f"tiling_accum: expected 'fp32' or 'bf16', got {tiling_accum!r}")
    if isinstance(tile_k, bool) or not isinstance(tile_k, (int, np.integer)) or not 1 <= tile_k < 2**31:
        raise ArgumentError(f"tile_k: expected a number from 1 to 2147483647, got {tile_k!r}")
    return Symbol(sym._handle.with_tiling(tiling_accum, int(tile_k)))
