"""The class of arrays with NumPy's semantics."""

import numpy as np

from ..._core import NDArray
from ...base import UnsupportedError


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
