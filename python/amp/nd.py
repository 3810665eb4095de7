"""Arrays and parameter files."""

import numpy as np

from . import _core
from ._core import NDArray
from ._paths import encoded
from .base import ArgumentError

__all__ = ["NDArray", "array", "from_dlpack", "load", "save"]


def array(source_array, dtype=None):
    """A new NDArray with a copy of the elements.

    As in MXNet the result is float32 unless `dtype` says otherwise or `source_array` is an NDArray.
    Arrays of other libraries (DLPack) and bfloat16 arrays, which MXNet does not know, keep theirs.
    """
    if dtype is None and not _keeps_dtype(source_array):
        dtype = "float32"
    copied = NDArray(source_array)
    return copied.astype(copied.dtype if dtype is None else dtype)


def _keeps_dtype(source):
    if isinstance(source, np.ndarray):
        return source.dtype.kind == "V"  # bfloat16, ours and MXNet's
    return isinstance(source, NDArray) or hasattr(source, "__dlpack__")


def from_dlpack(producer):
    """An NDArray that shares memory with an array of another library.

    `producer` has `__dlpack__` and `__dlpack_device__`. What is not row-major is copied. Raises
    ArgumentError for memory that is not the CPU's and for unsupported dtypes.
    """
    return _core.from_dlpack(producer)


def load(fname):
    """Reads a file of arrays: {name: NDArray}, or a list where the file has no names.

    The content, not the name, says what it is: MXNet's binary `.params` of any generation, NumPy's .npz
    (MXNet 2.0's `.params`) or .npy, which gives a list of one. Records without a value are None. Raises
    GraphError for a damaged file, with the position, UnsupportedError for sparse arrays and compressed
    .npz files, and ArgumentError for a file that cannot be opened.
    """
    named = _core.load_params(encoded(fname))
    if named and not any(name for name, _ in named):
        return [value for _, value in named]
    return dict(named)


def save(fname, data, *, format=None):
    """Writes arrays as a parameter file that MXNet reads.

    `data` is {name: array}, a list of arrays or one array; arrays are NDArrays, NumPy arrays or
    DLPack producers. An existing file is replaced only once the new one is complete.

    format: 'V2', which every MXNet since 1.0 reads; 'V3', which MXNet 2.0 reads, with arrays that have no
        dimensions or no elements; 'npz', which MXNet 2.0 and NumPy read (but for bfloat16 arrays, whose
        '<b2' MXNet 2.0.0b1 writes without being able to read it). By default V2, or V3 for arrays that
        V2 cannot hold.

    Raises ArgumentError for what the format cannot hold and for names that occur twice.
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


def __getattr__(name):
    """`amp.nd.bfloat16`: the numpy.dtype of bfloat16 arrays; ml_dtypes is imported when it is asked for."""
    if name != "bfloat16":
        raise AttributeError(f"module 'amp.nd' has no attribute {name!r}")
    globals()[name] = _core.numpy_dtype(name)
    return globals()[name]
