"""Attributes of parameters that toolkits read and write although their names begin with an underscore."""

from ...base import UnsupportedError
from .parameter_devices import numbers_of


class _Arrays(list):
    """The arrays of a parameter; another one that is put there is what the parameter holds from then on."""

    def __init__(self, parameter):
        super().__init__(parameter._arrays())
        self._parameter = parameter

    def __setitem__(self, index, array):
        super().__setitem__(index, array)
        self._parameter._array, self._parameter._copies = self[0], tuple(self[1:])


class NamesOfMXNet:
    """What Parameter inherits: lists of devices and of what is on them."""

    _waiting = _trainer = None
    _stype = _grad_stype = "default"

    @property
    def _data(self):
        return None if self._array is None else _Arrays(self)

    @_data.setter
    def _data(self, arrays):
        self._array, self._copies = (None, ()) if arrays is None else (arrays[0], tuple(arrays[1:]))

    @property
    def _ctx_list(self):
        return None if self._array is None else self.list_ctx()

    @_ctx_list.setter
    def _ctx_list(self, devices):
        """They belong to the arrays."""

    @property
    def _ctx_map(self):
        """[device_typeid & 1][device_id]: the place in lists of arrays, or None."""
        places = {device.device_id: i for i, device in enumerate(self.list_ctx())}
        return [], [places.get(number) for number in range(max(places) + 1)]

    @_ctx_map.setter
    def _ctx_map(self, places):
        """They belong to the arrays."""

    @property
    def _deferred_init(self):
        return () if self._waiting is None else (self._waiting[0], self.list_ctx(), self._waiting[1], None)

    @_deferred_init.setter
    def _deferred_init(self, waiting):
        self._waiting = (waiting[0], waiting[2]) if waiting else None
        if waiting:
            self._places = numbers_of(waiting[1])

    @property
    def _allow_deferred_init(self):
        return self.allow_deferred_init

    def _check_and_get(self, arrays, ctx):
        """`arrays`, one for each device, for `list`; else the one on a device; errors as for `data`."""
        if arrays is None:
            raise self._no_array_error()
        if ctx is list:
            return arrays
        wanted = self._array_on(ctx)
        return arrays[next(i for i, own in enumerate(self._arrays()) if own is wanted)]

    def row_sparse_data(self, row_id):
        """Raises UnsupportedError."""
        raise UnsupportedError(f"parameter '{self.name}': sparse arrays are not supported")

    list_row_sparse_data = row_sparse_data

    def _load_init(self, data, ctx=None, cast_dtype=False, dtype_source="current"):
        self._places = self._places if ctx is None else numbers_of(ctx)
        self.set_data(data)

    def _finish_deferred_init(self):
        self.finish_initialization()

    def _reduce(self):
        """A copy of the array, of several their mean."""
        return self.mean()
