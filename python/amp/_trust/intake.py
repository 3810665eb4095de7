"""What a model takes of a batch: inputs in the dtypes that its variables have."""

from .._core import numpy_dtype
from ..base import dtype_name
from .data import widened

_FLOATS = ("bfloat16", "float16", "float32", "float64")


class Intake:
    """Batches as a model takes them, whatever floats they come in.

    An input has the dtype that the model's declarations and parameters leave it, float32 where they leave any. Other
    arrays, such as integers, stay as they are.
    """

    def __init__(self, symbol, arrays):
        known = {name: dtype_name(arrays[name].dtype) for name in symbol.list_inputs() if name in arrays}
        inferred = symbol.infer_type_partial(**known)[0]
        dtypes = {name: dtype_name(d) for name, d in zip(symbol.list_arguments(), inferred) if d is not None}
        self._dtypes = {name: dtype for name, dtype in dtypes.items() if dtype in _FLOATS}

    def types(self, types):
        """{input: (dtype, shape)} of what the model takes for arrays of these types."""
        return {name: (self._dtype(name, dtype), shape) for name, (dtype, shape) in types.items()}

    def __call__(self, batch):
        """{input: array} of a batch in the model's dtypes."""
        return {name: _cast(array, self._dtype(name, dtype_name(array.dtype))) for name, array in batch.items()}

    def _dtype(self, name, dtype):
        return self._dtypes.get(name, "float32") if dtype in _FLOATS else dtype


def _cast(array, dtype):
    return array if dtype_name(array.dtype) == dtype else widened(array).astype(numpy_dtype(dtype))
