"""Errors, and constants of MXNet's module `base`."""

import os

import numpy as np

from ..base import (
    ArgumentError,
    Error,
    GraphError,
    InternalError,
    MissingNameError,
    MXNetError,
    NotImplementedForSymbol,
    OutOfRangeError,
    UnsupportedError,
)
from ._missing import getter

__all__ = [
    "ArgumentError",
    "Error",
    "GraphError",
    "InternalError",
    "MXNetError",
    "MissingNameError",
    "NotImplementedForSymbol",
    "OutOfRangeError",
    "UnsupportedError",
    "data_dir",
    "data_dir_default",
    "py_str",
]

mx_real_t = np.float32
string_types = (str,)
numeric_types = (float, int, np.generic)
integer_types = (int, np.int32, np.int64)


def py_str(x):
    """Bytes as text; text, which is what this package passes to callbacks, stays as it is.

    >>> mx.base.py_str(b"conv0")
    'conv0'
    """
    return x if isinstance(x, str) else x.decode("utf-8")


def data_dir_default():
    """The folder `.mxnet` of the user's home.

    >>> mx.base.data_dir_default().endswith(".mxnet")
    True
    """
    return os.path.join(os.path.expanduser("~"), ".mxnet")


def data_dir():
    """The folder for files of data: that of the variable MXNET_HOME, else `data_dir_default()`.

    >>> with mx.test_utils.environment("MXNET_HOME", "/data"):
    ...     print(mx.base.data_dir())
    /data
    """
    return os.environ.get("MXNET_HOME", data_dir_default())


def _as_list(values):
    """A list or a tuple as it is, anything else as a list of one."""
    return values if isinstance(values, (list, tuple)) else [values]


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


__getattr__ = getter(__name__)
