"""Rows of operators of matrices."""

import math

import numpy as np

from ...base import ArgumentError
from .. import np as mx_np
from ..operator.array_operators import operator
from . import shapes


def _floats(*others):
    """The dtypes of results: that to which inputs are promoted, float64 for integers, or those of `others` given."""

    def dtypes_of(dtypes, attributes):
        dtype = np.result_type(*dtypes)
        dtype = np.dtype(np.float64) if dtype.kind in "iub" else dtype
        return [dtype if other is None else np.dtype(other) for other in others or (None,)]

    return dtypes_of


def _matrix(shape):
    if len(shape) < 2:
        raise ArgumentError(f"expected matrices, got an array of shape {shape}")
    return shape[:-2], *shape[-2:]


def _square(shape):
    batch, rows, columns = _matrix(shape)
    if rows != columns:
        raise ArgumentError(f"expected square matrices, got an array of shape {shape}")
    return batch, rows


def _svd_shapes(shape):
    batch, rows, columns = _matrix(shape)
    least = min(rows, columns)
    return [(*batch, rows, least), (*batch, least), (*batch, least, columns)]


def _qr_shapes(shape):
    batch, rows, columns = _matrix(shape)
    least = min(rows, columns)
    return [(*batch, rows, least), (*batch, least, columns)]


def _values_shapes(shape, **attributes):
    batch, size = _square(shape)
    return [(*batch, size)]


def _vectors_shapes(shape, **attributes):
    return [*_values_shapes(shape), shape]


def _inverse_shapes(shape, *others, **attributes):
    batch, rows, columns = _matrix(shape)
    return [(*batch, columns, rows)]


@operator("_npi_solve", dtypes=_floats(), shapes=shapes.solve)
def _solve(A, B):  # noqa: N803 - MXNet's names
    """x of the equations A x = B."""
    return mx_np.linalg.solve(A, B)


@operator("_npi_svd", count=3, shapes=_svd_shapes, dtypes=_floats(None, None, None))
def _svd(A):  # noqa: N803
    """The singular values of matrices, and their vectors."""
    return mx_np.linalg.svd(A)


@operator("_npi_qr", count=2, shapes=_qr_shapes, dtypes=_floats(None, None))
def _qr(A):  # noqa: N803
    """Matrices as orthogonal ones times triangular ones."""
    return mx_np.linalg.qr(A)


@operator("_npi_eig", count=2, shapes=_vectors_shapes, dtypes=_floats(None, None))
def _eig(A):  # noqa: N803
    """The eigenvalues and eigenvectors of square matrices; an error where they are not real."""
    return mx_np.linalg.eig(A)


@operator("_npi_eigvals", shapes=_values_shapes, dtypes=_floats())
def _eigvals(A):  # noqa: N803
    """The eigenvalues of square matrices; an error where they are not real."""
    return mx_np.linalg.eigvals(A)


@operator("_npi_eigh", count=2, shapes=_vectors_shapes, dtypes=_floats(None, None))
def _eigh(A, *, UPLO="L"):  # noqa: N803
    """The eigenvalues and eigenvectors of symmetric matrices, of which one half is read."""
    return mx_np.linalg.eigh(A, UPLO)


@operator("_npi_eigvalsh", shapes=_values_shapes, dtypes=_floats())
def _eigvalsh(A, *, UPLO="L"):  # noqa: N803
    """The eigenvalues of symmetric matrices, of which one half is read."""
    return mx_np.linalg.eigvalsh(A, UPLO)


@operator("_npi_pinv", shapes=_inverse_shapes, dtypes=_floats())
def _pinv(A, rcond, *, hermitian=False):  # noqa: N803
    """Pseudo-inverses; singular values below `rcond` times the largest count as 0."""
    return mx_np.linalg.pinv(A, rcond, hermitian)


@operator("_npi_pinv_scalar_rcond", shapes=_inverse_shapes, dtypes=_floats())
def _pinv_scalar_rcond(A, *, rcond=1e-15, hermitian=False):  # noqa: N803
    """Pseudo-inverses; singular values below `rcond` times the largest count as 0."""
    return mx_np.linalg.pinv(A, rcond, hermitian)


@operator("_npi_tensorinv", shapes=lambda shape, ind=2: [(*shape[ind:], *shape[:ind])], dtypes=_floats())
def _tensorinv(a, *, ind=2):
    """The inverse of an array as a map of arrays; the first `ind` axes are those of its results."""
    return mx_np.linalg.tensorinv(a, ind)


@operator("_npi_tensorsolve", dtypes=_floats(), shapes=shapes.tensorsolve)
def _tensorsolve(a, b, *, a_axes=()):
    """x of the equation tensordot(a, x) = b; `a_axes` are moved to the end of a before."""
    return mx_np.linalg.tensorsolve(a, b, tuple(a_axes) or None)


def _lstsq_shapes(a, b, **attributes):
    _, rows, columns = _matrix(a)
    residuals = (math.prod(b[1:]),) if rows > columns else (0,)
    return [(columns, *b[1:]), residuals, (), (min(rows, columns),)]


@operator("_npi_lstsq", count=4, shapes=_lstsq_shapes, dtypes=_floats(None, None, "int64", None))
def _lstsq(A, B, *, rcond=-1.0, finfoEps32=0.0, finfoEps64=0.0, new_default=False):  # noqa: N803
    """x with the least squares of A x - B, the sums of these, the rank and the singular values of A."""
    if new_default:
        rcond = (finfoEps64 if A.dtype.itemsize == 8 else finfoEps32) * max(A.shape)
    return mx_np.linalg.lstsq(A, B, rcond)


@operator("_npi_matrix_rank", shapes=lambda shape, *others, **attributes: [shape[:-2]], dtypes=_floats("int64"))
def _matrix_rank(M, tol, *, hermitian=False):  # noqa: N803
    """How many singular values are above `tol`."""
    return mx_np.linalg.matrix_rank(M, tol, hermitian)


@operator("_npi_matrix_rank_none_tol", shapes=lambda shape, **attributes: [shape[:-2]], dtypes=_floats("int64"))
def _matrix_rank_none_tol(M, *, finfoEps32=0.0, finfoEps64=0.0, hermitian=False):  # noqa: N803
    """How many singular values are above the largest times the larger size times a dtype's precision."""
    return mx_np.linalg.matrix_rank(M, None, hermitian)
