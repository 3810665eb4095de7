"""Constraints of vectors and matrices, and of the parts of arrays."""

from .... import np
from ._constraint_base import Constraint


class Simplex(Constraint):
    """Vectors of numbers from 0 on that add up to 1.

    >>> mx.gluon.probability.constraint.Simplex().check(mx.np.array([0.25, 0.75]))
    array([0.25, 0.75])
    """

    _kind = ">= 0, and the sum over the last axis 1"

    def _holds(self, value):
        return np.all(value >= 0, axis=-1) & (np.abs(value.sum(-1) - 1) < 1e-6)


class LowerTriangular(Constraint):
    """Square matrices with 0 above the diagonal.

    >>> mx.gluon.probability.constraint.LowerTriangular().check(mx.np.array([[1, 0], [2, 3]]))
    array([[1., 0.],
           [2., 3.]])
    """

    _kind = "square lower triangular matrices"

    def _holds(self, value):
        return np.tril(value) == value


class LowerCholesky(Constraint):
    """Square matrices with 0 above a positive diagonal.

    >>> mx.gluon.probability.constraint.LowerCholesky().check(mx.np.array([[1, 0], [2, 3]]))
    array([[1., 0.],
           [2., 3.]])
    """

    _kind = "square lower triangular matrices with a positive diagonal"

    def _holds(self, value):
        return np.all(np.tril(value) == value, axis=-1) & (np.diagonal(value, axis1=-2, axis2=-1) > 0)


class PositiveDefinite(Constraint):
    """Symmetric matrices with positive eigenvalues.

    >>> mx.gluon.probability.constraint.PositiveDefinite().check(mx.np.array([[2, 1], [1, 2]]))
    array([[2., 1.],
           [1., 2.]])
    """

    _kind = "positive definite matrices"

    def _holds(self, value):
        return np.all(np.abs(value - value.mT) < 1e-5, axis=-1) & (np.linalg.eigvalsh(value) > 0)


# ---- several constraints ----


class Cat(Constraint):
    """Parts of an array along an axis: the first has `lengths[0]` rows and obeys the first constraint, and so on.

    Each has one row by default.

    >>> constraint = mx.gluon.probability.constraint
    >>> constraint.Cat([constraint.Positive(), constraint.Real()]).check(mx.np.array([1, -1]))
    array([ 1., -1.])
    """

    def __init__(self, constraint_seq, axis=0, lengths=None):
        self._constraint_seq, self._axis = _checked(constraint_seq), axis
        self._lengths = [1] * len(self._constraint_seq) if lengths is None else list(lengths)
        if len(self._lengths) != len(self._constraint_seq):
            raise AssertionError(f"{len(self._lengths)} lengths of {len(self._constraint_seq)} constraints")

    def check(self, value):
        """`value`, each part of which was checked. Raises ValueError where one does not obey its constraint."""
        starts = [sum(self._lengths[:i]) for i in range(1, len(self._lengths))]
        parts = np.split(value, starts, axis=self._axis)
        return np.concatenate([c.check(part) for c, part in zip(self._constraint_seq, parts)], self._axis)


class Stack(Constraint):
    """Rows of an array along an axis: each obeys a constraint of its own.

    >>> constraint = mx.gluon.probability.constraint
    >>> constraint.Stack([constraint.Positive(), constraint.Real()]).check(mx.np.array([1, -1]))
    array([ 1., -1.])
    """

    def __init__(self, constraint_seq, axis=0):
        self._constraint_seq, self._axis = _checked(constraint_seq), axis

    def check(self, value):
        """`value`, each row of which was checked. Raises ValueError where one does not obey its constraint."""
        rows = np.split(value, len(self._constraint_seq), axis=self._axis)
        rows = [np.squeeze(row, axis=self._axis) for row in rows]
        return np.stack([c.check(row) for c, row in zip(self._constraint_seq, rows)], self._axis)


def _checked(constraints):
    """They as a list. Raises AssertionError, as MXNet does, for anything else among them."""
    others = [type(c).__name__ for c in constraints if not isinstance(c, Constraint)]
    if others:
        raise AssertionError(f"expected constraints, got {', '.join(others)}")
    return list(constraints)
