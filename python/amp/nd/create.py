"""Arrays from numbers, shapes and other arrays."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from .. import _core, _devices, _leniency
from .._arrays import given
from .._core import NDArray
from .._invoke import invoke
from ..base import ArgumentError, dtype_name
from ..sym.attributes import attribute_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from numpy.typing import DTypeLike

    from .._types import ArrayLike

    Shape: TypeAlias = int | Sequence[int]


def array(source_array: ArrayLike, ctx: Any = None, dtype: DTypeLike = None, *, device: Any = None) -> NDArray:
    """A new NDArray with a copy of the elements.

    As in MXNet the result is float32 unless `dtype` says otherwise or `source_array` is an NDArray.
    Arrays of other libraries (DLPack) and bfloat16 arrays, which MXNet does not know, keep theirs. `ctx` and `device`
    are two names of its device. Raises ArgumentError for what is no array of numbers.

    >>> amp.nd.array([[1, 2], [3, 4]])
    [[1. 2.]
     [3. 4.]]
    <NDArray float32[2,2]>
    """
    if dtype is None and not _keeps_dtype(source_array):
        dtype = "float32"
    copied = NDArray(_leniency.native(given(source_array)))
    result = copied.astype(copied.dtype if dtype is None else dtype)
    return result if type(result) is NDArray else NDArray(result)


def _keeps_dtype(source):
    if isinstance(source, np.ndarray):
        return source.dtype.kind == "V"  # bfloat16, ours and MXNet's
    return isinstance(source, NDArray) or hasattr(source, "__dlpack__")


def from_numpy(ndarray: Any, zero_copy: bool = True) -> NDArray:
    """An NDArray of a NumPy array's elements; with `zero_copy` it shares memory, and the NumPy array is read-only.

    The dtype stays, and what was read-only before stays so. Raises ArgumentError, which is a ValueError, for
    byte-swapped, complex, text and object arrays, and with `zero_copy` for those that are not row-major.

    >>> source = np.zeros(2, "float32")
    >>> amp.nd.from_numpy(source)[:] = 5
    >>> source
    array([5., 5.], dtype=float32)
    """
    if not zero_copy:
        return NDArray(given(ndarray)).copy()
    if not isinstance(ndarray, np.ndarray):
        return NDArray(given(ndarray))
    if not ndarray.flags.c_contiguous:
        raise ArgumentError("from_numpy: memory is shared with row-major arrays alone; pass zero_copy=False")
    if _lent.get(id(ndarray)) is ndarray:
        ndarray.flags.writeable = True  # an earlier call made it read-only
    shared = NDArray(given(ndarray))
    if ndarray.flags.writeable:
        _lent[id(ndarray)] = ndarray
        ndarray.flags.writeable = False
    return shared


_lent = weakref.WeakValueDictionary()  # {id: a NumPy array that shares memory, and was not read-only before}


def from_dlpack(producer: Any) -> NDArray:
    """An NDArray that shares memory with an array of another library.

    `producer` has `__dlpack__` and `__dlpack_device__`, or is a capsule of the CPU's memory, which is used up. What is
    not row-major is copied. Raises ArgumentError for memory that is not the CPU's and for unsupported dtypes.

    >>> amp.nd.from_dlpack(np.arange(3, dtype="int32"))
    [0 1 2]
    <NDArray int32[3]>
    """
    return _core.from_dlpack(_Capsule(producer) if type(producer).__name__ == "PyCapsule" else producer)


class _Capsule:
    """A capsule as a producer."""

    def __init__(self, capsule):
        self._capsule = capsule

    def __dlpack__(self, **_):
        return self._capsule

    def __dlpack_device__(self):
        return 1, 0


def to_dlpack_for_read(data: NDArray) -> Any:
    """A DLPack capsule of an array, which shares its memory.

    >>> capsule = amp.nd.to_dlpack_for_read(amp.nd.ones((2,)))
    """
    return data.__dlpack__()


to_dlpack_for_write = to_dlpack_for_read


def filled(op, shape, dtype, cls, out=None):
    """An array of `cls` from an operator without inputs."""
    attributes = {"shape": attribute_text(_shape(shape)), "dtype": dtype_name("float32" if dtype is None else dtype)}
    return invoke(op, [], {}, attributes, out, cls)[0]


def _shape(shape):
    return tuple(shape) if hasattr(shape, "__len__") and np.ndim(shape) else (int(shape),)


def zeros(
    shape: Shape,
    ctx: Any = None,
    dtype: DTypeLike = None,
    *,
    device: Any = None,
    stype: str | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """An NDArray of zeros; `shape` is a number or a tuple. float32 by default; `ctx` or `device` is its device.

    Raises ArgumentError for unknown dtypes, GraphError for negative sizes.

    >>> amp.nd.zeros((2, 3)).dtype
    dtype('float32')
    """
    return filled("_zeros", shape, dtype, NDArray, out)


def ones(
    shape: Shape, ctx: Any = None, dtype: DTypeLike = None, *, device: Any = None, out: NDArray | None = None
) -> NDArray:
    """An NDArray of ones; see `zeros`.

    float32 by default. Errors are those of `zeros`.

    >>> amp.nd.ones((2,), dtype="int32")
    [1 1]
    <NDArray int32[2]>
    """
    return filled("_ones", shape, dtype, NDArray, out)


def full(
    shape: Shape,
    val: float,
    ctx: Any = None,
    dtype: DTypeLike = "float32",
    *,
    device: Any = None,
    out: NDArray | None = None,
) -> NDArray:
    """An NDArray in which every element is `val`; see `zeros`.

    float32 by default. Raises ArgumentError for unknown dtypes, ValueError for negative sizes and for what is no
    number.

    >>> amp.nd.full((2,), 7, dtype="int32")
    [7 7]
    <NDArray int32[2]>
    """
    result = NDArray(np.full(_shape(shape), val, _core.numpy_dtype("float32" if dtype is None else dtype)))
    if out is None:
        return result
    out[:] = result
    return out


def empty(shape: Shape, ctx: Any = None, dtype: DTypeLike = None, *, device: Any = None) -> NDArray:
    """An NDArray whose elements mean nothing: zeros.

    float32 by default. Errors are those of `zeros`.

    >>> amp.nd.empty((2, 3), dtype="bfloat16").shape
    (2, 3)
    """
    return zeros(shape, dtype=dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Any = None,
    dtype: DTypeLike = "float32",
    *,
    device: Any = None,
) -> NDArray:
    """Numbers from `start` to `stop` (excluded) at distance `step`, each `repeat` times; with one number, from 0.

    The result has one axis and is float32 by default. Raises GraphError where the numbers give no array, such as for
    step 0.

    >>> amp.nd.arange(2, 8, 2)
    [2. 4. 6.]
    <NDArray float32[3]>
    """
    if stop is None and infer_range is None:
        start, stop = 0, start
    if stop is None:
        raise ArgumentError("arange: infer_range needs another array; pass stop")
    attributes = {
        "start": attribute_text(float(start)),
        "stop": attribute_text(float(stop)),
        "step": attribute_text(float(step)),
        "repeat": attribute_text(int(repeat)),
        "dtype": dtype_name(dtype),
    }
    return invoke("_arange", [], {}, attributes, None, NDArray)[0]


def linspace(
    start: float,
    stop: float,
    num: int,
    endpoint: bool = True,
    ctx: Any = None,
    dtype: DTypeLike = "float32",
    *,
    device: Any = None,
) -> NDArray:
    """`num` numbers from `start` to `stop` at equal distances.

    The result has the shape (num,) and is float32 by default. Raises ArgumentError for unknown dtypes, ValueError for
    a negative `num`.

    >>> amp.nd.linspace(0, 1, 3)
    [0.  0.5 1. ]
    <NDArray float32[3]>
    """
    return NDArray(np.linspace(start, stop, num, endpoint).astype(_core.numpy_dtype(dtype)))


def eye(  # noqa: N803 - MXNet's names
    N: int, M: int = 0, k: int = 0, ctx: Any = None, dtype: DTypeLike = "float32", *, device: Any = None
) -> NDArray:
    """A matrix of shape (N, M or N) with ones on its k-th diagonal.

    float32 by default. Raises ArgumentError for unknown dtypes, ValueError for negative sizes.

    >>> amp.nd.eye(2)
    [[1. 0.]
     [0. 1.]]
    <NDArray float32[2,2]>
    """
    return NDArray(np.eye(N, M or None, k).astype(_core.numpy_dtype(dtype)))


def concatenate(arrays: Sequence[NDArray], axis: int = 0, always_copy: bool = True) -> NDArray:
    """The arrays of a list, one behind the other along an axis.

    They agree in dtype and in the sizes of the other axes; else GraphError is raised.

    >>> amp.nd.concatenate([amp.nd.ones((1, 2)), amp.nd.zeros((2, 2))]).shape
    (3, 2)
    """
    arrays = list(arrays)
    return invoke("Concat", arrays, {}, {"dim": str(int(axis))})[0]


def moveaxis(tensor: NDArray, source: Shape, destination: Shape) -> NDArray:
    """The array with the axes `source` moved to `destination`; a number or a list each.

    The dtype stays. Raises ArgumentError for axes that do not exist or occur twice, and where the two differ in number.

    >>> amp.nd.moveaxis(amp.nd.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    axes = _moved(tensor.ndim, source, destination)
    return invoke("transpose", [tensor], {}, {"axes": attribute_text(axes)})[0]


def _moved(ndim, source, destination):
    from_axes, to_axes = _axes(ndim, source), _axes(ndim, destination)
    if len(from_axes) != len(to_axes):
        raise ArgumentError(f"moveaxis: expected as many destinations as sources, got {source} and {destination}")
    order = [axis for axis in range(ndim) if axis not in from_axes]
    for to, axis in sorted(zip(to_axes, from_axes)):
        order.insert(to, axis)
    return tuple(order)


def _axes(ndim, given):
    axes = np.atleast_1d(given).tolist()
    if not all(-ndim <= axis < ndim for axis in axes) or len({axis % ndim for axis in axes}) < len(axes):
        raise ArgumentError(f"moveaxis: {given} are no distinct axes of an array that has {ndim}")
    return [axis % ndim for axis in axes]


def waitall() -> None:
    """Does nothing: results are complete when a call returns.

    >>> amp.nd.waitall()
    """


def get_dtype_name(dtype: DTypeLike) -> str:
    """The name of an element type: 'float32', 'bfloat16', ...

    Raises ArgumentError for what names no supported type.

    >>> amp.nd.get_dtype_name(np.float32)
    'float32'
    """
    return dtype_name(dtype)


def get_dtype_type(dtype: DTypeLike) -> Any:
    """The NumPy scalar type of an element type, such as numpy.float32.

    Raises ArgumentError for what names no supported type.

    >>> amp.nd.get_dtype_type("float32")
    <class 'numpy.float32'>
    """
    return _core.numpy_dtype(dtype).type


_devices.take_device(globals())
