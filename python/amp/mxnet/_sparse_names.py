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


def cast_storage(arr, stype):
    """The array itself for the storage 'default'. Raises UnsupportedError for others."""
    if stype != "default":
        raise UnsupportedError(f"cast_storage: {_REASON}, got stype {stype!r}")
    return arr


# On dense arrays they are those of `mx.nd`.
_UPDATES = ("adam_update", "ftrl_update", "sgd_mom_update", "sgd_update")


def install():
    """Puts them there."""
    nd.cast_storage = cast_storage
    for each in (BaseSparseNDArray, CSRNDArray, RowSparseNDArray, cast_storage, zeros):
        setattr(nd.sparse, each.__name__, each)
    for name in ("add", "divide", "multiply", "subtract", *_UPDATES):
        setattr(nd.sparse, name, getattr(nd, name))
    for name in ("adagrad_update", "array", "csr_matrix", "empty", "retain", "row_sparse_array"):
        setattr(nd.sparse, name, refusing(f"nd.sparse.{name}", _REASON))
