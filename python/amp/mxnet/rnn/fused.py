"""Recurrent networks of several layers as one operator."""

from ... import nd, sym
from ...base import ArgumentError
from .. import init
from .._missing import getter
from .base import BaseRNNCell, steps_of
from .cells import GRUCell, LSTMCell, RNNCell
from .combined import BidirectionalCell, DropoutCell, SequentialRNNCell

__all__ = ["FusedRNN", "FusedRNNCell"]

_GATES = {"rnn_relu": ("",), "rnn_tanh": ("",), "lstm": ("_i", "_f", "_c", "_o"), "gru": ("_r", "_z", "_o")}


class FusedRNNCell(BaseRNNCell):
    """FusedRNNCell(num_hidden, num_layers=1, mode='lstm', bidirectional=False, dropout=0.0): the operator RNN.

    `mode` is 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'. It can be unrolled, not stepped; `unfuse` gives cells.
    `get_next_state`: `unroll` gives the states, too.

    >>> cell = mx.rnn.FusedRNNCell(5, num_layers=2, prefix="lstm_")
    >>> outputs, _ = cell.unroll(3, mx.sym.Variable("data"), layout="TNC", merge_outputs=True)
    >>> outputs.infer_shape(data=(3, 2, 4))[1]
    [(3, 2, 5)]
    """

    def __init__(
        self,
        num_hidden,
        num_layers=1,
        mode="lstm",
        bidirectional=False,
        dropout=0.0,
        get_next_state=False,
        forget_bias=1.0,
        prefix=None,
        params=None,
    ):
        if mode not in _GATES:
            raise ArgumentError(f"mode: expected one of {', '.join(_GATES)}, got {mode!r}")
        super().__init__(f"{mode}_" if prefix is None else prefix, params)
        self._num_hidden, self._num_layers, self._mode = num_hidden, num_layers, mode
        self._bidirectional, self._dropout, self._get_next_state = bidirectional, dropout, get_next_state
        self._forget_bias, self._gate_names = forget_bias, _GATES[mode]
        self._directions = ["l", "r"] if bidirectional else ["l"]
        start = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=start)

    @property
    def state_info(self):
        """One state of all layers and directions, two for LSTM."""
        shape = (self._num_layers * len(self._directions), 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"}] * (2 if self._mode == "lstm" else 1)

    def __call__(self, inputs, states):
        """Raises ArgumentError: the operator runs all steps."""
        raise ArgumentError("FusedRNNCell: there are no single steps; use unroll, or unfuse")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states) of `length` steps; states are [] without `get_next_state`."""
        self.reset()
        axis = layout.find("T")
        if not isinstance(inputs, sym.Symbol):
            steps, _ = steps_of(length, inputs, layout)
            inputs = sym.Concat(*[sym.expand_dims(step, axis=axis) for step in steps], dim=axis)
        states = self.begin_state() if begin_state is None else begin_state
        data = inputs if axis == 0 else sym.SwapAxis(inputs, dim1=0, dim2=1)
        run = sym.RNN(
            data,
            self._parameter,
            *states,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
        )
        outputs = run[0] if self._get_next_state else run
        following = [run[i + 1] for i in range(len(states))] if self._get_next_state else []
        outputs = outputs if axis == 0 else sym.SwapAxis(outputs, dim1=0, dim2=1)
        return (steps_of(length, outputs, layout)[0] if merge_outputs is False else outputs), following

    def unfuse(self):
        """A SequentialRNNCell of cells with the parameters that `unpack_weights` gives."""
        kinds = {
            "rnn_relu": lambda prefix: RNNCell(self._num_hidden, "relu", prefix),
            "rnn_tanh": lambda prefix: RNNCell(self._num_hidden, "tanh", prefix),
            "lstm": lambda prefix: LSTMCell(self._num_hidden, prefix),
            "gru": lambda prefix: GRUCell(self._num_hidden, prefix),
        }
        stack, make = SequentialRNNCell(), kinds[self._mode]
        for layer in range(self._num_layers):
            cells = [make(f"{self._prefix}{way}{layer}_") for way in self._directions]
            name = f"{self._prefix}bi_l{layer}_"
            stack.add(BidirectionalCell(*cells, output_prefix=name) if self._bidirectional else cells[0])
            if self._dropout > 0 and layer != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack

    def _slices(self, size):
        """[(name, begin, shape)] of the weights, then the biases, of an array of `size` numbers."""
        hidden, ways = self._num_hidden, len(self._directions)
        rows = hidden * len(self._gate_names) * ways
        others = (self._num_layers - 1) * rows * (ways * hidden + hidden) + 2 * rows * self._num_layers
        width = (size - others) // rows - hidden
        found, begin = [], 0
        for kind in ("weight", "bias"):
            for layer in range(self._num_layers):
                for way in self._directions:
                    for group in ("i2h", "h2h"):
                        columns = hidden if group == "h2h" else width if layer == 0 else ways * hidden
                        shape = (hidden, columns) if kind == "weight" else (hidden,)
                        for gate in self._gate_names:
                            name = f"{self._prefix}{way}{layer}_{group}{gate}_{kind}"
                            found.append((name, begin, shape))
                            begin += shape[0] * (shape[1] if kind == "weight" else 1)
        if begin != size:
            raise ArgumentError(f"{self._prefix}parameters: {size} numbers do not fit the layers")
        return found

    def unpack_weights(self, args):
        """{name: array} with the weights of each layer and gate by themselves."""
        args = dict(args)
        flat = args.pop(f"{self._prefix}parameters").asnumpy()
        for name, begin, shape in self._slices(flat.size):
            args[name] = nd.array(flat[begin : begin + _size(shape)].reshape(shape), dtype=flat.dtype)
        return args

    def pack_weights(self, args):
        """{name: array} with all weights in one array: the reverse of `unpack_weights`."""
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        hidden, ways = self._num_hidden, len(self._directions)
        rows = hidden * len(self._gate_names) * ways
        size = rows * (first.shape[1] + hidden + 2)
        size += (self._num_layers - 1) * rows * (ways * hidden + hidden + 2)
        parts = [args.pop(name).reshape((-1,)) for name, _, _ in self._slices(size)]
        args[f"{self._prefix}parameters"] = nd.concatenate(parts)
        return args


@init.register
class FusedRNN(init.Initializer):
    """FusedRNN(init, num_hidden, num_layers, mode, bidirectional=False, forget_bias=1.0): weights of a FusedRNNCell.

    Each weight of a layer and gate starts as the initializer `init` says, or, where it is None, the one that all
    parameters have; the biases of an LSTM's forget gates start with `forget_bias`.

    >>> values = amp.nd.ones((8,))
    >>> mx.init.FusedRNN(mx.init.Zero(), num_hidden=1, num_layers=1, mode="rnn_tanh")("parameters", values[:4])
    >>> values.asnumpy()
    array([0., 0., 0., 0., 1., 1., 1., 1.], dtype=float32)
    """

    def __init__(self, init, num_hidden, num_layers, mode, bidirectional=False, forget_bias=1.0):
        inner = init if init is None or isinstance(init, str) else init.dumps()
        super().__init__(
            init=inner,
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._inner = inner

    def _init_weight(self, name, arr):
        options = {key: value for key, value in self._kwargs.items() if key != "init"}
        cell = FusedRNNCell(**options, prefix="")
        inner = init.create(self._inner) or getattr(name, "global_init", None)
        if inner is None:
            raise ArgumentError(f"'{name}': there is no initializer for its parts")
        parts = cell.unpack_weights({"parameters": nd.array(arr)})
        for part, array in parts.items():
            if part.endswith("_f_bias"):
                array[:] = options["forget_bias"]
            else:
                inner(init.InitDesc(part, global_init=inner), array)
        arr[:] = cell.pack_weights(parts)["parameters"].asnumpy()

    _init_default = _init_weight


def _size(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


__getattr__ = getter(__name__)
