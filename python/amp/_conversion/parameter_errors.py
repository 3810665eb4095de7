"""What a conversion does to the values of parameters: ranges, and errors of rounding."""

import numpy as np

from .. import _core
from .._arrays import readable
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
    stored = after if cast is None else np.asarray(after).astype(_core.numpy_dtype(cast))
    found = _core.rounding_errors(readable(before, name), readable(stored, name))
    errors, elements = np.array(found["errors"]), np.array(found["elements"])
    is_exact = found["is_exact"]
    return {
        "name": name,
        "dtype": cast or dtype_name(after.dtype),
        "smallest": found["smallest"] or None,
        "largest": found["largest"] or None,
        "error": 0.0 if is_exact else _relative(errors.mean(), elements.mean()),
        "is_exact": is_exact,
        "worst_channel": None if is_exact or len(before.shape) < 2 else _worst(errors, elements),
    }


def _relative(errors, elements):
    if not elements:
        return float(np.sqrt(errors))  # 0, or infinite where a number that is not finite changed
    return float(np.sqrt(errors / elements))


def _worst(errors, elements):
    relative = [_relative(*pair) for pair in zip(errors, elements)]
    index = int(np.argmax(relative))
    return {"index": index, "error": relative[index]}
