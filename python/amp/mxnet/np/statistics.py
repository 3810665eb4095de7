"""Functions with NumPy's signatures that order elements, average and count them."""

import numbers

import numpy as np

from ..._core import NDArray
from ...sym.attributes import attribute_text
from .create import asarray
from .elementwise import binary
from .invoke import floats, run
from .numpy_fallback import otherwise
from .reductions import MADE, max, min  # noqa: A004 - NumPy's names
from .shapes import broadcast_to

_subtract, _not_equal = binary("subtract"), binary("not_equal")
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
_PERCENTILES = ("float32", "float64")  # dtypes


@otherwise
def sort(a, axis=-1, descending=False, stable=True, kind=None, order=None):
    """The elements in ascending order along an axis, or of the flattened array; `descending` turns the order around.

    Equal elements keep their order, so that `stable` and `kind` have no effect. Raises GraphError for an axis that does
    not exist.

    >>> mx.np.sort(mx.np.array([3, 1, 2]), descending=True)
    array([3., 2., 1.])
    """
    ascends, order = _order(descending, stable, order)
    return NotImplemented if order is not None else run("sort", [a], {"axis": _axis_text(axis), "is_ascend": ascends})


@otherwise
def argsort(a, axis=-1, descending=False, stable=True, kind=None, order=None):
    """The indices that sort an array along an axis, or the flattened array, int64; equal elements keep their order.

    `descending` puts the largest element first; `stable` and `kind` have no effect. Raises GraphError for an axis that
    does not exist.

    >>> mx.np.argsort(mx.np.array([3, 1, 2]))
    array([1, 2, 0])
    """
    ascends, order = _order(descending, stable, order)
    if order is not None:
        return NotImplemented
    return run("argsort", [a], {"axis": _axis_text(axis), "is_ascend": ascends, "dtype": "int64"})


def _order(descending, stable, order):
    """Whether elements ascend, as text, and fields to order by: NumPy's third and fourth argument are other ones."""
    is_numpys = descending is None or isinstance(descending, str)  # its `kind`
    if is_numpys and not isinstance(stable, bool):
        order = stable
    return str(is_numpys or not descending), order


def _axis_text(axis):
    return "None" if axis is None else str(int(axis))


def _axes(axis):
    return {} if axis is None else {"axis": attribute_text(tuple(axis) if isinstance(axis, (tuple, list)) else (axis,))}


@otherwise
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    """The mean along an axis, several or all, weighted by an array of the same shape, or of one axis.

    With `returned` a pair: averages and sums of weights. Raises GraphError for shapes that do not fit, and
    ZeroDivisionError for weights whose sum is 0.

    >>> mx.np.average(mx.np.array([1, 2, 3]), weights=mx.np.array([3, 1, 0]))
    array(1.25)
    """
    arrays = floats(*([a] if weights is None else [a, weights]))
    if arrays is None or keepdims:
        return NotImplemented
    if weights is not None and arrays[1].shape != arrays[0].shape and (arrays[1].ndim != 1 or not _is_one(axis)):
        return NotImplemented
    attributes = {**_axes(axis), "weighted": str(weights is not None), "returned": "True"}
    mean, total = run("_npi_average", arrays, attributes)
    if weights is not None and not total.asnumpy().all():
        raise ZeroDivisionError("average: weights sum to zero")
    if not returned:
        return mean
    return mean, broadcast_to(total, mean.shape) if total.shape != mean.shape else total


def _is_one(axis):
    return axis is not None and not isinstance(axis, (tuple, list))


@otherwise
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **kwargs):
    """Percentiles along an axis, several or all; for a list of them `q` the first axis of the result.

    `method` (or MXNet's `interpolation`) is 'linear', 'lower', 'higher', 'midpoint' or 'nearest'; others are NumPy's
    own computation. There is no gradient. Raises GraphError for an axis that does not exist.

    >>> mx.np.percentile(mx.np.array([1, 2, 3]), 50)
    array(2.)
    """
    a, method = asarray(a), kwargs.pop("interpolation", None) or method
    if kwargs or method not in _METHODS or a.dtype.name not in _PERCENTILES or a.size == 0:
        return NotImplemented
    attributes = {**_axes(axis), "interpolation": method, "keepdims": str(bool(keepdims))}
    if isinstance(q, numbers.Real):
        return run("_npi_percentile", [a], {**attributes, "q_scalar": repr(float(q))}, out)
    return run("_npi_percentile", [a, asarray(q).astype(a.dtype, copy=False)], attributes, out)


@otherwise
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, **kwargs):
    """Quantiles, as `percentile` of 100 q; NumPy computes those of other methods than 'linear'.

    There is no gradient. Raises GraphError for an axis that does not exist.

    >>> mx.np.quantile(mx.np.array([1, 2, 3]), 0.25)
    array(1.5)
    """
    if kwargs or method != "linear" or asarray(a).dtype.name not in _PERCENTILES:
        return NotImplemented
    percentage = q * 100 if isinstance(q, (numbers.Real, NDArray)) else np.multiply(q, 100.0).tolist()
    return percentile(a, percentage, axis, out, keepdims=keepdims)


@otherwise
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """The element in the middle, or the mean of the two there, along an axis, several or all.

    There is no gradient. Raises GraphError for an axis that does not exist.

    >>> mx.np.median(mx.np.array([1, 9, 2]))
    array(2.)
    """
    a = asarray(a)
    if a.dtype.name not in _PERCENTILES:
        return NotImplemented
    return percentile(a, 50, axis, out, keepdims=keepdims)


def ptp(a, axis=None, out=None, keepdims=False):
    """The largest element minus the smallest, along an axis, several or all.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.ptp(mx.np.array([1, 9, 2]))
    array(8.)
    """
    return _subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims), out)


def count_nonzero(a, axis=None, *, keepdims=False):
    """How many elements are not 0 along an axis, several or all, int64.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.count_nonzero(mx.np.array([0, 3, 5]))
    array(2)
    """
    return MADE["sum"](_not_equal(a, 0), axis, keepdims=keepdims)
