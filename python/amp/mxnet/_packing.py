"""Plans of bound symbols, and how they learn that arrays which they have packed changed."""

import numpy as np

from .. import _core, nd
from .._arrays import readable
from ..base import ArgumentError


def zeros(dtype, shape):
    """An NDArray in memory of its own; float32 where no dtype is known."""
    return nd.NDArray(np.zeros(shape, _core.numpy_dtype(dtype or "float32"))).copy()


def write(name, array, value):
    """Copies an array or a number to an NDArray; raises ArgumentError, with the name, for another shape."""
    value = np.asarray(readable(value, name))
    if value.shape != array.shape:
        raise ArgumentError(f"'{name}': expected shape {array.shape}, got {value.shape}")
    array[...] = value


class Plan:
    """An executor, and what the arrays ({name: NDArray}) that it has packed held then."""

    def __init__(self, arrays, build):
        self._arrays = dict(arrays)
        self._names = list(arrays)
        self._snapshot = _core.Snapshot(list(arrays.values()))
        self.executor = build(arrays)

    def changed(self):
        """Names of the arrays that no longer hold what was packed, a set."""
        return {self._names[i] for i in self._snapshot.changed()}

    def reshaped(self, arrays):
        """A plan of the same packed arrays for inputs of other shapes; None where `arrays` has others."""
        if any(arrays[name] is not array for name, array in self._arrays.items()):
            return None
        plan = Plan.__new__(Plan)
        plan._arrays, plan._names, plan._snapshot = self._arrays, self._names, self._snapshot
        plan.executor = self.executor.reshape({name: arrays[name].shape for name in self.executor.input_names})
        return plan
