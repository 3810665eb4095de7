"""Functions of two operands of which one may be a number, as MXNet's legacy module has them."""

from __future__ import annotations

import numbers
import operator
from typing import TYPE_CHECKING

from .._core import NDArray
from .._invoke import invoke
from ..base import ArgumentError
from . import methods

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _arithmetic(python_operator: Any, name: str, sign: str, example: str) -> Callable[[Any, Any], NDArray]:
    def function(lhs, rhs):
        return python_operator(lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""`lhs {sign} rhs`, element by element; one of them may be a number.

    Arrays have one dtype, which is the result's, and shapes that broadcast. Comparisons give 1 and 0. Raises
    ArgumentError and GraphError as the operator of arrays does.

    >>> amp.nd.{name}(amp.nd.array([4, 8]), 4)
    {example}
    <NDArray float32[2]>
    """
    return function


add = _arithmetic(operator.add, "add", "+", "[ 8. 12.]")
subtract = _arithmetic(operator.sub, "subtract", "-", "[0. 4.]")
multiply = _arithmetic(operator.mul, "multiply", "*", "[16. 32.]")
divide = _arithmetic(operator.truediv, "divide", "/", "[1. 2.]")
true_divide = divide
modulo = _arithmetic(operator.mod, "modulo", "%", "[0. 0.]")
equal = _arithmetic(operator.eq, "equal", "==", "[1. 0.]")
not_equal = _arithmetic(operator.ne, "not_equal", "!=", "[0. 1.]")
greater = _arithmetic(operator.gt, "greater", ">", "[0. 1.]")
greater_equal = _arithmetic(operator.ge, "greater_equal", ">=", "[1. 1.]")
lesser = _arithmetic(operator.lt, "lesser", "<", "[0. 0.]")
lesser_equal = _arithmetic(operator.le, "lesser_equal", "<=", "[1. 0.]")


def power(base: NDArray | float, exp: NDArray | float) -> NDArray:
    """`base ** exp`, element by element; one of them may be a number. Errors as for `add`.

    >>> amp.nd.power(base=amp.nd.array([4, 8]), exp=2)
    [16. 64.]
    <NDArray float32[2]>
    """
    return base**exp


def _commutative(tensor_op, scalar_op, lhs, rhs):
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


def maximum(lhs: NDArray | float, rhs: NDArray | float) -> NDArray:
    """The larger of two operands, element by element; one of them may be a number.

    Shapes broadcast and dtypes are equal: else GraphError. Raises ArgumentError where neither is an array.

    >>> amp.nd.maximum(amp.nd.array([-1, 2]), 0)
    [0. 2.]
    <NDArray float32[2]>
    """
    return _commutative("broadcast_maximum", "_maximum_scalar", lhs, rhs)


def minimum(lhs: NDArray | float, rhs: NDArray | float) -> NDArray:
    """The smaller of two operands, element by element; one of them may be a number.

    Shapes broadcast and dtypes are equal: else GraphError. Raises ArgumentError where neither is an array.

    >>> amp.nd.minimum(amp.nd.array([-1, 2]), 0)
    [-1.  0.]
    <NDArray float32[2]>
    """
    return _commutative("broadcast_minimum", "_minimum_scalar", lhs, rhs)


def _logical(word):
    name = f"logical_{word}"
    sign = {"and": "and", "or": "or", "xor": "or else"}[word]

    def function(lhs, rhs):
        return _commutative(f"broadcast_{name}", f"_{name}_scalar", lhs, rhs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""1 where `lhs {sign} rhs`, numbers that are not 0 being true, and else 0, element by element.

    One operand may be a number. Shapes broadcast and dtypes are equal: else GraphError. Raises ArgumentError where
    neither is an array.

    >>> amp.nd.{name}(amp.nd.array([0, 2]), 1)
    {"[0. 1.]" if word == "and" else "[1. 1.]" if word == "or" else "[1. 0.]"}
    <NDArray float32[2]>
    """
    return function


logical_and, logical_or, logical_xor = map(_logical, ("and", "or", "xor"))
