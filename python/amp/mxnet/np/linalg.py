"""NumPy's linear algebra on `ndarray`s: by operators where there are some, else computed by NumPy."""

import math

import numpy as np

from ... import _recording, _trace
from ..._core import NDArray
from .array_class import ndarray
from .create import asarray
from .decompositions import eigh, eigvalsh, pinv, qr, svd, svdvals
from .graph_nodes import as_node
from .invoke import run
from .matrices import cross as _cross
from .matrices import diagonal as _diagonal
from .matrices import outer
from .matrices import trace as _trace_of
from .norms import matrix_norm, norm, vector_norm
from .numpy_fallback import linalg_otherwise, wrapped
from .products import tensordot
from .shapes import reshape, swapaxes, transpose

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrix_norm",
    "matrix_rank",
    "matrix_transpose",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vector_norm",
]
_numpys_lstsq = wrapped(np.linalg.lstsq, "mx.np.linalg.lstsq")
_numpys_rank = wrapped(np.linalg.matrix_rank, "mx.np.linalg.matrix_rank")


def _matrices(a):
    """The array if it consists of square matrices of float32 or float64; else None."""
    a = asarray(a)
    is_square = a.ndim >= 2 and a.shape[-1] == a.shape[-2]
    return a if is_square and a.dtype.name in ("float32", "float64") else None


@linalg_otherwise
def det(a):
    """The determinants of the matrices in the last two axes.

    Raises LinAlgError for matrices that are not square.

    >>> mx.np.linalg.det(mx.np.array([[1, 2], [3, 4]])).round(4)
    array(-2.)
    """
    a = _matrices(a)
    return NotImplemented if a is None else reshape(run("_linalg_det", [a]), a.shape[:-2])


@linalg_otherwise
def slogdet(a):
    """The signs of determinants, and the logarithms of their magnitudes, as a tuple.

    Raises LinAlgError for matrices that are not square.

    >>> sign, logarithm = mx.np.linalg.slogdet(mx.np.eye(2))
    >>> sign, logarithm
    (array(1.), array(0.))
    """
    a = _matrices(a)
    return NotImplemented if a is None else tuple(reshape(part, a.shape[:-2]) for part in run("_linalg_slogdet", [a]))


def _is_singular(result, source):
    """Whether what was computed has other numbers than finite ones; not asked of values that a graph will have."""
    if _trace.current() is not None:
        return False
    return not np.isfinite(result.asnumpy()).all() and np.isfinite(source.asnumpy()).all()


@linalg_otherwise
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
    if _is_singular(result, a):
        raise np.linalg.LinAlgError("Singular matrix")
    return result


def _are_composed(*arrays):
    """Whether what is made of the arrays becomes part of a graph, or has gradients."""
    return _trace.current() is not None or any(map(_recording.is_recorded, arrays))


@linalg_otherwise
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
    if _is_singular(result, b):
        raise np.linalg.LinAlgError("Singular matrix")
    return reshape(result, (-1,)) if is_vector else result


@linalg_otherwise
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


@linalg_otherwise
def tensorsolve(a, b, axes=None):
    """x of the equations tensordot(a, x, x.ndim) = b; the axes `axes` of `a` are moved to its end before.

    Raises LinAlgError where the products of sizes differ, and for singular maps.

    >>> mx.np.linalg.tensorsolve(mx.np.eye(6).reshape((6, 2, 3)), mx.np.arange(6)).shape
    (2, 3)
    """
    a, b = asarray(a), asarray(b)
    if axes is not None:
        last = [axis % a.ndim for axis in axes]
        a = transpose(a, [*(i for i in range(a.ndim) if i not in last), *last])
    shape = a.shape[b.ndim - a.ndim :]
    columns = math.prod(shape)
    if a.size != columns**2 or b.size != columns:
        return NotImplemented
    return reshape(solve(reshape(a, (columns, columns)), reshape(b, (-1,))), shape)


def _without_tolerance(M, rtol=None, hermitian=False, tol=None):  # noqa: N803
    if rtol is not None or tol is not None:
        return None
    return [M], {"hermitian": hermitian, "finfoEps32": 2.0**-23, "finfoEps64": 2.0**-52}


@as_node("_npi_matrix_rank_none_tol", _without_tolerance)
def matrix_rank(M, rtol=None, hermitian=False, tol=None):  # noqa: N803 - NumPy's name
    """How many singular values of matrices are larger than `rtol` (or `tol`), int64.

    By default that bound is the largest one times the larger size times the dtype's precision. Raises ValueError for
    bounds of shapes that do not fit.

    >>> mx.np.linalg.matrix_rank(mx.np.array([[1, 1], [1, 1]]))
    array(1)
    """
    rank = _numpys_rank(asarray(M), tol if rtol is None else rtol, hermitian)
    return rank if isinstance(rank, NDArray) else ndarray(np.asarray(rank, "int64"))


def _of_squares(a, b, rcond="warn"):
    known = -1 if rcond is None or isinstance(rcond, str) else rcond
    return [a, b], {"rcond": known, "new_default": rcond is None, "finfoEps32": 2.0**-23, "finfoEps64": 2.0**-52}


@as_node("_npi_lstsq", _of_squares)
def lstsq(a, b, rcond="warn"):
    """x with the least squares of a x - b, the sums of those squares, the rank of `a`, and its singular values.

    Singular values up to `rcond` times the largest one count as 0; 'warn' stands for the precision of the machine, None
    for that times the larger size of `a`. Raises LinAlgError for shapes that do not fit.

    >>> x, _, rank, _ = mx.np.linalg.lstsq(mx.np.array([[1, 0], [0, 2]]), mx.np.array([3, 4]))
    >>> x, rank
    (array([3., 2.]), array(2, dtype=int32))
    """
    return _numpys_lstsq(a, b, -1 if isinstance(rcond, str) and rcond == "warn" else rcond)


def matrix_transpose(a):
    """The matrices in the last two axes, transposed.

    Raises ValueError for arrays of fewer axes.

    >>> mx.np.linalg.matrix_transpose(mx.np.ones((4, 2, 3))).shape
    (4, 3, 2)
    """
    a = asarray(a)
    if a.ndim < 2:
        raise ValueError(f"matrix_transpose: expected an array with two axes or more, got shape {a.shape}")
    return swapaxes(a, -1, -2)


def cross(a, b, axis=-1):
    """`mx.np.cross` of vectors along one axis of both arrays, which is that of the result, too.

    Raises ValueError for vectors that have neither two elements nor three.

    >>> mx.np.linalg.cross(mx.np.array([1, 0, 0]), mx.np.array([0, 1, 0]))
    array([0., 0., 1.])
    """
    return _cross(a, b, axis=axis)


def trace(a, offset=0):
    """The sums of the diagonals in the planes of the first two axes, as in MXNet.

    Raises ValueError for arrays of fewer axes.

    >>> mx.np.linalg.trace(mx.np.array([[1, 2], [3, 4]]))
    array(5.)
    """
    return _trace_of(a, offset)


def diagonal(a, offset=0):
    """The diagonals in the planes of the first two axes; they are the last axis of the result.

    Raises ValueError for arrays of fewer axes.

    >>> mx.np.linalg.diagonal(mx.np.array([[1, 2], [3, 4]]))
    array([1., 4.])
    """
    return _diagonal(a, offset)


@linalg_otherwise
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
