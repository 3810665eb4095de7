"""Sums of products over named axes, by matrix products: they have gradients and can be part of graphs."""

import math

from ..._core import NDArray
from ...base import ArgumentError
from ...sym.attributes import attribute_text
from . import host
from .create import asarray
from .run import run


def einsum(subscripts, *operands, **kwargs):
    """NumPy's `einsum` of text and arrays: `einsum("ij,jk->ik", a, b)`.

    Arrays of one float dtype are multiplied by matrix products, from left to right. Anything else, such as repeated
    letters in one operand, "..." and further options, is NumPy's own computation. Raises ArgumentError where sizes
    differ.

    >>> mx.np.einsum("ij,j->i", mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 1]))
    array([3., 7.])
    """
    terms = None if kwargs else _parsed(subscripts, operands)
    if terms is None:
        return host.find("einsum")(subscripts, *operands, **kwargs)
    *labels, output = terms
    arrays = [asarray(a) for a in operands]
    _check_sizes(labels, arrays)
    result, known = arrays[0], labels[0]
    for i in range(1, len(arrays)):
        later = set(output).union(*labels[i + 1 :])
        result, known = _product(result, known, arrays[i], labels[i], later)
    return _transposed(*_summed(result, known, set(output)), output)


def tensordot(a, b, axes=2):
    """NumPy's `tensordot`: the sum over a number of last and first axes, or over two lists of axes.

    Raises ArgumentError where their sizes differ.

    >>> mx.np.tensordot(mx.np.ones((2, 3, 4)), mx.np.ones((3, 4, 5))).shape
    (2, 5)
    """
    a, b = asarray(a), asarray(b)
    if hasattr(axes, "__index__"):
        axes = range(a.ndim - int(axes), a.ndim), range(int(axes))
    left, right = ([axis] if hasattr(axis, "__index__") else list(axis) for axis in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: {len(left)} axes of a and {len(right)} of b")
    first = [chr(ord("a") + i) for i in range(a.ndim)]
    second = [chr(ord("A") + i) for i in range(b.ndim)]
    for i, j in zip(left, right):
        second[j] = first[i]
    shared = {first[i] for i in left}
    output = [label for label in first + second if label not in shared]
    return einsum(f"{''.join(first)},{''.join(second)}->{''.join(output)}", a, b)


def _parsed(subscripts, operands):
    """The letters of each operand and of the output; None for what only NumPy computes."""
    if not isinstance(subscripts, str) or "." in subscripts:
        return None
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = inputs.split(",")
    if not arrow:
        letters = "".join(labels)
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    dtypes = {a.dtype.name for a in operands if isinstance(a, NDArray)}
    is_plain = (
        len(labels) == len(operands)
        and all(isinstance(a, NDArray) and a.ndim == len(term) for a, term in zip(operands, labels))
        and all(len(set(term)) == len(term) for term in [*labels, output])
        and set(output) <= set("".join(labels))
        and len(dtypes) == 1
        and dtypes <= {"float16", "bfloat16", "float32", "float64"}
    )
    return [*labels, output] if is_plain else None


def _check_sizes(labels, arrays):
    sizes = {}
    for term, array in zip(labels, arrays):
        for letter, size in zip(term, array.shape):
            if sizes.setdefault(letter, size) != size:
                raise ArgumentError(f"einsum: axis {letter!r} has sizes {sizes[letter]} and {size}")


def _product(a, a_labels, b, b_labels, later):
    """The product of two arrays, summed over what neither is asked for later."""
    a, a_labels = _summed(a, a_labels, later | set(b_labels))
    b, b_labels = _summed(b, b_labels, later | set(a_labels))
    shared = [letter for letter in a_labels if letter in b_labels]
    batch = [letter for letter in shared if letter in later]
    inner = [letter for letter in shared if letter not in later]
    rows = [letter for letter in a_labels if letter not in shared]
    columns = [letter for letter in b_labels if letter not in shared]
    sizes = {**dict(zip(a_labels, a.shape)), **dict(zip(b_labels, b.shape))}

    def matrices(array, labels, *groups):
        array = _transposed(array, labels, [letter for group in groups for letter in group])
        return _reshaped(array, [math.prod(sizes[letter] for letter in group) for group in groups])

    left, right = matrices(a, a_labels, batch, rows, inner), matrices(b, b_labels, batch, inner, columns)
    labels = [*batch, *rows, *columns]
    return _reshaped(run("_npi_matmul", [left, right]), [sizes[letter] for letter in labels]), labels


def _summed(array, labels, kept):
    axes = tuple(i for i, letter in enumerate(labels) if letter not in kept)
    if not axes:
        return array, list(labels)
    return run("_npi_sum", [array], {"axis": attribute_text(axes)}), [letter for letter in labels if letter in kept]


def _transposed(array, labels, order):
    axes = tuple(list(labels).index(letter) for letter in order)
    return array if axes == tuple(range(len(axes))) else run("_npi_transpose", [array], {"axes": attribute_text(axes)})


def _reshaped(array, shape):
    return array if tuple(shape) == array.shape else array.reshape(tuple(shape))
