"""Deformable convolutions, whose windows a convolution moves. MXNet 1.x has them in `gluon.contrib.cnn`."""

import math

from ....base import ArgumentError
from .activations import activation_of
from .layer import Layer, repeated

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(Layer):
    """DeformableConvolution(channels, kernel_size=(1, 1), strides, padding, dilation, num_deformable_group=1, ...).

    The input is (N, in_channels, H, W), the output (N, channels, H, W). A convolution with the parameters
    `offset_weight` and `offset_bias`, zeros at first, says where the elements of each window are; these are convolved
    with `deformable_conv_weight`. Raises ArgumentError for layouts other than 'NCHW'.

    >>> block = mx.gluon.nn.DeformableConvolution(4, kernel_size=3, padding=1)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 2, 6, 6))).shape
    (1, 4, 6, 6)
    """

    _op = "DeformableConvolution"
    _numbers_of_element = 2  # what the first convolution gives for each element of a window

    def __init__(
        self,
        channels,
        kernel_size=(1, 1),
        strides=(1, 1),
        padding=(0, 0),
        dilation=(1, 1),
        groups=1,
        num_deformable_group=1,
        layout="NCHW",
        use_bias=True,
        in_channels=0,
        activation=None,
        weight_initializer=None,
        bias_initializer="zeros",
        offset_weight_initializer="zeros",
        offset_bias_initializer="zeros",
        offset_use_bias=True,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        if layout != "NCHW":
            raise ArgumentError(f"{type(self).__name__}: layout is 'NCHW', got {layout!r}")
        self._channels, self._groups = channels, groups
        self._window = {
            "kernel": repeated(kernel_size, 2),
            "stride": repeated(strides, 2),
            "pad": repeated(padding, 2),
            "dilate": repeated(dilation, 2),
        }
        self._deformable_groups = num_deformable_group
        self._elements = num_deformable_group * math.prod(self._window["kernel"])
        places = self._numbers_of_element * self._elements
        for name, count, init, bias_init, has_bias in (
            ("offset", places, offset_weight_initializer, offset_bias_initializer, offset_use_bias),
            ("deformable_conv", channels, weight_initializer, bias_initializer, use_bias),
        ):
            self.parameter(f"{name}_weight", self._weight_shape(name, count, in_channels), init)
            setattr(self, f"{name}_bias", None)
            if has_bias:
                self.parameter(f"{name}_bias", (count,), bias_init)
        self.act = activation_of(self, activation)

    def _weight_shape(self, name, count, in_channels):
        return (count, in_channels // self._groups, *self._window["kernel"])

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        for name in ("offset", "deformable_conv"):
            weight = getattr(self, f"{name}_weight")
            weight.shape = self._weight_shape(name, weight.shape[0], x.shape[1])

    def _convolved(self, op, arrays, bias, count, **settings):
        """One of the two convolutions, an operator of F or F.contrib."""
        settings = {**self._window, "num_group": self._groups, **settings}
        biases = [] if bias is None else [bias]
        return op(*arrays, *biases, num_filter=count, no_bias=bias is None, **settings)

    def _alias(self):
        return "deformable_conv"

    def hybrid_forward(self, F, x, offset_weight, deformable_conv_weight, offset_bias=None, deformable_conv_bias=None):  # noqa: N803 - MXNet's name
        """`x` is (N, in_channels, H, W)."""
        count = self._numbers_of_element * self._elements
        places = self._convolved(F.Convolution, [x, offset_weight], offset_bias, count)
        arrays, groups = [x, *self._places(F, places), deformable_conv_weight], self._deformable_groups
        op = getattr(F.contrib, self._op)
        out = self._convolved(op, arrays, deformable_conv_bias, self._channels, num_deformable_group=groups, name="fwd")
        return out if self.act is None else self.act(out)

    def _places(self, module, places):
        return [places]


class ModulatedDeformableConvolution(DeformableConvolution):
    """A DeformableConvolution whose elements are multiplied with numbers from 0 to 2, which are learned, too.

    >>> block = mx.gluon.nn.ModulatedDeformableConvolution(4, kernel_size=3, padding=1)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 2, 6, 6))).shape
    (1, 4, 6, 6)
    """

    _op = "ModulatedDeformableConvolution"
    _numbers_of_element = 3

    def _alias(self):
        return "modulated_deformable_conv"

    def _places(self, module, places):
        offset = module.slice_axis(places, axis=1, begin=0, end=2 * self._elements)
        mask = module.slice_axis(places, axis=1, begin=2 * self._elements, end=None)
        return [offset, 2 * module.sigmoid(mask)]
