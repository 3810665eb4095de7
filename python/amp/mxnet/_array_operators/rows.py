"""Rows of operators of shapes and places. Those of matrices are in `matrix_rows`."""

import numpy as np

from ... import _core
from ...base import ArgumentError
from .. import nd_functions, npx
from .. import np as mx_np
from .._slice_assignment import _slice_assign
from ..np import operators_of_mxnet as of_mxnet
from ..np.array_class import ndarray
from ..operator.array_operators import operator
from . import shapes


def _promoted(dtypes, attributes):
    return [np.result_type(*dtypes)]


def _truth(dtypes, attributes):
    return [np.dtype(bool)]


# ---- functions of mx.np ----


@operator("_npi_kron", dtypes=_promoted, shapes=shapes.kron)
def _kron(a, b):
    """The Kronecker product."""
    return mx_np.kron(a, b)


@operator("_npi_cross", dtypes=_promoted, shapes=shapes.cross)
def _cross(a, b, *, axisa=-1, axisb=-1, axisc=-1):
    """The cross product of vectors along an axis."""
    return mx_np.cross(a, b, axisa, axisb, axisc)


@operator("_npi_rollaxis", shapes=shapes.rollaxis)
def _rollaxis(data, *, axis, start=0):
    """Data with an axis moved before another one."""
    return mx_np.rollaxis(data, axis, start)


@operator("_npi_polyval", dtypes=_promoted, shapes=shapes.polyval)
def _polyval(p, x):
    """The values of a polynomial; the coefficient of the highest power comes first."""
    return mx_np.polyval(p, x)


def _float64(dtypes, attributes):
    return [np.dtype(np.float64)]


def _absent_x(attributes):
    return ["x"] * bool(attributes.get("x_is_scalar", False))


@operator("_npi_interp", dtypes=_float64, without=_absent_x, shapes=shapes.interp)
def _interp(xp, fp, x=None, *, left=None, right=None, period=None, x_scalar=0.0, x_is_scalar=False):
    """Values between points, on the line from one to the next."""
    at = mx_np.array(x_scalar, dtype="float64") if x_is_scalar else x
    return mx_np.interp(at, xp, fp, left, right, period).astype("float64")


def _absent_ends(attributes):
    names = {"input2": attributes.get("to_begin_arr_given", False) or attributes.get("to_end_arr_given", False)}
    names["input3"] = attributes.get("to_begin_arr_given", False) and attributes.get("to_end_arr_given", False)
    return [name for name, is_there in names.items() if not is_there]


@operator("_npi_ediff1d", without=_absent_ends, shapes=shapes.ediff1d)
def _ediff1d(
    input1,
    input2=None,
    input3=None,
    *,
    to_begin_arr_given=False,
    to_end_arr_given=False,
    to_begin_scalar=None,
    to_end_scalar=None,
):
    """Differences of neighbours, with values before and behind them."""
    begin = input2 if to_begin_arr_given else to_begin_scalar
    end = (input3 if to_begin_arr_given else input2) if to_end_arr_given else to_end_scalar
    return mx_np.ediff1d(input1, end, begin)


@operator(
    "_npi_diag_indices_from",
    dtypes=lambda dtypes, attributes: [np.dtype(np.int64)],
    shapes=lambda data: [(len(data), data[0])],
)
def _diag_indices_from(data):
    """The places of the main diagonal, a row for each axis."""
    return mx_np.array(np.stack(np.diag_indices(data.shape[0], data.ndim)), dtype="int64")


@operator("_npi_fill_diagonal", shapes=shapes.like_first)
def _fill_diagonal(a, *, val, wrap=False):
    """Data with numbers on its main diagonal."""
    filled = a.copy()
    mx_np.fill_diagonal(filled, val[0] if len(val) == 1 else np.array(val), wrap)
    return filled


@operator(
    "_npi_tri",
    dtypes=lambda dtypes, attributes: [np.dtype(attributes.get("dtype", "float32"))],
    shapes=shapes.tri,
)
def _tri(*, N, M=None, k=0, dtype="float32"):  # noqa: N803 - MXNet's name
    """Ones at and below a diagonal."""
    return mx_np.tri(N, M, k, dtype=dtype)


