"""`_flatten` and `_regroup` of MXNet's module `gluon.block`, which toolkits use: nested lists and their formats.

A format is 0 for an array, a number of outputs for a symbol with several, -1 for None, a list of formats for a list.
"""

from ..._core import NDArray
from ...base import ArgumentError
from ...sym import Symbol


class FormatError(ArgumentError, ValueError):
    """Nested lists hold something else, or do not fit a format."""


def _flatten(args, inout_str):
    """([arrays or symbols], format) of nested lists; `inout_str` is for the message of FormatError."""
    if isinstance(args, NDArray) or args is None:
        return [args], -1 if args is None else 0
    if isinstance(args, Symbol):
        count = len(args.list_outputs())
        return [args], count if count > 1 else 0
    if not isinstance(args, (list, tuple)):
        raise FormatError(f"{inout_str}: expected nested lists of arrays or symbols, got {type(args).__name__}")
    parts = [_flatten(each, inout_str) for each in args]
    return [leaf for leaves, _ in parts for leaf in leaves], [form for _, form in parts]


def _regroup(args, fmt):
    """The nested lists that a format tells of a flat list."""
    if not isinstance(args, (list, tuple)) and not isinstance(fmt, int):
        raise FormatError(f"expected a list of arrays or symbols, got {type(args).__name__}")
    return _taken(args, fmt)[0]


def _taken(args, fmt):
    """(what a format makes of the first ones, the rest)."""
    if isinstance(fmt, int):
        if fmt < -1:
            raise FormatError(f"a format is -1 or more, got {fmt}")
        if fmt > 0:
            return args[:fmt], args[fmt:]
        if fmt == -1 and args[0] is not None:
            raise FormatError(f"expected None, as in the first call, got {type(args[0]).__name__}")
        return args[0], args[1:]
    parts = []
    for each in fmt:
        part, args = _taken(args, each)
        parts.append(part)
    return parts, args
