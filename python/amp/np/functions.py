"""Functions with NumPy's signatures that run operators: element by element, shapes, reductions, products.

An argument that is an array of NumPy, a list or a number becomes an `ndarray`. `out=` is an array to write to.
"""

import functools

import numpy as np

from .._core import NDArray
from .._invoke import invoke
from ..base import ArgumentError, dtype_name
from ..nd import methods
from ..nd.create import _moved
from ..nd.methods import ndarray
from ..nd.operators import find_function as find_operator
from ..sym.attributes import attribute_text
from . import host
from .create import array, asarray
from .examples import with_example

UNARY = (
    "exp expm1 log log10 log2 log1p sqrt cbrt square reciprocal sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh arctanh degrees radians rint fix floor ceil trunc sign negative absolute isnan isinf isfinite "
    "logical_not"
).split()
UNARY_SYNONYMS = {"abs": "absolute", "fabs": "absolute", "rad2deg": "degrees", "deg2rad": "radians"}
BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "floor_divide": "floordiv",
    "mod": "mod",
    "remainder": "mod",
    "power": "pow",
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
}


def _run(op, arrays, attributes=None, out=None):
    outputs = invoke(op, [asarray(a) for a in arrays], {}, attributes or {}, out, ndarray)
    return outputs[0] if len(outputs) == 1 else outputs


def _unary(name):
    op = f"_npi_{name}" if find_operator(f"_npi_{name}") else name

    def function(x, out=None, **kwargs):
        return _run(op, [x], {}, out)

    return function


def _binary(name):
    python_name = BINARY[name]

    def function(x1, x2, out=None, **kwargs):
        if isinstance(x1, NDArray) or not isinstance(x2, NDArray):
            result = methods.binary(python_name, asarray(x1), x2 if methods.scalar_text(x2) else asarray(x2))
        elif methods.scalar_text(x1) is None or python_name in methods.COMPARISONS:
            result = methods.binary(python_name, asarray(x1), x2)
        else:
            result = methods.binary(python_name, asarray(x2), x1, reflected=True)
        if result is NotImplemented:
            raise ArgumentError(f"{name}: no operator for {type(x1).__name__} and {type(x2).__name__}")
        return _into(result, out)

    return function


def _into(result, out):
    if out is None:
        return result
    out[:] = result
    return out


def _extreme(name):
    op = f"_npi_{name}" if find_operator(f"_npi_{name}") else f"broadcast_{name}"

    def function(x1, x2, out=None, **kwargs):
        first, second = (x1, x2) if isinstance(x1, NDArray) else (x2, x1)
        text = methods.scalar_text(second)
        if text is not None:
            return _run(f"_{name}_scalar", [first], {"scalar": text}, out)
        return _run(op, [first, second], {}, out)

    return function


@functools.cache
def find(name):
    """The function `amp.np.<name>`; None where no operator stands behind that name."""
    found = FUNCTIONS.get(name)
    if found is None and (name in UNARY or name in UNARY_SYNONYMS):
        operator = UNARY_SYNONYMS.get(name, name)
        is_there = find_operator(f"_npi_{operator}") or find_operator(operator)
        found = _unary(operator) if is_there else None
    elif found is None and name in BINARY:
        found = _binary(name)
    elif found is None and name in ("maximum", "minimum"):
        found = _extreme(name)
    if found is not None and found.__name__ == "function":
        found.__name__ = found.__qualname__ = name
        found.__doc__ = with_example(
            name,
            f"NumPy's `{name}`, element by element, on `ndarray`s; `out` is an array to write to.\n\n    "
            "Shapes broadcast. Raises ArgumentError for what is no array of numbers, GraphError for shapes and dtypes\n"
            "    that the operator does not take.",
        )
    return found


def names():
    """All names that `find` may know."""
    return [*FUNCTIONS, *UNARY, *UNARY_SYNONYMS, *BINARY, "maximum", "minimum"]


# ---- shapes ----


