"""A cell whose output is projected."""

from .cells import LSTMCell

__all__ = ["LSTMPCell"]


class LSTMPCell(LSTMCell):
    """LSTMPCell(hidden_size, projection_size, input_size=0): an LSTMCell with a projection of its output behind it.

    >>> cell = mx.gluon.contrib.rnn.LSTMPCell(5, 3)
    >>> cell.initialize()
    >>> output, states = cell(amp.nd.ones((2, 4)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3), (2, 5)])
    """

    def __init__(
        self,
        hidden_size,
        projection_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        h2r_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        self._projection_size = projection_size
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)
        self.parameter("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer)

    def _output_size(self):
        return self._projection_size

    def state_info(self, batch_size=0):
        """Two states: the output and the memory."""
        sizes = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, h2r_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        weights = i2h_weight, h2h_weight, i2h_bias, h2h_bias
        show, memory = self._gated(F, inputs, states, weights)
        shown = F.elemwise_mul(show, self._shown(F, memory), **self._named("hidden"))
        settings = {"num_hidden": self._projection_size, "no_bias": True, **self._named("out")}
        output = F.FullyConnected(shown, h2r_weight, **settings)
        return output, [output, memory]
