"""Names of `mx.nd.sparse` that programs ask about dense arrays: classes that no array has, and functions."""

from .. import nd
from .._missing import refusing
from ..base import UnsupportedError

_REASON = "sparse arrays are not supported"


class BaseSparseNDArray:
    """No array is one. Raises UnsupportedError."""

    def __init__(self, *args, **kwargs):
        raise UnsupportedError(f"{type(self).__name__}: {_REASON}")


class CSRNDArray(BaseSparseNDArray):
    """No array is one."""


class RowSparseNDArray(BaseSparseNDArray):
    """No array is one."""


def zeros(stype, shape, ctx=None, dtype=None, **kwargs):
    """`mx.nd.zeros` for the storage 'default'. Raises UnsupportedError for others."""
    if stype != "default":
        raise UnsupportedError(f"zeros: {_REASON}, got stype {stype!r}")
    return nd.zeros(shape, dtype=dtype or "float32")


def install():
    """Puts them there."""
    for each in (BaseSparseNDArray, CSRNDArray, RowSparseNDArray, zeros):
        setattr(nd.sparse, each.__name__, each)
    for name in ("add", "divide", "multiply", "subtract"):
        setattr(nd.sparse, name, getattr(nd, name))
    for name in ("array", "csr_matrix", "empty", "row_sparse_array"):
        setattr(nd.sparse, name, refusing(f"nd.sparse.{name}", _REASON))
