"""The arrays of a parameter: one for each device that it was initialized on."""

from ... import _devices
from ..._core import NDArray
from ...base import ArgumentError
from ..context import cpu


class WrongDeviceError(ArgumentError, RuntimeError):
    """A parameter is asked for its array on a device that it was not initialized on."""


def numbers_of(devices):
    """The numbers of a device, or of a list of devices; of the current one for None."""
    if devices is None:
        return (_devices.current(),)
    devices = devices if isinstance(devices, (list, tuple)) else [devices]
    numbers = tuple(_devices.number_of(device, 0) for device in devices)
    return tuple(dict.fromkeys(numbers)) or (_devices.current(),)


class ArraysOnDevices:
    """What Parameter inherits: copies begin alike, and blocks compute with that on the device of their inputs.

    `_array` is the array on the first device, `_copies` are those on the others.
    """

    name = "parameter"
    _array, _copies = None, ()
    _places = None  # numbers of devices, as `initialize` was told

    def _arrays(self):
        return [] if self._array is None else [self._array, *self._copies]

    def _hold(self, array):
        """Takes a new array; other devices get copies."""
        places = self._places or (array._device_id,)
        self._hold_all([array, *(array.copy() for _ in places[1:])], places)

    def _hold_all(self, arrays, places):
        for old, array, device in zip([*self._arrays(), *(None for _ in arrays)], arrays, places):
            _devices.placed(array, device)
            array._place = None
            if old is not None and (old.shape, old.dtype) == (array.shape, array.dtype):
                array._place = old._place  # the gradient stays
        self._array, self._copies = arrays[0], tuple(arrays[1:])
        self._attach()

    def data(self, ctx=None, *, device=None):
        """The array, an NDArray; of several that on the given device, without one that on the current device.

        What is written to it is what the block computes with from the next call on. Raises UninitializedError before
        `initialize`, DeferredInitializationError before the shape is known, WrongDeviceError for another device than
        those of `initialize`.

        >>> mx.gluon.Constant([1, 2]).data().dtype
        dtype('float32')
        """
        return self._array_on(ctx if ctx is not None else device)

    def _array_on(self, device):
        if self._array is None:
            raise self._no_array_error()
        if device is list:
            return self._arrays()
        if device is None and not self._copies:
            return self._array
        (number,) = numbers_of(device)[:1]
        for array in self._arrays():
            if array._device_id == number:
                return array
        known = ", ".join(map(repr, self.list_ctx()))
        raise WrongDeviceError(f"parameter '{self.name}' was not initialized on {cpu(number)}, but on {known}")

    def list_data(self):
        """The arrays, one for each device."""
        return self._array_on(list)

    def list_ctx(self):
        """The devices, such as [mx.cpu()].

        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> weight.list_ctx()
        [cpu(0), cpu(1)]
        """
        places = [array._device_id for array in self._arrays()] or self._places or (0,)
        return [cpu(number) for number in places]

    def list_device(self):
        """The same as `list_ctx`."""
        return self.list_ctx()

    def reset_ctx(self, ctx=None, *, device=None):
        """The array is on these devices from now on: the mean of those that there were."""
        self._places = numbers_of(ctx if ctx is not None else device)
        if self._array is not None and self._places != self._present_places():
            self._hold(self.mean())

    reset_device = reset_ctx

    def mean(self):
        """A copy of the array, of several their mean: a device has statistics of its own part of the data.

        >>> weight = mx.gluon.Parameter("weight", shape=(2,), init="ones")
        >>> weight.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
        >>> weight.data(mx.cpu(1))[:] = 3
        >>> weight.mean()
        [2. 2.]
        <NDArray float32[2]>
        """
        total = self._array_on(list)[0].copy()
        for array in self._copies:
            total += _devices.placed(array.copy(), total._device_id)
        return total / (1 + len(self._copies)) if self._copies else total

    def to_save(self):
        """What a file gets: the array itself, or the mean of several."""
        return self.mean() if self._copies else self._array_on(list)[0]

    def _present_places(self):
        return tuple(array._device_id for array in self._arrays())

    def _set_copies(self):
        """Other devices get what an update made of the first one's array."""
        for array in self._copies:
            array._leave_views()
            NDArray.__setitem__(array, ..., self._array)
