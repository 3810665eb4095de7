"""Which part of a sequence a rank of a ring has."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

import numpy as np

from .. import nd
from .._arrays import readable
from ..base import ArgumentError
from ._checks import checked_rank, is_integer_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def split_for_ring(x: Any, rank: int, size: int, axis: int) -> Any:
    """The part of rank `rank` of `size`: of 2 * size equal chunks along `axis`, chunks rank and 2 * size - 1 - rank.

    With a causal mask all ranks then have the same work.

    >>> amp.distributed.split_for_ring(np.arange(8), 0, 2, axis=0)
    array([0, 1, 6, 7])
    """
    array = _numpy(x)
    axis = _axis_of(array, axis)
    if not isinstance(size, numbers.Integral) or size < 1:
        raise ArgumentError(f"split_for_ring: expected at least one rank, got {size!r}")
    rank = checked_rank("split_for_ring", rank, size)
    if array.shape[axis] % (2 * size):
        raise ArgumentError(
            f"split_for_ring: {array.shape[axis]} positions cannot be cut into {2 * size} equal chunks, two of a rank"
        )
    chunks = np.split(array, 2 * size, axis)
    return _like(x, np.concatenate([chunks[rank], chunks[2 * size - 1 - rank]], axis))


def join_from_ring(parts: Sequence[Any], axis: int) -> Any:
    """The inverse: the whole from the parts of all ranks, in their order.

    >>> parts = [amp.distributed.split_for_ring(np.arange(8), rank, 2, axis=0) for rank in (0, 1)]
    >>> amp.distributed.join_from_ring(parts, axis=0)
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    if not isinstance(parts, (list, tuple)) or not parts:
        raise ArgumentError("join_from_ring: expected a list of the parts of all ranks")
    arrays = [_numpy(part) for part in parts]
    axis = _axis_of(arrays[0], axis)
    if len({array.shape for array in arrays}) > 1 or arrays[0].shape[axis] % 2:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ArgumentError(f"join_from_ring: expected parts of one shape, of two equal chunks each, got {shapes}")
    halves = [np.split(array, 2, axis) for array in arrays]
    return _like(parts[0], np.concatenate([h[0] for h in halves] + [h[1] for h in reversed(halves)], axis))


def _numpy(x):
    return np.asarray(readable(x))


def _axis_of(array, axis):
    if not is_integer_in(range(-array.ndim, array.ndim), axis):
        raise ArgumentError(f"axis: {axis!r} is none of an array of {array.ndim} dimensions")
    return axis


def _like(original, array):
    return array if isinstance(original, np.ndarray) else nd.NDArray(array)
