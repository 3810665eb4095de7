"""Numbers of parameters that are, or become, smaller than a dtype holds with all of its bits."""

import ml_dtypes
import numpy as np

from ..base import dtype_name

_BLOCK = 1 << 20  # elements
_LEAST_NORMAL = {"bfloat16": 2.0**-126, "float16": 2.0**-14, "float32": 2.0**-126, "float64": 2.0**-1022}


def denormal_parameters(given, converted, cast, target):
    """{name: {'are': n, 'become': n}} of the parameters that have such numbers.

    `given` and `converted` are {name: array} before and after; `cast` are names of those that each run casts to
    `target`. What becomes zero counts as what becomes denormal.
    """
    found = {}
    for name, array in given.items():
        before = dtype_name(array.dtype)
        if before not in _LEAST_NORMAL:
            continue
        after = dtype_name(converted[name].dtype) if name in converted else before
        after = target if name in cast else after
        numbers = np.asarray(array)
        counts = _counts(numbers.reshape(-1), _LEAST_NORMAL[before], after)
        if any(counts):
            found[name] = dict(zip(("are", "become"), counts))
    return found


def _counts(numbers, least, after):
    is_cast = after in _LEAST_NORMAL and after != dtype_name(numbers.dtype)
    bound = max(least, _LEAST_NORMAL[after]) if is_cast else least  # from here on, all bits are and stay
    are = become = 0
    for begin in range(0, numbers.size, _BLOCK):
        size = np.abs(numbers[begin : begin + _BLOCK])
        size = size[size < bound]
        size = size[size != 0]
        is_small = size < least
        are += int(np.count_nonzero(is_small))
        if is_cast:
            with np.errstate(over="ignore", under="ignore"):
                rounded = size.astype(ml_dtypes.bfloat16 if after == "bfloat16" else after).astype("float64")
            become += int(np.count_nonzero(~is_small & (rounded < _LEAST_NORMAL[after])))
    return are, become
