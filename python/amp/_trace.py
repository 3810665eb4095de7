"""Recording of what runs on arrays: how the call of a block becomes a symbol.

Inside of a `with Trace():` block every operator that this thread runs on arrays is composed as a symbol, too. Sizes
that Python reads meanwhile are noted: the symbol is valid for these. Values cannot be read: no graph would notice that
they change.
"""

import contextlib
import functools
import itertools
import math
import operator
import threading

from . import _core, _recording
from ._arrays import mapped
from ._core import NDArray
from ._sizes import Size, SizeRead, place_of_caller, sizes_hold  # noqa: F401 - callers find it here
from .attribute import AttrScope
from .base import UnsupportedError
from .sym import Symbol, Variable


class _Active(threading.local):
    trace, is_rehearsal = None, False


_active = _Active()


def current():
    """The trace that records this thread's operators, or None."""
    return _active.trace


def is_inside_of_graph():
    """Whether the blocks that run now are parts of one that is, or will be, recorded: they are no graphs themselves."""
    return current() is not None or _active.is_rehearsal


class NoGraphError(UnsupportedError):
    """What a block does cannot become a graph."""


@contextlib.contextmanager
def rehearsal():
    """A block runs as it will when it is recorded, but nothing is recorded: parameters learn their shapes."""
    outer = _active.trace, _active.is_rehearsal
    _active.trace, _active.is_rehearsal = None, True
    try:
        yield
    finally:
        _active.trace, _active.is_rehearsal = outer


def refuse(what):
    """Raises NoGraphError inside of a trace: `what` has no operator."""
    if current() is not None:
        raise NoGraphError(f"{what} cannot become part of a graph")


def mode(name):
    """The mode 'is_training' or 'is_recording' as Python reads it; a graph that is being recorded is valid for it."""
    trace = current()
    return getattr(_recording.modes, name) if trace is None else trace.read_mode(name)


class Trace:
    """The symbols of arrays: of those that were marked, and of the results of operators on them.

    `is_recording`: whether the call is recorded for gradients.
    """

    def __init__(self, is_recording=False):
        self._known = {}  # id: (array, symbol, whether sizes may change); the array keeps its id from being reused
        self._numbers = itertools.count()
        self._reads = {}  # {(id of an array, axis): SizeRead}
        self.constants = {}  # {name: array} of arrays that came from nowhere
        self._modes = {"is_training": _recording.modes.is_training, "is_recording": is_recording}
        self.modes_read = {}  # those that Python asked for

    def __enter__(self):
        self._outer = current()
        _active.trace = self
        _watch.begin()
        return self

    def __exit__(self, *exception):
        _watch.end()
        _active.trace = self._outer

    def mark(self, array, symbol, is_open=False):
        """From now on `array` stands for `symbol`. `is_open`: other calls may have other sizes."""
        self._known[id(array)] = array, symbol, is_open

    def mark_input(self, array, symbol):
        """From now on `array`, an argument of the call, stands for `symbol`."""
        self.mark(array, symbol, is_open=True)

    def read_mode(self, name):
        """The mode of the call, 'is_training' or 'is_recording'; nothing is recorded for gradients meanwhile."""
        self.modes_read[name] = self._modes[name]
        return self._modes[name]

    @property
    def sizes_read(self):
        """What Python read, a tuple of `SizeRead`s."""
        return tuple(self._reads.values())

    def sizes_of(self, array, shape):
        """The shape as Python gets it."""
        known = self._known.get(id(array))
        if known is None or not known[2]:
            return shape
        return tuple(Size(size, self._reader(known, axis, size)) for axis, size in enumerate(shape))

    def _reader(self, known, axis, size):
        def read():
            key = id(known[0]), axis
            if key not in self._reads:
                self._reads[key] = SizeRead(known[1], axis, size, place_of_caller())

        return read

    def refuse_values(self, array):
        """Raises NoGraphError for an array whose values other calls change."""
        if id(array) in self._known and id(array) not in map(id, self.constants.values()):
            raise NoGraphError("what Python computes from values of arrays")

    def symbol_of(self, array):
        """The symbol of an array; one that is not known is a constant of the graph."""
        found = self._known.get(id(array))
        if found is not None:
            return found[1]
        name = f"const_{len(self.constants)}"
        self.constants[name] = array
        symbol = Variable(name, shape=array.shape, dtype=array.dtype)
        self.mark(array, symbol)
        return symbol

    def on_symbols(self, function, arrays):
        """`function` of arrays as a function of symbols that stand for arrays like these: a part of this graph."""

        def composed(*symbols):
            stand_ins = [type(array)(array) for array in arrays]
            for stand_in, symbol in zip(stand_ins, symbols):
                self.mark(stand_in, symbol)
            return mapped(function(*stand_ins), self.symbol_of)

        return composed

    def record(self, op, attributes, positional, by_name, outputs):
        """Composes the operator whose results are `outputs`."""
        scope = AttrScope.current()
        node = _core.apply(
            op,
            f"node_{next(self._numbers)}",
            scope.constrain({**scope.get(), **attributes}),
            [self.symbol_of(array)._handle for array in positional],
            {name: self.symbol_of(array)._handle for name, array in by_name.items()},
        )
        for i, output in enumerate(outputs):
            self.mark(output, Symbol(node.at(i)), is_open=True)

    def copied(self, new, old):
        """`new` is a copy of `old`, which may have come from nowhere: then it is another constant."""
        if id(old) in self._known:
            self.same(new, old)

    def same(self, new, old):
        """`new` holds the elements of `old` as another object."""
        symbol = self.symbol_of(old)
        self.mark(new, symbol, self._known[id(old)][2])


