"""What commands write and print. Nothing is replaced unless the caller says so."""

import io
import json
import os
import secrets
import sys

import numpy as np

from .. import checkpoint, nd
from .._paths import write_file
from ..base import ArgumentError, dtype_name

_FORMAT_VERSION = 1  # of what --json prints


def output_file(path, endings, force, flag="-o"):
    """The name of a file that a command will write, checked before the work begins; without an ending it gets the first
    of `endings`. Raises ArgumentError for an ending that the command cannot write and for a file that is there.
    """
    ending = os.path.splitext(path)[1]
    if not ending:
        path += endings[0]
    elif ending not in endings:
        raise ArgumentError(f"{flag} {path}: cannot write {ending}; endings are {', '.join(endings)}")
    refuse_existing([path], force, flag)
    return path


def model_files(prefix, force):
    """(symbol file, parameter file) that a command will write. Raises ArgumentError as `output_file` does."""
    for ending in ("-symbol.json", ".json", "-0000.params", ".params", ".npz"):
        if prefix.endswith(ending):
            stem = prefix.removesuffix(ending)
            raise ArgumentError(
                f"-o {prefix}: expected a prefix such as {stem}, which writes {stem}-symbol.json and {stem}-0000.params"
            )
    files = [f"{prefix}-symbol.json", f"{prefix}-0000.params"]
    refuse_existing(files, force, "-o")
    return files


def refuse_existing(paths, force, flag):
    """Raises ArgumentError unless files can be written under these names."""
    for path in paths:
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise ArgumentError(f"{flag} {path}: there is no folder {folder}")
        if os.path.exists(path) and not os.path.isfile(path):
            raise ArgumentError(f"{flag} {path}: not a regular file")
        if not os.access(folder, os.W_OK):
            raise ArgumentError(f"{flag} {path}: the folder {folder} cannot be written")
    existing = [path for path in paths if os.path.exists(path)]
    if existing and not force:
        be = "exists" if len(existing) == 1 else "exist"
        raise ArgumentError(f"{' and '.join(existing)} {be}; --force replaces {'it' if be == 'exists' else 'them'}")


def write_model(prefix, model):
    """Writes (Symbol, arguments, auxiliary states): both files appear once both are complete."""
    partial = f"{prefix}.tmp-{secrets.token_hex(4)}"
    names = [(f"{partial}{ending}", f"{prefix}{ending}") for ending in ("-symbol.json", "-0000.params")]
    try:
        checkpoint.save_checkpoint(partial, 0, *model)
        for written, name in names:
            os.replace(written, name)
    finally:
        for written, _ in names:
            if os.path.exists(written):
                os.unlink(written)


def write_text(path, text):
    """Writes a text file, whole or not at all."""
    write_file(path, text.encode())


def write_arrays(path, arrays):
    """Writes {name: NDArray} in the format of the ending: .npz, .npy (of one array) or .params."""
    if path.endswith(".params"):
        nd.save(path, arrays)
        return
    stored, buffer = {name: _storable(array) for name, array in arrays.items()}, io.BytesIO()
    if path.endswith(".npy"):
        np.save(buffer, *stored.values())
    else:
        np.savez(buffer, **stored)
    write_file(path, buffer.getbuffer())


def _storable(array):
    """NumPy's files have no bfloat16: such outputs are stored as float32, which holds every value."""
    return array.astype("float32").asnumpy() if dtype_name(array.dtype) == "bfloat16" else array.asnumpy()


# ---- what is printed ----


def print_json(command, facts):
    """The answer of `amp COMMAND --json`."""
    print(json.dumps({"format": f"amp-{command}", "version": _FORMAT_VERSION, **facts}, indent=2))


def say(options, text):
    """A line about what happens; behind it stands the answer, so with --json it goes to stderr."""
    print(text, file=sys.stderr if getattr(options, "json", False) else sys.stdout)
