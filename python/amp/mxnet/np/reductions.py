"""Functions with NumPy's signatures that reduce axes, multiply matrices, order elements and choose them."""

from ..._core import NDArray
from ...base import dtype_name
from ...sym.attributes import attribute_text
from ..util import is_np_default_dtype
from .create import array, asarray
from .examples import with_example
from .invoke import floats, run
from .shapes import ravel


def _reduce(op, a, axis, out, keepdims, dtype=None, **attributes):
    attributes["keepdims"] = str(bool(keepdims))
    if axis is not None:
        attributes["axis"] = attribute_text(tuple(axis) if isinstance(axis, (tuple, list)) else (int(axis),))
    if dtype is not None:
        attributes["dtype"] = dtype_name(dtype)
    return run(op, [a], attributes, out)


def _sum_like(op):
    def function(a, axis=None, dtype=None, out=None, keepdims=False):
        if op == "_npi_mean" and dtype is None and is_np_default_dtype() and asarray(a).dtype.kind in "iub":
            dtype = "float64"
        return _reduce(op, a, axis, out, keepdims, dtype)

    return function


def _deviation(op):
    def function(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None):
        ddof = ddof if correction is None else correction  # the array API's name
        return _reduce(op, a, axis, out, keepdims, dtype, ddof=str(int(ddof)))

    return function


def _logical(op):
    def function(a, axis=None, out=None, keepdims=False):
        return _reduce(op, a, axis, out, keepdims)

    return function


def _arg_reduction(op):
    def function(a, axis=None, out=None, keepdims=False):
        a = asarray(a)
        attributes = {"keepdims": str(bool(keepdims))}
        if axis is not None and (a.ndim or axis not in (0, -1)):  # NumPy lets a number have that axis
            attributes["axis"] = str(int(axis))
        return run(op, [a], attributes, out)

    return function


def max(a, axis=None, out=None, keepdims=False):  # noqa: A001 - NumPy's name
    """The largest element along an axis, several or all.

    The dtype stays. Raises GraphError for an axis that does not exist.

    >>> mx.np.max(mx.np.array([[1, 5], [3, 2]]), axis=0)
    array([3., 5.])
    """
    return _reduce("_npi_max", a, axis, out, keepdims)


def min(a, axis=None, out=None, keepdims=False):  # noqa: A001 - NumPy's name
    """The smallest element along an axis, several or all.

    The dtype stays. Raises GraphError for an axis that does not exist.

    >>> mx.np.min(mx.np.array([[1, 5], [3, 2]]), axis=0)
    array([1., 2.])
    """
    return _reduce("_npi_min", a, axis, out, keepdims)


def cumsum(a, axis=None, dtype=None, out=None):
    """Sums of all elements up to each one, along an axis or of the flattened array.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.cumsum(mx.np.array([1, 2, 3]))
    array([1., 3., 6.])
    """
    attributes = {} if axis is None else {"axis": str(int(axis))}
    if dtype is not None:
        attributes["dtype"] = dtype_name(dtype)
    return run("_npi_cumsum", [a], attributes, out)


def _of_one_float(*arrays):
    """In the float dtype that they are promoted to; others as they are: there is no product of integers."""
    return floats(*arrays) or arrays


def dot(a, b, out=None):
    """NumPy's dot: the sum over the last axis of `a` and the last but one of `b`.

    Raises GraphError where inner sizes differ.

    >>> mx.np.dot(mx.np.array([1, 2]), mx.np.array([3, 4]))
    array(11.)
    """
    return run("_npi_dot", _of_one_float(a, b), {}, out)


def matmul(a, b, out=None):
    """Products of the matrices in the last two axes.

    (..., M, K) by (..., K, N) gives (..., M, N); axes in front broadcast. Raises GraphError for shapes that do not
    fit.

    >>> mx.np.matmul(mx.np.ones((5, 2, 3)), mx.np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    return run("_npi_matmul", _of_one_float(a, b), {}, out)


def take(a, indices, axis=None, mode="raise", out=None):
    """Elements at `indices` along an axis (None: of the flattened array).

    The result has the shape of `indices` in place of the axis. Indices that the axis does not have, negative ones
    among them, are an error by default, as in MXNet; `mode` 'clip' takes the nearest instead, 'wrap' counts around.
    Raises GraphError for an axis that does not exist.

    >>> mx.np.take(mx.np.array([5, 6, 7]), [2, 0])
    array([7., 5.])
    """
    a = ravel(a) if axis is None else asarray(a)
    indices = indices if isinstance(indices, NDArray) else array(indices, "int32")
    return run("take", [a, indices], {"axis": str(int(axis or 0)), "mode": mode}, out)


MADE = {name: _sum_like(f"_npi_{name}") for name in ("sum", "mean", "prod")}
MADE.update({name: _deviation(f"_npi_{name}") for name in ("std", "var")})
MADE.update({name: _logical(f"_npi_{name}") for name in ("any", "all")})
MADE.update({name: _arg_reduction(f"_npi_{name}") for name in ("argmax", "argmin")})
for _name, _function in MADE.items():
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = with_example(
        _name,
        f"NumPy's `{_name}` along an axis, several or all; `out` is an array to write to.\n\n    "
        "With `keepdims` these axes stay, with size 1. Raises GraphError for an axis that does not exist.",
    )
