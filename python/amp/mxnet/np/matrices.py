"""Functions with NumPy's signatures of matrices: triangles, diagonals, and products of all pairs of elements."""

from .create import asarray
from .elementwise import binary, unary
from .invoke import FLOATS, INTEGERS, common, floats, run
from .numpy_fallback import otherwise
from .products import tensordot
from .reductions import take
from .shapes import ravel, reshape, stack

_multiply, _subtract, _negative = binary("multiply"), binary("subtract"), unary("negative")


def tril(m, k=0):
    """Matrices with zeros above diagonal k.

    >>> mx.np.tril(mx.np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    return run("_npi_tril", [m], {"k": str(int(k))})


def triu(m, k=0):
    """Matrices with zeros below diagonal k.

    >>> mx.np.triu(mx.np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    return run("_npi_triu", [m], {"k": str(int(k))})


@otherwise
def diag(v, k=0):
    """A matrix with the array on diagonal k, or diagonal k of a matrix.

    Raises ValueError for arrays with other numbers of axes.

    >>> mx.np.diag(mx.np.array([[1, 2], [3, 4]]))
    array([1., 4.])
    """
    v = asarray(v)
    return NotImplemented if v.ndim not in (1, 2) else run("_npi_diag", [v], {"k": str(int(k))})


def diagflat(v, k=0):
    """A matrix with all elements of the array on diagonal k.

    >>> mx.np.diagflat(mx.np.array([[1, 2]]))
    array([[1., 0.],
           [0., 2.]])
    """
    return run("_np_diagflat", [v], {"k": str(int(k))})


@otherwise
def diagonal(a, offset=0, axis1=0, axis2=1):
    """The diagonals in the planes of two axes; they are the last axis of the result.

    Raises ValueError for axes that do not exist or are equal.

    >>> mx.np.diagonal(mx.np.array([[1, 2], [3, 4]]), offset=1)
    array([2.])
    """
    a = asarray(a)
    axes = _two_axes(a, axis1, axis2)
    return NotImplemented if axes is None else run("_np_diagonal", [a], _diagonal(offset, axes))


def _diagonal(offset, axes):
    return {"offset": str(int(offset)), "axis1": str(axes[0]), "axis2": str(axes[1])}


def _two_axes(a, axis1, axis2):
    """Two axes as numbers from 0; None where they are not two axes of the array."""
    if not all(-a.ndim <= axis < a.ndim for axis in (axis1, axis2)):
        return None
    first, second = axis1 % a.ndim, axis2 % a.ndim
    return None if first == second else (first, second)


@otherwise
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """Sums of the diagonals in the planes of two axes.

    Raises ValueError for axes that do not exist or are equal.

    >>> mx.np.trace(mx.np.array([[1, 2], [3, 4]]))
    array(5.)
    """
    a = asarray(a)
    axes = _two_axes(a, axis1, axis2)
    if a.dtype.name not in (*FLOATS, *INTEGERS) or axes is None:
        return NotImplemented
    if dtype is None and a.dtype.name in INTEGERS:
        dtype = "int64"
    return run("_np_trace", [a if dtype is None else a.astype(dtype)], _diagonal(offset, axes), out)


def outer(a, b, out=None):
    """The products of all elements of one array with all of another, (a.size, b.size).

    >>> mx.np.outer(mx.np.array([1, 2]), mx.np.array([3, 4]))
    array([[3., 4.],
           [6., 8.]])
    """
    return _multiply(reshape(a, (-1, 1)), reshape(b, (1, -1)), out)


@otherwise
def inner(a, b):
    """The sums of products over the last axes of both arrays.

    Raises ArgumentError where their sizes differ.

    >>> mx.np.inner(mx.np.array([[1, 2], [3, 4]]), mx.np.array([1, 1]))
    array([3., 7.])
    """
    arrays = floats(a, b)
    if arrays is None:
        return NotImplemented
    if arrays[0].ndim == 0 or arrays[1].ndim == 0:
        return _multiply(*arrays)
    return tensordot(*arrays, axes=([arrays[0].ndim - 1], [arrays[1].ndim - 1]))


@otherwise
def vdot(a, b):
    """The sum of the products of all elements of two arrays.

    Raises ArgumentError where sizes differ.

    >>> mx.np.vdot(mx.np.array([[1, 2], [3, 4]]), mx.np.ones((2, 2)))
    array(10.)
    """
    arrays = floats(a, b)
    return NotImplemented if arrays is None else tensordot(*map(ravel, arrays), axes=1)


def kron(a, b):
    """Kronecker's product: each element of the first array times the whole second one.

    >>> mx.np.kron(mx.np.array([1, 10]), mx.np.array([1, 2]))
    array([ 1.,  2., 10., 20.])
    """
    a, b = asarray(a), asarray(b)
    rank = max(a.ndim, b.ndim)
    left, right = ((1,) * (rank - array.ndim) + tuple(array.shape) for array in (a, b))
    rows = reshape(a, tuple(n for size in left for n in (size, 1)))
    columns = reshape(b, tuple(n for size in right for n in (1, size)))
    return reshape(_multiply(rows, columns), tuple(m * n for m, n in zip(left, right)))


@otherwise
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross products of vectors of two or three elements along an axis; `axis` stands for all three.

    The third element of a vector of two is 0. Two vectors of two elements give a number each: the third element of the
    result, which has no axis `axisc` then. Raises ValueError for other vectors.

    >>> mx.np.cross(mx.np.array([1, 0, 0]), mx.np.array([0, 1, 0]))
    array([0., 0., 1.])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    arrays = common([a, b], (*FLOATS, *INTEGERS))
    if arrays is None or not all(_has_vectors(v, i) for v, i in zip(arrays, (axisa, axisb))):
        return NotImplemented
    x, y = ([take(v, i, axis=place) for i in range(v.shape[place])] for v, place in zip(arrays, (axisa, axisb)))
    last = _subtract(_multiply(x[0], y[1]), _multiply(x[1], y[0]))
    if len(x) == len(y) == 2:
        return last
    if len(x) == 2:
        first = [_multiply(x[1], y[2]), _negative(_multiply(x[0], y[2]))]
    elif len(y) == 2:
        first = [_negative(_multiply(x[2], y[1])), _multiply(x[2], y[0])]
    else:
        first = [_subtract(_multiply(x[i], y[j]), _multiply(x[j], y[i])) for i, j in ((1, 2), (2, 0))]
    return stack([*first, last], axisc)


def _has_vectors(array, axis):
    return -array.ndim <= axis < array.ndim and array.shape[axis] in (2, 3)
