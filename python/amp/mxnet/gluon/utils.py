"""Helpers of programs that spread batches over devices. There is one device here, the CPU."""

from ... import nd
from ..._core import NDArray
from ...base import ArgumentError
from .._missing import refusing

__all__ = ["download", "split_and_load", "split_data"]


def split_data(data, num_slice, batch_axis=0, even_split=True):
    """Parts of an array along an axis, a list of `num_slice` arrays; the last one takes what remains.

    Raises ArgumentError where the axis has fewer elements than parts, or (even_split) no equal parts.

    >>> [part.shape for part in mx.gluon.utils.split_data(amp.nd.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if size < num_slice or even_split and size % num_slice:
        raise ArgumentError(f"split_data: an axis of size {size} has no {num_slice} parts of one size")
    step = size // num_slice
    bounds = [*range(0, step * num_slice, step), size]
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


download = refusing("mx.gluon.utils.download", "nothing is downloaded; pass files of your own")