@operator(
    "_npi_tril_indices",
    count=2,
    dtypes=lambda dtypes, attributes: [np.dtype(np.int64)] * 2,
    shapes=shapes.tril_indices,
)
def _tril_indices(*, n, m, k=0):
    """The rows and the columns of the places at and below a diagonal."""
    return [mx_np.array(each, dtype="int64") for each in np.tril_indices(n, k, m)]


@operator("_npi_gcd_scalar", shapes=shapes.like_first)
def _gcd_scalar(data, *, scalar=1.0, is_int=True):
    """The greatest common divisor with a number."""
    return mx_np.gcd(data, int(scalar)).astype(data.dtype)


@operator("_npi_lcm_scalar", shapes=shapes.like_first)
def _lcm_scalar(data, *, scalar=1.0, is_int=True):
    """The least common multiple with a number."""
    return mx_np.lcm(data, int(scalar)).astype(data.dtype)


@operator("_npi_share_memory", dtypes=_truth, shapes=lambda *shapes: [()])
def _share_memory(a, b):
    """Whether two arrays have memory in common: those of a graph have none."""
    return mx_np.array(False)


@operator("_npx_constraint_check", dtypes=_truth, shapes=lambda *shapes, **attributes: [()])
def _constraint_check(input, *, msg="Constraint violated."):  # noqa: A002 - MXNet's name
    """True; an error where an element is not true."""
    return npx.constraint_check(input, msg)


def _dtype_of_number(number):
    known = {_core.dtype_code(name): name for name in _NUMBERED}
    if number not in (-1, *known):
        raise ArgumentError(f"expected a dtype's number, got {number!r:.40}")
    return np.dtype(known.get(number, "float32"))


_NUMBERED = ("float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool")


@operator(
    "_zeros_without_dtype",
    dtypes=lambda dtypes, attributes: [_dtype_of_number(attributes.get("dtype", -1))],
    shapes=lambda shape=(), dtype=-1: [tuple(shape)],
)
def _zeros_without_dtype(*, shape=(), dtype=-1):
    """Zeros of MXNet's dtype of this number; -1 is float32."""
    return mx_np.zeros(shape, dtype=_dtype_of_number(dtype))


# ---- elements at places ----


@operator("_npi_repeats", shapes=shapes.repeats)
def _repeats(data, *, repeats, axis=None):
    """Each element along an axis as often as its count says."""
    return mx_np.repeat(data, tuple(repeats), axis)


@operator("_npi_advanced_indexing", shapes=shapes.advanced_indexing)
def _advanced_indexing(data, indices):
    """The parts data[i] for the indices i."""
    if indices.dtype.kind not in "iu":
        raise ArgumentError(f"expected integers, got {indices.dtype}: no shape says how many parts a mask selects")
    return data[indices]


def _place(start, stop, step, int_ind, size):
    return int_ind if int_ind is not None else np.arange(*slice(start, stop, step).indices(size))


def _inserted(arr, values, places, axis, val):
    if values is None:
        values = mx_np.array(val, dtype=arr.dtype)
    if isinstance(places, ndarray):
        places = places.asnumpy()
    return mx_np.insert(arr, places, values.astype(arr.dtype), axis)


def _absent_values(attributes):
    return ["values"] * (attributes.get("val") is not None)


@operator("_npi_insert_scalar", "_npi_insert_slice", without=_absent_values, shapes=shapes.insert)
def _insert(arr, values=None, *, val=None, start=None, stop=None, step=None, int_ind=None, axis=None):
    """Data with values before a place, or before those of a slice."""
    size = arr.size if axis is None else arr.shape[axis]
    return _inserted(arr, values, _place(start, stop, step, int_ind, size), axis, val)


@operator("_npi_insert_tensor", without=_absent_values, shapes=shapes.insert_at)
def _insert_tensor(arr, values=None, obj=None, *, val=None, start=None, stop=None, step=None, int_ind=None, axis=None):
    """Data with values before places."""
    return _inserted(arr, values, obj, axis, val)


# ---- data with other values in a part of it ----


