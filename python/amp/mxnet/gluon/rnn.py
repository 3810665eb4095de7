"""Recurrent layers, run by the operator RNN."""

from ... import nd
from ...base import ArgumentError, UnsupportedError
from .nn.layer import Layer, functions_of, value_of


class _RNNLayer(Layer):
    """RNNLayer(hidden_size, num_layers=1, layout='TNC', bidirectional=False, input_size=0): layers over a sequence.

    The input is (T, N, input_size), or (N, T, input_size) with layout 'NTC'; the output has hidden_size features, twice
    as many if bidirectional. States are (num_layers * directions, N, hidden_size). Called with the input alone, states
    are zeros and the result is the output; called with states, one array or a list, the result is [output, states].
    Parameters are `l0_i2h_weight`, `l0_h2h_weight`, `l0_i2h_bias`, `l0_h2h_bias`, with `r0` for the other direction.
    `dropout` has no effect at inference. Projections are refused with UnsupportedError.
    """

    _mode, _gates, _num_states = "lstm", 4, 1

    def __init__(
        self,
        hidden_size,
        num_layers=1,
        layout="TNC",
        dropout=0,
        bidirectional=False,
        input_size=0,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        dtype="float32",
        projection_size=None,
        use_sequence_length=False,
        **kwargs,
    ):
        super().__init__(**{key: kwargs.pop(key) for key in ("prefix", "params") if key in kwargs})
        if projection_size is not None:
            raise UnsupportedError(f"{type(self).__name__}: projection_size is not supported")
        unknown = [key for key in kwargs if kwargs[key] is not None and "initializer" not in key]
        if unknown:
            raise UnsupportedError(f"{type(self).__name__}: {', '.join(unknown)} not supported")
        if layout not in ("TNC", "NTC"):
            raise ArgumentError(f"{type(self).__name__}: layout is 'TNC' or 'NTC', got {layout!r}")
        self._hidden_size, self._num_layers, self._layout = hidden_size, num_layers, layout
        self._directions = ["l", "r"] if bidirectional else ["l"]
        self._dropout, self._dtype, self._use_length = dropout, dtype, use_sequence_length
        rows = self._gates * hidden_size
        for layer, direction in self._order():
            inputs = input_size if layer == 0 else hidden_size * len(self._directions)
            stem = f"{direction}{layer}"
            self.parameter(f"{stem}_i2h_weight", (rows, inputs), i2h_weight_initializer, dtype)
            self.parameter(f"{stem}_h2h_weight", (rows, hidden_size), h2h_weight_initializer, dtype)
            self.parameter(f"{stem}_i2h_bias", (rows,), i2h_bias_initializer, dtype)
            self.parameter(f"{stem}_h2h_bias", (rows,), h2h_bias_initializer, dtype)

    def _order(self):
        return [(layer, direction) for layer in range(self._num_layers) for direction in self._directions]

    def infer_shape(self, x, *args):
        """Learns input_size."""
        for direction in self._directions:
            getattr(self, f"{direction}0_i2h_weight").shape = (self._gates * self._hidden_size, x.shape[2])

    def state_info(self, batch_size=0):
        """[{'shape': of a state, '__layout__': 'LNC'}] for every state.

        >>> mx.gluon.rnn.GRU(6).state_info(2)
        [{'shape': (1, 2, 6), '__layout__': 'LNC'}]
        """
        shape = (self._num_layers * len(self._directions), batch_size, self._hidden_size)
        return [{"shape": shape, "__layout__": "LNC"}] * self._num_states

    def begin_state(self, batch_size=0, func=None, **kwargs):
        """States of zeros for a batch, or of `func(shape=...)`.

        >>> [state.shape for state in mx.gluon.rnn.LSTM(6).begin_state(2)]
        [(1, 2, 6), (1, 2, 6)]
        """
        make = func or nd.zeros
        return [make(shape=info["shape"], **kwargs) for info in self.state_info(batch_size)]

    def forward(self, inputs, states=None, sequence_length=None):
        """`inputs` and states as the class says; `sequence_length` (N,) where use_sequence_length is True."""
        module = functions_of(inputs)
        if self._layout == "NTC":
            inputs = module.swapaxes(inputs, dim1=0, dim2=1)
        given = [states] if states is not None and not isinstance(states, (list, tuple)) else states
        output, new_states = self._run_operator(module, inputs, given, sequence_length)
        if self._layout == "NTC":
            output = module.swapaxes(output, dim1=0, dim2=1)
        if states is None:
            return output
        return [output, new_states if isinstance(states, (list, tuple)) else new_states[0]]

    def _run_operator(self, module, inputs, states, sequence_length):
        settings = {
            "mode": self._mode,
            "state_size": self._hidden_size,
            "num_layers": self._num_layers,
            "bidirectional": len(self._directions) == 2,
            "state_outputs": True,
            "p": self._dropout,
            "use_sequence_length": self._use_length,
        }
        if states is None:
            states = self._zero_states(module, inputs)
        if len(states) != self._num_states:
            raise ArgumentError(f"{type(self).__name__}: expected {self._num_states} states, got {len(states)}")
        named = dict(zip(("state", "state_cell"), states))
        if self._use_length:
            named["sequence_length"] = sequence_length
        outputs = module.RNN(data=inputs, parameters=self._packed(module, inputs), **named, **settings)
        return outputs[0], [outputs[i] for i in range(1, 1 + self._num_states)]

    def _zero_states(self, module, inputs):
        if hasattr(inputs, "shape"):
            return [type(inputs)(state.astype(inputs.dtype, copy=False)) for state in self.begin_state(inputs.shape[1])]
        return [module._zeros(shape=info["shape"], dtype=self._dtype) for info in self.state_info()]

    def _packed(self, module, inputs):
        """All parameters as the operator wants them: a vector of weights, layer by layer, then biases."""
        names = [
            f"{direction}{layer}_{kind}_{part}"
            for part in ("weight", "bias")
            for layer, direction in self._order()
            for kind in ("i2h", "h2h")
        ]
        flat = [module.Reshape(value_of(getattr(self, name), inputs), shape=(-1,)) for name in names]
        return module._internal._rnn_param_concat(*flat, dim=0)

    def __repr__(self):
        sizes = f"{self.l0_i2h_weight.shape[1] or None} -> {self._hidden_size}"
        return f"{type(self).__name__}({sizes}, layers={self._num_layers}, layout={self._layout!r})"


