"""Functions of two operands of which one may be a number, as MXNet's legacy module has them."""

import numbers
import operator

from .._core import NDArray
from .._invoke import invoke
from ..base import ArgumentError
from . import methods


def _arithmetic(python_operator, name):
    def function(lhs, rhs):
        return python_operator(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"lhs {name} rhs, element by element, as the arrays' operator; one of them may be a number."
    return function


add = _arithmetic(operator.add, "add")
subtract = _arithmetic(operator.sub, "subtract")
multiply = _arithmetic(operator.mul, "multiply")
divide = _arithmetic(operator.truediv, "divide")
true_divide = divide
modulo = _arithmetic(operator.mod, "modulo")
power = _arithmetic(operator.pow, "power")
equal = _arithmetic(operator.eq, "equal")
not_equal = _arithmetic(operator.ne, "not_equal")
greater = _arithmetic(operator.gt, "greater")
greater_equal = _arithmetic(operator.ge, "greater_equal")
lesser = _arithmetic(operator.lt, "lesser")
lesser_equal = _arithmetic(operator.le, "lesser_equal")


def _extreme(tensor_op, scalar_op, lhs, rhs):
    if isinstance(lhs, numbers.Real):
        lhs, rhs = rhs, lhs
    if not isinstance(lhs, NDArray):
        raise ArgumentError(f"expected an array, got {type(lhs).__name__}")
    if isinstance(rhs, NDArray):
        return invoke(tensor_op, [lhs, rhs], {}, {})[0]
    text = methods.scalar_text(rhs)
    if text is None:
        raise ArgumentError(f"expected an array or a number, got {type(rhs).__name__}")
    return invoke(scalar_op, [lhs], {}, {"scalar": text})[0]


def maximum(lhs, rhs):
    """The larger of two operands, element by element; one of them may be a number."""
    return _extreme("broadcast_maximum", "_maximum_scalar", lhs, rhs)


def minimum(lhs, rhs):
    """The smaller of two operands, element by element; one of them may be a number."""
    return _extreme("broadcast_minimum", "_minimum_scalar", lhs, rhs)
