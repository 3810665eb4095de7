"""Arrays of a Module that was given several devices: its plan has one run for all, its arrays are told by device."""

from .. import _devices, nd
from ..base import ArgumentError
from ._io_base import DataDesc
from .context import Context


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


def places_of_groups(symbol, groups):
    """{argument: number of the device} for the attribute `ctx_group` of variables; `groups` is {group: Context}.

    Raises ArgumentError for what is no Context.
    """
    if not groups:
        return {}
    groups = groups[0] if isinstance(groups, (list, tuple)) else groups
    attributes, places = symbol.attr_dict(), {}
    for name in symbol.list_arguments():
        attribute = attributes.get(name, {})
        group = attribute.get("ctx_group", attribute.get("__ctx_group__"))
        if group in groups:
            places[name] = _number_of(groups[group])
    return places


def _number_of(devices):
    device = devices[0] if isinstance(devices, (list, tuple)) and devices else devices
    if not isinstance(device, Context):
        raise ArgumentError(f"group2ctx: expected a Context for each group, got {device!r}")
    return _devices.number_of(device)


def place(arrays, places):
    """Puts {name: array} on the devices of `places`, where the names are there."""
    for name, device in places.items():
        if arrays.get(name) is not None:
            _devices.placed(arrays[name], device)
