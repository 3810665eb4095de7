"""Recurrent layers, run by the operator RNN, and cells, which are run step by step."""

from ... import nd
from ...base import ArgumentError, UnsupportedError
from . import recurrent
from .contrib.rnn import conv_rnn_cell
from .contrib.rnn.conv_rnn_cell import *  # noqa: F403 - MXNet 2 has these cells here
from .contrib.rnn.rnn_cell import VariationalDropoutCell  # noqa: F401
from .nn.layer import Layer, functions_of, value_of
from .recurrent import *  # noqa: F403 - cells are named here
from .recurrent.projected import LSTMPCell


class _RNNLayer(Layer):
    """RNNLayer(hidden_size, num_layers=1, layout='TNC', bidirectional=False, input_size=0): layers over a sequence.

    The input is (T, N, input_size), or (N, T, input_size) with layout 'NTC'; the output has hidden_size features, twice
    as many if bidirectional. States are (num_layers * directions, N, hidden_size). Called with the input alone, states
    are zeros and the result is the output; called with states, one array or a list, the result is [output, states].
    Parameters are `l0_i2h_weight`, `l0_h2h_weight`, `l0_i2h_bias`, `l0_h2h_bias`, with `r0` for the other direction.
    `dropout` drops from what one layer passes to the next, in training. `projection_size` (LSTM alone): outputs, and
    the first state, are projected to as many features by `l0_h2r_weight`; such layers run step by step, on arrays.
    """

    _mode, _gates, _num_states = "lstm", 4, 1
    _cell = _cell_with_projection = None  # the cells that compute the same

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
        h2r_weight_initializer=None,
        use_sequence_length=False,
        **kwargs,
    ):
        super().__init__(**{key: kwargs.pop(key) for key in ("prefix", "params") if key in kwargs})
        if projection_size is not None and self._cell_with_projection is None:
            raise UnsupportedError(f"{type(self).__name__}: projection_size is for LSTM alone")
        unknown = [key for key in kwargs if kwargs[key] is not None and "initializer" not in key]
        if unknown:
            raise UnsupportedError(f"{type(self).__name__}: {', '.join(unknown)} not supported")
        if layout not in ("TNC", "NTC"):
            raise ArgumentError(f"{type(self).__name__}: layout is 'TNC' or 'NTC', got {layout!r}")
        self._hidden_size, self._num_layers, self._layout = hidden_size, num_layers, layout
        self._directions = ["l", "r"] if bidirectional else ["l"]
        self._dropout, self._dtype, self._use_length = dropout, dtype, use_sequence_length
        self._projection_size = projection_size
        rows = self._gates * hidden_size
        outputs = projection_size or hidden_size
        for layer, direction in self._order():
            inputs = input_size if layer == 0 else outputs * len(self._directions)
            stem = f"{direction}{layer}"
            self.parameter(f"{stem}_i2h_weight", (rows, inputs), i2h_weight_initializer, dtype)
            self.parameter(f"{stem}_h2h_weight", (rows, outputs), h2h_weight_initializer, dtype)
            self.parameter(f"{stem}_i2h_bias", (rows,), i2h_bias_initializer, dtype)
            self.parameter(f"{stem}_h2h_bias", (rows,), h2h_bias_initializer, dtype)
            if projection_size:
                self.parameter(f"{stem}_h2r_weight", (outputs, hidden_size), h2r_weight_initializer, dtype)

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
        sizes = [self._projection_size or self._hidden_size, self._hidden_size][: self._num_states]
        count = self._num_layers * len(self._directions)
        return [{"shape": (count, batch_size, size), "__layout__": "LNC"} for size in sizes]

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
        if states is None:
            states = self._zero_states(module, inputs)
        if len(states) != self._num_states:
            raise ArgumentError(f"{type(self).__name__}: expected {self._num_states} states, got {len(states)}")
        if self._projection_size:
            return self._run_cells(module, inputs, states)
        if not self._dropout:
            return self._run_layers(module, range(self._num_layers), inputs, states, sequence_length)
        parts = [module.split(state, axis=0, num_outputs=self._num_layers) for state in states]
        following = []
        for layer in range(self._num_layers):
            if layer > 0:
                inputs = module.Dropout(inputs, p=self._dropout)
            own = [part[layer] if self._num_layers > 1 else state for part, state in zip(parts, states)]
            inputs, own = self._run_layers(module, [layer], inputs, own, sequence_length)
            following.append(own)
        return inputs, [module.concat(*column, dim=0) for column in zip(*following)]

    def _run_layers(self, module, layers, inputs, states, sequence_length):
        """Some layers as one operator."""
        named = dict(zip(("state", "state_cell"), states))
        if self._use_length:
            named["sequence_length"] = sequence_length
        outputs = module.RNN(
            data=inputs,
            parameters=self._packed(module, inputs, layers),
            **named,
            mode=self._mode,
            state_size=self._hidden_size,
            num_layers=len(layers),
            bidirectional=len(self._directions) == 2,
            state_outputs=True,
            use_sequence_length=self._use_length,
        )
        return outputs[0], [outputs[i] for i in range(1, 1 + self._num_states)]

    def _run_cells(self, module, inputs, states):
        """All layers step by step."""
        count = self._num_layers * len(self._directions)
        parts = [
            [module.reshape(part, shape=(-3, -2)) for part in (module.split(state, axis=0, num_outputs=count))]
            if count > 1
            else [module.reshape(state, shape=(-3, -2))]
            for state in states
        ]
        first = [state for of_cell in zip(*parts) for state in of_cell]
        outputs, last = self._unfuse().unroll(inputs.shape[0], inputs, first, "TNC", True)
        return outputs, [module.stack(*last[kind :: self._num_states], axis=0) for kind in range(self._num_states)]

    def _unfuse(self):
        """A stack of cells with the parameters of the layers."""
        stack = recurrent.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells = [self._make_cell(f"{direction}{layer}_") for direction in self._directions]
                stack.add(recurrent.BidirectionalCell(*cells) if len(cells) == 2 else cells[0])
                if self._dropout and layer != self._num_layers - 1:
                    stack.add(recurrent.DropoutCell(self._dropout))
        return stack

    def _make_cell(self, prefix):
        if self._projection_size:
            return self._cell_with_projection(self._hidden_size, self._projection_size, prefix=prefix)
        return self._cell(self._hidden_size, prefix=prefix)

    def _zero_states(self, module, inputs):
        if hasattr(inputs, "shape"):
            return [type(inputs)(state.astype(inputs.dtype, copy=False)) for state in self.begin_state(inputs.shape[1])]
        return [module._zeros(shape=info["shape"], dtype=self._dtype) for info in self.state_info()]

    def _packed(self, module, inputs, layers):
        """The parameters as the operator wants them: a vector of weights, layer by layer, then biases."""
        names = [
            f"{direction}{layer}_{kind}_{part}"
            for part in ("weight", "bias")
            for layer in layers
            for direction in self._directions
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
    _cell, _cell_with_projection = recurrent.LSTMCell, LSTMPCell


class GRU(_RNNLayer):
    __doc__ = _documented("GRU", "((5, 2, 6), [(1, 2, 6)])")
    _mode, _gates, _num_states = "gru", 3, 1
    _cell = recurrent.GRUCell


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
        self._activation = activation
        super().__init__(hidden_size, num_layers, *args, **kwargs)

    def _cell(self, hidden_size, prefix):
        return recurrent.RNNCell(hidden_size, self._activation, prefix=prefix)


__all__ = [
    *("GRU", "LSTM", "LSTMPCell", "RNN", "VariationalDropoutCell"),
    *recurrent.__all__,
    *conv_rnn_cell.__all__,
]


def __getattr__(name):
    raise AttributeError(f"module '{__name__}' has no layer or cell {name!r}; there are {', '.join(__all__)}")
