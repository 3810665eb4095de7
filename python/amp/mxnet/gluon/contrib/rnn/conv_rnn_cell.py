"""Cells of convolutions: inputs and states are pictures, in 1, 2 or 3 dimensions."""

from .....base import ArgumentError
from ...nn.layer import repeated
from ...recurrent.base import HybridRecurrentCell
from ...recurrent.cells import GRUCell, LSTMCell, OneLayerCell, RNNCell

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


class _Convolutions(OneLayerCell):
    """ConvCell(input_shape, hidden_channels, i2h_kernel, h2h_kernel): a cell with convolutions for products.

    `input_shape` is that of one input without the batch, such as (channels, height, width); a state has
    `hidden_channels` and the size that the input has behind its convolution. `h2h_kernel` has to be odd.
    """

    _rank = 2

    def __init__(
        self,
        input_shape,
        hidden_channels,
        i2h_kernel,
        h2h_kernel,
        i2h_pad=0,
        i2h_dilate=1,
        h2h_dilate=1,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        conv_layout=None,
        activation="tanh",
        prefix=None,
        params=None,
    ):
        HybridRecurrentCell.__init__(self, prefix=prefix, params=params)
        self._hidden_size, self._input_shape = hidden_channels, tuple(input_shape)
        self._activation, self._recurrent_activation = activation, "sigmoid"
        self._i2h = self._window(i2h_kernel, i2h_dilate, i2h_pad)
        kernel, dilate = repeated(h2h_kernel, self._rank), repeated(h2h_dilate, self._rank)
        if any(size % 2 == 0 for size in kernel):
            raise ArgumentError(f"h2h_kernel: expected odd sizes, which keep the size of a state, got {kernel}")
        self._h2h = self._window(kernel, dilate, tuple(d * (k - 1) // 2 for k, d in zip(kernel, dilate)))
        rows = self._gates * hidden_channels
        self.parameter("i2h_weight", (rows, input_shape[0], *self._i2h["kernel"]), i2h_weight_initializer)
        self.parameter("h2h_weight", (rows, hidden_channels, *kernel), h2h_weight_initializer)
        self.parameter("i2h_bias", (rows,), i2h_bias_initializer)
        self.parameter("h2h_bias", (rows,), h2h_bias_initializer)

    def _window(self, kernel, dilate, pad):
        sizes = {"kernel": kernel, "dilate": dilate, "pad": pad}
        return {key: repeated(size, self._rank) for key, size in sizes.items()}

    def infer_shape(self, *args):
        """Learns the channels from the inputs of a step, or from `RecurrentCell.infer_shape`'s arguments."""
        inputs = args[0] if hasattr(args[0], "shape") else args[1]
        self.i2h_weight.shape = (*self.i2h_weight.shape[:1], inputs.shape[-1 - self._rank], *self._i2h["kernel"])

    def state_info(self, batch_size=0):
        """States as large as the input behind its convolution."""
        window = zip(self._input_shape[1:], *(self._i2h[key] for key in ("kernel", "dilate", "pad")))
        size = [length + 2 * pad - dilate * (kernel - 1) for length, kernel, dilate, pad in window]
        shape = (batch_size, self._hidden_size, *size)
        return [{"shape": shape, "__layout__": "NC" + "DHW"[3 - self._rank :]}] * self._num_states

    def _dense(self, F, inputs, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        filters = self._gates * self._hidden_size
        return [
            F.Convolution(data, weight, bias, num_filter=filters, **window, **self._named(which))
            for data, weight, bias, window, which in (
                (inputs, i2h_weight, i2h_bias, self._i2h, "i2h"),
                (state, h2h_weight, h2h_bias, self._h2h, "h2h"),
            )
        ]

    def _alias(self):
        return f"conv_{super()._alias().rpartition('d')[2]}"


def _documented(name, rank):
    channels, state = ", ".join(["3", *["6"] * rank]), ", ".join(["2", "4", *["6"] * rank])
    doc = (_Convolutions.__doc__ or "").replace("ConvCell(", f"{name}(", 1)
    lines = [
        f">>> cell = mx.gluon.contrib.rnn.{name}(({channels}), 4, 3, 3, i2h_pad=1)",
        ">>> cell.initialize()",
        f">>> cell(amp.nd.ones((2, {channels})), cell.begin_state(2))[0].shape",
        f"({state})",
    ]
    return "\n    ".join([doc, *lines, ""])


class Conv1DRNNCell(_Convolutions, RNNCell):
    __doc__ = _documented("Conv1DRNNCell", 1)
    _rank = 1


class Conv2DRNNCell(_Convolutions, RNNCell):
    __doc__ = _documented("Conv2DRNNCell", 2)
    _rank = 2


class Conv3DRNNCell(_Convolutions, RNNCell):
    __doc__ = _documented("Conv3DRNNCell", 3)
    _rank = 3


class Conv1DLSTMCell(_Convolutions, LSTMCell):
    __doc__ = _documented("Conv1DLSTMCell", 1)
    _rank = 1


class Conv2DLSTMCell(_Convolutions, LSTMCell):
    __doc__ = _documented("Conv2DLSTMCell", 2)
    _rank = 2


class Conv3DLSTMCell(_Convolutions, LSTMCell):
    __doc__ = _documented("Conv3DLSTMCell", 3)
    _rank = 3


class Conv1DGRUCell(_Convolutions, GRUCell):
    __doc__ = _documented("Conv1DGRUCell", 1)
    _rank = 1


class Conv2DGRUCell(_Convolutions, GRUCell):
    __doc__ = _documented("Conv2DGRUCell", 2)
    _rank = 2


class Conv3DGRUCell(_Convolutions, GRUCell):
    __doc__ = _documented("Conv3DGRUCell", 3)
    _rank = 3
