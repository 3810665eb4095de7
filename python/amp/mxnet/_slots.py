"""Arrays of bound symbols, and how a plan that has packed them learns that they changed."""

import ctypes
import sys

import numpy as np

from .. import _core, nd
from .._arrays import readable
from ..base import ArgumentError

_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Slot:
    """The array of one variable, and what plans have packed of it.

    `version` counts the changes that `look` found. A plan gets `packed`, which nobody writes to. As long as that is
    `array` itself, nobody outside has the array; whoever gets it by `hand_out` gets a copy that then takes its place,
    until it, its views and its exports are gone: all of these hold `array`, so its reference count tells.
    """

    def __init__(self, array, original=None):
        self.array = array  # NumPy's
        self.version = 0
        self.packed = None
        self._original = original

    @classmethod
    def of_caller(cls, array):
        """A slot that shares memory with an NDArray of the caller, who may write to it at any time."""
        return cls(array.asnumpy(), array)

    def hand_out(self):
        """An NDArray of the same memory."""
        self._make_writable()
        return nd.NDArray(self.array) if self._original is None else self._original

    def write(self, name, value):
        """Copies an array or a number; raises ArgumentError, with the name, for another shape."""
        value = np.asarray(readable(value, name))
        if value.shape != self.array.shape:
            raise ArgumentError(f"'{name}': expected shape {self.array.shape}, got {value.shape}")
        self._make_writable()
        np.copyto(self.array, value, casting="unsafe")

    def _make_writable(self):
        if self.array is self.packed:
            self.array = self.packed.copy()

    def look(self):
        """Finds out whether the array differs from what is packed; costs nothing while nobody outside has it."""
        if self.packed is None or self.array is self.packed:
            return
        if _compare(self.array.ctypes.data, self.packed.ctypes.data, self.array.nbytes):
            self.version += 1
            self.packed = None
        elif self._is_alone():
            self.array = self.packed

    def pack(self):
        """What a plan gets for `version`."""
        self.look()
        if self.packed is None:
            self.packed = self.array if self._is_alone() else self.array.copy()
        return self.packed

    def _is_alone(self):
        return self._original is None and _count_of(self) <= _COUNT_ALONE


def _count_of(slot):
    return sys.getrefcount(slot.array)


_COUNT_ALONE = _count_of(Slot(np.zeros(1)))


def zeros(dtype, shape):
    """A NumPy array; float32 where no dtype is known."""
    return np.zeros(shape, _core.numpy_dtype(dtype or "float32"))


class Plan:
    """An executor, and the versions of the slots whose arrays it has packed."""

    def __init__(self, slots, build):
        packed = {name: slot.pack() for name, slot in slots.items()}
        self._versions = {name: (slot, slot.version) for name, slot in slots.items()}
        self.executor = build(packed)

    def changed(self):
        """Names of the arrays that are no longer what was packed, a set."""
        for slot, _ in self._versions.values():
            slot.look()
        return {name for name, (slot, version) in self._versions.items() if slot.version != version}

    def reshaped(self, slots):
        """A plan of the same packed arrays for inputs of other shapes; None where `slots` has others."""
        if any(slots[name] is not slot for name, (slot, _) in self._versions.items()):
            return None
        plan = Plan.__new__(Plan)
        plan._versions = self._versions
        plan.executor = self.executor.reshape({name: slots[name].array.shape for name in self.executor.input_names})
        return plan
