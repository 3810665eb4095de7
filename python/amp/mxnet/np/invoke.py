"""How functions run operators."""

import numpy as np

from ..._invoke import invoke
from .array_class import ndarray
from .create import asarray

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64")
ANY = (*FLOATS, *INTEGERS, "int16", "uint16", "uint32", "uint64", "bool")


def run(op, arrays, attributes=None, out=None):
    """The operator on arrays, or on what becomes one; a list where it has several outputs."""
    outputs = invoke(op, [asarray(a) for a in arrays], {}, attributes or {}, out, ndarray)
    return outputs[0] if len(outputs) == 1 else outputs


def promoted(dtypes):
    """The dtype that operators give for operands of these: NumPy's, but floats beside integers decide alone.

    So it is in MXNet. float16 beside bfloat16 is float32.
    """
    floats = {dtype for dtype in dtypes if dtype.name in FLOATS}
    if {dtype.name for dtype in floats} >= {"float16", "bfloat16"}:
        floats = {np.dtype("float32"), *(dtype for dtype in floats if dtype.itemsize > 2)}
    return np.result_type(*(floats or dtypes))


def common(arrays, dtypes):
    """Arrays in the dtype that they are promoted to, if it is one of `dtypes`; else None."""
    arrays = [asarray(a) for a in arrays]
    given = {a.dtype for a in arrays}
    dtype = given.pop() if len(given) == 1 else promoted(given)
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
