"""Functions with NumPy's signatures that give arrays other shapes, join them and take them apart."""

import numpy as np

from ...base import ArgumentError
from ...nd.create import _moved
from ...sym.attributes import attribute_text
from .create import asarray
from .invoke import ANY, common, run
from .numpy_fallback import otherwise


def reshape(a, newshape, order="C"):
    """The same elements under another shape, in which one dimension may be -1.

    Raises ArgumentError for a shape with another number of elements, and for any `order` but 'C'.

    >>> mx.np.reshape(mx.np.arange(6), (2, -1)).shape
    (2, 3)
    """
    if order != "C":
        raise ArgumentError(f"reshape: arrays are row-major, order {order!r} is not supported")
    return asarray(a).reshape(newshape)


def transpose(a, axes=None):
    """The axes in another order; by default reversed.

    Raises GraphError unless `axes` is a permutation of all axes.

    >>> mx.np.transpose(mx.np.ones((2, 3))).shape
    (3, 2)
    """
    return run("_npi_transpose", [a], {} if axes is None else {"axes": attribute_text(tuple(axes))})


def swapaxes(a, axis1, axis2):
    """The array with two axes exchanged.

    Raises GraphError for axes that do not exist.

    >>> mx.np.swapaxes(mx.np.ones((2, 3)), 0, 1).shape
    (3, 2)
    """
    return run("SwapAxis", [a], {"dim1": str(int(axis1)), "dim2": str(int(axis2))})


