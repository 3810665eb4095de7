"""NumPy-like arrays from numbers and shapes. `ctx` or `device` is their device."""

import numpy as np

from ... import _core, _devices
from ..._arrays import given, native
from ..._core import NDArray
from ..._invoke import invoke
from ...base import ArgumentError, UnsupportedError, dtype_name
from ...nd.create import filled
from .. import _generation
from ..util import is_np_default_dtype
from .array_class import ndarray


def default_float(dtype=None):
    """`dtype`, or where that is None float32, in `np_default_dtype` float64."""
    return dtype if dtype is not None else "float64" if is_np_default_dtype() else "float32"


def array(object, dtype=None, ctx=None, *, device=None, copy=True):  # noqa: A002 - NumPy's name
    """A new `ndarray` with a copy of the elements; float32 unless `dtype` says otherwise.

    Arrays of this package keep their dtype, as do bfloat16 and bool arrays and DLPack producers, and after
    `mx.install("1.9.1")` all of NumPy's. Raises ArgumentError for what is no array of numbers.

    >>> mx.np.array([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if dtype is None and isinstance(object, np.ndarray) and _generation.chosen() == 1:
        dtype = object.dtype
    return _converted(object, dtype)


def _converted(object, dtype):  # noqa: A002 - as `array` has it
    if dtype is None and not _keeps_dtype(object):
        dtype = default_float()
    if isinstance(object, (list, tuple)):
        object = np.asarray(_on_host(object))  # noqa: A001
    source = NDArray(native(given(object)))
    return ndarray(source.astype(source.dtype if dtype is None else dtype))


def _on_host(nested):
    if isinstance(nested, (list, tuple)):
        return [_on_host(item) for item in nested]
    return nested.asnumpy() if isinstance(nested, NDArray) else nested


def _keeps_dtype(source):
    if isinstance(source, np.ndarray):
        return source.dtype.kind in "Vb"
    return isinstance(source, NDArray) or hasattr(source, "__dlpack__")


def asarray(a, dtype=None, ctx=None, *, device=None):
    """`a` as an `ndarray`, without a copy where it is one already or shares memory as a NumPy array of its dtype.

    Raises ArgumentError for what is no array of numbers.

    >>> mx.np.asarray(np.ones(2, "float32"))
    array([1., 1.])
    """
    if dtype is None and isinstance(a, NDArray):
        return a.as_np_ndarray()  # in a graph it stays what it is
    if dtype is None and isinstance(a, np.ndarray) and a.dtype == np.float32:
        return ndarray(a)
    return _converted(a, dtype)


def _require_rows(name, order):
    if order not in (None, "C"):
        raise UnsupportedError(f"{name}: order={order!r} is not supported, nor is it in MXNet; arrays are row-major")


def zeros(shape, dtype=None, order="C", ctx=None, *, device=None):
    """An array of zeros; `shape` is a number or a tuple. float32 by default, in `np_default_dtype` float64.

    Raises ArgumentError for unknown dtypes, GraphError for negative sizes, UnsupportedError for another order than 'C'.

    >>> mx.np.zeros((2, 3)).dtype
    dtype('float32')
    """
    _require_rows("zeros", order)
    return filled("_npi_zeros", shape, default_float(dtype), ndarray)


def ones(shape, dtype=None, order="C", ctx=None, *, device=None):
    """An array of ones; see `zeros`.

    float32 by default. Errors are those of `zeros`.

    >>> mx.np.ones((2,), dtype="int32")
    array([1, 1], dtype=int32)
    """
    _require_rows("ones", order)
    return filled("_npi_ones", shape, default_float(dtype), ndarray)


def empty(shape, dtype=None, order="C", ctx=None, *, device=None):
    """An array whose elements mean nothing: zeros.

    float32 by default. Errors are those of `zeros`.

    >>> mx.np.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, order)


def full(shape, fill_value, dtype=None, order="C", ctx=None, *, device=None, out=None):
    """An array in which every element is `fill_value`; of its dtype, but float32 for Python's floats.

    After `mx.install("1.9.1")` float32 for Python's integers, too.

    Raises ArgumentError for unknown dtypes and for what is no number.

    >>> mx.np.full((2,), 7)
    array([7, 7])
    """
    _require_rows("full", order)
    if isinstance(fill_value, NDArray):
        fill_value = fill_value.asnumpy()
    if dtype is None:
        is_float = isinstance(fill_value, float) or type(fill_value) is int and _generation.chosen() == 1
        dtype = default_float() if is_float else np.asarray(fill_value).dtype
    result = ndarray(np.full(shape, fill_value, _core.numpy_dtype(dtype)))
    if out is None:
        return result
    out[:] = result
    return out


def arange(start, stop=None, step=1, dtype=None, ctx=None, *, device=None):
    """Numbers from `start` to `stop` (excluded) at distance `step`, or from 0 with one number; float32 by default.

    Raises ArgumentError for unknown dtypes.

    >>> mx.np.arange(3)
    array([0., 1., 2.])
    """
    if stop is None:
        start, stop = 0, start
    numbers = {"start": start, "stop": stop, "step": 1 if step is None else step}
    attributes = {key: repr(float(value)) for key, value in numbers.items()}
    if dtype is None and is_np_default_dtype():
        dtype = np.result_type(*numbers.values())
    attributes["dtype"] = dtype_name("float32" if dtype is None else dtype)
    return invoke("_arange", [], {}, attributes, None, ndarray)[0]


