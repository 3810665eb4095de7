"""What files of states that MXNet wrote consist of: objects of its classes, of which nothing but attributes is read."""

import numbers
import struct

from ...base import ArgumentError, Error
from ...nd.files import from_bytes

_LIST_OF_ARRAYS = 0x112  # how a file of `nd.save` begins


class Saved:
    """An object of a class of MXNet: its attributes."""

    def __new__(cls, *_):  # which every protocol of pickle calls, unlike __init__
        saved = super().__new__(cls)
        saved.attributes = {}
        return saved

    def __init__(self, *_):
        pass

    def __setstate__(self, state):
        self.attributes = state if isinstance(state, dict) else {}


def saved_class(name):
    """The class that stands for MXNet's of that name."""
    return type(name, (Saved,), {})


def with_attributes(name, attributes):
    """An object of MXNet's class of that name."""
    saved = saved_class(name)()
    saved.__setstate__(attributes)
    return saved


def array_of(saved):
    """The array; raises ArgumentError for other objects and for damaged bytes."""
    content = saved.attributes.get("handle")
    if not isinstance(content, (bytes, bytearray)):
        raise ArgumentError(f"the states hold a {type(saved).__name__} of MXNet where an array is expected")
    try:
        (array,) = from_bytes(struct.pack("<QQQ", _LIST_OF_ARRAYS, 0, 1) + bytes(content) + struct.pack("<Q", 0))
    except Error as error:
        raise ArgumentError(f"the states hold a damaged array: {str(error).partition(' at ')[2]}") from None
    return array


def _is_plain(value):
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (numbers.Real, str))


def numbers_of(saved):
    """The attributes that consist of numbers and texts, as a dict."""
    return {name: value for name, value in saved.attributes.items() if _is_plain(value)}
