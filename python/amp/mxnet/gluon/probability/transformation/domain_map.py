"""Which transformation maps all numbers to a domain."""

from numbers import Number

from ..distributions import constraint as _constraints
from .transformation import AffineTransform, ComposeTransform, ExpTransform, SigmoidTransform

__all__ = ["biject_to", "domain_map", "transform_to"]


class domain_map:  # noqa: N801 - MXNet's name
    """Transformations to domains: functions of constraints, registered for their classes.

    Called with a constraint it gives the transformation from all numbers to what obeys it. Raises NotImplementedError
    for a constraint of another class.

    >>> positive = mx.gluon.probability.constraint.Positive()
    >>> mx.gluon.probability.biject_to(positive)(mx.np.array([0]))
    array([1.])
    """

    def __init__(self):
        self._storage = {}

    def register(self, constraint, factory=None):
        """`factory` makes the transformation for a constraint of this class; without it a decorator is returned.

        `constraint` is a class or an object of it. Raises TypeError for anything else.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, _constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, _constraints.Constraint):
            raise TypeError(f"expected a constraint or a class of constraints, got {constraint}")
        self._storage[kind] = factory
        return factory

    def __call__(self, constraint):
        """The transformation to what obeys the constraint."""
        factory = self._storage.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transformation to {type(constraint).__name__} is registered")
        return factory(constraint)


biject_to, transform_to = domain_map(), domain_map()


def _to_positive(constraint):
    return ExpTransform()


def _to_greater_than(constraint):
    return ComposeTransform([ExpTransform(), AffineTransform(constraint._lower_bound, 1)])


def _to_less_than(constraint):
    return ComposeTransform([ExpTransform(), AffineTransform(constraint._upper_bound, -1)])


def _to_interval(constraint):
    low, high = constraint._lower_bound, constraint._upper_bound
    if isinstance(low, Number) and isinstance(high, Number) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


_FACTORIES = {
    _constraints.Positive: _to_positive,
    _constraints.NonNegative: _to_positive,
    _constraints.GreaterThan: _to_greater_than,
    _constraints.GreaterThanEq: _to_greater_than,
    _constraints.LessThan: _to_less_than,
    _constraints.LessThanEq: _to_less_than,
    _constraints.Interval: _to_interval,
    _constraints.OpenInterval: _to_interval,
    _constraints.HalfOpenInterval: _to_interval,
    _constraints.UnitInterval: _to_interval,
}
for _map in (biject_to, transform_to):
    for _kind, _factory in _FACTORIES.items():
        _map.register(_kind, _factory)
