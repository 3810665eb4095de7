"""array[key] and array[key] = value.

Slices of whole rows are views that share memory; every other index copies. Inside of a trace, and where gradients are
recorded, an index becomes slices, a reshape and `take`.

One element of a legacy array has the shape (1,), as in MXNet 1.x: such arrays have axes. It is () where shapes are
spelled as NumPy's (`mx.np_shape`).
"""

import operator

import numpy as np

from .. import _recording, _trace
from .._core import NDArray
from .._invoke import invoke
from .._switches import is_on
from ..base import ArgumentError, UnsupportedError
from ..sym.attributes import attribute_text

_get, _set, _reshape = NDArray.__getitem__, NDArray.__setitem__, NDArray.reshape


def get_item(array, key):
    """The elements that `key` selects, by NumPy's rules; a single one of a legacy array has the shape (1,)."""
    if _trace.current() is not None:
        return _traced(array, key)  # arrays in the key are part of the graph
    if type(key) is not int:
        key = _plain(key)
    if _recording.is_recorded(array):
        return _recorded(array, key)
    try:
        result = _get(array, key)
    except IndexError as error:
        raise IndexError(f"{error} (the array has shape {array.shape})") from None
    if result.ndim == 0 and array.ndim and _shape_of_element(array):
        place = key % len(array) if array.ndim == 1 and isinstance(key, (int, np.integer)) else None
        return _reshape(result, (1,)) if place is None else _get(array, slice(place, place + 1))  # a view, as of a row
    return result if type(array) is NDArray else type(array)(result)


def _shape_of_element(array):
    return () if array._is_numpy or is_on("shape") else (1,)


def set_item(array, key, value):
    """Writes a number or an array to the selected elements; values are cast to the array's dtype."""
    _trace.refuse("writing to a part of an array")
    _recording.check_write(array, "writing to an array")
    if isinstance(value, NDArray):
        if _recording.is_recorded(value):
            value = _placed(array, key, value)
        value = np.asarray(value)
    elif value is None or isinstance(value, str):
        raise ArgumentError(f"expected a number or an array to write, got {value!r}")
    elif isinstance(value, (list, tuple)) and len(value) == 1:
        value = np.asarray(value)
    if getattr(value, "size", 0) == 1:
        value = np.asarray(value).reshape(())  # one element is a number, whatever its shape
    try:
        _set(array, _plain(key), value)
    except ValueError as error:
        raise ArgumentError(f"cannot write to a part of an array of shape {array.shape}: {error}") from None


def _placed(array, key, value):
    """`value` in the form in which it becomes the whole of `array`, which takes its place."""
    if key is not Ellipsis and not (isinstance(key, slice) and key == slice(None)):
        raise UnsupportedError(
            "Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd.record(): writing "
            "to a part of an array has no gradient; use it outside of it"
        )
    if value.shape != array.shape:
        value = invoke("broadcast_to", [value], {}, {"shape": attribute_text(array.shape)})[0]
    if value.dtype != array.dtype:
        value = value.astype(array.dtype)
    _recording.move_place(array, value)
    return value


def _plain(key):
    """The key with arrays as NumPy reads them; legacy float arrays are indices, too."""
    if isinstance(key, tuple):
        return tuple(_plain(part) for part in key)
    if isinstance(key, NDArray):
        key = key.asnumpy()
    if isinstance(key, np.ndarray) and key.dtype.kind == "f":
        return key.astype(np.int64)
    return key


def _traced(array, key):
    """By operators; NumPy's basic indices, and one array of integers in front."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if len(parts) == 1 and isinstance(parts[0], (list, np.ndarray)):
        return _rows(array, np.asarray(parts[0]))
    if parts and all(isinstance(part, NDArray) and np.dtype(part.dtype).kind in "iuf" for part in parts):
        return _elements(array, parts)
    parts = _without_ellipsis(array, parts)
    array = _sliced(array, [part for part in parts if part is not None])
    single = [i for i, part in enumerate(part for part in parts if part is not None) if not isinstance(part, slice)]
    if single:
        keeps_axis = len(single) < array.ndim or not _new_axes(parts) and _shape_of_element(array)
        op = "squeeze" if keeps_axis else "_npi_squeeze"
        array = invoke(op, [array], {}, {"axis": attribute_text(tuple(single))})[0]
    for axis in _new_axes(parts):
        array = invoke("expand_dims", [array], {}, {"axis": str(axis)})[0]
    return array


def _sliced(array, parts):
    """One part for each axis, a slice or a number; the operator has NumPy's rules, whatever the sizes are."""
    slices = [part if isinstance(part, slice) else _of_number(array, axis, part) for axis, part in enumerate(parts)]
    if all(part == slice(None) for part in slices):
        return array
    bounds = zip(*((part.start, part.stop, part.step or 1) for part in slices))
    texts = {key: attribute_text(tuple(values)) for key, values in zip(("begin", "end", "step"), bounds)}
    return invoke("slice", [array], {}, texts)[0]


def _of_number(array, axis, part):
    part, size = operator.index(part), array._shape[axis]
    if not -size <= part < size:
        raise IndexError(f"index {part} is out of range for axis {axis} of shape {array._shape}")
    return slice(part, None if part == -1 else part + 1)


def _new_axes(parts):
    """Where `None` stands in the result."""
    kept = [part for part in parts if part is None or isinstance(part, slice)]
    return [axis for axis, part in enumerate(kept) if part is None]


def _recorded(array, key):
    """By operators: slices where the index is one, else `take` from the array as a vector."""
    parts = key if isinstance(key, tuple) else (key,)
    if all(part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice)) for part in parts):
        return _traced(array, key)
    try:
        positions = np.arange(array.size).reshape(array.shape)[key]
    except IndexError as error:
        raise IndexError(f"{error} (the array has shape {array.shape})") from None
    flat = invoke("Reshape", [array], {}, {"shape": "(-1,)"})[0]
    positions = NDArray(positions.astype(np.int32 if array.size < 2**31 else np.int64))
    return invoke("take", [flat, positions], {}, {"axis": "0"}, result_class=type(array))[0]


def _rows(array, index):
    if index.dtype.kind not in "iu":
        _trace.refuse("indexing by anything but slices, integers and rows")
    return invoke("take", [array, NDArray(index.astype(np.int32))], {}, {"axis": "0", "mode": "wrap"})[0]


def _elements(array, indices):
    """One array of integers for each of the first axes; they have one shape."""
    if len(indices) == 1:
        return invoke("take", [array, indices[0]], {}, {"axis": "0", "mode": "wrap"}, result_class=type(array))[0]
    if len({index.shape for index in indices}) > 1 or len(indices) > array.ndim:
        _trace.refuse("indexing by arrays of several shapes, or by more than one an axis,")
    indices = [invoke("Cast", [index], {}, {"dtype": "int64"})[0] for index in indices]
    together = invoke("stack", indices, {}, {"axis": "0", "num_args": str(len(indices))})[0]
    return invoke("gather_nd", [array, together], {}, {}, result_class=type(array))[0]


def _without_ellipsis(array, parts):
    def is_basic(part):
        return part is None or part is Ellipsis or isinstance(part, (int, np.integer, slice))

    if not all(is_basic(part) for part in parts):
        _trace.refuse(f"indexing by {parts!r:.80}")
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > array.ndim:
        raise IndexError(f"{used} indices for an array of shape {array.shape}")
    fill = [slice(None)] * (array.ndim - used)
    where = next((i for i, part in enumerate(parts) if part is Ellipsis), None)
    return parts + fill if where is None else parts[:where] + fill + parts[where + 1 :]
