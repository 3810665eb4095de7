"""What values have to be: `constraint.check(value)` gives them back, or raises ValueError."""

import functools
import operator

from ._array_constraints import Cat, LowerCholesky, LowerTriangular, PositiveDefinite, Simplex, Stack
from ._constraint_base import Constraint, dependent_property, is_dependent  # noqa: F401

__all__ = [
    "Boolean",
    "Cat",
    "Constraint",
    "GreaterThan",
    "GreaterThanEq",
    "HalfOpenInterval",
    "IntegerGreaterThan",
    "IntegerGreaterThanEq",
    "IntegerHalfOpenInterval",
    "IntegerInterval",
    "IntegerLessThan",
    "IntegerLessThanEq",
    "IntegerOpenInterval",
    "Interval",
    "LessThan",
    "LessThanEq",
    "LowerCholesky",
    "LowerTriangular",
    "NonNegative",
    "NonNegativeInteger",
    "OpenInterval",
    "Positive",
    "PositiveDefinite",
    "PositiveInteger",
    "Real",
    "Simplex",
    "Stack",
    "UnitInterval",
]


class Real(Constraint):
    """Anything but NaN.

    >>> mx.gluon.probability.constraint.Real().check(0.5)
    0.5
    """

    _kind = "real numbers"

    def _holds(self, value):
        return value == value


class Boolean(Constraint):
    """0 or 1.

    >>> mx.gluon.probability.constraint.Boolean().check(1.0)
    1.0
    """

    _kind = "either 0 or 1"

    def _holds(self, value):
        return (value == 0) | (value == 1)


# ---- ranges ----


class _Test:
    """One comparison: with the attribute that holds the bound."""

    def __init__(self, text, bound, compare):
        self.text, self.bound, self.compare = text, bound, compare


_ABOVE, _AT_LEAST = _Test(">", "_lower_bound", operator.gt), _Test(">=", "_lower_bound", operator.ge)
_BELOW, _AT_MOST = _Test("<", "_upper_bound", operator.lt), _Test("<=", "_upper_bound", operator.le)
_INTEGER = _Test("a multiple of", "_step", lambda value, step: value % step == 0)


class _Range(Constraint):
    _tests = ()
    _step = 1

    def _holds(self, value):
        return functools.reduce(operator.and_, (test.compare(value, getattr(self, test.bound)) for test in self._tests))

    def _description(self):
        return " and ".join(f"{test.text} {getattr(self, test.bound)}" for test in self._tests)


class _TwoBounds(_Range):
    def __init__(self, lower_bound, upper_bound):
        super().__init__()
        self._lower_bound, self._upper_bound = lower_bound, upper_bound


class _LowerBound(_Range):
    def __init__(self, lower_bound):
        super().__init__()
        self._lower_bound = lower_bound


class _UpperBound(_Range):
    def __init__(self, upper_bound):
        super().__init__()
        self._upper_bound = upper_bound


class Interval(_TwoBounds):
    """Numbers from `lower_bound` to `upper_bound`.

    >>> mx.gluon.probability.constraint.Interval(0, 1).check(1.0)
    1.0
    """

    _tests = (_AT_LEAST, _AT_MOST)


class OpenInterval(_TwoBounds):
    """Numbers between `lower_bound` and `upper_bound`.

    >>> mx.gluon.probability.constraint.OpenInterval(0, 1).check(0.5)
    0.5
    """

    _tests = (_ABOVE, _BELOW)


class HalfOpenInterval(_TwoBounds):
    """Numbers from `lower_bound` to below `upper_bound`.

    >>> mx.gluon.probability.constraint.HalfOpenInterval(0, 1).check(0.0)
    0.0
    """

    _tests = (_AT_LEAST, _BELOW)


class IntegerInterval(_TwoBounds):
    """Integers from `lower_bound` to `upper_bound`.

    >>> mx.gluon.probability.constraint.IntegerInterval(0, 3).check(3.0)
    3.0
    """

    _tests = (_INTEGER, _AT_LEAST, _AT_MOST)


class IntegerOpenInterval(_TwoBounds):
    """Integers between `lower_bound` and `upper_bound`.

    >>> mx.gluon.probability.constraint.IntegerOpenInterval(0, 3).check(2.0)
    2.0
    """

    _tests = (_INTEGER, _ABOVE, _BELOW)


class IntegerHalfOpenInterval(_TwoBounds):
    """Integers from `lower_bound` to below `upper_bound`.

    >>> mx.gluon.probability.constraint.IntegerHalfOpenInterval(0, 3).check(0.0)
    0.0
    """

    _tests = (_INTEGER, _AT_LEAST, _BELOW)


class GreaterThan(_LowerBound):
    """Numbers above `lower_bound`.

    >>> mx.gluon.probability.constraint.GreaterThan(1).check(2.0)
    2.0
    """

    _tests = (_ABOVE,)


class GreaterThanEq(_LowerBound):
    """Numbers from `lower_bound` on.

    >>> mx.gluon.probability.constraint.GreaterThanEq(1).check(1.0)
    1.0
    """

    _tests = (_AT_LEAST,)


class LessThan(_UpperBound):
    """Numbers below `upper_bound`.

    >>> mx.gluon.probability.constraint.LessThan(1).check(0.5)
    0.5
    """

    _tests = (_BELOW,)


class LessThanEq(_UpperBound):
    """Numbers up to `upper_bound`.

    >>> mx.gluon.probability.constraint.LessThanEq(1).check(1.0)
    1.0
    """

    _tests = (_AT_MOST,)


class IntegerGreaterThan(_LowerBound):
    """Integers above `lower_bound`.

    >>> mx.gluon.probability.constraint.IntegerGreaterThan(1).check(2.0)
    2.0
    """

    _tests = (_INTEGER, _ABOVE)


class IntegerGreaterThanEq(_LowerBound):
    """Integers from `lower_bound` on.

    >>> mx.gluon.probability.constraint.IntegerGreaterThanEq(1).check(1.0)
    1.0
    """

    _tests = (_INTEGER, _AT_LEAST)


class IntegerLessThan(_UpperBound):
    """Integers below `upper_bound`.

    >>> mx.gluon.probability.constraint.IntegerLessThan(1).check(0.0)
    0.0
    """

    _tests = (_INTEGER, _BELOW)


class IntegerLessThanEq(_UpperBound):
    """Integers up to `upper_bound`.

    >>> mx.gluon.probability.constraint.IntegerLessThanEq(1).check(1.0)
    1.0
    """

    _tests = (_INTEGER, _AT_MOST)


class UnitInterval(Interval):
    """Numbers from 0 to 1.

    >>> mx.gluon.probability.constraint.UnitInterval().check(0.5)
    0.5
    """

    def __init__(self):
        super().__init__(0, 1)


class Positive(GreaterThan):
    """Numbers above 0.

    >>> mx.gluon.probability.constraint.Positive().check(0.5)
    0.5
    """

    def __init__(self):
        super().__init__(0)


class NonNegative(GreaterThanEq):
    """Numbers from 0 on.

    >>> mx.gluon.probability.constraint.NonNegative().check(0.0)
    0.0
    """

    def __init__(self):
        super().__init__(0)


class PositiveInteger(IntegerGreaterThan):
    """Integers above 0.

    >>> mx.gluon.probability.constraint.PositiveInteger().check(1.0)
    1.0
    """

    def __init__(self):
        super().__init__(0)


class NonNegativeInteger(IntegerGreaterThanEq):
    """Integers from 0 on.

    >>> mx.gluon.probability.constraint.NonNegativeInteger().check(0.0)
    0.0
    """

    def __init__(self):
        super().__init__(0)
