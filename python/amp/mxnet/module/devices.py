"""Arrays of a Module that was given several devices: its plan has one run for all, its arrays are told by device."""

from ... import _devices, nd
from ..io.data_iter import DataDesc


def by_device(arrays, axes, contexts):
    """[[NDArray of each device]] of arrays that hold whole batches; `axes` are those of the batch, -1: there is none.

    Shares are as MXNet makes them: rounded halves to even, and the last device has the rest.
    """
    devices = list(contexts) if isinstance(contexts, (list, tuple)) else [contexts]
    if len(devices) == 1:
        return [[array] for array in arrays]
    return [_shares(array, axis, devices) for array, axis in zip(arrays, axes)]


def _shares(array, axis, devices):
    if axis < 0 or array is None or axis >= array.ndim:
        return [array] * len(devices)
    size, count = array.shape[axis], len(devices)
    share = round(size / count)
    ends = [min(share * i, size) for i in range(count)] + [size]
    parts = [array.slice_axis(axis=axis, begin=begin, end=end) for begin, end in zip(ends, ends[1:])]
    return [_devices.placed(part, _devices.number_of(device, 0)) for part, device in zip(parts, devices)]


def joined(parts):
    """One array of the parts that devices have."""
    return parts[0] if len(parts) == 1 else nd.concat(*parts, dim=0)


def batch_axes(symbol):
    """Where the batch is in each output: as the attribute `__layout__` of its node says, else the first axis."""
    attributes = symbol.attr_dict()
    names = [output.name for output in symbol]
    return [DataDesc.get_batch_axis(attributes.get(name, {}).get("__layout__")) for name in names]
