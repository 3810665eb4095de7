"""What oracles and drawing functions are made of.

An oracle takes the attributes of a use (Python values, without those that are left out) and its input arrays and
returns what the operator's definition says, as `Expected`, or a list of them. A drawing function takes a `Draw` and
returns a `Case`. `operator` enters both into the tables; nothing here knows the library.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(name) for name in ("float32", "float16", "float64")] + [BFLOAT16]
INTEGERS = [np.dtype(name) for name in ("uint8", "int8", "int32", "int64")]
NUMBERS = FLOATS + INTEGERS
ALL_TYPES = NUMBERS + [np.dtype(name) for name in ("bool", "int16", "uint16", "uint32", "uint64")]

ORACLES: dict[str, Callable[..., Any]] = {}
DRAWERS: dict[str, Callable[..., "Case"]] = {}


def operator(names, oracle, draw):
    """Enters an oracle and a drawing function for one operator or for several (separated by blanks)."""
    for name in names.split():
        ORACLES[name], DRAWERS[name] = oracle, draw


@dataclasses.dataclass
class Case:
    """A legal use: attributes (left out where not listed) and input arrays in the order of the operator's slots."""

    attrs: dict
    inputs: list
    # The operator infers the types of all inputs from those of the first one.
    infers: bool = False


@dataclasses.dataclass
class Expected:
    """An output: exact values (float64 or int64) and what correct arithmetic may make of them.

    `error` is the distance from the exact value that is allowed before the result is rounded to `dtype`, in units of
    the arithmetic's unit roundoff (2^-24, or 2^-53 where all inputs are float64): for a sum of n terms n times the sum
    of their magnitudes, for a function the relative error that the library promises. None: the elements are moved or
    converted, and any difference is a bug.
    """

    values: np.ndarray
    dtype: np.dtype
    error: Any = None


def is_float(dtype):
    return dtype in FLOATS


def wide(array):
    """The elements as float64, or as int64 where they are integers."""
    return np.asarray(array).astype(np.float64 if is_float(array.dtype) else np.int64)


def moved(values):
    """An output that consists of elements of an input."""
    return Expected(values, values.dtype)


def wrapped(values, dtype):
    """Integers modulo 2^bits."""
    return Expected(values.astype(dtype), dtype)


def computed(values, dtype, error):
    """A result of `dtype`; integers are exact."""
    return Expected(values, dtype, error) if is_float(dtype) else wrapped(values, dtype)


def out_dtype(attrs, x):
    """The dtype of what an accumulating operator makes of x."""
    return np.dtype(attrs.get("__out_dtype__", x.dtype))


class Draw:
    """Random choices. Everything comes from one generator, so a seed tells all."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def int(self, low, high):
        """From low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability):
        return bool(self.rng.random() < probability)

    def of(self, choices):
        return choices[self.int(0, len(choices) - 1)]

    def flag(self):
        return self.chance(0.5)

    def ints(self, count, low, high):
        return tuple(self.int(low, high) for _ in range(count))

    def shape(self, rank, high=6, low=1, empty=0.04):
        """Sizes from low to high, each of them 1 or 0 more often than others."""
        return tuple(
            0 if self.chance(empty) else 1 if self.chance(0.15) and low <= 1 else self.int(low, high)
            for _ in range(rank)
        )

    def axis(self, rank):
        return self.int(-rank, rank - 1)

    def some_axes(self, rank, probability=0.5):
        """Different axes, counted from either end."""
        return tuple(i - rank * self.flag() for i in range(rank) if self.chance(probability))

    def some(self, **optional):
        """Each of the attributes with probability 0.6."""
        return {name: value for name, value in optional.items() if self.chance(0.6)}

    def dtype(self, types=FLOATS):
        """float32 and bfloat16 more often than others."""
        return self.of([np.dtype("float32"), BFLOAT16]) if types is FLOATS and self.chance(0.5) else self.of(types)

    def out_dtype(self):
        """Attributes that declare the dtype of an accumulating operator's output, now and then."""
        return {"__out_dtype__": self.of(FLOATS).name} if self.chance(0.3) else {}

    def array(self, shape, dtype, low=-4.0, high=4.0):
        """Elements that `dtype` holds exactly, from [low, high]; 0 and neighbours of 1 among them."""
        if dtype == np.dtype("bool"):
            return self.rng.random(shape) < 0.5
        if not is_float(dtype):
            low = max(low, 0) if dtype.kind == "u" else low
            return self.rng.integers(int(low), int(high) + 1, shape).astype(dtype)
        values = self.rng.uniform(low, high, shape)
        awkward = np.clip(self.rng.choice([0.0, 1.0, -1.0, 0.5], shape), low, high)
        return np.where(self.rng.random(shape) < 0.1, awkward, values).astype(dtype)