def reshape(a, newshape, order="C"):
    """The same elements under another shape, in which one dimension may be -1.

    Raises ArgumentError for a shape with another number of elements, and for any `order` but 'C'.

    >>> amp.np.reshape(amp.np.arange(6), (2, -1)).shape
    (2, 3)
    """
    if order != "C":
        raise ArgumentError(f"reshape: arrays are row-major, order {order!r} is not supported")
    return asarray(a).reshape(newshape)


def transpose(a, axes=None):
    """The axes in another order; by default reversed.

    Raises GraphError unless `axes` is a permutation of all axes.

    >>> amp.np.transpose(amp.np.ones((2, 3))).shape
    (3, 2)
    """
    return _run("_npi_transpose", [a], {} if axes is None else {"axes": attribute_text(tuple(axes))})


def swapaxes(a, axis1, axis2):
    """The array with two axes exchanged.

    Raises GraphError for axes that do not exist.

    >>> amp.np.swapaxes(amp.np.ones((2, 3)), 0, 1).shape
    (3, 2)
    """
    return _run("SwapAxis", [a], {"dim1": str(int(axis1)), "dim2": str(int(axis2))})


def moveaxis(a, source, destination):
    """The array with the axes `source` moved to `destination`; a number or a list each.

    Raises ArgumentError for axes that do not exist or occur twice, and where the two differ in number.

    >>> amp.np.moveaxis(amp.np.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = asarray(a)
    return transpose(a, _moved(a.ndim, source, destination))


def expand_dims(a, axis):
    """The array with an axis of size 1 inserted.

    Raises GraphError for an axis that the result would not have.

    >>> amp.np.expand_dims(amp.np.ones((2, 3)), 1).shape
    (2, 1, 3)
    """
    return _run("expand_dims", [a], {"axis": str(int(axis))})


def squeeze(a, axis=None):
    """The array without axes of size 1; `axis` says which.

    Raises GraphError for axes of another size.

    >>> amp.np.squeeze(amp.np.ones((2, 1, 3))).shape
    (2, 3)
    """
    return _run("_npi_squeeze", [a], {} if axis is None else {"axis": attribute_text(axis)})


def ravel(x, order="C"):
    """The elements as an array with one axis.

    Raises ArgumentError for any `order` but 'C'.

    >>> amp.np.ravel(amp.np.ones((2, 3))).shape
    (6,)
    """
    return reshape(x, (-1,), order)


def concatenate(seq, axis=0, out=None):
    """The arrays of a list, one behind the other along an axis; with axis=None flattened before.

    Raises GraphError where dtypes, or sizes of other axes, differ.

    >>> amp.np.concatenate([amp.np.ones((2,)), amp.np.zeros((1,))])
    array([1., 1., 0.])
    """
    arrays = [asarray(a) for a in seq]
    if axis is None:
        arrays, axis = [ravel(a) for a in arrays], 0
    return _run("Concat", arrays, {"dim": str(int(axis)), "num_args": str(len(arrays))}, out)


def stack(arrays, axis=0, out=None):
    """Arrays of one shape, beside each other along a new axis.

    Raises GraphError where shapes or dtypes differ.

    >>> amp.np.stack([amp.np.ones((2,)), amp.np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    arrays = list(arrays)
    return _run("stack", arrays, {"axis": str(int(axis)), "num_args": str(len(arrays))}, out)


def _stacked(prepare, axis):
    def function(arrays):
        return concatenate([prepare(asarray(a)) for a in arrays], axis)

    return function


def atleast_1d(a):
    """The array with one axis at least.

    >>> amp.np.atleast_1d(3).shape
    (1,)
    """
    a = asarray(a)
    return a if a.ndim else reshape(a, (1,))


def atleast_2d(a):
    """The array with two axes at least; those in front are new.

    >>> amp.np.atleast_2d(amp.np.ones((3,))).shape
    (1, 3)
    """
    a = asarray(a)
    return a if a.ndim >= 2 else reshape(a, (1, -1))


def atleast_3d(a):
    """The array with three axes at least, as in NumPy.

    >>> amp.np.atleast_3d(amp.np.ones((2, 3))).shape
    (2, 3, 1)
    """
    a = asarray(a)
    if a.ndim >= 3:
        return a
    return expand_dims(a, 2) if a.ndim == 2 else reshape(a, (1, -1, 1))


def hstack(arrays):
    """Arrays beside each other along the second axis, or the first where there is only one.

    Raises GraphError as `concatenate` does.

    >>> amp.np.hstack([amp.np.ones((2, 1)), amp.np.zeros((2, 2))])
    array([[1., 0., 0.],
           [1., 0., 0.]])
    """
    arrays = [atleast_1d(a) for a in arrays]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1)


def vstack(arrays, out=None):
    """Arrays one above the other along the first axis.

    Raises GraphError as `concatenate` does.

    >>> amp.np.vstack([amp.np.ones((2,)), amp.np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    return concatenate([atleast_2d(a) for a in arrays], 0, out)


def dstack(arrays):
    """Arrays behind each other along the third axis.

    Raises GraphError as `concatenate` does.

    >>> amp.np.dstack([amp.np.ones((2, 3)), amp.np.zeros((2, 3))]).shape
    (2, 3, 2)
    """
    return concatenate([atleast_3d(a) for a in arrays], 2)


def column_stack(tup):
    """Arrays with one axis as columns of a matrix, others beside each other.

    Raises GraphError as `concatenate` does.

    >>> amp.np.column_stack([amp.np.ones((2,)), amp.np.zeros((2,))])
    array([[1., 0.],
           [1., 0.]])
    """
    arrays = [asarray(a) for a in tup]
    return concatenate([expand_dims(a, 1) if a.ndim == 1 else a for a in arrays], 1)


def split(ary, indices_or_sections, axis=0):
    """Parts of an array along an axis: a number of equal ones, or those between indices. Returns a list.

    Raises ArgumentError for an axis that has no such equal parts.

    >>> amp.np.split(amp.np.arange(4), 2)
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

    >>> [part.shape for part in amp.np.array_split(amp.np.arange(5), 2)]
    [(3,), (2,)]
    """
    ary = asarray(ary)
    size, sections = ary.shape[axis], _integer(indices_or_sections)
    if sections is None:
        inner = [int(i) for i in indices_or_sections]
    elif sections < 1:
        raise ArgumentError(f"split: expected a positive number of parts, got {sections}")
    elif size % sections == 0:
        outputs = _run("_split_v2", [ary], {"axis": str(axis), "sections": str(sections)})
        return outputs if isinstance(outputs, list) else [outputs]
    else:
        part, larger = divmod(size, sections)
        inner = [part * i + (i if i < larger else larger) for i in range(1, sections)]
    outputs = _run("_split_v2", [ary], {"axis": str(axis), "indices": attribute_text((0, *inner))})
    return outputs if isinstance(outputs, list) else [outputs]


def broadcast_to(array, shape):
    """The array with sizes of 1 repeated, and axes in front added, to be of that shape.

    Raises GraphError where sizes do not allow that.

    >>> amp.np.broadcast_to(amp.np.array([1, 2]), (2, 2))
    array([[1., 2.],
           [1., 2.]])
    """
    return _run("_npi_broadcast_to", [array], {"shape": attribute_text(tuple(shape))})


def repeat(a, repeats, axis=None):
    """Every element `repeats` times, along an axis; with axis=None flattened before.

    Raises GraphError for fewer than one.

    >>> amp.np.repeat(amp.np.array([1, 2]), 2)
    array([1., 1., 2., 2.])
    """
    attributes = {"repeats": str(int(repeats))}
    return _run("repeat", [a], attributes if axis is None else {**attributes, "axis": str(int(axis))})


def tile(A, reps):  # noqa: N803 - NumPy's name
    """The whole array repeated along each axis.

    Raises GraphError for negative numbers.

    >>> amp.np.tile(amp.np.array([1, 2]), 2)
    array([1., 2., 1., 2.])
    """
    return _run("tile", [A], {"reps": attribute_text(reps if isinstance(reps, (tuple, list)) else (reps,))})


def flip(m, axis=None, out=None):
    """The elements in reverse order along an axis, several, or all of them.

    Raises GraphError for an axis that does not exist.

    >>> amp.np.flip(amp.np.array([1, 2, 3]))
    array([3., 2., 1.])
    """
    m = asarray(m)
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return _run("reverse", [m], {"axis": attribute_text(tuple(axes))}, out)


# ---- element by element ----


def clip(a, a_min, a_max, out=None):
    """Elements below `a_min` become `a_min`, those above `a_max` become `a_max`; None is no bound.

    The dtype stays. Raises ArgumentError where both bounds are None.

    >>> amp.np.clip(amp.np.array([-1, 2, 9]), 0, 5)
    array([0., 2., 5.])
    """
    if a_min is None and a_max is None:
        raise ArgumentError("clip: one of a_min and a_max is needed")
    low = -np.inf if a_min is None else float(a_min)
    high = np.inf if a_max is None else float(a_max)
    return _run("clip", [a], {"a_min": repr(low), "a_max": repr(high)}, out)


def where(condition, x=None, y=None):
    """Elements of `x` where the condition holds, of `y` elsewhere; without them the indices where it holds (host).

    Shapes broadcast, else GraphError is raised.

    >>> amp.np.where(amp.np.array([1, 0]), amp.np.array([5, 6]), amp.np.array([7, 8]))
    array([5., 8.])
    """
    if x is None or y is None:
        return host.find("where")(condition)
    like = x if isinstance(x, NDArray) else y if isinstance(y, NDArray) else np.float32(0)
    x, y = (v if isinstance(v, NDArray) else array(v, getattr(like, "dtype", None)) for v in (x, y))
    return _run("_npi_where", [condition, x, y])


def copy(a):
    """A copy in memory of its own.

    >>> amp.np.copy(amp.np.array([1, 2]))
    array([1., 2.])
    """
    return asarray(a).copy()


def around(x, decimals=0, out=None):
    """Rounded to a number of decimals, to the nearest even one in the middle.

    >>> amp.np.around(amp.np.array([1.25, 2.5]))
    array([1., 2.])
    """
    if find_operator("_npi_around"):
        return _run("_npi_around", [x], {"decimals": str(int(decimals))}, out)
    return _into(ndarray(np.around(asarray(x).asnumpy(), decimals)), out)


def take(a, indices, axis=None, mode="clip", out=None):
    """Elements at `indices` along an axis (None: of the flattened array); `mode` is 'clip' or 'wrap'.

    The result has the shape of `indices` in place of the axis. Raises GraphError for an axis that does not exist.

    >>> amp.np.take(amp.np.array([5, 6, 7]), [2, 0])
    array([7., 5.])
    """
    a = ravel(a) if axis is None else asarray(a)
    indices = indices if isinstance(indices, NDArray) else array(indices, "int32")
    return _run("take", [a, indices], {"axis": str(int(axis or 0)), "mode": mode}, out)


# ---- reductions ----


def _reduction(op, takes_dtype=False):
    def function(a, axis=None, dtype=None, out=None, keepdims=False, **kwargs):
        attributes = {"keepdims": str(bool(keepdims))}
        if axis is not None:
            attributes["axis"] = attribute_text(tuple(axis) if isinstance(axis, (tuple, list)) else (int(axis),))
        if dtype is not None:
            if not takes_dtype:
                raise ArgumentError(f"{function.__name__}: takes no dtype")
            attributes["dtype"] = dtype_name(dtype)
        if "ddof" in kwargs:
            attributes["ddof"] = str(int(kwargs["ddof"]))
        return _run(op, [a], attributes, out)

    return function


def _arg_reduction(op):
    def function(a, axis=None, out=None, keepdims=False):
        attributes = {"keepdims": str(bool(keepdims))}
        if axis is not None:
            attributes["axis"] = str(int(axis))
        return _run(op, [a], attributes, out)

    return function


def max(a, axis=None, out=None, keepdims=False):  # noqa: A001 - NumPy's name
    """The largest element along an axis, several or all.

    The dtype stays. Raises GraphError for an axis that does not exist.

    >>> amp.np.max(amp.np.array([[1, 5], [3, 2]]), axis=0)
    array([3., 5.])
    """
    return _reduction("_npi_max")(a, axis, None, out, keepdims)


def min(a, axis=None, out=None, keepdims=False):  # noqa: A001 - NumPy's name
    """The smallest element along an axis, several or all.

    The dtype stays. Raises GraphError for an axis that does not exist.

    >>> amp.np.min(amp.np.array([[1, 5], [3, 2]]), axis=0)
    array([1., 2.])
    """
    return _reduction("_npi_min")(a, axis, None, out, keepdims)


def cumsum(a, axis=None, dtype=None, out=None):
    """Sums of all elements up to each one, along an axis or of the flattened array.

    Raises GraphError for an axis that does not exist.

    >>> amp.np.cumsum(amp.np.array([1, 2, 3]))
    array([1., 3., 6.])
    """
    attributes = {} if axis is None else {"axis": str(int(axis))}
    if dtype is not None:
        attributes["dtype"] = dtype_name(dtype)
    return _run("_npi_cumsum", [a], attributes, out)


# ---- products and order ----


def dot(a, b, out=None):
    """NumPy's dot: the sum over the last axis of `a` and the last but one of `b`.

    Raises GraphError where inner sizes differ.

    >>> amp.np.dot(amp.np.array([1, 2]), amp.np.array([3, 4]))
    array(11.)
    """
    return _run("_npi_dot", [a, b], {}, out)


def matmul(a, b, out=None):
    """Products of the matrices in the last two axes.

    (..., M, K) by (..., K, N) gives (..., M, N); axes in front broadcast. Raises GraphError for shapes that do not
    fit.

    >>> amp.np.matmul(amp.np.ones((5, 2, 3)), amp.np.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    return _run("_npi_matmul", [a, b], {}, out)


def argsort(a, axis=-1, kind=None, order=None):
    """The indices that sort an array along an axis, int64.

    Raises GraphError for an axis that does not exist.

    >>> amp.np.argsort(amp.np.array([3, 1, 2]))
    array([1, 2, 0])
    """
    return _run("argsort", [a], {"axis": str(int(axis)), "is_ascend": "True", "dtype": "int64"})


FUNCTIONS = {
    function.__name__: function
    for function in (
        argsort,
        around,
        array_split,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        broadcast_to,
        clip,
        column_stack,
        concatenate,
        copy,
        cumsum,
        dot,
        dstack,
        expand_dims,
        flip,
        hstack,
        matmul,
        max,
        min,
        moveaxis,
        ravel,
        repeat,
        reshape,
        split,
        squeeze,
        stack,
        swapaxes,
        take,
        tile,
        transpose,
        vstack,
        where,
    )
}
FUNCTIONS.update(concat=concatenate, round=around, row_stack=vstack, amax=max, amin=min)
REDUCTIONS = {name: _reduction(f"_npi_{name}", True) for name in ("sum", "mean", "prod", "std", "var")}
REDUCTIONS.update({name: _reduction(f"_npi_{name}") for name in ("any", "all")})
REDUCTIONS.update({name: _arg_reduction(f"_npi_{name}") for name in ("argmax", "argmin")})
for _name, _function in REDUCTIONS.items():
    _function.__name__ = _function.__qualname__ = _name
    _function.__doc__ = with_example(
        _name,
        f"NumPy's `{_name}` along an axis, several or all; `out` is an array to write to.\n\n    "
        "With `keepdims` these axes stay, with size 1. Raises GraphError for an axis that does not exist.",
    )
FUNCTIONS.update(REDUCTIONS)
