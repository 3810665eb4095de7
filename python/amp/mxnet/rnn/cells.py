"""Cells of one layer."""

from ... import sym
from .. import init
from .._missing import getter
from .base import BaseRNNCell

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _OneLayer(BaseRNNCell):
    def __init__(self, num_hidden, prefix, params, **bias_options):
        super().__init__(prefix, params)
        self._num_hidden = num_hidden
        get = self.params.get
        self._i2h = get("i2h_weight"), get("i2h_bias", **bias_options)
        self._h2h = get("h2h_weight"), get("h2h_bias")

    def _dense(self, inputs, state, name):
        """What comes from the input and from the state, for all gates."""
        width = self._num_hidden * max(1, len(self._gate_names))
        return [
            sym.FullyConnected(data, weight, bias, num_hidden=width, name=f"{name}{which}")
            for data, (weight, bias), which in ((inputs, self._i2h, "i2h"), (state, self._h2h, "h2h"))
        ]

    @property
    def state_info(self):
        """One state of `num_hidden`."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]


class RNNCell(_OneLayer):
    """RNNCell(num_hidden, activation='tanh', prefix='rnn_', params=None): a function of input and state.

    >>> output, states = mx.rnn.RNNCell(5)(mx.sym.Variable("data"), [mx.sym.Variable("state")])
    >>> output.name
    'rnn_t0_out'
    """

    _gate_names = ("",)

    def __init__(self, num_hidden, activation="tanh", prefix="rnn_", params=None):
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name = self._step_name()
        i2h, h2h = self._dense(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_OneLayer):
    """LSTMCell(num_hidden, prefix='lstm_', params=None, forget_bias=1.0): long short-term memory.

    `forget_bias` is what the bias of the forget gate begins with.

    >>> output, states = mx.rnn.LSTMCell(5)(mx.sym.Variable("data"), [mx.sym.Variable("h"), mx.sym.Variable("c")])
    >>> [state.name for state in states]
    ['lstm_t0_out', 'lstm_t0_state']
    """

    _gate_names = ("_i", "_f", "_c", "_o")

    def __init__(self, num_hidden, prefix="lstm_", params=None, forget_bias=1.0):
        super().__init__(num_hidden, prefix, params, init=init.LSTMBias(forget_bias=forget_bias))

    @property
    def state_info(self):
        """Two states of `num_hidden`: the output and the memory."""
        return super().state_info * 2

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name = self._step_name()
        i2h, h2h = self._dense(inputs, states[0], name)
        gates = sym.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        write, keep, show = (
            sym.Activation(gates["ifco".index(gate)], act_type="sigmoid", name=f"{name}{gate}") for gate in "ifo"
        )
        new = sym.Activation(gates[2], act_type="tanh", name=f"{name}c")
        memory = sym.elemwise_add(keep * states[1], write * new, name=f"{name}state")
        output = sym.elemwise_mul(show, sym.Activation(memory, act_type="tanh"), name=f"{name}out")
        return output, [output, memory]


class GRUCell(_OneLayer):
    """GRUCell(num_hidden, prefix='gru_', params=None): gated recurrent unit.

    >>> output, states = mx.rnn.GRUCell(5)(mx.sym.Variable("data"), [mx.sym.Variable("state")])
    >>> output.name
    'gru_t0_out'
    """

    _gate_names = ("_r", "_z", "_o")

    def __init__(self, num_hidden, prefix="gru_", params=None):
        super().__init__(num_hidden, prefix, params)

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name, (state,) = self._step_name(), states
        i2h, h2h = (
            sym.SliceChannel(dense, num_outputs=3, name=f"{name}_{which}_slice")
            for dense, which in zip(self._dense(inputs, state, f"{name}_"), ("i2h", "h2h"))
        )
        reset = sym.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = sym.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = sym.Activation(i2h[2] + reset * h2h[2], act_type="tanh", name=f"{name}_h_act")
        output = sym.elemwise_add((1.0 - update) * new, update * state, name=f"{name}out")
        return output, [output]


__getattr__ = getter(__name__)
