"""Recording of what runs on arrays: how the call of a block becomes a symbol.

Inside of a `with Trace():` block every operator that this thread runs on arrays is composed as a symbol, too. The
arrays have values all the time, so that a block may look at them.
"""

import contextlib
import itertools
import threading

from . import _core
from ._arrays import mapped
from ._operator_names import node_hint
from .attribute import AttrScope
from .base import UnsupportedError
from .sym import Symbol, Variable

_active = threading.local()


def current():
    """The trace that records this thread's operators, or None."""
    return getattr(_active, "trace", None)


def is_inside_of_graph():
    """Whether the blocks that run now are parts of one that is, or will be, recorded: they are no graphs themselves."""
    return current() is not None or getattr(_active, "is_rehearsal", False)


class NoGraphError(UnsupportedError):
    """What a block does cannot become a graph."""


def names(prefix, given=None):
    """`Trace.names` of the trace that records, if there is one: a context manager."""
    trace = current()
    return contextlib.nullcontext() if trace is None else trace.names(prefix, given)


@contextlib.contextmanager
def rehearsal():
    """A block runs as it will when it is recorded, but nothing is recorded: parameters learn their shapes."""
    outer = current(), getattr(_active, "is_rehearsal", False)
    _active.trace, _active.is_rehearsal = None, True
    try:
        yield
    finally:
        _active.trace, _active.is_rehearsal = outer


def refuse(what):
    """Raises NoGraphError inside of a trace: `what` has no operator."""
    if current() is not None:
        raise NoGraphError(f"{what} cannot become part of a graph")


class Trace:
    """The symbols of arrays: of those that were marked, and of the results of operators on them."""

    def __init__(self):
        self._known = {}  # id: (array, symbol); the array keeps its id from being reused
        self._numbers = itertools.count()
        self._prefix, self._given_name = None, None  # of the nodes of a block with names of MXNet 1.x
        self._used = {}  # {name: how many nodes have it}
        self.constants = {}  # {name: array} of arrays that came from nowhere

    def __enter__(self):
        self._outer = current()
        _active.trace = self
        return self

    def __exit__(self, *exception):
        _active.trace = self._outer

    @contextlib.contextmanager
    def names(self, prefix, given=None):
        """Names of nodes are `prefix`, then `given` or the operator and a number; None: numbers alone."""
        before = self._prefix, self._given_name
        self._prefix, self._given_name = prefix, given
        try:
            yield
        finally:
            self._prefix, self._given_name = before

    def _node_name(self, op):
        if self._prefix is None:
            return f"node_{next(self._numbers)}"
        name = f"{self._prefix}{self._given_name or node_hint(op)}"
        count = self._used[name] = self._used.get(name, -1) + 1
        return name if self._given_name and not count else f"{name}{count}"

    def mark(self, array, symbol):
        """From now on `array` stands for `symbol`."""
        self._known[id(array)] = array, symbol

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
            self._node_name(op),
            scope.constrain({**scope.get(), **attributes}),
            [self.symbol_of(array)._handle for array in positional],
            {name: self.symbol_of(array)._handle for name, array in by_name.items()},
        )
        for i, output in enumerate(outputs):
            self.mark(output, Symbol(node.at(i)))

    def same(self, new, old):
        """`new` holds the elements of `old` as another object."""
        self.mark(new, self.symbol_of(old))
