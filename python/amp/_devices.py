"""Devices by number. All are the CPU: a program that names several has one copy of each parameter for each.

Arrays have the number of their device (`NDArray._device_id`), results that of their inputs. While no program has named
another device than 0, calls look at one flag and nothing else.
"""

import contextlib
import functools
import threading

from . import _core
from ._core import NDArray

are_used = False  # whether any array may be on another device than 0


class _Current(threading.local):
    device = 0


_current = _Current()


def current():
    """The number of the device on which this thread makes arrays."""
    return _current.device


def set_current(device):
    """Arrays that this thread makes are on this device from now on."""
    global are_used
    are_used = are_used or device != 0
    _current.device = device
    _core.set_current_device(device)


@contextlib.contextmanager
def scope(device):
    """Inside of the `with` block the device of this number is the current one."""
    before = _current.device
    set_current(device)
    try:
        yield
    finally:
        set_current(before)


def of(arrays):
    """The device of some arrays, those of a call: the first that is not 0."""
    return next((array._device_id for array in arrays if isinstance(array, NDArray) and array._device_id), 0)


def scope_of(leaves):
    """The scope of the device of the arrays among `leaves`; without arrays the current one stays."""
    arrays = [leaf for leaf in leaves if isinstance(leaf, NDArray)]
    return scope(of(arrays) if arrays else current())


def number_of(device, default=None):
    """The number of a `Context`; `default` for what is none, such as None or text."""
    return getattr(device, "device_id", default)


def placed(array, device):
    """A new `array` on the device of this number."""
    global are_used
    are_used = are_used or device != 0
    array._device_id = device
    return array


def carry(outputs, inputs):
    """Results are on the device of their inputs; those without inputs stay where they were made."""
    if inputs:
        device = of(inputs)
        for output in outputs:
            output._device_id = device


def take_device(functions):
    """Functions of a module, {name: function}, that take `ctx` or `device` put their results there."""
    for name, function in list(functions.items()):
        code = getattr(function, "__code__", None)
        names = () if code is None else code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if "ctx" in names and not name.startswith("_"):
            functions[name] = _placing(function, names.index("ctx"))


def _placing(function, position):
    @functools.wraps(function)
    def make(*args, **kwargs):
        result = function(*args, **kwargs)
        device = kwargs.get("ctx") or kwargs.get("device") or (args[position] if len(args) > position else None)
        number = number_of(device)
        return result if number is None else _on(result, number)

    return make


def _on(result, device):
    if not isinstance(result, NDArray) or result._device_id == device:
        return result
    return placed(result.copy(), device)  # the function may have given back what it was passed
