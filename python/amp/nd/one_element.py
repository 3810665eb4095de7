"""NumPy arrays of one element that are numbers, too.

NumPy 2.4 refuses `float(x)` of arrays with axes. Programs of MXNet's time write `float(loss.mean().asnumpy())`, and
the mean has the shape (1,).
"""

import numpy as np


class OneElement(np.ndarray):
    """What `asnumpy` gives of an array with axes and one element."""

    def __array_finalize__(self, source):
        """Views of it may have any size: they are numbers where they have one element."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        if return_scalar:
            return array[()]
        return array.view(OneElement) if array.size == 1 and array.ndim else np.asarray(array)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __complex__(self):
        return complex(self.item())

    def __format__(self, spec):
        """As numbers are: f"{loss.asnumpy():.3f}"."""
        return format(self.item(), spec) if spec else str(np.asarray(self))

    def __repr__(self):
        return repr(np.asarray(self))

    def __reduce__(self):
        return np.asarray(self).__reduce__()


def as_number(array):
    """The array, as OneElement where it is one."""
    return array.view(OneElement) if array.size == 1 and array.ndim else array
