"""NumPy's linear algebra on `ndarray`s: by operators where there are some, else computed by NumPy."""

import math

import numpy as np

from ... import _recording, _trace
from ...sym.attributes import attribute_text
from .create import asarray
from .host import otherwise, wrapped
from .run import floats, run
from .shapes import reshape, swapaxes

__all__ = ["cholesky", "det", "eigvalsh", "inv", "norm", "slogdet", "solve", "tensorinv"]


def _on_host(function):
    return otherwise(function, np.linalg)


def _matrices(a):
    """The array if it consists of square matrices of float32 or float64; else None."""
    a = asarray(a)
    is_square = a.ndim >= 2 and a.shape[-1] == a.shape[-2]
    return a if is_square and a.dtype.name in ("float32", "float64") else None


@_on_host
def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002 - NumPy's name
    """Norms of vectors along one axis, or of matrices in two; by default the root of the sum of all squares.

    Those made of singular values (2, -2 and 'nuc' of matrices) have no gradient. Raises ValueError for an order that
    vectors or matrices do not have.

    >>> mx.np.linalg.norm(mx.np.array([3, 4]))
    array(5.)
    """
    x = asarray(x)
    if floats(x) is None or x.size == 0:
        return NotImplemented
    axes = None if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (int(axis),)
    if axes is None and ord is not None:
        axes = tuple(range(x.ndim))
    attributes = _order(ord, x.ndim if axes is None else len(axes))
    if attributes is None:
        return NotImplemented
    if axes is not None:
        attributes["axis"] = attribute_text(axes)
    return run("_npi_norm", [x], {**attributes, "keepdims": str(bool(keepdims))})


def _order(order, rank):
    """The attributes that say which norm; None where the operator has none."""
    if order is None:
        return {"flag": "-2"} if rank != 1 else {"ord": "2.0", "flag": "3"}
    if isinstance(order, str):
        flags = {"fro": "1", "nuc": "2"}
        return {"flag": flags[order]} if rank == 2 and order in flags else None
    is_known = rank == 1 or rank == 2 and abs(order) in (1, 2, np.inf)
    return {"ord": repr(float(order)), "flag": "3"} if is_known else None


@_on_host
def det(a):
    """The determinants of the matrices in the last two axes.

    Raises LinAlgError for matrices that are not square.

    >>> mx.np.linalg.det(mx.np.array([[1, 2], [3, 4]])).round(4)
    array(-2.)
    """
    a = _matrices(a)
    return NotImplemented if a is None else reshape(run("_linalg_det", [a]), a.shape[:-2])


@_on_host
def slogdet(a):
    """The signs of determinants, and the logarithms of their magnitudes, as a tuple.

    Raises LinAlgError for matrices that are not square.

    >>> sign, logarithm = mx.np.linalg.slogdet(mx.np.eye(2))
    >>> sign, logarithm
    (array(1.), array(0.))
    """
    a = _matrices(a)
    return NotImplemented if a is None else tuple(reshape(part, a.shape[:-2]) for part in run("_linalg_slogdet", [a]))


@_on_host
def inv(a):
    """The inverses of the matrices in the last two axes.

    Raises LinAlgError for matrices that are not square and for singular ones.

    >>> mx.np.linalg.inv(mx.np.array([[2, 0], [0, 4]]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = _matrices(a)
    if a is None:
        return NotImplemented
    result = run("_linalg_inverse", [a])
    if not np.isfinite(result.asnumpy()).all() and np.isfinite(a.asnumpy()).all():
        raise np.linalg.LinAlgError("Singular matrix")
    return result


def _are_composed(*arrays):
    """Whether what is made of the arrays becomes part of a graph, or has gradients."""
    return _trace.current() is not None or any(map(_recording.is_recorded, arrays))


@_on_host
def solve(a, b):
    """x of the equations a x = b, for vectors b or matrices.

    In graphs and where gradients are recorded it is computed from the factors of a = L Q; elsewhere NumPy computes it.
    Raises LinAlgError for matrices that are not square and for singular ones.

    >>> mx.np.linalg.solve(mx.np.array([[2, 0], [0, 4]]), mx.np.array([2, 2]))
    array([1. , 0.5])
    """
    a, b = _matrices(a), asarray(b)
    is_vector = b.ndim == 1
    if a is None or a.dtype != b.dtype or not _are_composed(a, b):
        return NotImplemented
    if a.shape[:-1] != (b.shape if is_vector else b.shape[:-1]):
        return NotImplemented
    q, lower = run("_linalg_gelqf", [a])
    result = run("_linalg_trsm", [lower, reshape(b, (-1, 1)) if is_vector else b])
    result = run("_linalg_gemm2", [q, result], {"transpose_a": "True"})
    if not np.isfinite(result.asnumpy()).all() and np.isfinite(b.asnumpy()).all():
        raise np.linalg.LinAlgError("Singular matrix")
    return reshape(result, (-1,)) if is_vector else result


@_on_host
def eigvalsh(a, UPLO="L"):  # noqa: N803 - NumPy's name
    """The eigenvalues of symmetric matrices in ascending order; the lower triangles are read, with UPLO="U" the upper.

    Raises LinAlgError for matrices that are not square.

    >>> mx.np.linalg.eigvalsh(mx.np.array([[2, 0], [0, 1]]))
    array([1., 2.])
    """
    a = _matrices(a)
    if a is None or UPLO not in ("L", "U"):
        return NotImplemented
    return run("_linalg_syevd", [a if UPLO == "L" else swapaxes(a, -1, -2)])[1]


@_on_host
def tensorinv(a, ind=2):
    """The inverse of an array as a map from its last axes to its first `ind` ones.

    Raises LinAlgError where the products of their sizes differ, and for singular maps.

    >>> mx.np.linalg.tensorinv(mx.np.eye(6).reshape((6, 2, 3)), ind=1).shape
    (2, 3, 6)
    """
    a = asarray(a)
    rows, columns = math.prod(a.shape[:ind]), math.prod(a.shape[ind:])
    if ind < 1 or rows != columns:
        return NotImplemented
    return reshape(inv(reshape(a, (rows, columns))), (*a.shape[ind:], *a.shape[:ind]))


@_on_host
def cholesky(a, upper=False):
    """The triangular factors L of symmetric positive definite matrices L L^T; with `upper` L^T.

    Raises LinAlgError for matrices that are not square, GraphError for those that are not positive definite.

    >>> mx.np.linalg.cholesky(mx.np.array([[4, 0], [0, 9]]))
    array([[2., 0.],
           [0., 3.]])
    """
    a = _matrices(a)
    return NotImplemented if a is None else run("_linalg_potrf", [a], {"lower": str(not upper)})


def __getattr__(name):
    function = wrapped(getattr(np.linalg, name, None), f"mx.np.linalg.{name}")
    if function is None:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *np.linalg.__all__})
