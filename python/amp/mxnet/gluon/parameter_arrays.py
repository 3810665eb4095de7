"""Arrays of parameters in files and in dicts, and the shapes that they may have."""

import numpy as np

from ... import nd
from ...base import ArgumentError, dtype_name


class WrongArraysError(ArgumentError, AssertionError):
    """Arrays that do not belong to the parameters."""


def load_arrays(
    parameters,
    filename,
    allow_missing=False,
    ignore_extra=False,
    prefix="",
    cast_dtype=False,
    dtype_source="current",
    devices=None,
):
    """Reads a parameter file into {name: Parameter}.

    An array of another dtype than its parameter's is an error. With cast_dtype=True it is cast to the parameter's, or
    the parameter gets that of the file where `dtype_source` is 'saved' instead of 'current'.

    Names in the file may begin with 'arg:' or 'aux:'. Raises ArgumentError that names all parameters which the file
    lacks (unless allow_missing), all arrays that no parameter has (unless ignore_extra), all wrong shapes and dtypes.
    """
    loaded = nd.load(filename)
    if not isinstance(loaded, dict):
        raise ArgumentError(f"{filename}: the arrays have no names")
    arrays = {prefix + plain_name(name): array for name, array in loaded.items() if array is not None}
    problems = []
    present = {id(parameter) for name, parameter in parameters.items() if name in arrays}  # shared ones have two names
    missing = [name for name, p in parameters.items() if id(p) not in present and not p.is_constant]
    extra = [name for name in arrays if name not in parameters]
    if missing and not allow_missing:
        problems.append(f"parameters are missing: {_some(missing)}")
    if extra and not ignore_extra:
        problems.append(f"no parameter has the name of: {_some(extra)}")
    for name, array in arrays.items():
        wanted = parameters[name].shape if name in parameters else None
        if wanted is not None and not fits(array.shape, wanted):
            problems.append(f"'{name}': expected shape {wanted}, got {tuple(array.shape)}")
    if problems:
        raise WrongArraysError(f"{filename}: " + "\n  ".join(problems))
    set_arrays(parameters, arrays, filename, cast_dtype, dtype_source, devices)


def set_arrays(parameters, arrays, what, cast_dtype=False, dtype_source="current", devices=None):
    """Gives parameters, {name: Parameter}, the arrays of their names; dtypes and errors as for `load_arrays`.

    Parameters without arrays get them on `devices`, one or a list.
    """
    known = {name: array for name, array in arrays.items() if name in parameters}
    for name, array in in_dtypes(parameters, known, what, cast_dtype, dtype_source).items():
        parameters[name].cast(array.dtype)
        parameters[name]._load_init(array, None if parameters[name].is_initialized else devices)


def in_dtypes(parameters, arrays, what, cast_dtype, dtype_source):
    """The arrays, {name: array}, in the dtypes that the parameters of their names have or are to have.

    Raises ArgumentError that names all arrays of other dtypes, unless `cast_dtype`.
    """
    if dtype_source not in ("current", "saved"):
        raise WrongArraysError(f"dtype_source: expected 'current' or 'saved', got {dtype_source!r}")
    wanted = {name: parameters[name].dtype for name in arrays if name in parameters}
    others = [name for name, dtype in wanted.items() if dtype is not None and dtype != arrays[name].dtype]
    if others and not cast_dtype:
        texts = (f"'{n}': expected dtype {dtype_name(wanted[n])}, got {dtype_name(arrays[n].dtype)}" for n in others)
        raise WrongArraysError(f"{what}: " + "\n  ".join([*texts, "cast_dtype=True casts arrays of other dtypes"]))
    changed = others if dtype_source == "current" else ()
    return {name: array.astype(wanted[name]) if name in changed else array for name, array in arrays.items()}


def plain_name(name):
    """A name in a parameter file without the kind in front of it."""
    return name[4:] if name.startswith(("arg:", "aux:")) else name


def _some(names):
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def shape_of(shape):
    """A shape as a tuple of ints. Raises ArgumentError."""
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    try:
        return tuple(int(dim) for dim in shape)
    except (TypeError, ValueError):
        raise ArgumentError(f"the shape of a parameter: expected a tuple of integers, got {shape!r:.80}") from None


def is_known(shape):
    """Whether no size of a shape is open."""
    return shape is not None and all(dim > 0 for dim in shape)


def fits(shape, pattern):
    """Whether a shape agrees with one in which 0 and -1 are open."""
    return len(shape) == len(pattern) and all(want <= 0 or want == dim for dim, want in zip(shape, pattern))
