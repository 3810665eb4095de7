"""What to write so that an array fits a bound model: the end of errors about inputs."""

import numpy as np

from ..base import ArgumentError, dtype_name


def hints(types, arrays, can_reshape):
    """A line for each array that can be made to fit, and for shapes that a model can be bound to.

    `types` is {name: (numpy.dtype, shape)}, `arrays` is {name: what the caller passed}.
    """
    lines, shapes = [], {}
    for name, (dtype, shape) in types.items():
        found = _type_of(arrays.get(name))
        # None, text: nothing helps; of swapped bytes and open sizes the error says it
        if found is None or not found[0].isnative or None in shape:
            continue
        changes, after = _axes(found[1], shape)
        text = _text(name, arrays[name], changes, found[0], dtype)
        if len(after) == len(shape) and tuple(after) != shape:
            shapes[name] = tuple(after)
        if text != name:
            lines.append(f"\n  use {text}")
    if shapes:
        how = f"executor.reshape({shapes}) makes an executor" if can_reshape else "make another executor"
        lines.append(f"\n  {how} for such shapes")
    return "".join(lines)


def _type_of(array):
    """(numpy.dtype, shape) of what was passed, or None where it is no array of numbers."""
    if array is None or isinstance(array, (str, bytes)):
        return None
    try:
        dtype, shape = getattr(array, "dtype", None), getattr(array, "shape", None)
        if not isinstance(dtype, np.dtype) or shape is None:
            as_array = np.asarray(array)
            dtype, shape = as_array.dtype, as_array.shape
    except (TypeError, ValueError, RuntimeError):
        return None
    return (dtype, tuple(shape)) if _is_number(dtype) else None


def _is_number(dtype):
    try:
        return bool(dtype_name(dtype)) if dtype.isnative else dtype.kind in "biuf"
    except ArgumentError:
        return False


def _axes(found, wanted):
    """(what brings a picture's axes in order, the shape then): models read channels first, pictures have them last."""
    if len(wanted) != 4 or found == wanted:
        return "", found
    channels = wanted[1]
    if len(found) == 4 and found[3] == channels != found[1]:
        return ".transpose(0, 3, 1, 2)", (found[0], found[3], found[1], found[2])
    if len(found) == 3 and found[2] == channels != found[0]:
        return ".transpose(2, 0, 1)[None]", (1, found[2], found[0], found[1])
    if len(found) == 3 and found[0] == channels:
        return "[None]", (1, *found)
    return "", found


def _text(name, array, changes, found, wanted):
    """The expression that makes the array fit."""
    is_cast = found != wanted and found.names != ("bfloat16",)  # MXNet's dtype of the same numbers
    if not hasattr(array, "astype"):  # a list, a picture of PIL
        if is_cast or changes:
            return f"np.asarray({name}, '{dtype_name(wanted)}'){changes}"
        return name
    return f"{name}{changes}" + (f".astype('{dtype_name(wanted)}')" if is_cast else "")
