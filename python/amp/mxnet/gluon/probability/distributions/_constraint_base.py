"""What constraints have in common."""

from .utils import constraint_check


class Constraint:
    """What values have to be. Subclasses define `check`, or `_holds`: whether a value obeys, an array or a bool.

    >>> isinstance(mx.gluon.probability.constraint.Real(), mx.gluon.probability.constraint.Constraint)
    True
    """

    _kind = "of its domain"

    def check(self, value):
        """`value`, an array or a number. Raises ValueError where it does not obey the constraint."""
        try:
            return constraint_check()(self._holds(value), "") * value
        except ValueError as error:
            raise type(error)(f"Constraint violated: {value} should be {self._description()}") from None

    def _holds(self, value):
        raise NotImplementedError

    def _description(self):
        return self._kind


class _Dependent(Constraint):
    """A constraint that depends on parameters."""

    def check(self, value):
        raise ValueError("a constraint that depends on parameters cannot be checked without them")


def is_dependent(constraint):
    """Whether a constraint depends on parameters."""
    return isinstance(constraint, _Dependent)


class dependent_property(property, _Dependent):  # noqa: N801 - MXNet's name
    """A property that is a constraint which depends on parameters."""
