"""Recurrent layers, run by the operator RNN, and cells, which are run step by step."""

import math

from ... import _trace, nd, sym
from ...base import ArgumentError, UnsupportedError, dtype_name
from ...sym import Symbol
from .. import np
from . import recurrent
from .contrib.rnn import conv_rnn_cell
from .contrib.rnn.conv_rnn_cell import *  # noqa: F403 - MXNet 2 has these cells here
from .contrib.rnn.rnn_cell import VariationalDropoutCell, dynamic_unroll  # noqa: F401
from .nn.layer import Layer
from .recurrent import *  # noqa: F403 - cells are named here
from .recurrent.projected import LSTMPCell
from .recurrent.weights import PackedWeights, WeightLayout, weight_parts

_KINDS = "i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight"
_OF_SYMBOLS = sym.Variable, sym.var, sym.zeros, sym.ones


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
        self._input_size = input_size
        initializers = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        parts = weight_parts(self._weight_layout(), dict(zip(_KINDS, (*initializers, h2r_weight_initializer))))
        if self._generation.packs_recurrent_weights:
            shape = (sum(map(math.prod, (part.shape for part in parts))) if input_size else -1,)
            self.parameter("rnn_param", shape, PackedWeights(self._weight_layout(), parts), dtype)
        else:
            for part in sorted(parts, key=lambda part: part[:2]):
                self.parameter(part.name, part.shape, part.init, dtype)

    def _weight_layout(self):
        return WeightLayout(
            self._gates, self._hidden_size, self._input_size, self._num_layers, self._directions, self._projection_size
        )

    def infer_shape(self, x, *args):
        """Learns input_size."""
        self._input_size = x.shape[2]
        if self._generation.packs_recurrent_weights:
            layout = self._weight_layout()
            self.rnn_param.shape = (sum(math.prod(part.shape) for part in weight_parts(layout, {})),)
            if isinstance(self.rnn_param.init, PackedWeights):
                self.rnn_param.init.layout = layout
            return
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
        if func in _OF_SYMBOLS:
            named = [{"name": f"{self.prefix}h0_{i}"} for i in range(self._num_states)]
        else:
            named = [{}] * self._num_states
        make = func or (np.zeros if self._generation.records_arrays else nd.zeros)
        return [make(shape=info["shape"], **name, **kwargs) for info, name in zip(self.state_info(batch_size), named)]

    def __call__(self, inputs, states=None, sequence_length=None):
        """`inputs` and states as the class says; `sequence_length` (N,) where use_sequence_length is True."""
        form = "none" if states is None else "list" if isinstance(states, (list, tuple)) else "one"
        self.__dict__["_call_state"] = form  # no part of the block
        if states is None:
            states = self._zero_states(inputs)
        lengths = (sequence_length,) if self._use_length else ()
        return super().__call__(inputs, [states] if form == "one" else list(states), *lengths)

    def _zero_states(self, inputs):
        """Zeros for a batch as large as that of the inputs, whatever that will be."""
        if isinstance(inputs, Symbol):
            return self.begin_state(0, func=sym.zeros, dtype=self._dtype)
        batch = self._layout.index("N")
        if _trace.current() is not None:
            return [_open_zeros(inputs, batch, info["shape"]) for info in self.state_info()]
        states = self.begin_state(inputs._shape[batch], func=nd.zeros)
        return [type(inputs)(state.astype(inputs.dtype, copy=False)) for state in states]

    def hybrid_forward(self, F, inputs, states, sequence_length=None, **parameters):  # noqa: N803 - MXNet's name
        """The output, and the states where a call gives states."""
        if len(states) != self._num_states:
            raise ArgumentError(f"{type(self).__name__}: expected {self._num_states} states, got {len(states)}")
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        if self._projection_size:
            output, following = self._run_cells(F, inputs, states, parameters)
        else:
            output, following = self._run_operator(F, inputs, states, sequence_length, parameters)
        if self._layout == "NTC":
            output = F.swapaxes(output, dim1=0, dim2=1)
        if self._call_state == "none":
            return output
        return [output, following[0] if self._call_state == "one" else following]

    def _run_operator(self, F, inputs, states, sequence_length, parameters):  # noqa: N803 - MXNet's name
        named = dict(zip(("state", "state_cell"), states))
        if self._use_length:
            named["sequence_length"] = sequence_length
        outputs = F.RNN(
            data=inputs,
            parameters=self._packed(F, parameters),
            **named,
            mode=self._mode,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=len(self._directions) == 2,
            p=self._dropout,
            state_outputs=True,
            use_sequence_length=self._use_length,
        )
        return outputs[0], [outputs[i] for i in range(1, 1 + self._num_states)]

    def _run_cells(self, F, inputs, states, parameters):  # noqa: N803 - MXNet's name
        """All layers step by step."""
        weights = self._weights_by_part(F, parameters)
        first = [iter(_split(F, state, self._num_layers * len(self._directions))) for state in states]
        following = []
        for layer in range(self._num_layers):
            if layer and self._dropout:
                inputs = F.Dropout(inputs, p=self._dropout)
            outputs = []
            for direction in self._directions:
                own = {kind: weights[layer, direction, kind] for kind in _KINDS}
                output, last = self._run_cell(F, inputs, [next(state) for state in first], own, direction == "r")
                outputs.append(output)
                following.append(last)
            inputs = outputs[0] if len(outputs) == 1 else F.concat(*outputs, dim=2)
        return inputs, [F.stack(*column, axis=0) for column in zip(*following)]

    def _run_cell(self, F, inputs, states, weights, is_reversed):  # noqa: N803 - MXNet's name
        """One layer in one direction."""
        cell = self._cell_with_projection(self._hidden_size, self._projection_size, prefix="")
        steps = _split(F, inputs, inputs.shape[0])
        outputs = []
        for step in reversed(steps) if is_reversed else steps:
            output, states = cell.hybrid_forward(F, step, states, **weights)
            outputs.append(output)
        return F.stack(*(reversed(outputs) if is_reversed else outputs), axis=0), states

    def _weights_by_part(self, F, parameters):  # noqa: N803 - MXNet's name
        """{(layer, direction, kind): weights}"""
        parts, found, begin = weight_parts(self._weight_layout(), {}), {}, 0
        for part in parts:
            if self._generation.packs_recurrent_weights:
                end = begin + math.prod(part.shape)
                piece = F.slice_axis(parameters["rnn_param"], axis=0, begin=begin, end=end)
                found[part[:3]], begin = F.Reshape(piece, shape=part.shape), end
            else:
                found[part[:3]] = parameters[part.name]
        return found

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

    def _packed(self, F, parameters):  # noqa: N803 - MXNet's name
        """The parameters as the operator wants them: a vector of weights, layer by layer, then biases."""
        if self._generation.packs_recurrent_weights:
            return parameters["rnn_param"]
        names = [part.name for part in weight_parts(self._weight_layout(), {})]
        flat = [F.Reshape(parameters[name], shape=(-1,)) for name in names]
        return F._internal._rnn_param_concat(*flat, dim=0)

    def _collect(self, prefix):
        """Files of MXNet 1.x name the cells that compute the same."""
        if self._generation.packs_recurrent_weights:
            return super()._collect(prefix)
        both = len(self._directions) == 2
        named = {}
        for part in weight_parts(self._weight_layout(), {}):
            cell = f"{part.layer}.{part.direction}_cell" if both else str(part.layer)
            named[f"{prefix}_unfused.{cell}.{part.kind}"] = self._reg_params[part.name]
        return named

    def cast(self, dtype):
        """Changes the dtype of all parameters and of the states that calls begin with."""
        super().cast(dtype)
        self._dtype = dtype_name(dtype)

    def __repr__(self):
        sizes = f"{self._input_size or None} -> {self._hidden_size}"
        return f"{type(self).__name__}({sizes}, layers={self._num_layers}, layout={self._layout!r})"


def _open_zeros(inputs, batch, shape):
    """Zeros of (L, N, H) for `inputs` of any size N on the axis `batch`: operators that a graph has for all N."""
    first = inputs.slice_axis(axis=1 - batch, begin=0, end=1).slice_axis(axis=2, begin=0, end=1)
    column = first.zeros_like() if batch else first.zeros_like().swapaxes(0, 1)  # (1, N, 1)
    return column.broadcast_axes(axis=(0, 2), size=(shape[0], shape[2]))


def _split(F, array, count):  # noqa: N803 - MXNet's name
    """The parts of the first axis, a list."""
    parts = F.SliceChannel(array, num_outputs=count, axis=0, squeeze_axis=True)
    return list(parts) if count > 1 else [parts]


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
