"""Arguments of bound symbols on the devices of their groups: `group2ctx`."""

from .. import _devices
from ..base import ArgumentError
from .context import Context


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
