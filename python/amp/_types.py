"""Names for what functions take, for type checkers: nothing imports this when a program runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from ._core import NDArray


class SupportsDLPack(Protocol):
    """Arrays of other libraries."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> Any: ...


Array: TypeAlias = NDArray | npt.NDArray[Any] | SupportsDLPack  # NumPy's own arrays are producers, too
ArrayLike: TypeAlias = Array | npt.ArrayLike  # what NumPy reads as an array
Arrays = Mapping[str, ArrayLike]  # {name: array}
DType = npt.DTypeLike  # its name, NumPy's or that of ml_dtypes
DTypes: TypeAlias = DType | Mapping[str, DType]  # one for all, or {name: dtype}
Path: TypeAlias = "str | bytes | os.PathLike[str] | os.PathLike[bytes]"
Shape = Sequence[int]
Shapes = Mapping[str, Shape]  # {name: shape}
