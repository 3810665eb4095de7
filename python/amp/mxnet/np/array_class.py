"""The class of arrays with NumPy's semantics."""

import sys

import numpy as np

from ..._core import NDArray
from ...base import UnsupportedError

_API_VERSIONS = ("2021.10", "2021.12", "2022.12")


class ndarray(NDArray):  # noqa: N801 - NumPy's and MXNet's name
    """An array that follows NumPy's rules: `mx.np.ndarray`.

    ndarray(object, dtype=None) shares memory as `amp.NDArray` does.

    >>> mx.np.ndarray(np.arange(3)) + 0.5
    array([0.5, 1.5, 2.5], dtype=float64)
    """

    __module__ = "amp.mxnet.np"
    _is_numpy = True

    @property
    def T(self):  # noqa: N802 - NumPy's name
        """The array with its axes in reverse order."""
        return self.transpose()

    @property
    def mT(self):  # noqa: N802 - NumPy's name
        """The matrices in the last two axes, transposed. Raises ValueError for an array of fewer axes."""
        if self.ndim < 2:
            raise ValueError(f"mT: expected an array with two axes or more, got shape {self.shape}")
        return self.swapaxes(-1, -2)

    def __getitem__(self, key):
        return super().__getitem__(self._known_key(key))

    def __setitem__(self, key, value):
        super().__setitem__(self._known_key(key), value)

    def _known_key(self, key):
        """A number has no axis, but `x[:]` is allowed, as in MXNet: `x += 1` writes there."""
        return ... if self.ndim == 0 and isinstance(key, slice) and key == slice(None) else key

    def __index__(self):
        """The number of an integer without axes. Raises TypeError for other arrays, as NumPy does."""
        if self.ndim or self.dtype.kind not in "iu":
            raise TypeError(f"only an integer without axes is an index, not {self.dtype.name} of shape {self.shape}")
        return int(self.item())

    def __array_namespace__(self, api_version=None):
        """The module whose functions take this array, `mx.np`, by the Python array API standard."""
        if api_version not in (None, *_API_VERSIONS):
            raise ValueError(f"version {api_version!r} of the array API; known are {', '.join(_API_VERSIONS)}")
        return sys.modules[__package__]

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.asnumpy().tolist()

    def copy(self, order="C"):
        """A copy in memory of its own; it is row-major, so `order` may be 'C', 'A' or 'K'."""
        if order not in ("C", "A", "K"):
            raise UnsupportedError(f"copy: order {order!r}; arrays are row-major")
        return super().copy()

    def flatten(self, order="C"):
        """A copy with one axis."""
        if order != "C":
            raise UnsupportedError(f"flatten: order {order!r}; only 'C' is supported")
        return self.reshape(-1).copy()

    def __repr__(self):
        text = np.array2string(self.asnumpy(), separator=", ", prefix="array(")
        dtype = "" if self.dtype in (np.float32, np.int64, np.bool_) else f", dtype={self.dtype.name}"
        return f"array({text}{dtype})"

    def __str__(self):
        return str(self.asnumpy())

    def __format__(self, spec):
        if self.ndim == 0:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"an array of shape {self.shape} has no format {spec!r}")
        return str(self)