def moveaxis(a, source, destination):
    """The array with the axes `source` moved to `destination`; a number or a list each.

    Raises ArgumentError for axes that do not exist or occur twice, and where the two differ in number.

    >>> mx.np.moveaxis(mx.np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = asarray(a)
    return transpose(a, _moved(a.ndim, source, destination))


def expand_dims(a, axis):
    """The array with an axis of size 1 inserted.

    Raises GraphError for an axis that the result would not have.

    >>> mx.np.expand_dims(mx.np.ones((2, 3)), 1).shape
    (2, 1, 3)
    """
    return run("expand_dims", [a], {"axis": str(int(axis))})


def squeeze(a, axis=None):
    """The array without axes of size 1; `axis` says which.

    Raises GraphError for axes of another size.

    >>> mx.np.squeeze(mx.np.ones((2, 1, 3))).shape
    (2, 3)
    """
    a = asarray(a)
    is_all = axis is None or a.ndim == 0 and axis in (0, -1)  # NumPy lets a number have that axis
    return run("_npi_squeeze", [a], {} if is_all else {"axis": attribute_text(axis)})


def ravel(x, order="C"):
    """The elements as an array with one axis.

    Raises ArgumentError for any `order` but 'C'.

    >>> mx.np.ravel(mx.np.ones((2, 3))).shape
    (6,)
    """
    return reshape(x, (-1,), order)


def concatenate(seq, axis=0, out=None):
    """The arrays of a list, one behind the other along an axis; with axis=None flattened before.

    Dtypes are promoted. Raises GraphError where sizes of other axes differ.

    >>> mx.np.concatenate([mx.np.ones((2,)), mx.np.zeros((1,))])
    array([1., 1., 0.])
    """
    arrays = [asarray(a) for a in seq]
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    return run(
        "Concat", common(arrays, ANY) if arrays else arrays, {"dim": str(int(axis)), "num_args": str(len(arrays))}, out
    )


def stack(arrays, axis=0, out=None):
    """Arrays of one shape, beside each other along a new axis.

    Dtypes are promoted. Raises GraphError where shapes differ.

    >>> mx.np.stack([mx.np.ones((2,)), mx.np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    arrays = common(arrays, ANY) if len(arrays) else list(arrays)
    return run("stack", arrays, {"axis": str(int(axis)), "num_args": str(len(arrays))}, out)


def atleast_1d(*arys):
    """The array with one axis at least; of several a list.

    >>> mx.np.atleast_1d(3).shape
    (1,)
    """
    return _each(arys, lambda a: a if a.ndim else reshape(a, (1,)))


def atleast_2d(*arys):
    """The array with two axes at least, those in front are new; of several a list.

    >>> mx.np.atleast_2d(mx.np.ones((3,))).shape
    (1, 3)
    """
    return _each(arys, lambda a: a if a.ndim >= 2 else reshape(a, (1, -1)))


def atleast_3d(*arys):
    """The array with three axes at least, as in NumPy; of several a list.

    >>> mx.np.atleast_3d(mx.np.ones((2, 3))).shape
    (2, 3, 1)
    """
    return _each(arys, _with_three_axes)


def _with_three_axes(a):
    if a.ndim >= 3:
        return a
    return expand_dims(a, 2) if a.ndim == 2 else reshape(a, (1, -1, 1))


def _each(arrays, function):
    results = [function(asarray(a)) for a in arrays]
    return results[0] if len(results) == 1 else results


def hstack(arrays):
    """Arrays beside each other along the second axis, or the first where there is only one.

    Raises GraphError as `concatenate` does.

    >>> mx.np.hstack([mx.np.ones((2, 1)), mx.np.zeros((2, 2))])
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    arrays = [atleast_1d(a) for a in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def vstack(arrays, out=None):
    """Arrays one above the other along the first axis.

    Raises GraphError as `concatenate` does.

    >>> mx.np.vstack([mx.np.ones((2,)), mx.np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    return concatenate([atleast_2d(a) for a in arrays], 0, out)


def dstack(arrays):
    """Arrays behind each other along the third axis.

    Raises GraphError as `concatenate` does.

    >>> mx.np.dstack([mx.np.ones((2, 3)), mx.np.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    return concatenate([atleast_3d(a) for a in arrays], 2)


def column_stack(tup):
    """Arrays with one axis as columns of a matrix, others beside each other.

    Raises GraphError as `concatenate` does.

    >>> mx.np.column_stack([mx.np.ones((2,)), mx.np.zeros((2,))])
    array([[1., 0.],
           [1., 0.]])
    """
    arrays = [asarray(a) for a in tup]
    return concatenate([reshape(a, (-1, 1)) if a.ndim < 2 else a for a in arrays], 1)


def split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis: a number of equal ones, or those between indices. Returns a list.

    Raises ArgumentError for an axis that has no such equal parts.

    >>> mx.np.split(mx.np.arange(4), 2)
    [array([0., 1.]), array([2., 3.])]
    """
    ary = asarray(ary)
    sections = _integer(indices_or_sections)
    if sections is not None and (sections < 1 or ary.shape[axis] % sections):
        raise ArgumentError(f"split: axis {axis} of size {ary.shape[axis]} has no {sections} equal parts")
    return array_split(ary, indices_or_sections, axis)


def _integer(value):
    return int(value) if hasattr(value, "__index__") and not isinstance(value, np.ndarray) else None


def array_split(ary, indices_or_sections, axis=0):
    """As `split`, for parts that need not be equal: the first ones are larger by one element.

    Raises ArgumentError for fewer parts than one.

    >>> [part.shape for part in mx.np.array_split(mx.np.arange(5), 2)]
    [(3,), (2,)]
    """
    ary = asarray(ary)
    size, sections = ary.shape[axis], _integer(indices_or_sections)
    if sections is None:
        inner = [int(i) for i in indices_or_sections]
    elif sections < 1:
        raise ArgumentError(f"split: expected a positive number of parts, got {sections}")
    elif size % sections == 0:
        outputs = run("_split_v2", [ary], {"axis": str(axis), "sections": str(sections)})
        return outputs if isinstance(outputs, list) else [outputs]
    else:
        part, larger = divmod(size, sections)
        inner = [part * i + (i if i < larger else larger) for i in range(1, sections)]
    outputs = run("_split_v2", [ary], {"axis": str(axis), "indices": attribute_text((0, *inner))})
    return outputs if isinstance(outputs, list) else [outputs]


def broadcast_to(array, shape):
    """The array with sizes of 1 repeated, and axes in front added, to be of that shape.

    A size of -2 is that of the array's axis, as in MXNet. Raises GraphError where sizes do not allow that.

    >>> mx.np.broadcast_to(mx.np.array([1, 2]), (2, 2))
    array([[1., 2.],
           [1., 2.]])
    """
    array = asarray(array)
    shape = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    own = (*[1] * (len(shape) - array.ndim), *array.shape)
    sizes = tuple(old if size == -2 else size for size, old in zip(shape, own))
    return run("_npi_broadcast_to", [array], {"shape": attribute_text(sizes)})


@otherwise
def repeat(a, repeats, axis=None):
    """Every element `repeats` times, along an axis; with axis=None flattened before.

    A list has a number for each element; an array of them is NumPy's own computation. Raises ValueError for negative
    ones.

    >>> mx.np.repeat(mx.np.array([1, 2]), 2)
    array([1., 1., 2., 2.])
    """
    if isinstance(repeats, (list, tuple)):
        return _repeated(asarray(a), np.asarray(repeats), axis)
    if not hasattr(repeats, "__index__") or np.ndim(repeats) or int(repeats) < 0:
        return NotImplemented
    if int(repeats) == 0:
        a, axis = (ravel(a), 0) if axis is None else (a, axis)
        return run("slice_axis", [a], {"axis": str(int(axis)), "begin": "0", "end": "0"})
    attributes = {"repeats": str(int(repeats))}
    return run("repeat", [a], attributes if axis is None else {**attributes, "axis": str(int(axis))})


def _repeated(a, counts, axis):
    """`repeat` for a number for each element, or a single one."""
    a, axis = (ravel(a), 0) if axis is None else (a, int(axis))
    if counts.dtype.kind not in "iu" or counts.ndim != 1 or len(counts) not in (1, a.shape[axis]) or (counts < 0).any():
        return NotImplemented
    places = np.repeat(np.arange(a.shape[axis]), counts)
    return run("take", [a, places], {"axis": str(axis), "mode": "clip"})


def tile(A, reps):  # noqa: N803 - NumPy's name
    """The whole array repeated along each axis.

    Raises GraphError for negative numbers.

    >>> mx.np.tile(mx.np.array([1, 2]), 2)
    array([1., 2., 1., 2.])
    """
    return run("tile", [A], {"reps": attribute_text(reps if isinstance(reps, (tuple, list)) else (reps,))})


def flip(m, axis=None, out=None):
    """The elements in reverse order along an axis, several, or all of them.

    Raises GraphError for an axis that does not exist.

    >>> mx.np.flip(mx.np.array([1, 2, 3]))
    array([3., 2., 1.])
    """
    m = asarray(m)
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return run("reverse", [m], {"axis": attribute_text(tuple(axes))}, out)


def copy(a):
    """A copy in memory of its own.

    >>> mx.np.copy(mx.np.array([1, 2]))
    array([1., 2.])
    """
    return asarray(a).copy()
