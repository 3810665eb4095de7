"""Sizes of arrays that know whether Python read them, for graphs that are recorded from arrays."""

import operator
import os
import sys
from typing import NamedTuple

import numpy as np

from .sym import Group, Symbol

_LIBRARIES = tuple(os.path.dirname(os.path.abspath(module)) + os.sep for module in (__file__, np.__file__))


class SizeRead(NamedTuple):
    """The size of an axis that Python read while a graph was recorded; the graph is valid for this size."""

    tensor: Symbol
    axis: int
    size: int
    place: str  # file:line of the program

    def __str__(self):
        return f"axis {self.axis} of '{self.tensor.name}' is {self.size} (read at {self.place})"


def place_of_caller():
    """'file:line' of the innermost frame that is neither of this package nor of NumPy."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_LIBRARIES):
        frame = frame.f_back
    return "?" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def sizes_hold(reads, shapes):
    """Whether all sizes that were read are the same for inputs of other shapes, {name: shape}."""
    tensors = Group([read.tensor for read in reads])
    known = set(tensors.list_arguments())
    try:
        _, outputs, _ = tensors.infer_shape_partial(**{name: s for name, s in shapes.items() if name in known})
    except Exception:  # the graph has no such sizes at all
        return False
    return all(
        shape is not None and read.axis < len(shape) and shape[read.axis] == read.size
        for read, shape in zip(reads, outputs)
    )


class Size:
    """An integer that records its use. It is not a subclass of int, because C code reads those without a call."""

    __slots__ = ("_read", "_value")
    __class__ = property(lambda self: int)  # isinstance(size, int)

    def __init__(self, value, read):
        self._value, self._read = value, read

    def __index__(self):
        self._read()
        return self._value

    __int__ = __trunc__ = __floor__ = __ceil__ = __pos__ = __index__

    def __bool__(self):
        return bool(self.__index__())

    def __hash__(self):
        return hash(self.__index__())

    def __repr__(self):
        return repr(self.__index__())

    __str__ = __repr__

    def __format__(self, spec):
        return format(self.__index__(), spec)

    def __getattr__(self, name):
        return getattr(self.__index__(), name)

    def __reduce_ex__(self, protocol):
        return int, (self.__index__(),)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.__index__(), dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return getattr(ufunc, method)(*map(_plain, inputs), **kwargs)


def _plain(value):
    return value.__index__() if type(value) is Size else value


def _forward(name):
    def method(self, *args):
        return getattr(self.__index__(), name)(*map(_plain, args))

    method.__name__ = name
    return method


def _compare(name):
    plain = _forward(name)

    def method(self, other):
        return True if other is self and name in ("__eq__", "__le__", "__ge__") else plain(self, other)

    method.__name__ = name
    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Size, f"__{_name}__", _compare(f"__{_name}__"))
for _function in (
    *map(vars(operator).get, "add sub mul truediv floordiv mod lshift rshift and_ or_ xor".split()),
    divmod,
    pow,
):
    _name = _function.__name__.strip("_")
    setattr(Size, f"__{_name}__", lambda self, *args, call=_function: call(self.__index__(), *map(_plain, args)))
    setattr(Size, f"__r{_name}__", lambda self, other, call=_function: call(_plain(other), self.__index__()))
for _name in "neg abs invert float round".split():
    setattr(Size, f"__{_name}__", _forward(f"__{_name}__"))
