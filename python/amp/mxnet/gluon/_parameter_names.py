"""Attributes of parameters that toolkits read and write although their names begin with an underscore."""

from ...base import UnsupportedError
from ..context import cpu


class _Arrays(list):
    """[the array of a parameter]; another one that is put there is what the parameter holds from then on."""

    def __init__(self, parameter, array):
        super().__init__([array])
        self._parameter = parameter

    def __setitem__(self, index, array):
        super().__setitem__(index, array)
        self._parameter._array = self[0]


class NamesOfMXNet:
    """What Parameter inherits: one device, seen as MXNet's lists of devices."""

    _array = _waiting = _trainer = None
    _stype = _grad_stype = "default"
    _ctx_map = ([], [0])  # device_typeid & 1, then device_id -> place in lists of arrays

    @property
    def _data(self):
        return None if self._array is None else _Arrays(self, self._array)

    @_data.setter
    def _data(self, arrays):
        self._array = None if arrays is None else arrays[0]

    @property
    def _ctx_list(self):
        return None if self._array is None else [cpu()]

    @_ctx_list.setter
    def _ctx_list(self, devices):
        """There is one."""

    @property
    def _deferred_init(self):
        return () if self._waiting is None else (self._waiting[0], [cpu()], self._waiting[1], None)

    @_deferred_init.setter
    def _deferred_init(self, waiting):
        self._waiting = (waiting[0], waiting[2]) if waiting else None

    @property
    def _allow_deferred_init(self):
        return self.allow_deferred_init

    def _check_and_get(self, arrays, ctx):
        """`arrays` for a list of devices, else the first one; errors as for `data`."""
        if arrays is None:
            raise self._no_array_error()
        return arrays if ctx is list else arrays[0]

    def row_sparse_data(self, row_id):
        """Raises UnsupportedError."""
        raise UnsupportedError(f"parameter '{self.name}': sparse arrays are not supported")

    list_row_sparse_data = row_sparse_data

    def _load_init(self, data, ctx=None, cast_dtype=False, dtype_source="current"):
        self.set_data(data)

    def _finish_deferred_init(self):
        self.finish_initialization()

    def _reduce(self):
        """A copy of the array."""
        return self.data().copy()
