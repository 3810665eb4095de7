"""Attributes of hybrid blocks that toolkits read and call although their names begin with an underscore."""

from ...sym import Variable


class NamesOfMXNet:
    """What HybridBlock inherits."""

    def _clear_cached_op(self):
        """Toolkits call it where the block computes something else from now on."""
        self._forget_graph()

    @property
    def _cached_graph(self):
        """(symbols of inputs, symbol) of a hybridized block that has run, else ()."""
        graph = self._graphs.most_open()
        if graph is None:
            return ()
        return [Variable(name) for name in graph.block._input_names], graph.block.symbol
