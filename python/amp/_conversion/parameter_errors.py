"""What a conversion does to the values of parameters: ranges, and errors of rounding."""

import numpy as np

from .._core import numpy_dtype
from ..base import dtype_name

_FLOATS = ("float32", "float64", "float16", "bfloat16")


def parameter_errors(report, before, after):
    """A dict for each floating-point parameter of the converted model, in the order of its graph.

    `before` and `after` are {name: array}: values with folded batch norms before they were rounded, and what the
    conversion returns. Keys: name, dtype (of the values that operators read), smallest and largest (magnitudes of
    `before` other than 0; None where all are 0), error (rms of what rounding changed, relative to the rms), is_exact,
    and worst_channel {index, error}, the index along axis 0 with the largest relative error; None where it is exact or
    has one axis.
    """
    target = report.options["target_dtype"]
    cast = {cast["tensor"] for cast in report.casts if cast["run_time"] and cast["to"] == target}
    names = [tensor["name"] for tensor in report.tensors if tensor["kind"] in ("parameter", "state")]
    known = [name for name in names if name in before and dtype_name(before[name].dtype) in _FLOATS]
    known = [name for name in known if 0 not in before[name].shape]
    return [_facts(name, before[name], after[name], target if name in cast else None) for name in known]


def _facts(name, before, after, cast):
    given, stored = (np.asarray(array).astype("float32") for array in (before, after))
    if cast is not None:
        stored = stored.astype(numpy_dtype(cast)).astype("float32")
    with np.errstate(invalid="ignore"):
        squares = _mean_squares(stored - given), _mean_squares(given)
    is_exact = np.array_equal(given, stored, equal_nan=True)
    sizes = np.abs(given[np.isfinite(given) & (given != 0)])
    return {
        "name": name,
        "dtype": cast or dtype_name(after.dtype),
        "smallest": float(sizes.min()) if sizes.size else None,
        "largest": float(sizes.max()) if sizes.size else None,
        "error": 0.0 if is_exact else _relative(*(float(np.mean(part)) for part in squares)),
        "is_exact": bool(is_exact),
        "worst_channel": None if is_exact or given.ndim < 2 else _worst(*squares),
    }


def _mean_squares(array):
    """For each index along axis 0."""
    rows = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    return np.mean(np.square(rows, dtype="float64"), axis=1)


def _relative(errors, values):
    return float(np.sqrt(errors / values)) if values else 0.0


def _worst(errors, values):
    relative = [_relative(*pair) for pair in zip(errors, values)]
    index = int(np.argmax(relative))
    return {"index": index, "error": relative[index]}
