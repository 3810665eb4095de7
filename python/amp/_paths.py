"""File names."""

import os

from .base import ArgumentError


def encoded(path):
    """A file name (str, bytes or os.PathLike) as the bytes that the system knows it by."""
    try:
        name = os.fsencode(path)
    except TypeError:
        raise ArgumentError(f"expected a file name, got {type(path).__name__}") from None
    if b"\0" in name:
        raise ArgumentError(f"a file name contains a null character: {path!r}")
    return name
