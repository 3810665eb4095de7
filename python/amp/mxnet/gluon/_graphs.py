"""The recorded graphs of one block: several where Python read sizes, which differ between calls."""

import threading
import warnings

from ... import _devices
from . import _call_forms, tracing
from .base_block import Block

_GRAPHS_KEPT = 8


class Graphs:
    """Graphs of a block, the one that was used last first. It does not hold the block, which holds it."""

    def __init__(self):
        self.kept = []
        self._count = 0  # of recordings since the block has its present parts
        self._form = None  # of the arguments of the first call
        self._lock = threading.Lock()

    def clear(self):
        """The next call records again."""
        self.kept, self._count, self._form = [], 0, None

    def of_call(self, block, args, call=Block.__call__):
        """The block's graph for these arguments of `call`, recorded where none fits."""
        kept = self.kept
        if kept and _fits(kept[0], block, args):
            return kept[0]
        with self._lock:
            return self._other_graph(block, args, call)

    def _other_graph(self, block, args, call):
        found = next((graph for graph in self.kept if _fits(graph, block, args)), None)
        if found is None:
            found = self._record(block, args, call)
        self.kept = [found, *(graph for graph in self.kept if graph is not found)][:_GRAPHS_KEPT]
        return found

    def _record(self, block, args, call):
        form = _call_forms.checked(block, args, self._form)
        graph = tracing.graph_of(block, args, call)
        self._form = form
        graph.call_state = _state(block)
        if block._hook is not None:
            graph.block.register_op_hook(*block._hook)
        self._count += 1
        if self._count == _GRAPHS_KEPT + 1:
            why = graph.fixed_sizes_text() or "the arguments differ in more than sizes"
            warnings.warn(
                f"{type(block).__name__} was recorded more than {_GRAPHS_KEPT} times, which is slow: {why}",
                RuntimeWarning,
                stacklevel=6,
            )
        return graph

    def most_open(self):
        """A graph for all sizes where there is one, else the last that ran, or None."""
        return next((graph for graph in self.kept if not graph.fixed_sizes), self.kept[0] if self.kept else None)

    def __getstate__(self):
        return {"kept": [], "_count": 0, "_form": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()


def _fits(graph, block, args):
    return graph.call_state == _state(block) and graph.fits(args)


def _state(block):
    """What results depend on beside the arguments of a call; each device has parameters of its own."""
    return block._call_state, _devices.current()
