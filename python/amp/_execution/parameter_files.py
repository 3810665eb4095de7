"""Which arrays hold what a file holds: executors keep the file instead, and read it again for a copy."""

import os
import stat
import weakref
from typing import NamedTuple

from .. import _core
from .._paths import encoded
from ..base import ArgumentError


class WatchedFile:
    """A file as it was when it was read. It is told from others by its size and SHA-256."""

    _use = "an executor was made from it"
    _what = "which an executor is made from"

    def __init__(self, path):
        self.path = os.path.abspath(os.fsdecode(encoded(path)))
        self._stamp, self._sha256 = self._found(), None

    @classmethod
    def known(cls, path, facts):
        """The file that had these facts."""
        file = cls.__new__(cls)
        file.path, file._sha256 = path, facts["sha256"]
        file._stamp = facts["size"], facts["mtime_ns"]
        return file

    def facts(self):
        """{'size', 'mtime_ns', 'sha256'}"""
        self.require_unchanged()
        self._sha256 = self._sha256 or _sha256(self.path)
        return {"size": self._stamp[0], "mtime_ns": self._stamp[1], "sha256": self._sha256}

    def is_changed(self):
        """Whether the file is another one by now. Raises ArgumentError where it is gone."""
        found = self._found()
        if self._stamp is not None and found[: len(self._stamp)] == self._stamp:
            return False
        if self._sha256 is None or (self._stamp and found[0] != self._stamp[0]) or _sha256(self.path) != self._sha256:
            return True
        self._stamp = found
        return False

    def require_unchanged(self):
        """Raises ArgumentError where the file is not what it was."""
        if self.is_changed():
            raise ArgumentError(f"'{self.path}' has changed since {self._use}; load it again and make another executor")

    def _found(self):
        """What changes with the file's contents, for all that this process can see cheaply: (size, time, inode)."""
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise ArgumentError(f"cannot read '{self.path}', {self._what}: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode):
            raise ArgumentError(f"cannot read '{self.path}', {self._what}: not a regular file")
        return found.st_size, found.st_mtime_ns, found.st_ino

    def __getstate__(self):
        """The file's name, and the SHA-256 of its contents, which says whether another process finds the same."""
        return {"path": self.path, "_stamp": None, "_sha256": self.facts()["sha256"]}


class ParameterFile(WatchedFile):
    """A parameter file that `amp.load` read."""

    _use = "an executor was bound to its parameters"
    _what = "which an executor has its parameters from"

    def read(self):
        """{name: NDArray}. Raises ArgumentError where the file is not what it was."""
        self.require_unchanged()
        named = _core.load_params(encoded(self.path))
        return {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in named}


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
