"""Functions of MXNet's symbols that are not operators of their own: constants, and arithmetic with numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base import ArgumentError, UnsupportedError
from . import operators
from .arithmetic import Arithmetic, binary, is_number

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from numpy.typing import DTypeLike

    from .symbol import Symbol

    Shape: TypeAlias = int | Sequence[int]

__all__ = [
    "arange",
    "eye",
    "full",
    "hypot",
    "linspace",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "split_v2",
    "zeros",
]


def zeros(shape: Shape, dtype: DTypeLike = None, **kwargs: Any) -> Symbol:
    """A symbol of zeros, float32 unless `dtype` says otherwise; keywords are those of operators (name, attr).

    Raises ArgumentError for unknown dtypes.

    >>> amp.sym.zeros((2,), dtype="int32").eval()[0]
    [0 0]
    <NDArray int32[2]>
    """
    return _operator("_zeros")(shape=shape, dtype=dtype or "float32", **kwargs)


def ones(shape: Shape, dtype: DTypeLike = None, **kwargs: Any) -> Symbol:
    """A symbol of ones; see `zeros`.

    >>> amp.sym.ones((2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _operator("_ones")(shape=shape, dtype=dtype or "float32", **kwargs)


def full(shape: Shape, val: float, dtype: DTypeLike = None, **kwargs: Any) -> Symbol:
    """A symbol filled with the number `val`; see `zeros`.

    >>> amp.sym.full((2,), 7).eval()[0]
    [7. 7.]
    <NDArray float32[2]>
    """
    return _operator("_full")(shape=shape, dtype=dtype or "float32", value=float(val), **kwargs)


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike = None, **kwargs: Any) -> Symbol:
    """A symbol of shape (N, M or N) with ones on its k-th diagonal; see `zeros`.

    >>> amp.sym.eye(2).eval()[0]
    [[1. 0.]
     [0. 1.]]
    <NDArray float32[2,2]>
    """
    return _operator("_eye")(N=N, M=M, k=k, dtype=dtype or "float32", **kwargs)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike = None,
) -> Symbol:
    """A symbol of the numbers from `start` up to `stop` (from 0 up to `start` without it), each `repeat` times.

    One axis, float32 by default. With `infer_range` and without `stop` they begin with `start`, and are as many as what
    reads them has.

    >>> amp.sym.arange(3).eval()[0]
    [0. 1. 2.]
    <NDArray float32[3]>
    """
    how = {"infer_range": True} if infer_range else {}
    dtype = dtype or "float32"
    return _operator("_arange")(start=start, stop=stop, step=step, repeat=repeat, name=name, dtype=dtype, **how)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: DTypeLike = None
) -> Symbol:
    """A symbol of `num` numbers with equal distances, from `start` to `stop`.

    Of the shape (num,), float32 by default.

    >>> amp.sym.linspace(0, 1, 3).eval()[0]
    [0.  0.5 1. ]
    <NDArray float32[3]>
    """
    return _operator("_linspace")(
        start=start, stop=stop, num=num, endpoint=endpoint, name=name, dtype=dtype or "float32"
    )


def split_v2(
    ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False
) -> Symbol:
    """Splits a symbol into a number of equal parts, or at the indices of a tuple.

    The result has an output per part. Inference raises GraphError for sizes that have no such parts.

    >>> amp.sym.split_v2(amp.sym.Variable("x"), 2).infer_shape(x=(4, 3))[1]
    [(2, 3), (2, 3)]
    """
    return _operator("_split_v2")(ary, axis=axis, squeeze_axis=squeeze_axis, indices_or_sections=indices_or_sections)


def maximum(left: Symbol | float, right: Symbol | float) -> Symbol:
    """The larger one, element by element; each side is a Symbol or a number.

    Shapes broadcast; two numbers give a number. Raises ArgumentError for anything else.

    >>> amp.sym.maximum(amp.sym.Variable("x"), 0).eval(x=amp.nd.array([-1, 2]))[0]
    [0. 2.]
    <NDArray float32[2]>
    """
    return _either("maximum", left, right, np.maximum)


def minimum(left: Symbol | float, right: Symbol | float) -> Symbol:
    """The smaller one, element by element; each side is a Symbol or a number.

    Shapes broadcast; two numbers give a number. Raises ArgumentError for anything else.

    >>> amp.sym.minimum(amp.sym.Variable("x"), 0).eval(x=amp.nd.array([-1, 2]))[0]
    [-1.  0.]
    <NDArray float32[2]>
    """
    return _either("minimum", left, right, np.minimum)


def hypot(left: Symbol | float, right: Symbol | float) -> Symbol:
    """sqrt(left² + right²); each side is a Symbol or a number.

    Shapes broadcast; two numbers give a number. Raises ArgumentError for anything else.

    >>> amp.sym.hypot(amp.sym.Variable("x"), 4).eval(x=amp.nd.array([3]))[0]
    [5.]
    <NDArray float32[1]>
    """
    return _either("hypot", left, right, np.hypot)


def power(base: Symbol | float, exp: Symbol | float) -> Symbol:
    """base ** exp; each side is a Symbol or a number.

    >>> amp.sym.pow(amp.sym.Variable("x"), 2).eval(x=amp.nd.array([3]))[0]
    [9.]
    <NDArray float32[1]>
    """
    return base**exp


pow = power


def _operator(name):
    function = operators.find_function(name)
    if function is None:
        raise UnsupportedError(f"the operator {name} is not registered")
    return function


def _either(kind, left, right, of_numbers):
    if is_number(left) and is_number(right):
        return of_numbers(left, right).item()
    symbol, other = (left, right) if isinstance(left, Arithmetic) else (right, left)
    result = binary(kind, symbol, other) if isinstance(symbol, Arithmetic) else NotImplemented
    if result is NotImplemented:
        raise ArgumentError(
            f"{kind}: expected Symbols and numbers, got {type(left).__name__} and {type(right).__name__}"
        )
    return result
