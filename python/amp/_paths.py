"""File names."""

import contextlib
import os
import secrets

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


def write_file(path, content):
    """Writes bytes to a file, which appears under its name only when all of them are on disk.

    On any error the old file stays. Raises ArgumentError.
    """
    path = os.fsdecode(encoded(path))
    try:
        _refuse_special(path)
        with _renamed_to(path) as file:
            file.write(content)
    except OSError as error:
        raise ArgumentError(f"cannot write '{path}': {error.strerror}") from error


def _refuse_special(path):
    if os.path.exists(path) and not os.path.isfile(path):
        raise ArgumentError(f"cannot write '{path}': not a regular file")


@contextlib.contextmanager
def _renamed_to(path):
    """A new file in the same folder that takes the name `path` in the end."""
    partial = f"{path}.tmp-{secrets.token_hex(4)}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if os.path.exists(path):
                os.fchmod(descriptor, os.stat(path).st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
