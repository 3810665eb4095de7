"""Cells of one layer."""

from .base import OneLayerCell

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class RNNCell(OneLayerCell):
    """RNNCell(hidden_size, activation='tanh', input_size=0): a function of input and state.

    `activation` is the name of one, or a function.

    >>> cell = mx.gluon.rnn.RNNCell(5)
    >>> cell.initialize()
    >>> cell(amp.nd.ones((2, 4)), cell.begin_state(2))[0].shape
    (2, 5)
    """

    def __init__(self, hidden_size, activation="tanh", *args, **kwargs):
        super().__init__(hidden_size, *args, **kwargs)
        self._activation = activation

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        i2h, h2h = self._dense(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        output = self._activated(F, F.elemwise_add(i2h, h2h, **self._named("plus0")), self._activation, "out")
        return output, [output]


class LSTMCell(OneLayerCell):
    """LSTMCell(hidden_size, input_size=0): long short-term memory. States are the output and the memory.

    >>> cell = mx.gluon.rnn.LSTMCell(5)
    >>> cell.initialize()
    >>> output, states = cell(amp.nd.ones((2, 4)), cell.begin_state(2))
    >>> [state.shape for state in states]
    [(2, 5), (2, 5)]
    """

    _gates, _num_states = 4, 2

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
        activation="tanh",
        recurrent_activation="sigmoid",
    ):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        weights = i2h_weight, h2h_weight, i2h_bias, h2h_bias
        show, memory = self._gated(F, inputs, states, weights)
        output = F.elemwise_mul(show, self._shown(F, memory), **self._named("out"))
        return output, [output, memory]

    def _gated(self, F, inputs, states, weights):  # noqa: N803 - MXNet's name
        """What the output gate shows, and the new memory."""
        i2h, h2h = self._dense(F, inputs, states[0], *weights)
        total = F.elemwise_add(i2h, h2h, **self._named("plus0"))
        gates = F.SliceChannel(total, num_outputs=4, **self._named("slice"))
        write, keep = (self._activated(F, gates["ifco".index(gate)], self._recurrent_activation, gate) for gate in "if")
        new = self._activated(F, gates[2], self._activation, "c")
        show = self._activated(F, gates[3], self._recurrent_activation, "o")
        kept = F.elemwise_mul(keep, states[1], **self._named("mul0"))
        written = F.elemwise_mul(write, new, **self._named("mul1"))
        return show, F.elemwise_add(kept, written, **self._named("state"))

    def _shown(self, F, memory):  # noqa: N803 - MXNet's name
        return self._activated(F, memory, self._activation, "activation0")


class GRUCell(OneLayerCell):
    """GRUCell(hidden_size, input_size=0): gated recurrent unit.

    >>> cell = mx.gluon.rnn.GRUCell(5)
    >>> cell.initialize()
    >>> cell(amp.nd.ones((2, 4)), cell.begin_state(2))[0].shape
    (2, 5)
    """

    _gates = 3

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
        activation="tanh",
        recurrent_activation="sigmoid",
    ):
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, *initializers, input_size, prefix, params)
        self._activation, self._recurrent_activation = activation, recurrent_activation

    def hybrid_forward(self, F, inputs, states, i2h_weight, h2h_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        weights = i2h_weight, h2h_weight, i2h_bias, h2h_bias
        i2h, h2h = (
            F.SliceChannel(dense, num_outputs=3, **self._named(f"{which}_slice"))
            for dense, which in zip(self._dense(F, inputs, states[0], *weights), ("i2h", "h2h"))
        )
        reset = self._activated(F, i2h[0] + h2h[0], self._recurrent_activation, "r_act")
        update = self._activated(F, i2h[1] + h2h[1], self._recurrent_activation, "z_act")
        new = self._activated(F, i2h[2] + reset * h2h[2], self._activation, "h_act")
        output = F.elemwise_add((1.0 - update) * new, update * states[0], **self._named("out"))
        return output, [output]
