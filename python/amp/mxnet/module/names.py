"""Checks of the names of inputs, which modules of toolkits take from MXNet's module `base_module`."""

import warnings

from ...base import ArgumentError
from ..io.data_iter import DataDesc


class NamesError(ArgumentError, ValueError):
    """Inputs that a symbol does not have, or data under other names than a module's."""


_PARAMETERS = ("_weight", "_bias", "_gamma", "_beta")


def _check_input_names(symbol, names, typename, throw):
    """Raises NamesError, or warns, where an input of the module is none of the symbol's arguments."""
    arguments = symbol.list_arguments()
    inputs = [argument for argument in arguments if not argument.endswith(_PARAMETERS)]
    for name in names:
        if name not in arguments:
            _tell(f"{typename}_names={list(names)}: the symbol has no argument {name!r}, but {inputs}", throw)


def _parse_data_desc(data_names, label_names, data_shapes, label_shapes):
    """Both as lists of DataDesc. Raises NamesError for data under other names; warns of such labels."""
    data, labels = _described(data_shapes), None if label_shapes is None else _described(label_shapes)
    _check_names_match(data_names, data, "data", True)
    _check_names_match(label_names, labels or [], "label", False)
    return data, labels


def _described(shapes):
    return [each if isinstance(each, DataDesc) else DataDesc(*each) for each in shapes]


def _check_names_match(names, described, name, throw):
    given = [each.name for each in described]
    if sorted(names) != sorted(given):
        _tell(f"{name}_shapes: expected the names {list(names)}, got {given}", throw)


def _tell(message, throw):
    if throw:
        raise NamesError(message)
    warnings.warn(message, stacklevel=3)
