"""Executors of one graph, for as many shapes of its inputs; they share packed parameters."""

import operator
import threading

from ... import _core
from ...base import dtype_name

_KEPT = 8


class BoundExecutors:
    """Their parameters are those of `notice_changes`. It does not hold the block, which holds it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._packed = self._snapshot = None  # the parameters of the executors, and what they held
        self._executors = {}  # oldest use first

    def __len__(self):
        return len(self._executors)

    def notice_changes(self, parameters):
        """Forgets executors whose packed parameters are no longer these arrays, or hold other elements."""
        with self._lock:
            if not _are_same(parameters, self._packed) or self._snapshot.changed():
                self._packed, self._snapshot = parameters, _core.Snapshot(parameters)
                self._executors = {}

    def executor(self, arrays, bind):
        """An executor for these arrays: one that was used before, else one that shares packed weights, else a new one.

        `bind(arrays)` makes a new one.
        """
        dtypes = tuple((name, dtype_name(array.dtype)) for name, array in arrays.items())
        key = dtypes, tuple(tuple(array.shape) for array in arrays.values())
        with self._lock:
            executor = self._executors.pop(key, None)
            if executor is None:
                relative = next((known for (types, _), known in self._executors.items() if types == dtypes), None)
                executor = _reshaped(relative, arrays) if relative else bind(arrays)
            self._executors[key] = executor  # the most recent one is the last
            if len(self._executors) > _KEPT:
                del self._executors[next(iter(self._executors))]
            return executor


def _are_same(arrays, others):
    return others is not None and len(arrays) == len(others) and all(map(operator.is_, arrays, others))


def _reshaped(executor, arrays):
    return executor.reshape({name: tuple(array.shape) for name, array in arrays.items()})