def of_dtype(values, dtype):
    """Numbers of NumPy as an array of `dtype`, of the default where that is None."""
    return ndarray(values.astype(_core.numpy_dtype(default_float(dtype))))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None, *, device=None):
    """`num` numbers from `start` to `stop` at equal distances; float32 by default.

    Raises ArgumentError for unknown dtypes, and unless `num` is an integer from 0 on.

    >>> mx.np.linspace(0, 1, 3)
    array([0. , 0.5, 1. ])
    """
    _require_count("linspace", num)
    values, step = np.linspace(start, stop, num, endpoint, True, axis=axis)
    is_whole = dtype is not None and _core.numpy_dtype(dtype).kind in "iu"
    result = of_dtype(np.floor(values) if is_whole else values, dtype)  # downwards, as NumPy
    return (result, step) if retstep else result


def _require_count(name, num):
    if not hasattr(num, "__index__") or int(num) < 0:
        raise ArgumentError(f"{name}: num is an integer from 0 on, got {num!r}")


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None, *, device=None):
    """`num` powers of `base` whose exponents go from `start` to `stop` at equal distances; float32 by default.

    Raises ArgumentError for unknown dtypes, and unless `num` is an integer from 0 on.

    >>> mx.np.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    _require_count("logspace", num)
    values = np.logspace(start, stop, num, endpoint, base, axis=axis)
    return of_dtype(values, dtype)


def _window(name):
    def function(M, dtype=None, ctx=None, *, device=None):  # noqa: N803 - NumPy's name
        return of_dtype(getattr(np, name)(M), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""NumPy's window `{name}` of `M` points; float32 by default.

    Raises ArgumentError for unknown dtypes.

    >>> mx.np.{name}(5).shape
    (5,)
    """
    return function


hanning, hamming, blackman = map(_window, ("hanning", "hamming", "blackman"))


def eye(N, M=None, k=0, dtype=None, ctx=None, *, device=None):  # noqa: N803 - NumPy's names
    """A matrix of shape (N, M or N) with ones on its k-th diagonal; float32 by default.

    Raises ArgumentError for unknown dtypes and negative sizes.

    >>> mx.np.eye(2, dtype="int32")
    array([[1, 0],
           [0, 1]], dtype=int32)
    """
    if N < 0 or M is not None and M < 0:
        raise ArgumentError(f"eye: negative sizes: {N}, {M}")
    return of_dtype(np.eye(N, M, k), dtype)


def tri(N, M=None, k=0, dtype=None, ctx=None, *, device=None):  # noqa: N803 - NumPy's names
    """A matrix of shape (N, M or N) with ones on its k-th diagonal and below; float32 by default.

    Raises ArgumentError for unknown dtypes.

    >>> mx.np.tri(2)
    array([[1., 0.],
           [1., 1.]])
    """
    return of_dtype(np.tri(N, M, k), dtype)


def identity(n, dtype=None, ctx=None, *, device=None):
    """The matrix of size n with ones on its diagonal; float32 by default.

    Raises ArgumentError for unknown dtypes, ValueError for a negative size.

    >>> mx.np.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype)


def zeros_like(prototype, dtype=None, order="C", ctx=None, *, device=None, out=None):
    """Zeros of the prototype's shape, and of its dtype unless `dtype` says otherwise.

    >>> mx.np.zeros_like(mx.np.ones((2,)))
    array([0., 0.])
    """
    return full_like(prototype, 0, dtype, out=out)


def ones_like(prototype, dtype=None, order="C", ctx=None, *, device=None, out=None):
    """Ones of the prototype's shape, and of its dtype unless `dtype` says otherwise.

    >>> mx.np.ones_like(mx.np.zeros((2,)))
    array([1., 1.])
    """
    return full_like(prototype, 1, dtype, out=out)


def empty_like(prototype, dtype=None, order="C", subok=False, shape=None, *, ctx=None, device=None):
    """An array of the prototype's shape and dtype whose elements mean nothing: zeros.

    Raises UnsupportedError for `subok=True` and for a `shape`, as MXNet does.

    >>> mx.np.empty_like(mx.np.ones((2, 3))).shape
    (2, 3)
    """
    for option, value in (("subok", subok), ("shape", shape)):
        if value not in (False, None):
            raise UnsupportedError(f"empty_like: {option}={value!r:.60} is not supported, nor is it in MXNet")
    return full_like(prototype, 0, dtype)


def full_like(prototype, fill_value, dtype=None, order="C", ctx=None, *, device=None, out=None):
    """`fill_value` in the prototype's shape, and its dtype unless `dtype` says otherwise.

    >>> mx.np.full_like(mx.np.ones((2,)), 7)
    array([7., 7.])
    """
    attributes = {"fill_value": repr(float(fill_value))}
    attributes["dtype"] = "None" if dtype is None else dtype_name(dtype)
    outputs = invoke("_npi_full_like", [prototype], {}, attributes, out, ndarray)
    return outputs[0]


_devices.take_device(globals())
