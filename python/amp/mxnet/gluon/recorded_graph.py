"""Runs of a graph that are recorded for gradients."""

from ... import _core, _recording, nd


class RecordedGraph:
    """A symbol, which runs as one node of what is recorded."""

    def __init__(self, symbol, name):
        self._symbol, self._name = symbol, name
        self._graphs = {}  # by names of the inputs, which of them have gradients, and the mode

    def __call__(self, arrays):
        """The outputs of a run on {name: array} in the modes of this thread, a list."""
        names = tuple(name for name in self._symbol.list_inputs() if name in arrays)
        inputs = [arrays[name] if isinstance(arrays[name], nd.NDArray) else nd.NDArray(arrays[name]) for name in names]

        def graph_for(is_asked, is_training):
            key = names, is_asked, is_training
            if key not in self._graphs:
                self._graphs[key] = _core.DifferentiableGraph(
                    self._symbol._handle, list(names), list(is_asked), is_training
                )
            return self._graphs[key]

        def describe(symbols, _):
            return self._symbol(**dict(zip(names, symbols)))

        return _recording.run_graph(graph_for, self._name, inputs, nd.NDArray, describe)