class _Watch:
    """Sizes and values of arrays are watched while a thread records, and cost nothing else."""

    def __init__(self):
        self._lock, self._count, self._plain = threading.Lock(), 0, {}

    def begin(self):
        """One more thread records."""
        with self._lock:
            self._count += 1
            if self._count == 1:
                watched = {
                    **_SIZES,
                    **{name: _watched(name) for name in _VALUES},
                    **{name: _watched_copy(name) for name in _COPIES},
                    "__init__": _watched_init(NDArray.__init__),
                }
                self._plain = {name: getattr(NDArray, name) for name in watched}
                for name, value in watched.items():
                    setattr(NDArray, name, value)

    def end(self):
        """It has ended."""
        with self._lock:
            self._count -= 1
            if self._count == 0:
                for name, plain in self._plain.items():
                    setattr(NDArray, name, plain)


def _watched_shape(array):
    shape, trace = array._shape, current()
    return shape if trace is None else trace.sizes_of(array, shape)


def _watched_size(array):
    return math.prod(_watched_shape(array))


def _watched_len(array):
    if not array._shape:
        return array._length()  # which raises
    return operator.index(_watched_shape(array)[0])


def _watched(name):
    plain = getattr(NDArray, name)

    @functools.wraps(plain)
    def read(array, *args, **kwargs):
        if current() is not None:
            current().refuse_values(array)
        return plain(array, *args, **kwargs)

    return read


def _watched_copy(name):
    """Copies that no operator makes stand for what they are made of."""
    plain = getattr(NDArray, name)

    @functools.wraps(plain)
    def copied(array, *args):
        result = plain(array, *args)
        if current() is not None:
            current().copied(result, array)
        return result

    return copied


def _watched_init(plain):
    @functools.wraps(plain)
    def init(array, *args, **kwargs):
        plain(array, *args, **kwargs)
        source = args[0] if args else None
        if current() is not None and isinstance(source, NDArray):
            current().copied(array, source)

    return init


# For readers whose results hold for all sizes: what they do with them is no part of a graph.
NDArray._shape, NDArray._length = NDArray.shape, NDArray.__len__

_watch = _Watch()
_SIZES = {
    "shape": property(_watched_shape),
    "size": property(_watched_size),
    "nbytes": property(lambda array: _watched_size(array) * array.dtype.itemsize),
    "__len__": _watched_len,
}
_COPIES = "__copy__", "__deepcopy__"
_VALUES = "asnumpy", "__array__", "__dlpack__"
