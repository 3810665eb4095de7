"""Cells of one layer whose inputs and states are pictures: convolutions take the place of products."""

import functools

from ... import sym
from ...base import ArgumentError
from .._missing import getter
from .base import BaseRNNCell

__all__ = ["ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_LEAKY = functools.partial(sym.LeakyReLU, act_type="leaky", slope=0.2)


class _Convolutions(BaseRNNCell):
    _name = ""

    def __init__(
        self,
        input_shape,
        num_hidden,
        h2h_kernel=(3, 3),
        h2h_dilate=(1, 1),
        i2h_kernel=(3, 3),
        i2h_stride=(1, 1),
        i2h_pad=(1, 1),
        i2h_dilate=(1, 1),
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        activation=_LEAKY,
        prefix=None,
        params=None,
        conv_layout="NCHW",
    ):
        super().__init__(f"{self._name}_" if prefix is None else prefix, params)
        self._num_hidden, self._layout, self._activation = num_hidden, conv_layout, activation
        self._h2h_window = _keeping_size(h2h_kernel, h2h_dilate)
        self._i2h_window = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate}
        self._state_shape = self._shape_of_states(input_shape)
        get = self.params.get
        self._i2h = get("i2h_weight", init=i2h_weight_initializer), get("i2h_bias", init=i2h_bias_initializer)
        self._h2h = get("h2h_weight", init=h2h_weight_initializer), get("h2h_bias", init=h2h_bias_initializer)

    def _shape_of_states(self, input_shape):
        """That of the input behind its convolution, for any batch."""
        data = sym.Variable("data")
        output = sym.Convolution(data, num_filter=self._num_hidden, layout=self._layout, **self._i2h_window)
        return (0, *output.infer_shape(data=input_shape)[1][0][1:])

    @property
    def state_info(self):
        """One state with `num_hidden` channels."""
        return [{"shape": self._state_shape, "__layout__": self._layout}]

    def _convolved(self, inputs, state, name):
        """What comes from the input and from the state, for all gates."""
        filters = self._num_hidden * len(self._gate_names)
        return [
            sym.Convolution(
                data, weight, bias, num_filter=filters, layout=self._layout, name=f"{name}{which}", **window
            )
            for data, (weight, bias), window, which in (
                (inputs, self._i2h, self._i2h_window, "i2h"),
                (state, self._h2h, self._h2h_window, "h2h"),
            )
        ]

    def _split(self, gates, name):
        """The gates one by one."""
        count = len(self._gate_names)
        return sym.SliceChannel(gates, num_outputs=count, axis=self._layout.find("C"), name=name)


def _keeping_size(kernel, dilate):
    """The window of a convolution whose output is as large as its input."""
    if any(size % 2 == 0 for size in kernel):
        raise ArgumentError(f"h2h_kernel: expected odd sizes, which keep the size of a state, got {kernel}")
    pad = tuple(step * (size - 1) // 2 for size, step in zip(kernel, dilate))
    return {"kernel": kernel, "stride": (1,) * len(kernel), "pad": pad, "dilate": dilate}


_ARGUMENTS = """

    `input_shape` is that of one step, (N, channels, height, width). A state, and the output, have `num_hidden` channels
    and the size that the input has behind its convolution, a window of `i2h_kernel`, `i2h_stride`, `i2h_pad` and
    `i2h_dilate`; the state goes through a window of `h2h_kernel`, of odd sizes, and `h2h_dilate`. `activation` is a
    name or a function of symbols, a leaky ReLU with slope 0.2 by default. Initializers are names or Initializers. With
    `conv_layout='NHWC'` channels are last. Raises ArgumentError for even sizes of `h2h_kernel`, and GraphError for an
    input that is smaller than the window.

    """


def _documented(first_line, *example):
    return first_line + _ARGUMENTS + "\n    ".join([*example, ""])


class ConvRNNCell(_Convolutions):
    __doc__ = _documented(
        "ConvRNNCell(input_shape, num_hidden, ..., prefix='ConvRNN_'): a function of input and state.",
        ">>> cell = mx.rnn.ConvRNNCell((1, 3, 16, 10), 8)",
        '>>> outputs, _ = cell.unroll(2, [mx.sym.Variable("t0"), mx.sym.Variable("t1")])',
        ">>> mx.sym.Group(outputs).infer_shape(t0=(1, 3, 16, 10), t1=(1, 3, 16, 10))[1]",
        "[(1, 8, 16, 10), (1, 8, 16, 10)]",
    )
    _name, _gate_names = "ConvRNN", ("",)

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name = self._step_name()
        i2h, h2h = self._convolved(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(_Convolutions):
    __doc__ = _documented(
        "ConvLSTMCell(input_shape, num_hidden, ..., prefix='ConvLSTM_'): long short-term memory.",
        ">>> cell = mx.rnn.ConvLSTMCell((1, 3, 16, 10), 8, i2h_stride=(2, 2))",
        ">>> cell.state_shape",
        "[(0, 8, 8, 5), (0, 8, 8, 5)]",
    )
    _name, _gate_names = "ConvLSTM", ("_i", "_f", "_c", "_o")

    @property
    def state_info(self):
        """Two states with `num_hidden` channels: the output and the memory."""
        return super().state_info * 2

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name = self._step_name()
        i2h, h2h = self._convolved(inputs, states[0], name)
        gates = self._split(i2h + h2h, f"{name}slice")
        write, keep, show = (
            sym.Activation(gates["ifco".index(gate)], act_type="sigmoid", name=f"{name}{gate}") for gate in "ifo"
        )
        new = self._get_activation(gates[2], self._activation, name=f"{name}c")
        memory = sym.elemwise_add(keep * states[1], write * new, name=f"{name}state")
        output = sym.elemwise_mul(show, self._get_activation(memory, self._activation), name=f"{name}out")
        return output, [output, memory]


class ConvGRUCell(_Convolutions):
    __doc__ = _documented(
        "ConvGRUCell(input_shape, num_hidden, ..., prefix='ConvGRU_'): gated recurrent unit.",
        ">>> cell = mx.rnn.ConvGRUCell((1, 3, 16, 10), 8, i2h_pad=(0, 0))",
        ">>> cell.state_shape",
        "[(0, 8, 14, 8)]",
    )
    _name, _gate_names = "ConvGRU", ("_r", "_z", "_o")

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        name, (state,) = self._step_name(), states
        i2h, h2h = (
            self._split(convolved, f"{name}_{which}_slice")
            for convolved, which in zip(self._convolved(inputs, state, name), ("i2h", "h2h"))
        )
        reset = sym.Activation(i2h[0] + h2h[0], act_type="sigmoid", name=f"{name}_r_act")
        update = sym.Activation(i2h[1] + h2h[1], act_type="sigmoid", name=f"{name}_z_act")
        new = self._get_activation(i2h[2] + reset * h2h[2], self._activation, name=f"{name}_h_act")
        output = sym.elemwise_add((1.0 - update) * new, update * state, name=f"{name}out")
        return output, [output]


__getattr__ = getter(__name__)
