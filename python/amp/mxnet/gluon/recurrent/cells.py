"""Cells of one layer."""

from ..nn.layer import functions_of
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

    def forward(self, inputs, states):
        """(output, states) of a step."""
        i2h, h2h = self._dense(inputs, states[0])
        output = self._activated(i2h + h2h, self._activation, "out")
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

    def forward(self, inputs, states):
        """(output, states) of a step."""
        i2h, h2h = self._dense(inputs, states[0])
        module = functions_of(inputs)
        gates = module.SliceChannel(i2h + h2h, num_outputs=4, **self._named(inputs, "slice"))
        write, keep, show = (
            self._activated(gates["ifco".index(gate)], self._recurrent_activation, gate) for gate in "ifo"
        )
        new = self._activated(gates[2], self._activation, "c")
        memory = module.elemwise_add(keep * states[1], write * new, **self._named(inputs, "state"))
        output = self._output(show, memory)
        return output, [output, memory]

    def _output(self, show, memory):
        shown = self._activated(memory, self._activation, "activation")
        return functions_of(show).elemwise_mul(show, shown, **self._named(show, "out"))


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

    def forward(self, inputs, states):
        """(output, states) of a step."""
        module = functions_of(inputs)
        i2h, h2h = (
            module.SliceChannel(dense, num_outputs=3, **self._named(inputs, f"{which}_slice"))
            for dense, which in zip(self._dense(inputs, states[0]), ("i2h", "h2h"))
        )
        reset = self._activated(i2h[0] + h2h[0], self._recurrent_activation, "r_act")
        update = self._activated(i2h[1] + h2h[1], self._recurrent_activation, "z_act")
        new = self._activated(i2h[2] + reset * h2h[2], self._activation, "h_act")
        output = module.elemwise_add((1.0 - update) * new, update * states[0], **self._named(inputs, "out"))
        return output, [output]
