"""Errors, and what the other modules share."""

import numpy as np

from . import _core
from ._core import ArgumentError, Error, GraphError, InternalError, UnsupportedError

MXNetError = Error


class NotImplementedForSymbol(UnsupportedError):
    """The operation needs values, and a Symbol has none."""


class MissingNameError(UnsupportedError, AttributeError):
    """A name of MXNet that this package leaves out; `hasattr` is False for it.

    >>> hasattr(amp.mxnet.base, "_LIB")
    False
    """


def dtype_name(dtype):
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

    close = get_close_matches(str(name), list(candidates))
    return f"; did you mean {', '.join(map(repr, close))}?" if close else ""


def cpu_info():
    """What the kernels run on: {'isa': str, 'native_bfloat16': bool, 'onednn': version}.

    >>> sorted(amp.cpu_info())
    ['isa', 'native_bfloat16', 'onednn']
    """
    return _core.cpu_info()


# ---- constants of `mxnet.base` ----

mx_real_t = np.float32
string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)

# What names of operators begin with, by family.
_OP_NAME_PREFIX_LIST = ["_contrib_", "_linalg_", "_sparse_", "_image_", "_random_"]
_NP_OP_PREFIX = "_np_"
_NP_OP_SUBMODULE_LIST = ["_random_", "_linalg_"]
_NP_EXT_OP_PREFIX = "_npx_"
_NP_EXT_OP_SUBMODULE_LIST = ["_image_", "_random_"]
_NP_INTERNAL_OP_PREFIX = "_npi_"


def _is_np_op(op_name):
    """Whether the name is that of an operator with NumPy's semantics."""
    return op_name.startswith((_NP_OP_PREFIX, _NP_EXT_OP_PREFIX, _NP_INTERNAL_OP_PREFIX))


def __getattr__(name):
    if name.startswith("__"):  # asked for by imports, before everything is there
        raise AttributeError(name)
    from ._missing import missing

    raise missing(__name__, name, globals())


__all__ = [
    "ArgumentError",
    "Error",
    "GraphError",
    "InternalError",
    "MXNetError",
    "MissingNameError",
    "NotImplementedForSymbol",
    "UnsupportedError",
    "cpu_info",
    "dtype_name",
]
