"""Parameter files."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from .. import _core
from .._paths import encoded
from ..base import ArgumentError

if TYPE_CHECKING:
    from typing import Any, Literal

    from .._types import ArrayLike, Arrays, Path


def load(fname: Path) -> Any:
    """Reads a file of arrays: {name: NDArray}, or a list where the file has no names.

    The content, not the name, says what it is: MXNet's binary `.params` of any generation, NumPy's .npz
    (MXNet 2.0's `.params`) or .npy, which gives a list of one. Records without a value are None. Raises
    GraphError for a damaged file, with the position, UnsupportedError for sparse arrays and compressed
    .npz files, and ArgumentError for a file that cannot be opened.

    >>> sorted(amp.nd.load("model-0000.params"))
    ['arg:fc_bias', 'arg:fc_weight']
    """
    named = _core.load_params(encoded(fname))
    if named and not any(name for name, _ in named):
        return [value for _, value in named]
    return dict(named)


def from_bytes(content):
    """What `load` gives of a file with these bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "arrays")
        with open(path, "wb") as file:
            file.write(content)
        return load(path)


def save(
    fname: Path, data: Arrays | list[Any] | ArrayLike, *, format: Literal["V2", "V3", "npz"] | None = None
) -> None:
    """Writes arrays as a parameter file that MXNet reads.

    `data` is {name: array}, a list of arrays or one array; arrays are NDArrays, NumPy arrays or
    DLPack producers. An existing file is replaced only once the new one is complete.

    format: 'V2', which every MXNet since 1.0 reads; 'V3', which MXNet 2.0 reads, with arrays that have no
        dimensions or no elements; 'npz', which MXNet 2.0 and NumPy read (but for bfloat16 arrays, whose
        '<b2' MXNet 2.0.0b1 writes without being able to read it). By default V2, or V3 for arrays that
        V2 cannot hold.

    Raises ArgumentError for what the format cannot hold and for names that occur twice.

    >>> amp.nd.save("arrays.params", {"x": np.ones(2, "float32")})
    >>> amp.nd.load("arrays.params")["x"].shape
    (2,)
    """
    _core.save_params(encoded(fname), _named(data), format)


def _named(data):
    if isinstance(data, dict):
        unnamed = [name for name in data if not isinstance(name, str) or not name]
        if unnamed:
            raise ArgumentError(f"arrays need names that are text, got {unnamed[0]!r}")
        return list(data.items())
    if isinstance(data, (list, tuple)):
        return [("", value) for value in data]
    return [("", data)]
