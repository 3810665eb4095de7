"""The element types of the Open Inference Protocol (v2)."""

import numpy as np

from ..base import dtype_name
from ..nd import bfloat16

DTYPES = {
    "BOOL": np.dtype(bool),
    **{f"{kind.upper()}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    "FP16": np.dtype("float16"),
    "FP32": np.dtype("float32"),
    "FP64": np.dtype("float64"),
    "BF16": np.dtype(bfloat16),
}
_DATATYPES = {dtype_name(dtype): name for name, dtype in DTYPES.items()}


def datatype_of(dtype):
    """The protocol's name of an element type."""
    return _DATATYPES[dtype_name(dtype)]
