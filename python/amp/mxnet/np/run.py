"""How functions run operators."""

import numpy as np

from ..._invoke import invoke
from .array_class import ndarray
from .create import asarray

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")


def run(op, arrays, attributes=None, out=None):
    """The operator on arrays, or on what becomes one; a list where it has several outputs."""
    outputs = invoke(op, [asarray(a) for a in arrays], {}, attributes or {}, out, ndarray)
    return outputs[0] if len(outputs) == 1 else outputs


def common(arrays, dtypes):
    """Arrays in the dtype that NumPy promotes them to, if it is one of `dtypes`; else None."""
    arrays = [asarray(a) for a in arrays]
    if len({a.dtype for a in arrays}) == 1:
        return arrays if arrays[0].dtype.name in dtypes else None
    if not all(a.dtype.name in dtypes for a in arrays):
        return None
    dtype = np.result_type(*(a.dtype for a in arrays))
    return [a.astype(dtype, copy=False) for a in arrays] if dtype.name in dtypes else None


def floats(*arrays):
    """Arrays in one float dtype; None where one has another dtype: operators are not NumPy's functions then."""
    return common(arrays, FLOATS)


def into(result, out):
    """`result`, or `out` after it was written there."""
    if out is None:
        return result
    out[...] = result
    return out