@operator("_slice_assign", "_crop_assign", "_npi_slice_assign", shapes=shapes.like_first)
def _assign(lhs, rhs, *, begin, end, step=()):
    """The data with other values in a slice."""
    return _slice_assign(lhs, rhs, begin, end, step)


@operator("_slice_assign_scalar", "_crop_assign_scalar", "_npi_slice_assign_scalar", shapes=shapes.like_first)
def _assign_scalar(data, *, begin, end, step=(), scalar=0.0):
    """The data with a number in a slice."""
    return _slice_assign(data, scalar, begin, end, step)


@operator("_npi_boolean_mask_assign_scalar", shapes=shapes.like_first)
def _mask_assign_scalar(data, mask, *, value=0.0, start_axis=0):
    """The data with a number where a mask is true."""
    return of_mxnet.boolean_mask_assign_scalar(data, mask, value, start_axis)


@operator("_npi_boolean_mask_assign_tensor", shapes=shapes.like_first)
def _mask_assign_tensor(data, mask, value, *, start_axis=0):
    """The data with values where a mask is true."""
    return of_mxnet.boolean_mask_assign_tensor(data, mask, value, start_axis)


@operator("_scatter_set_nd", "_npi_scatter_set_nd", shapes=shapes.like_first)
def _scatter_set_nd(lhs, rhs, indices, *, shape):
    """The data with other values at places, which `indices` have a column each for."""
    changed = lhs.copy()
    changed[tuple(indices.astype("int64"))] = rhs
    return changed


@operator("_onehot_encode", shapes=lambda indices, out: [out], dtypes=lambda dtypes, attributes: [dtypes[1]])
def _onehot_encode(lhs, rhs):
    """Rows of zeros with a one at the index of each, in the shape of `rhs`."""
    return mx_np.array(np.eye(rhs.shape[1])[lhs.asnumpy().astype(int)]).astype(rhs.dtype)


@operator("fill_element_0index", shapes=shapes.like_first)
def _fill_element_0index(lhs, mhs, rhs):
    """The data with an element of each row replaced: that at the index in `rhs` by the number in `mhs`."""
    changed = lhs.copy()
    changed[np.arange(len(lhs)), rhs.astype("int64")] = mhs
    return changed


# ---- results whose shapes depend on values ----


@operator("_contrib_dynamic_reshape", is_dynamic=True)
def _dynamic_reshape(data, shape):
    """Data in a shape that an array holds."""
    return nd_functions.dynamic_reshape(data, shape)


@operator("_contrib_boolean_mask", "_npi_boolean_mask", is_dynamic=True)
def _boolean_mask(data, index, *, axis=0):
    """The slices along an axis where the index is not 0."""
    return of_mxnet.boolean_mask(data, index, axis)


@operator("_npi_nonzero", "_npx_nonzero", is_dynamic=True)
def _nonzero(x):
    """The places of what is not 0, a row for each."""
    return of_mxnet.nonzero(x)


def _absent_weights(attributes):
    return ["weights"] * (not attributes.get("has_weights"))


@operator("_npi_bincount", is_dynamic=True, without=_absent_weights)
def _bincount(data, weights=None, *, minlength=0, has_weights=False):
    """How often each number occurs."""
    return mx_np.bincount(data, weights, minlength)


def _parts_of_unique(attributes):
    return 1 + sum(bool(attributes.get(name)) for name in ("return_index", "return_inverse", "return_counts"))


@operator("_npi_unique", is_dynamic=True, count=_parts_of_unique)
def _unique(data, *, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """The values that occur, in their order."""
    return mx_np.unique(data, return_index, return_inverse, return_counts, axis)


def _absent_places(attributes):
    return ["obj"] * bool({"start", "stop", "step", "int_ind"} & set(attributes))


@operator("_npi_delete", is_dynamic=True, without=_absent_places)
def _delete(arr, obj=None, *, start=None, stop=None, step=None, int_ind=None, axis=None):
    """Data without the elements, or the slices along an axis, at places."""
    size = arr.size if axis is None else arr.shape[axis]
    places = _place(start, stop, step, int_ind, size) if obj is None else obj.asnumpy()
    return mx_np.delete(arr, places, axis)
