"""NumPy's factors of matrices on `ndarray`s, with gradients."""

import numpy as np

from ..._core import NDArray
from .create import asarray
from .graph_nodes import as_node
from .invoke import run
from .numpy_fallback import linalg_otherwise, wrapped
from .numpy_fallback_gradients import computed
from .shapes import swapaxes

_DTYPES = ("float32", "float64")
_numpys_eigh = wrapped(np.linalg.eigh, "mx.np.linalg.eigh")
_numpys_pinv = wrapped(np.linalg.pinv, "mx.np.linalg.pinv")


def are_matrices(a):
    """Whether an array consists of matrices that are factored here."""
    return a.ndim >= 2 and a.dtype.name in _DTYPES


def _thin(a, full_matrices=False, compute_uv=True, hermitian=False):
    return None if full_matrices or not compute_uv else ([a], {})


@as_node("_npi_svd", _thin)
@linalg_otherwise
def svd(a, full_matrices=False, compute_uv=True, hermitian=False):
    """Singular values s, descending, and matrices u, v of orthonormal columns and rows, so that a = u diag(s) v.

    They have shapes (..., K) and (..., M, K), (..., K, N) with K = min(M, N). The largest element of every row of `v`
    is positive, as in MXNet. Where singular values are equal, or 0, the gradients of `u` and `v` do not exist: terms
    that would divide by 0 are left out. `full_matrices`, and `compute_uv=False`, are NumPy's own computation. Raises
    LinAlgError for arrays of fewer axes than two.

    >>> u, s, v = mx.np.linalg.svd(mx.np.array([[0, 2], [-3, 0]]))
    >>> s
    array([3., 2.])
    """
    a = asarray(a)
    if full_matrices or not compute_uv or hermitian or not are_matrices(a):
        return NotImplemented
    return computed("mx.np.linalg.svd", _svd, _svd_gradient, a)


def svdvals(a):
    """The singular values of the matrices in the last two axes, descending.

    Raises LinAlgError for arrays of fewer axes than two.

    >>> mx.np.linalg.svdvals(mx.np.array([[0, 2], [-3, 0]]))
    array([3., 2.])
    """
    a = asarray(a)
    return svd(a)[1] if are_matrices(a) else svd(a, compute_uv=False)


def _svd(a):
    u, s, v = np.linalg.svd(a, full_matrices=False)
    if v.size:
        largest = np.take_along_axis(v, np.abs(v).argmax(-1)[..., None], -1)
        signs = np.where(largest < 0, -1, 1).astype(v.dtype)
        u, v = u * np.swapaxes(signs, -1, -2), v * signs
    return u, s, v


def _svd_gradient(inputs, results, gradients):
    """J. Townsend, Differentiating the Singular Value Decomposition (2016), for real matrices."""
    (u, s, v), (du, ds, dv) = results, gradients
    if not inputs[0].size:
        return [np.zeros_like(inputs[0])]
    vt, dvt, inverse = _t(v), _t(dv), _reciprocal(s)
    f = _reciprocal((s[..., None, :] - s[..., :, None]) * (s[..., None, :] + s[..., :, None]))
    inner = f * (_t(u) @ du - _t(du) @ u) * s[..., None, :] + s[..., :, None] * f * (v @ dvt - dv @ vt)
    inner = inner + ds[..., None] * np.eye(s.shape[-1], dtype=s.dtype)
    left = (du - u @ (_t(u) @ du)) * inverse[..., None, :]
    right = inverse[..., :, None] * (dv - (dv @ vt) @ v)
    return [u @ (inner @ v + right) + left @ v]


def _t(a):
    return np.swapaxes(a, -1, -2)


def _reciprocal(a):
    return np.divide(1, a, out=np.zeros_like(a), where=a != 0)


