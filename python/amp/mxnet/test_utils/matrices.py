"""Random matrices of tests, as NumPy arrays: well-conditioned ones, whose eigenvalues are real."""

import numpy as np


def new_orthonormal_matrix_2d(n):
    """An orthonormal matrix (n, n).

    >>> q = mx.test_utils.new_orthonormal_matrix_2d(3)
    >>> np.allclose(q @ q.T, np.eye(3))
    True
    """
    return np.linalg.qr(np.random.standard_normal((n, n)))[0]


def new_matrix_with_real_eigvals_2d(n):
    """A matrix (n, n) with real eigenvalues between -10 and 10, and eigenvectors of a condition number below 3.

    >>> values = np.linalg.eigvals(mx.test_utils.new_matrix_with_real_eigvals_2d(3))
    >>> bool(np.isreal(values).all() and abs(values).max() <= 10)
    True
    """
    vectors = new_orthonormal_matrix_2d(n) * np.random.uniform(0.6, 1.0, n) @ new_orthonormal_matrix_2d(n)
    return np.linalg.inv(vectors) @ np.diag(np.random.uniform(-10, 10, n)) @ vectors


def new_matrix_with_real_eigvals_nd(shape):
    """Such matrices, (..., n, n).

    >>> mx.test_utils.new_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_2d(n):
    """A symmetric matrix (n, n) with eigenvalues between -10 and 10.

    >>> a = mx.test_utils.new_sym_matrix_with_real_eigvals_2d(3)
    >>> np.allclose(a, a.T)
    True
    """
    vectors = new_orthonormal_matrix_2d(n)
    matrix = vectors.T @ np.diag(np.random.uniform(-10, 10, n)) @ vectors
    return (matrix + matrix.T) / 2


def new_sym_matrix_with_real_eigvals_nd(shape):
    """Such matrices, (..., n, n).

    >>> mx.test_utils.new_sym_matrix_with_real_eigvals_nd((2, 3, 3)).shape
    (2, 3, 3)
    """
    return _stacked(new_sym_matrix_with_real_eigvals_2d, shape)


def _stacked(make, shape):
    count = int(np.prod(shape[:-2]))
    return np.array([make(shape[-1]) for _ in range(count)]).reshape(shape)
