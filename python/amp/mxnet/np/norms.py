"""Norms of vectors and matrices with NumPy's signatures."""

import numpy as np

from ... import _recording, _trace
from ...sym.attributes import attribute_text
from .create import asarray
from .decompositions import svdvals
from .invoke import floats, run
from .numpy_fallback import linalg_otherwise
from .reductions import MADE, max, min  # noqa: A004 - NumPy's names
from .shapes import expand_dims, moveaxis, ravel, reshape, transpose

_INFINITIES = {"inf": np.inf, "-inf": -np.inf}  # MXNet's names
_OF_SINGULAR_VALUES = {2: max, -2: min, "nuc": MADE["sum"]}


@linalg_otherwise
def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002 - NumPy's name
    """Norms of vectors along one axis, or of matrices in two; by default the root of the sum of all squares.

    Infinite orders may be the texts 'inf' and '-inf', as in MXNet. Norms made of singular values (2, -2 and 'nuc' of
    matrices) cannot become part of graphs. Raises ValueError for an order that vectors or matrices do not have.

    >>> mx.np.linalg.norm(mx.np.array([3, 4]))
    array(5.)
    """
    x = asarray(x)
    if isinstance(ord, str) and ord in _INFINITIES:
        return norm(x, _INFINITIES[ord], axis, keepdims)
    if floats(x) is None or x.size == 0 and ord in (np.inf, -np.inf):
        return NotImplemented
    axes = None if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (int(axis),)
    if axes is None and (ord is not None or x.ndim == 1):
        axes = tuple(range(x.ndim))
    attributes = _order(ord, x.ndim if axes is None else len(axes))
    if attributes is None:
        return NotImplemented
    if axes is not None:
        attributes["axis"] = attribute_text(axes)
    if len(axes or ()) == 2 and ord in _OF_SINGULAR_VALUES:
        if x.size == 0:
            return NotImplemented
        if _has_gradient(x):
            return _norm_of_singular_values(x, ord, axes, keepdims)
    return run("_npi_norm", [x], {**attributes, "keepdims": str(bool(keepdims))})


def _has_gradient(x):
    """Whether singular values need one: now, or in a graph that may be trained later."""
    return x.dtype.name in ("float32", "float64") and (_trace.current() is not None or _recording.is_recorded(x))


def _norm_of_singular_values(x, order, axes, keepdims):
    values = svdvals(moveaxis(x, axes, (-2, -1)))
    result = _OF_SINGULAR_VALUES[order](values, axis=-1)
    for axis in sorted(axis % x.ndim for axis in axes) if keepdims else ():
        result = expand_dims(result, axis)
    return result


def _order(order, rank):
    """The attributes that say which norm; None where the operator has none."""
    if order is None:
        return {"flag": "-2"} if rank != 1 else {"ord": "2.0", "flag": "3"}
    if isinstance(order, str):
        flags = {"fro": "1", "nuc": "2"}
        return {"flag": flags[order]} if rank == 2 and order in flags else None
    is_known = rank == 1 or rank == 2 and abs(order) in (1, 2, np.inf)
    return {"ord": repr(float(order)), "flag": "3"} if is_known else None


def vector_norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002 - NumPy's name
    """Norms of vectors along an axis, along several as if they were one, or of all elements; by default the 2-norm.

    With `keepdims` one axis stays where it is; for several, or all, the result has an axis of size 1 in front, as in
    MXNet. Raises GraphError for an axis that does not exist.

    >>> mx.np.linalg.vector_norm(mx.np.array([[3, 0], [0, 4]]))
    array(5.)
    """
    x = asarray(x)
    if axis is None:
        x, axis = ravel(x), 0
    elif isinstance(axis, (tuple, list)):
        axes = [i % x.ndim if -x.ndim <= i < x.ndim else i for i in axis]
        x = transpose(x, [*axes, *(i for i in range(x.ndim) if i not in axes)])
        size = int(np.prod(x.shape[: len(axes)]))
        x, axis = reshape(x, (size, *x.shape[len(axes) :])), 0
    return norm(x, ord, axis, keepdims)


def matrix_norm(x, ord="fro", axis=(-2, -1), keepdims=False):  # noqa: A002 - NumPy's name
    """Norms of the matrices in two axes; by default Frobenius'.

    Raises ValueError unless `axis` is a pair, and for an order that matrices do not have.

    >>> mx.np.linalg.matrix_norm(mx.np.array([[3, 0], [0, -4]]), 1)
    array(4.)
    """
    if not isinstance(axis, (tuple, list)) or len(axis) != 2:
        raise ValueError(f"matrix_norm: axis is a pair of axes, got {axis!r}")
    return norm(x, ord, tuple(axis), keepdims)
