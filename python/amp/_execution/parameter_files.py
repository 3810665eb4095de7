"""Which arrays hold what a file holds: executors keep the file instead, and read it again for a copy."""

import os
import weakref
from typing import NamedTuple

from .. import _core
from .._paths import encoded
from ..base import ArgumentError


class WatchedFile:
    """A file as it was when it was read. It is told from others by its size and SHA-256."""

    _use = "an executor was made from it"

    def __init__(self, path):
        self.path = os.path.abspath(os.fsdecode(encoded(path)))
        self._stamp, self._sha256 = _stamp(self.path), None

    def sha256(self):
        """The SHA-256 of its contents."""
        self._sha256 = self._sha256 or _sha256(self.path)
        return self._sha256

    def require_unchanged(self):
        """Raises ArgumentError where the file is not what it was."""
        found = _stamp(self.path)
        if found == self._stamp:
            return
        if self._sha256 is None or _sha256(self.path) != self._sha256:
            raise ArgumentError(f"'{self.path}' has changed since {self._use}; load it again and make another executor")
        self._stamp = found

    def __getstate__(self):
        """The file's name, and the SHA-256 of its contents, which says whether another process finds the same."""
        self.require_unchanged()
        return {"path": self.path, "_stamp": None, "_sha256": self.sha256()}


class ParameterFile(WatchedFile):
    """A parameter file that `amp.load` read."""

    _use = "an executor was bound to its parameters"

    def read(self):
        """{name: NDArray}. Raises ArgumentError where the file is not what it was."""
        self.require_unchanged()
        named = _core.load_params(encoded(self.path))
        return {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in named}


def _stamp(path):
    """What changes with a file's contents, for all that this process can see cheaply."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise ArgumentError(
            f"cannot read '{path}', which an executor has its parameters from: {error.strerror}"
        ) from None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _sha256(path):
    import hashlib  # few programs need it

    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Place(NamedTuple):
    """Where an array was read from."""

    file: ParameterFile
    name: str


_places = {}  # {id of a living array: (weak reference to it, Place)}


def remember(file, arrays):
    """Notes that these arrays, {name: NDArray}, were read from a file."""
    for name, array in arrays.items():
        key = id(array)
        _places[key] = weakref.ref(array, lambda _, key=key: _places.pop(key, None)), Place(file, name)


def place_of(array):
    """The Place that holds what `array` holds; None where it was made otherwise, or may have been written to."""
    reference, place = _places.get(id(array), (None, None))
    return place if reference is not None and reference() is array and array._is_untouched else None
