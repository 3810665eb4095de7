"""Arguments and results of blocks: arrays in nested lists, tuples, dicts, namedtuples and dataclasses."""

import dataclasses

from ..._core import NDArray


def leaves_of(values):
    """What is no container, depth first. Arrays and symbols are leaves."""
    if isinstance(values, NDArray):
        return [values]
    parts = _parts_of(values)
    return [values] if parts is None else [leaf for part in parts for leaf in leaves_of(part)]


def rebuilt(values, function):
    """The same containers with `function(leaf)` in place of each leaf."""
    if isinstance(values, (list, tuple)):
        parts = [rebuilt(value, function) for value in values]
        return type(values)(*parts) if hasattr(values, "_fields") else type(values)(parts)
    if isinstance(values, dict):
        return _like_dict(values, {key: rebuilt(value, function) for key, value in values.items()})
    if _is_dataclass(values):
        fields = [field.name for field in dataclasses.fields(values)]
        return _copy_with(values, {name: rebuilt(getattr(values, name), function) for name in fields})
    return function(values)


def _parts_of(values):
    if isinstance(values, (list, tuple)):
        return values
    if isinstance(values, dict):
        return values.values()
    if _is_dataclass(values):
        return [getattr(values, field.name) for field in dataclasses.fields(values)]
    return None


def _is_dataclass(values):
    return dataclasses.is_dataclass(values) and not isinstance(values, type)


def _like_dict(original, parts):
    """A dict of the same class: OrderedDict, defaultdict and others keep what else they have."""
    if type(original) is dict:
        return parts
    other = original.copy()
    other.update(parts)
    return other


def _copy_with(original, parts):
    """A dataclass with other values, whatever its __init__ takes; frozen ones, too."""
    other = object.__new__(type(original))
    for name, value in {**getattr(original, "__dict__", {}), **parts}.items():
        object.__setattr__(other, name, value)
    return other
