"""Random shapes and arrays."""

import numpy as np

from ... import nd
from ...base import UnsupportedError
from .. import random
from .surroundings import default_dtype


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False):
    """A random shape (m, n), with m from 1 (or 0) up to dim0 and n up to dim1.

    >>> len(mx.test_utils.rand_shape_2d())
    2
    """
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False):
    """A random shape of three dimensions; see `rand_shape_2d`.

    >>> len(mx.test_utils.rand_shape_3d())
    3
    """
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim, dim=10, allow_zero_size=False):
    """A random shape of `num_dim` dimensions up to `dim`.

    >>> len(mx.test_utils.rand_shape_nd(5))
    5
    """
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(limits, allow_zero_size):
    return tuple(int(random.generator().integers(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_ndarray(shape, stype="default", density=None, dtype=None, distribution=None, ctx=None, **options):
    """A dense NDArray of normally distributed numbers; raises UnsupportedError for sparse ones.

    >>> mx.test_utils.rand_ndarray((2, 3)).shape
    (2, 3)
    """
    if stype != "default":
        raise UnsupportedError(f"rand_ndarray: arrays are dense, got stype {stype!r}")
    return nd.array(random_arrays(tuple(shape)), dtype=dtype or "float32")


def random_arrays(*shapes):
    """NumPy arrays of normally distributed numbers; one array for one shape, else a list.

    >>> mx.test_utils.random_arrays((2, 3)).shape
    (2, 3)
    """
    arrays = [np.asarray(random.generator().normal(size=shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=None):
    """NumPy arrays of uniformly distributed numbers, a list.

    >>> [array.shape for array in mx.test_utils.random_uniform_arrays((2, 3), (4,))]
    [(2, 3), (4,)]
    """
    dtype = dtype or default_dtype()
    return [np.asarray(random.generator().uniform(low, high, shape), dtype=dtype) for shape in shapes]
