"""Functions with NumPy's signatures that move elements, add some, and take arrays apart."""

import numpy as np

from ... import _recording, _trace
from ..._core import NDArray
from ...base import ArgumentError
from ...nd.methods import scalar_text
from ...sym.attributes import attribute_text
from .create import asarray
from .invoke import FLOATS, INTEGERS, common, floats, run
from .numpy_fallback import otherwise
from .reductions import take
from .shapes import broadcast_to, concatenate, flip, moveaxis, ravel, repeat, reshape, split

_PAD_MODES = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")


def hsplit(ary, indices_or_sections):
    """`split` along the second axis, or the only one.

    Raises ArgumentError as `split` does, and for an array without axes.

    >>> mx.np.hsplit(mx.np.arange(4), 2)
    [array([0., 1.]), array([2., 3.])]
    """
    return _split("hsplit", ary, indices_or_sections, 1, min(asarray(ary).ndim - 1, 1))


def vsplit(ary, indices_or_sections):
    """`split` along the first axis.

    Raises ArgumentError as `split` does, and for an array of fewer axes than two.

    >>> [part.shape for part in mx.np.vsplit(mx.np.ones((4, 2)), [1])]
    [(1, 2), (3, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 2, 0)


def dsplit(ary, indices_or_sections):
    """`split` along the third axis.

    Raises ArgumentError as `split` does, and for an array of fewer axes than three.

    >>> [part.shape for part in mx.np.dsplit(mx.np.ones((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 3, 2)


def _split(name, ary, parts, least, axis):
    ary = asarray(ary)
    if ary.ndim < least:
        raise ArgumentError(f"{name}: expected an array with {least} axes or more, got shape {ary.shape}")
    return split(ary, parts, axis)


def _like(array, value):
    """A value as an array: numbers take a float dtype; None where NumPy would make int64 of them."""
    if isinstance(value, NDArray):
        return value
    return asarray(value, array.dtype) if array.dtype.name in FLOATS else None


@otherwise
def append(arr, values, axis=None):
    """The array followed by others along an axis; with axis=None both flattened before.

    Raises GraphError as `concatenate` does.

    >>> mx.np.append(mx.np.array([1, 2]), mx.np.array([[3], [4]]))
    array([1., 2., 3., 4.])
    """
    arr = asarray(arr)
    values = _like(arr, values)
    if values is None:
        return NotImplemented
    arrays = [arr, values] if arr.dtype == values.dtype else floats(arr, values)
    return NotImplemented if arrays is None else concatenate(arrays, axis)


@otherwise
def roll(a, shift, axis=None):
    """Elements shifted along an axis, several, or of the flattened array; those beyond the end come in at the front.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.roll(mx.np.array([1, 2, 3]), 1)
    array([3., 1., 2.])
    """
    a = asarray(a)
    axes = None if axis is None else tuple(i % a.ndim if -a.ndim <= i < a.ndim else i for i in _numbers(axis))
    if axes is not None and len(set(axes)) < len(axes) or axes is None and len(_numbers(shift)) > 1:
        return NotImplemented
    attributes = {"shift": attribute_text(_numbers(shift))}
    if axes is not None:
        if len(axes) == 1 and len(_numbers(shift)) > 1:
            return NotImplemented
        attributes["axis"] = attribute_text(axes)
    return run("_npi_roll", [a], attributes)


def _numbers(value):
    return (int(value),) if hasattr(value, "__index__") else tuple(int(i) for i in value)


def rollaxis(a, axis, start=0):
    """The axes with one of them moved in front of axis `start`.

    Raises ArgumentError for axes that do not exist.

    >>> mx.np.rollaxis(mx.np.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = asarray(a)
    if not -a.ndim <= axis < a.ndim or not -a.ndim <= start <= a.ndim:
        raise ArgumentError(f"rollaxis: no axis {axis} or no place {start} among {a.ndim} axes")
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def rot90(m, k=1, axes=(0, 1)):
    """The plane of two axes turned by k quarters, from the first towards the second.

    Raises GraphError for axes that do not exist or are equal.

    >>> mx.np.rot90(mx.np.array([[1, 2], [3, 4]]))
    array([[2., 4.],
           [1., 3.]])
    """
    return run("_npi_rot90", [m], {"k": str(int(k)), "axes": attribute_text(tuple(axes))})


def fliplr(m):
    """The elements in reverse order along the second axis.

    Raises GraphError for an array without one.

    >>> mx.np.fliplr(mx.np.array([[1, 2], [3, 4]]))
    array([[2., 1.],
           [4., 3.]])
    """
    return flip(m, 1)


def flipud(m):
    """The elements in reverse order along the first axis.

    Raises GraphError for an array without one.

    >>> mx.np.flipud(mx.np.array([[1, 2], [3, 4]]))
    array([[3., 4.],
           [1., 2.]])
    """
    return flip(m, 0)


@otherwise
def pad(array, pad_width, mode="constant", **kwargs):
    """The array with borders: `pad_width` is a number, a pair (before, after), or one pair for each axis.

    Modes 'constant' (with one number `constant_values`), 'edge', 'reflect', 'symmetric', 'maximum' and 'minimum' run an
    operator, others are NumPy's own. Raises GraphError for negative widths.

    >>> mx.np.pad(mx.np.array([1, 2]), (1, 2), constant_values=9)
    array([9., 1., 2., 9., 9.])
    """
    array = asarray(array)
    value = kwargs.pop("constant_values", 0) if mode == "constant" else 0
    text = scalar_text(value)
    is_exact = array.dtype.kind not in "iub" or value == 0
    if kwargs or mode not in _PAD_MODES or text is None or not is_exact or array.ndim == 0:
        return NotImplemented
    if array.size == 0 and mode != "constant":
        return NotImplemented
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist()
    attributes = {"pad_width": str(tuple(map(tuple, widths))), "mode": mode, "constant_values": text}
    return run("_npi_pad", [array], attributes)


@otherwise
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times; `prepend` and `append` are put at its ends before.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.diff(mx.np.array([1, 2, 4, 7]))
    array([1., 2., 3.])
    """
    a = asarray(a)
    if a.dtype == np.bool_ or n < 0 or a.ndim == 0:
        return NotImplemented
    if prepend is not None or append is not None:
        return _diff_of_longer(a, n, axis, prepend, append)
    return run("_npi_diff", [a], {"n": str(int(n)), "axis": str(int(axis))})


def _diff_of_longer(a, n, axis, before, behind):
    one = tuple(1 if i == axis % a.ndim else size for i, size in enumerate(a.shape))
    parts = [_like(a, part) for part in (before, a, behind) if part is not None]
    if any(part is None or part.dtype != a.dtype for part in parts):
        return NotImplemented
    return diff(concatenate([part if part.ndim else broadcast_to(part, one) for part in parts], axis), n, axis)


def _end(array, value):
    """What stands at an end of differences, in their dtype where NumPy allows that."""
    fits = value is None or isinstance(value, NDArray) or np.can_cast(np.asarray(value), array.dtype, "same_kind")
    return value if value is None or isinstance(value, NDArray) or not fits else asarray(value, array.dtype)


@otherwise
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours in the flattened array, between the numbers `to_begin` and `to_end`.

    >>> mx.np.ediff1d(mx.np.array([1, 2, 4]), to_end=9)
    array([1., 2., 9.])
    """
    ary = asarray(ary)
    if ary.dtype.name not in (*FLOATS, *INTEGERS):
        return NotImplemented
    ends = [_end(ary, end) for end in (to_begin, to_end)]
    if any(end is not None and getattr(end, "dtype", None) != ary.dtype for end in ends):
        return NotImplemented
    parts = [ends[0], diff(ravel(ary)) if ary.size else ravel(ary), ends[1]]
    return concatenate([part for part in parts if part is not None], axis=None)


@otherwise
def delete(arr, obj, axis=None):
    """The array without elements `obj` along an axis, or of the flattened array: a number, a list or a slice.

    Raises IndexError for indices that do not exist.

    >>> mx.np.delete(mx.np.array([1, 2, 3]), 1)
    array([1., 3.])
    """
    arr = asarray(arr)
    if not _is_constant(obj) or axis is not None and not -arr.ndim <= axis < arr.ndim:
        return NotImplemented
    kept = np.delete(np.arange(arr.size if axis is None else arr.shape[axis]), _plain(obj))
    if kept.size == 0:
        return repeat(arr, 0, axis)
    return take(arr, asarray(kept, "int64"), axis)


def _is_constant(index):
    """Whether an index is one in a graph, too: there the values of arrays are unknown."""
    return not isinstance(index, NDArray) or _trace.current() is None


def _plain(index):
    return index.asnumpy() if isinstance(index, NDArray) else index


@otherwise
def insert(arr, obj, values, axis=None):
    """The array with `values` in front of the places `obj` along an axis, or of the flattened array.

    `obj` is a number, a slice, a list or an array. Raises IndexError for places that do not exist, GraphError for
    values that do not fit.

    >>> mx.np.insert(mx.np.array([1, 2, 3]), 1, 9)
    array([1., 9., 2., 3.])
    """
    arr = asarray(arr)
    values = asarray(values, arr.dtype).astype(arr.dtype, copy=False)
    if (
        not arr.size
        or not values.size
        or not _is_constant(obj)
        or axis is not None
        and not -arr.ndim <= axis < arr.ndim
    ):
        return NotImplemented
    if axis is None:
        arr, axis = ravel(arr), 0
    axis %= arr.ndim
    size = arr.shape[axis]
    places = np.arange(size)[obj] if isinstance(obj, slice) else np.asarray(_plain(obj))
    if places.dtype.kind not in "iu" or places.ndim > 1:
        return NotImplemented
    values = reshape(values, (*[1] * (arr.ndim - values.ndim), *values.shape))
    if places.ndim == 0:
        values = moveaxis(values, 0, axis)
    count = values.shape[axis] if places.size == 1 else places.size
    block = broadcast_to(values, [count if i == axis else n for i, n in enumerate(arr.shape)])
    order = np.insert(np.arange(size), places, np.arange(size, size + count))
    return take(concatenate([arr, block], axis), asarray(order, "int64"), axis)


@otherwise
def polyval(p, x):
    """The values at `x` of the polynomial with the coefficients `p`, that of the highest power first.

    >>> mx.np.polyval(mx.np.array([3, 0, 1]), mx.np.array([2, 5]))
    array([13., 76.])
    """
    arrays = common([p, x], (*FLOATS, *INTEGERS))
    if arrays is None or arrays[0].ndim != 1 or arrays[0].size == 0:
        return NotImplemented
    p, x = arrays
    result = p[0] + x * 0
    for i in range(1, p.size):
        result = result * x + p[i]
    return result


def broadcast_arrays(*args, subok=False):
    """The arrays repeated to one shape, as a list.

    Raises ValueError for shapes that do not fit.

    >>> [a.shape for a in mx.np.broadcast_arrays(mx.np.ones((2, 1)), mx.np.ones((3,)))]
    [(2, 3), (2, 3)]
    """
    arrays = [asarray(a) for a in args]
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return [broadcast_to(a, shape) for a in arrays]


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinates of a grid, one array for each vector, as a list; `sparse` leaves their other axes at size 1.

    `indexing` 'xy' puts the first vector along the second axis, 'ij' along the first. Raises ArgumentError for another.

    >>> mx.np.meshgrid(mx.np.array([1, 2]), mx.np.array([3, 4, 5]))[0].shape
    (3, 2)
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    places = list(range(len(xi)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    grids = [reshape(x, [-1 if i == place else 1 for i in range(len(xi))]) for x, place in zip(xi, places)]
    return grids if sparse else broadcast_arrays(*grids)


@otherwise
def take_along_axis(arr, indices, axis=-1):
    """Elements of each line along an axis at the positions that `indices` has for that line.

    With axis=None the array is flattened before. Raises GraphError for shapes that do not fit.

    >>> a = mx.np.array([[3, 1], [2, 4]])
    >>> mx.np.take_along_axis(a, mx.np.argsort(a, axis=1), axis=1)
    array([[1., 3.],
           [2., 4.]])
    """
    arr = asarray(arr)
    if not isinstance(indices, NDArray) or indices.dtype.kind not in "iu":
        return NotImplemented
    return run("_take_along_axis", [arr, indices], {"axis": str(axis)})


def shape(a):
    """The sizes of the axes, a tuple.

    >>> mx.np.shape(mx.np.ones((2, 3)))
    (2, 3)
    """
    return asarray(a).shape


def ndim(a):
    """The number of axes.

    >>> mx.np.ndim(mx.np.ones((2, 3)))
    2
    """
    return asarray(a).ndim


def size(a, axis=None):
    """The number of elements, or the size of an axis.

    Raises IndexError for an axis that does not exist.

    >>> mx.np.size(mx.np.ones((2, 3)), 1)
    3
    """
    return asarray(a).size if axis is None else asarray(a).shape[axis]


@otherwise
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None, **kwargs):
    """Numbers in the place of NaN and infinities; by default 0 and the largest and smallest of the dtype.

    Without `copy` the array itself is written to, except where gradients or a graph are recorded.

    >>> mx.np.nan_to_num(mx.np.array([float("nan"), float("inf"), 1]), posinf=9)
    array([0., 9., 1.])
    """
    values = {"nan": nan, "posinf": posinf, "neginf": neginf}
    writes = not copy and isinstance(x, NDArray) and _trace.current() is None and not _recording.is_recorded(x)
    if kwargs or any(value is not None and scalar_text(value) is None for value in values.values()):
        return NotImplemented
    texts = {name: "None" if value is None else scalar_text(float(value)) for name, value in values.items()}
    return run("_npi_nan_to_num", [x], texts, x if writes else None)
