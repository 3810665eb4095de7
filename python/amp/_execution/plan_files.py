"""Plan files: executors that were saved, and the model files that they are made from again where they do not fit."""

from __future__ import annotations

import json
import os
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._model_files import find_model
from .._options.executor import PLAIN, require_options
from .._paths import encoded
from ..base import ArgumentError, GraphError, PlanMismatch, dtype_name
from ..checkpoint import load
from ..sym import load as load_symbol
from .parameter_files import WatchedFile


class Source(NamedTuple):
    """The files that a plan was made from, and all else that makes an executor of them."""

    symbol: str
    params: str
    files: dict[str, dict[str, Any]]  # what WatchedFile.facts says of both
    input_types: dict[str, Any]  # {name: (dtype or None, shape or None)}
    options: dict[str, Any]

    def is_changed(self):
        """Whether a file is there and is not what it was. Raises nothing for files that are gone."""
        found = [path for path in (self.symbol, self.params) if os.path.exists(path)]
        return any(WatchedFile.known(path, self.files[path]).is_changed() for path in found)

    def model(self):
        """(Symbol, arguments, auxiliary states). Raises ArgumentError and GraphError as `amp.load` does."""
        return load(self.symbol, self.params)

    def note(self):
        """What a plan file keeps of it, as JSON. Raises ArgumentError for options that are no JSON."""
        try:
            return json.dumps(self._asdict())
        except TypeError:
            raise ArgumentError(
                "source: this executor has options that a file cannot hold (arrays, patterns or functions); convert "
                "the model, save it with amp.save_checkpoint, and make the executor of those files"
            ) from None


def source_files(source):
    """(symbol file, parameter file) of what a caller named: a prefix, or the two files."""
    names = [source] if isinstance(source, (str, bytes, os.PathLike)) else list(source)
    if not 1 <= len(names) <= 2:
        raise ArgumentError(f"source: expected a prefix, or a symbol file and a parameter file, got {source!r}")
    return tuple(os.path.abspath(path) for path in find_model(*[os.fsdecode(encoded(name)) for name in names]))


def note_of(source, origin):
    """What a plan file keeps of its source, as JSON; '' without one."""
    if source is None:
        return ""
    files = source_files(source)
    _require_source(origin, *files)
    types = {name: _json_of_type(*of_input) for name, of_input in origin.input_types.items()}
    for name, shape in (origin.shapes or {}).items():
        types[name] = [types[name][0], [int(dim) for dim in shape]]
    return Source(*files, _facts_of(files), types, origin.options).note()


def _facts_of(files):
    return {path: WatchedFile(path).facts() for path in files}


def _json_of_type(dtype, shape):
    return [None if dtype is None else dtype_name(dtype), shape and [int(dim) for dim in np.atleast_1d(shape)]]


def _require_source(origin, symbol, params):
    """Raises ArgumentError unless an executor was made of these files, without a change."""
    is_same = load_symbol(symbol).tojson() == origin.symbol.tojson()
    if not is_same or not origin.parameters.are_of(params):
        what = "parameters" if is_same else "graph"
        raise ArgumentError(
            f"source: the {what} of this executor are not those of {params if is_same else symbol}: make it of what "
            "amp.load reads, unchanged"
        )


def source_of(note, source=None):
    """The Source of a plan file's note, with other files where the caller names them; None without one.

    Raises GraphError for a note that is none: whoever wrote the file may have written anything.
    """
    try:
        found = json.loads(note or "{}")
        if not isinstance(found, dict):
            raise TypeError("expected an object")
        if "symbol" not in found:
            return None
        made = _checked(Source(**{name: found[name] for name in Source._fields}))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise GraphError(
            f"the plan file's note of its source cannot be read: {type(error).__name__}: {error}"
        ) from None
    if source is None:
        return made
    files = source_files(source)
    return made._replace(symbol=files[0], params=files[1], files=_facts_of(files))


def _checked(source):
    """A Source of JSON. Raises TypeError, ValueError or KeyError for one that `Source.note` would not write."""
    for path in (source.symbol, source.params):
        facts = source.files[path]
        if not isinstance(path, str) or not all(isinstance(facts[key], int) for key in ("size", "mtime_ns")):
            raise TypeError("files")
        if not isinstance(facts["sha256"], str):
            raise TypeError("files")
    types = {}
    for name, (dtype, shape) in source.input_types.items():
        if dtype is not None:
            dtype_name(dtype)
        if shape is not None and not all(isinstance(size, int) and not isinstance(size, bool) for size in shape):
            raise TypeError("input_types")
        types[name] = dtype, None if shape is None else tuple(shape)
    require_options(source.options, PLAIN, "options")
    return source._replace(input_types=types)


class PlanFile(WatchedFile):
    """A plan file as it was when an executor was loaded from it."""

    def load(self, mmap, verify):
        """The extension's executor."""
        self.require_unchanged()
        return _core.load_plan(encoded(self.path), mmap, verify)


class PlanOrigin(NamedTuple):
    """Where an executor was loaded from."""

    file: PlanFile
    mmap: bool | None
    source: Source | None
    shapes: dict[str, Any] | None = None  # of `reshape` afterwards

    def with_shapes(self, shapes):
        """The origin of an executor that `reshape` made for these shapes."""
        return self._replace(shapes={**(self.shapes or {}), **shapes})

    def handle(self):
        """The extension's executor, loaded again."""
        return self.file.load(self.mmap, False)

    def required_source(self, error):
        """The source, where the plan file has not all constants for some shapes. Raises the error without one."""
        if self.source is None:
            raise PlanMismatch(f"{error}: other shapes need its source; pass source= to Executor.load") from None
        return self.source


class Unfit(NamedTuple):
    """A plan that does not fit here, or no more: why, and what to make the executor from."""

    why: str
    source: Source


def opened(path, source, mmap, verify):
    """(the extension's executor, PlanOrigin) of a plan file, or (None, Unfit). Raises as `Executor.load` does."""
    file = PlanFile(path)
    try:
        handle = file.load(mmap, verify)
    except PlanMismatch as error:
        found = source_of(note_of_file(path), source)
        if found is None:
            raise
        return None, Unfit(str(error), found)
    found = source_of(handle.note(), source)
    if found is not None and source is None and found.is_changed():
        why = f"{found.symbol} or {found.params} has changed since '{file.path}' was written"
        return None, Unfit(why, found)
    return handle, PlanOrigin(file, mmap, found)


def why_unfit(path):
    """Why a plan file does not fit this program and CPU; None where it does. Raises GraphError for a damaged file."""
    try:
        PlanFile(path).load(None, False)
    except PlanMismatch as error:
        return str(error)
    return None


def note_of_file(path):
    """The note of a plan file, which need not fit here."""
    return json.loads(_core.describe_plan(encoded(path), False))["note"]