@as_node("_npi_qr", lambda a, mode="reduced": ([a], {}) if mode in (None, "reduced") else None)
@linalg_otherwise
def qr(a, mode="reduced"):
    """Matrices q of orthonormal columns (..., M, K) and upper triangles r (..., K, N), K = min(M, N), so that a = q r.

    Gradients exist where the first K columns are linearly independent. Other modes are NumPy's own computation. Raises
    LinAlgError for arrays of fewer axes than two.

    >>> q, r = mx.np.linalg.qr(mx.np.array([[2, 1], [0, 3], [0, 0]]))
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    a = asarray(a)
    if mode != "reduced" or not are_matrices(a):
        return NotImplemented
    return computed("mx.np.linalg.qr", lambda x: tuple(np.linalg.qr(x)), _qr_gradient, a)


def _qr_gradient(inputs, results, gradients):
    """D. and L. Roberts, QR and LQ Decomposition Matrix Backpropagation Algorithms (2020)."""
    (a,), (q, r), (dq, dr) = inputs, results, gradients
    rows = a.shape[-2]
    if not a.size:
        return [np.zeros_like(a)]
    if rows >= a.shape[-1]:
        return [_tall_qr_gradient(q, r, dq, dr)]
    left, right = dr[..., :rows], dr[..., rows:]  # those of the square part, and of the columns behind it
    square = _tall_qr_gradient(q, r[..., :rows], dq + a[..., rows:] @ _t(right), left)
    return [np.concatenate([square, q @ right], -1)]


def _tall_qr_gradient(q, r, dq, dr):
    m = r @ _t(dr) - _t(dq) @ q
    symmetric = np.tril(m) + _t(np.tril(m, -1))
    return _t(np.linalg.solve(r, _t(dq + q @ symmetric)))


def eigh(a, upper=False, UPLO=None):  # noqa: N803 - NumPy's name
    """The eigenvalues of symmetric matrices, ascending, and matrices whose columns are the eigenvectors, as a tuple.

    The lower triangles are read, or with `upper` (or NumPy's UPLO="U") the upper ones. Gradients exist where no two
    eigenvalues are equal. Raises LinAlgError for matrices that are not square.

    >>> mx.np.linalg.eigh(mx.np.array([[2, 0], [0, 1]]))[0]
    array([1., 2.])
    """
    a, triangle = asarray(a), triangle_of(upper, UPLO)
    if not are_matrices(a) or a.shape[-1] != a.shape[-2]:
        return _numpys_eigh(a, triangle)
    vectors, values = run("_linalg_syevd", [a if triangle == "L" else swapaxes(a, -1, -2)])
    return values, swapaxes(vectors, -1, -2)


def eigvalsh(a, upper=False, UPLO=None):  # noqa: N803 - NumPy's name
    """The eigenvalues of symmetric matrices in ascending order.

    The lower triangles are read, or with `upper` (or NumPy's UPLO="U") the upper ones. Raises LinAlgError for matrices
    that are not square.

    >>> mx.np.linalg.eigvalsh(mx.np.array([[2, 0], [0, 1]]))
    array([1., 2.])
    """
    return eigh(a, upper, UPLO)[0]


def triangle_of(upper, name):
    """'U' or 'L'. `upper` is what MXNet names so, or NumPy's text in its place. Raises ValueError for another text."""
    triangle = name or upper
    if isinstance(triangle, str) and triangle.upper() not in ("L", "U"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', got {triangle!r}")
    return triangle.upper() if isinstance(triangle, str) else "U" if triangle else "L"


def _with_tolerance(a, rtol=None, hermitian=False, rcond=None):
    tolerance = rcond if rtol is None else rtol
    return None if isinstance(tolerance, NDArray) else ([a], {"rcond": tolerance, "hermitian": hermitian})


@as_node("_npi_pinv_scalar_rcond", _with_tolerance)
def pinv(a, rtol=None, hermitian=False, rcond=None):
    """The pseudo-inverses of the matrices in the last two axes.

    Singular values up to `rtol` (NumPy's `rcond`) times the largest one count as 0. Gradients hold that choice fixed.
    Raises LinAlgError for arrays of fewer axes than two.

    >>> mx.np.linalg.pinv(mx.np.array([[2, 0], [0, 4], [0, 0]]))
    array([[0.5 , 0.  , 0.  ],
           [0.  , 0.25, 0.  ]])
    """
    a, tolerance = asarray(a), rcond if rtol is None else rtol
    if tolerance is None:
        tolerance = 1e-15
    if not are_matrices(a) or hermitian:
        return _numpys_pinv(a, tolerance, hermitian)
    bound = tolerance.asnumpy() if isinstance(tolerance, NDArray) else tolerance
    return computed("mx.np.linalg.pinv", lambda x: (np.linalg.pinv(x, bound),), _pinv_gradient, a)[0]


def _pinv_gradient(inputs, results, gradients):
    """G. Golub and V. Pereyra, The Differentiation of Pseudo-Inverses and Nonlinear Least Squares Problems (1973)."""
    (a,), (p,), (dp,) = inputs, results, gradients
    pt, dpt = _t(p), _t(dp)
    rows, columns = (np.eye(n, dtype=a.dtype) for n in a.shape[-2:])
    return [(rows - a @ p) @ dpt @ p @ pt + pt @ p @ dpt @ (columns - p @ a) - pt @ dp @ pt]
