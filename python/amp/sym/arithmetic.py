"""Arithmetic and comparison of symbols."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .._operator_names import COMPARISONS, OPERATIONS, scalar_operator
from ..attribute import AttrScope
from ..name import NameManager
from .attributes import attribute_text

if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    S = TypeVar("S", bound="Arithmetic")
    Operand: TypeAlias = "Arithmetic | float | np.number[Any] | np.bool_"


class Arithmetic:
    """The operators of Python, for Symbols and numbers on both sides.

    Those that are not registered raise UnsupportedError.
    """

    __slots__ = ()
    _is_numpy = False

    def __add__(self: S, other: Operand) -> S:
        return binary("add", self, other)

    __radd__ = __add__

    def __sub__(self: S, other: Operand) -> S:
        return binary("sub", self, other)

    def __rsub__(self: S, other: Operand) -> S:
        return binary("sub", self, other, reflected=True)

    def __mul__(self: S, other: Operand) -> S:
        return binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self: S, other: Operand) -> S:
        return binary("truediv", self, other)

    def __rtruediv__(self: S, other: Operand) -> S:
        return binary("truediv", self, other, reflected=True)

    def __mod__(self: S, other: Operand) -> S:
        return binary("mod", self, other)

    def __rmod__(self: S, other: Operand) -> S:
        return binary("mod", self, other, reflected=True)

    def __pow__(self: S, other: Operand) -> S:
        return binary("pow", self, other)

    def __rpow__(self: S, other: Operand) -> S:
        return binary("pow", self, other, reflected=True)

    # Comparisons are symbols, too: 0 or 1 for each element. `symbol == None` is False.

    def __eq__(self: S, other: object) -> S:  # type: ignore[override]
        return binary("eq", self, other)

    def __ne__(self: S, other: object) -> S:  # type: ignore[override]
        return binary("ne", self, other)

    def __gt__(self: S, other: Operand) -> S:
        return binary("gt", self, other)

    def __ge__(self: S, other: Operand) -> S:
        return binary("ge", self, other)

    def __lt__(self: S, other: Operand) -> S:
        return binary("lt", self, other)

    def __le__(self: S, other: Operand) -> S:
        return binary("le", self, other)

    __hash__ = object.__hash__

    def __neg__(self: S) -> S:
        return self * -1.0

    def __abs__(self: S) -> S:
        return compose("_npi_absolute" if self._is_numpy else "abs", "abs", {}, self)


def is_number(value):
    """Whether a value is a scalar of Python or NumPy that an expression takes."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def compose(op_name, hint, attributes, *inputs):
    """A symbol of NumPy's kind where an input is, else of the class of the inputs."""
    name = NameManager.current().get(None, hint)
    scope = AttrScope.current()
    attributes = scope.constrain({**scope.get(), **attributes})
    kind = type(max(inputs, key=lambda symbol: symbol._is_numpy))
    return kind(_core.apply(op_name, name, attributes, [symbol._handle for symbol in inputs], {}))


def binary(name, left, right, reflected=False):
    """The symbol of the expression `left <name> right` (reflected: `right <name> left`), by the names of OPERATIONS.

    NotImplemented for a `right` that is neither a Symbol nor a number.
    """
    if isinstance(right, Arithmetic):
        return compose(*_tensor_op(name, left._is_numpy or right._is_numpy), {}, left, right)
    if is_number(right):
        number = int(right) if isinstance(right, (bool, np.bool_)) else right
        op_name, hint = _scalar_op(name, left._is_numpy, reflected)
        attributes = {"scalar": attribute_text(number)}
        if left._is_numpy:
            attributes["is_int"] = str(isinstance(number, Integral))
        return compose(op_name, hint, attributes, left)
    return NotImplemented


def _tensor_op(name, is_numpy):
    operation = OPERATIONS[name]
    if is_numpy:
        return f"_npi_{operation.numpy}", operation.numpy
    is_registered = operation.elementwise in _core.operator_names()
    return operation.elementwise if is_registered else operation.broadcasting, f"_{operation.kind}"


def _scalar_op(name, is_numpy, reflected):
    """The operator, and what a node of it is named after: _plusscalar, _rpower_scalar, radd_scalar."""
    op_name = scalar_operator(name, is_numpy, reflected)
    if is_numpy:
        return op_name, op_name[len("_npi_") :]
    is_joined = not (name in COMPARISONS or name == "pow" and reflected)
    return op_name, op_name.replace("_scalar", "scalar") if is_joined else op_name
