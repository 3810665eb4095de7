"""The Python array API's functions of sets, computed by NumPy."""

from collections import namedtuple

from . import numpy_fallback
from .shapes import ravel

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def unique_all(x):
    """The different elements of an array, ascending; where each occurs first; which one every element is; counts.

    A named tuple (values, indices, inverse_indices, counts) of arrays with one axis: indices are those of the flattened
    array, as in MXNet.

    >>> mx.np.unique_all(mx.np.array([5, 3, 5])).indices
    array([1, 0])
    """
    return UniqueAll(*numpy_fallback.find("unique")(ravel(x), True, True, True))


def unique_counts(x):
    """The different elements of an array, ascending, and how often each occurs: a named tuple (values, counts).

    >>> mx.np.unique_counts(mx.np.array([5, 3, 5])).counts
    array([1, 2])
    """
    return UniqueCounts(*numpy_fallback.find("unique")(ravel(x), return_counts=True))


def unique_inverse(x):
    """The different elements of an array, ascending, and which one every element of the flattened array is.

    A named tuple (values, inverse_indices) of arrays with one axis.

    >>> mx.np.unique_inverse(mx.np.array([5, 3, 5])).inverse_indices
    array([1, 0, 1])
    """
    return UniqueInverse(*numpy_fallback.find("unique")(ravel(x), return_inverse=True))


def unique_values(x):
    """The different elements of an array, ascending.

    >>> mx.np.unique_values(mx.np.array([5, 3, 5]))
    array([3., 5.])
    """
    return numpy_fallback.find("unique")(ravel(x))
