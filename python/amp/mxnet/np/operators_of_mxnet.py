"""Operators `_npi_*` of MXNet for arrays alone: `from mxnet.ndarray.numpy import _internal as _npi` has them.

They are functions of `mx.np` with MXNet's names of arguments, or written here.
"""

import sys

import numpy as np

from ... import _trace
from ...base import ArgumentError
from . import functions, linalg
from .array_class import ndarray
from .create import asarray, tri
from .invoke import into
from .reductions import take


def boolean_mask(data, index, axis=0, out=None):
    """The slices of `data` along an axis where `index` (size of the axis,) is not 0; gradients go to those."""
    _trace.refuse("boolean_mask")
    data, index = asarray(data), asarray(index)
    if not -data.ndim <= axis < data.ndim or index.shape != (data.shape[axis],):
        raise ArgumentError(f"boolean_mask: expected an index for axis {axis} of {data.shape}, got {index.shape}")
    return into(take(data, ndarray(np.flatnonzero(index.asnumpy())), axis), out)


def boolean_mask_assign_scalar(data, mask, value=0, start_axis=0, out=None):
    """`data` with a number at the places of a mask, from `start_axis` on; in memory of its own, or `out`."""
    return _assigned("boolean_mask_assign_scalar", data, mask, value, start_axis, out)


def boolean_mask_assign_tensor(data, mask, value, start_axis=0, out=None):
    """`data` with values at the places of a mask, to which they broadcast; see `boolean_mask_assign_scalar`."""
    return _assigned("boolean_mask_assign_tensor", data, mask, value, start_axis, out)


def _assigned(name, data, mask, value, start_axis, out):
    _trace.refuse(name)
    data, mask = asarray(data), asarray(mask).asnumpy().astype(bool)
    if data.shape[start_axis : start_axis + mask.ndim] != mask.shape:
        raise ArgumentError(f"{name}: mask of shape {mask.shape} does not fit axis {start_axis} of {data.shape}")
    result = data if out is data else into(data.copy(), out)
    result[(*[slice(None)] * start_axis, mask)] = value
    return result


def svd(A, out=None):  # noqa: N803 - MXNet's name
    """(U, singular values, V transposed), as `mx.np.linalg.svd`."""
    return list(linalg.svd(A))


def tensorsolve(a, b, a_axes=None):
    """`mx.np.linalg.tensorsolve`; no axes is all in their order."""
    return linalg.tensorsolve(a, b, tuple(a_axes) if a_axes else None)


def pinv(A, rcond=1e-15, hermitian=False):  # noqa: N803
    """`mx.np.linalg.pinv`"""
    return linalg.pinv(A, rcond, hermitian)


def matrix_rank(M, tol=None, hermitian=False):  # noqa: N803
    """`mx.np.linalg.matrix_rank` with an absolute bound."""
    return linalg.matrix_rank(M, tol=tol, hermitian=hermitian)


def share_memory(a, b):
    """Whether two arrays have memory in common, as an array of one truth."""
    return asarray(np.array([np.may_share_memory(np.asarray(a), np.asarray(b))]))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1):
    """`mx.np.cross`"""
    return functions.find("cross")(a, b, axisa, axisb, axisc)


def bincount(data, weights=None, minlength=0, has_weights=None):
    """`mx.np.bincount`"""
    return _of_np("bincount")(data, weights, minlength)


def nonzero(x):
    """Places of what is not 0: a row of indices for each, int64."""
    return sys.modules["amp.mxnet.npx"].nonzero(x)


def unique(data, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """`mx.np.unique`"""
    return _of_np("unique")(data, return_index, return_inverse, return_counts, axis)


def _of_np(name):
    return getattr(sys.modules[__package__], name)


def _pair(name):
    def function(lhs, rhs=None, scalar=None, **_):
        return _of_np(name)(lhs, int(scalar) if rhs is None else rhs)

    function.__name__, function.__doc__ = name, f"`mx.np.{name}` of an array and another one, or the number `scalar`."
    return function


gcd, lcm = map(_pair, ("gcd", "lcm"))

FUNCTIONS = {
    function.__name__: function
    for function in (
        bincount,
        boolean_mask,
        boolean_mask_assign_scalar,
        boolean_mask_assign_tensor,
        cross,
        gcd,
        lcm,
        matrix_rank,
        nonzero,
        pinv,
        share_memory,
        svd,
        tensorsolve,
        tri,
        unique,
    )
}
FUNCTIONS.update(gcd_scalar=gcd, lcm_scalar=lcm, pinv_scalar_rcond=pinv, matrix_rank_none_tol=matrix_rank)
# These are functions of `mx.np.linalg` and `mx.np` as they are.
_LINALG = "det eig eigh eigvals eigvalsh lstsq qr slogdet solve tensorinv".split()
_NUMPY = "delete diag_indices_from interp kron polyval rollaxis tril_indices".split()


def find(name):
    """The function of the operator `_npi_<name>`, or None."""
    if name in _LINALG:
        return getattr(linalg, name)
    return _of_np(name) if name in _NUMPY else FUNCTIONS.get(name)


def names():
    """All that `find` knows."""
    return [*FUNCTIONS, *_LINALG, *_NUMPY]
