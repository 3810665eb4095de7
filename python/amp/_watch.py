"""Which parameters were written to. A block that runs as a graph has packed copies of its parameters; it asks here."""

import bisect
import weakref

_begins = []  # addresses of watched memory, ascending
_ranges = {}  # {begin: (end, weak set of the parameters that live there)}


def watch(parameter, array):
    """From now on writes to `array` raise `parameter.version`."""
    forget(parameter)
    if array.nbytes == 0:
        return
    begin = _address(array)
    if begin not in _ranges:
        bisect.insort(_begins, begin)
    parameters = _ranges.get(begin, (0, weakref.WeakSet()))[1]
    parameters.add(parameter)
    _ranges[begin] = begin + array.nbytes, parameters  # earlier owners of the address may be gone
    parameter._watched = begin
    weakref.finalize(parameter, _tidy, begin).atexit = False


def forget(parameter):
    """Ends what `watch` began."""
    begin, parameter._watched = parameter._watched, None
    if begin in _ranges:
        _ranges[begin][1].discard(parameter)
        _tidy(begin)


def written(array):
    """Called after every write to an array."""
    if not _begins:
        return
    address = _address(array)
    position = bisect.bisect_right(_begins, address) - 1
    if position < 0:
        return
    end, parameters = _ranges[_begins[position]]
    if address < end:
        for parameter in parameters:
            parameter.version += 1


def _tidy(begin):
    if begin in _ranges and not _ranges[begin][1]:
        del _ranges[begin]
        _begins.remove(begin)


def _address(array):
    return array.asnumpy().__array_interface__["data"][0]
