"""Parameters of blocks."""


class Parameter:
    """An array of a block, and its name there."""

    __slots__ = ("_array", "name")

    def __init__(self, name, array):
        self.name = name
        self._array = array

    def data(self, ctx=None, *, device=None):
        """The array, an NDArray, in the CPU's memory: `ctx` and `device` have no effect.

        Writing to it does not change what the block computes: its executors have packed copies.
        """
        return self._array

    @property
    def dtype(self):
        """The numpy.dtype of the elements."""
        return self._array.dtype

    @property
    def shape(self):
        """The shape of the array."""
        return self._array.shape

    def __repr__(self):
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype.name})"
