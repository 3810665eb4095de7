"""Helpers of programs that spread batches over devices. There is one device here, the CPU."""

import warnings

import numpy as np

from ... import _recording, nd
from ..._core import NDArray
from ...base import ArgumentError
from .._missing import refusing

__all__ = ["clip_global_norm", "download", "split_and_load", "split_data"]


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """Parts of an array along an axis, a list of `num_slice` arrays; the first ones may be longer by one.

    Raises ArgumentError where the axis has fewer elements than parts, or (even_split) no equal parts.

    >>> [part.shape for part in mx.gluon.utils.split_data(amp.nd.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if size < num_slice or even_split and size % num_slice:
        raise ArgumentError(f"split_data: an axis of size {size} has no {num_slice} parts of one size")
    step, longer = divmod(size, num_slice)
    bounds = [part * step + min(part, longer) for part in range(num_slice + 1)]
    before = (slice(None),) * batch_axis
    return [data[(*before, slice(begin, end))] for begin, end in zip(bounds, bounds[1:])]


def split_and_load(data, ctx_list=None, batch_axis=0, even_split=True, *, device=None):
    """A batch as a list of arrays, one for each device of `ctx_list`. Errors as for `split_data`.

    >>> len(mx.gluon.utils.split_and_load(np.ones((4, 2)), [mx.cpu()]))
    1
    """
    data = data if isinstance(data, NDArray) else nd.array(data)
    devices = ctx_list if ctx_list is not None else device
    count = len(devices) if isinstance(devices, (list, tuple)) else 1
    return [data] if count == 1 else split_data(data, count, batch_axis, even_split)


def clip_global_norm(arrays, max_norm, check_isfinite=True):
    """Scales arrays where the 2-norm of all their elements is above `max_norm`; returns the norm.

    That is a float, or an NDArray with `check_isfinite=False`. A norm that is no finite number is warned of. Raises
    ArgumentError for an empty list.

    >>> arrays = [amp.nd.array([3]), amp.nd.array([4])]
    >>> mx.gluon.utils.clip_global_norm(arrays, 1)
    5.0
    >>> arrays[0]
    [0.6]
    <NDArray float32[1]>
    """
    if not arrays:
        raise ArgumentError("clip_global_norm: expected a list of arrays, got none")
    squares = sum(float(np.square(array.asnumpy(), dtype=np.float64).sum()) for array in arrays)
    norm = float(np.float32(np.sqrt(squares)))
    if check_isfinite and not np.isfinite(norm):
        warnings.warn(f"clip_global_norm: the norm is {norm}; results are not finite", stacklevel=2)
    scale = max_norm / (norm + 1e-8)
    if not scale >= 1:
        for array in arrays:
            _recording.replace(array, array.asnumpy() * np.asarray(scale, array.dtype))
    return norm if check_isfinite else nd.array([norm])


download = refusing("mx.gluon.utils.download", "nothing is downloaded; pass files of your own")
