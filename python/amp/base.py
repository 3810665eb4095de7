"""Errors, and what the other modules share."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from . import _core
from ._core import ArgumentError, Error, GraphError, InternalError, OutOfRangeError, PlanMismatch, UnsupportedError

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

MXNetError = Error


class NotImplementedForSymbol(UnsupportedError):
    """The operation needs values, and a Symbol has none."""


class MissingNameError(UnsupportedError, AttributeError):
    """A name of MXNet that this package leaves out; `hasattr` is False for it.

    >>> hasattr(amp.sym.contrib, "quantize")
    False
    """


class PoolFull(Error):
    """As many requests wait as an `amp.Pool` has places for."""


def dtype_name(dtype: DTypeLike) -> str:
    """The name of an element type: 'float32', 'bfloat16', ...

    Accepts names, NumPy's dtypes and scalar types, ml_dtypes.bfloat16, MXNet's structured dtype
    [('bfloat16', numpy.uint16)] and Python's bool, int and float as NumPy reads them. Raises
    ArgumentError for anything that names no supported type.

    >>> amp.dtype_name(np.float16), amp.dtype_name(float), amp.dtype_name(amp.nd.bfloat16)
    ('float16', 'float64', 'bfloat16')
    """
    return _core.dtype_name(dtype)


def did_you_mean(name, candidates):
    """ "; did you mean 'a', 'b'?", the end of an error message about an unknown name; '' where nothing is close."""
    from difflib import get_close_matches

    name, candidates = str(name), list(candidates)
    longer = [candidate for candidate in candidates if candidate.startswith(f"{name}_")]  # a node's outputs
    close = list(dict.fromkeys([*longer, *get_close_matches(name, candidates)]))[:3]
    return f"; did you mean {', '.join(map(repr, close))}?" if close else ""


def one_line(error):
    """What an error says, in one line, for people."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory{f': {error}' if str(error) else ''}"
    is_file = isinstance(error, OSError) and error.filename is not None and error.strerror
    text = f"{os.fsdecode(error.filename)}: {error.strerror}" if is_file else str(error)
    return " ".join(line.strip() for line in text.splitlines() if line.strip()) or type(error).__name__


def log(text, *values):
    """Tells Python's `logging` of what was done: logger "amp", level INFO. Nobody listens who has not imported it."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("amp").info(text, *values)


def cpu_info() -> dict[str, Any]:
    """What the kernels run on: a dict.

    'cpu': str; 'isa': str, of oneDNN; 'multiplies_by_tiles' and 'multiplies_int16': bool, whether own kernels do;
    'native_bfloat16': bool, whether oneDNN computes in it; 'onednn': str, its version; 'onednn_is_channels_last': bool,
    whether its convolutions of images read and write channels last; 'threads': int.

    >>> sorted(key for key, value in amp.cpu_info().items() if isinstance(value, bool))
    ['multiplies_by_tiles', 'multiplies_int16', 'native_bfloat16', 'onednn_is_channels_last']
    """
    return _core.cpu_info()


__all__ = [
    "ArgumentError",
    "Error",
    "GraphError",
    "InternalError",
    "MXNetError",
    "MissingNameError",
    "NotImplementedForSymbol",
    "OutOfRangeError",
    "PlanMismatch",
    "PoolFull",
    "UnsupportedError",
    "cpu_info",
    "dtype_name",
]