def _documented(name, shapes):
    doc = (_RNNLayer.__doc__ or "").replace("RNNLayer(", f"{name}(", 1)
    lines = [
        f">>> block = mx.gluon.rnn.{name}(6)",
        ">>> block.initialize()",
        ">>> output, states = block(amp.nd.ones((5, 2, 4)), block.begin_state(2))",
        ">>> output.shape, [state.shape for state in states]",
        shapes,
    ]
    return "\n    ".join([doc, *lines, ""])


class LSTM(_RNNLayer):
    __doc__ = _documented("LSTM", "((5, 2, 6), [(1, 2, 6), (1, 2, 6)])")
    _mode, _gates, _num_states = "lstm", 4, 2


class GRU(_RNNLayer):
    __doc__ = _documented("GRU", "((5, 2, 6), [(1, 2, 6)])")
    _mode, _gates, _num_states = "gru", 3, 1


class RNN(_RNNLayer):
    """RNN(hidden_size, num_layers=1, activation='relu', ...): as LSTM and GRU, with a function in place of gates.

    >>> block = mx.gluon.rnn.RNN(6, activation="tanh")
    >>> block.initialize()
    >>> block(amp.nd.ones((5, 2, 4))).shape
    (5, 2, 6)
    """

    _gates, _num_states = 1, 1

    def __init__(self, hidden_size, num_layers=1, activation="relu", *args, **kwargs):
        if activation not in ("relu", "tanh"):
            raise ArgumentError(f"RNN: activation is 'relu' or 'tanh', got {activation!r}")
        self._mode = f"rnn_{activation}"
        super().__init__(hidden_size, num_layers, *args, **kwargs)


__all__ = ["GRU", "LSTM", "RNN"]


def __getattr__(name):
    cells = "Cell" in name and f"; cells are not supported; use {', '.join(__all__)}"
    raise AttributeError(f"module '{__name__}' has no layer {name!r}{cells or ''}")
