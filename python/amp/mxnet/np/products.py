"""Sums of products over named axes: they have gradients and can be part of graphs."""

from ..._core import NDArray
from ...base import ArgumentError
from ...sym.attributes import attribute_text
from . import numpy_fallback
from .invoke import FLOATS, INTEGERS, common, run


def einsum(subscripts, *operands, out=None, optimize=False):
    """NumPy's `einsum` of text and arrays: `einsum("ij,jk->ik", a, b)`.

    Arrays are multiplied from left to right, whatever `optimize` is; two of float dtypes by a product of matrices. An
    axis that the result names twice lies on a diagonal. Raises GraphError for what is no equation, and where sizes
    differ. Operands that are lists of axes are NumPy's own computation.

    >>> mx.np.einsum("ij,j->i", mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 1]))
    array([3., 7.])
    """
    is_plain = isinstance(subscripts, str) and all(isinstance(a, NDArray) for a in operands)
    arrays = common(operands, FLOATS + INTEGERS) if is_plain and operands else None
    if arrays is None:
        return numpy_fallback.find("einsum")(subscripts, *operands, out=out, optimize=optimize)
    return run("_npi_einsum", arrays, {"num_args": str(len(arrays)), "subscripts": subscripts}, out)


def tensordot(a, b, axes=2):
    """NumPy's `tensordot`: the sum over a number of last and first axes, or over two lists of axes.

    Raises ArgumentError for lists of different lengths, and GraphError where sizes of axes differ.

    >>> mx.np.tensordot(mx.np.ones((2, 3, 4)), mx.np.ones((3, 4, 5))).shape
    (2, 5)
    """
    arrays = common([a, b], FLOATS)
    if arrays is None:
        return numpy_fallback.find("tensordot")(a, b, axes)
    if hasattr(axes, "__index__"):
        return run("_npi_tensordot_int_axes", arrays, {"axes": str(int(axes))})
    left, right = ((axis,) if hasattr(axis, "__index__") else tuple(axis) for axis in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: {len(left)} axes of a and {len(right)} of b")
    return run(
        "_npi_tensordot", arrays, {"a_axes_summed": attribute_text(left), "b_axes_summed": attribute_text(right)}
    )
