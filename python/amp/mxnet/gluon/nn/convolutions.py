"""Convolutions and transposed convolutions over one, two or three axes."""

from ....base import ArgumentError
from .activations import activation_of
from .layer import Layer, listed, repeated


class _Conv(Layer):
    """Conv(channels, kernel_size, strides, padding, dilation, groups, layout, in_channels, activation, use_bias).

    The input is (N, in_channels, ...), the output (N, channels, ...); `weight` is (channels, in_channels / groups, ...)
    of the kernel's sizes. Layouts with the channels last, such as 'NHWC', have them last in all of these. Raises
    ArgumentError for unknown layouts.
    """

    _axes = 2
    _op = "Convolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._channels, self._groups = int(channels), int(groups)
        self._layout = layout or "NC" + "DHW"[3 - self._axes :]
        if sorted(self._layout) != sorted("NC" + "DHW"[3 - self._axes :]):
            raise ArgumentError(f"{type(self).__name__}: unknown layout {layout!r}")
        self._kernel = repeated(kernel_size, self._axes)
        self._kwargs = {
            "kernel": self._kernel,
            "stride": repeated(strides, self._axes),
            "dilate": repeated(dilation, self._axes),
            "pad": repeated(padding, self._axes),
            "num_filter": self._channels,
            "num_group": self._groups,
            "no_bias": not use_bias,
            "layout": self._layout,
        }
        self.parameter("weight", self._weight_shape(in_channels), weight_initializer)
        self.bias = None
        if use_bias:
            self.parameter("bias", (self._channels,), bias_initializer)
        self.act = activation_of(self, activation)

    def _weight_shape(self, in_channels):
        inputs = in_channels // self._groups
        if self._layout.endswith("C"):
            return (self._channels, *self._kernel, inputs)
        return (self._channels, inputs, *self._kernel)

    def infer_shape(self, x, *args):
        """Learns in_channels."""
        self.weight.shape = self._weight_shape(x.shape[self._layout.index("C")])

    def _alias(self):
        return "conv"

    def hybrid_forward(self, F, x, weight, bias=None):  # noqa: N803 - MXNet's name
        """`x` has the axes of the layout."""
        out = getattr(F, self._op)(x, weight, bias, **self._kwargs, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self):
        inputs = self.weight.shape[self._layout.index("C")] or None
        return f"{type(self).__name__}({inputs} -> {self._channels}, {self._settings_text()})"

    def _settings_text(self):
        settings, usual = self._kwargs, (0,) * self._axes
        given = {"kernel_size": settings["kernel"], "stride": settings["stride"]}
        others = {
            "padding": (settings["pad"], usual),
            "dilation": (settings["dilate"], (1,) * self._axes),
            "output_padding": (settings.get("adj", usual), usual),
            "groups": (self._groups, 1),
            "bias": (self.bias is not None, True),
        }
        given.update({key: value for key, (value, default) in others.items() if value != default})
        return listed(**given) + (f", {self.act}" if self.act else "")


def _documented(base, name, axes, size):
    """The docstring of a class of `base`, with an example in which axes of 8 elements become `size`."""
    doc = (base.__doc__ or "").replace(f"{base.__name__[1:]}(", f"{name}(", 1)
    call = f"block(amp.nd.ones({(2, 3, *[8] * axes)})).shape"
    lines = [f">>> block = mx.gluon.nn.{name}(4, kernel_size=3)", ">>> block.initialize()", f">>> {call}"]
    return "\n    ".join([doc, *lines, str((2, 4, *[size] * axes)), ""])


class Conv1D(_Conv):
    __doc__ = _documented(_Conv, "Conv1D", 1, 6)
    _axes = 1


class Conv2D(_Conv):
    __doc__ = _documented(_Conv, "Conv2D", 2, 6)
    _axes = 2


class Conv3D(_Conv):
    __doc__ = _documented(_Conv, "Conv3D", 3, 6)
    _axes = 3


class _ConvTranspose(_Conv):
    """ConvTranspose(channels, kernel_size, strides, padding, output_padding, dilation, groups, layout, ...).

    The transpose of a convolution: `weight` is (in_channels, channels / groups, ...) of the kernel's sizes, an
    output's size is (size - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 + output_padding.
    """

    _op = "Deconvolution"

    def __init__(
        self,
        channels,
        kernel_size,
        strides=1,
        padding=0,
        output_padding=0,
        dilation=1,
        groups=1,
        layout=None,
        activation=None,
        use_bias=True,
        weight_initializer=None,
        bias_initializer="zeros",
        in_channels=0,
        **kwargs,
    ):
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **kwargs,
        )
        self._kwargs["adj"] = repeated(output_padding, self._axes)

    def _weight_shape(self, in_channels):
        outputs = self._channels // self._groups
        if self._layout.endswith("C"):
            return (in_channels, *self._kernel, outputs)
        return (in_channels, outputs, *self._kernel)


class Conv1DTranspose(_ConvTranspose):
    __doc__ = _documented(_ConvTranspose, "Conv1DTranspose", 1, 10)
    _axes = 1


class Conv2DTranspose(_ConvTranspose):
    __doc__ = _documented(_ConvTranspose, "Conv2DTranspose", 2, 10)
    _axes = 2


class Conv3DTranspose(_ConvTranspose):
    __doc__ = _documented(_ConvTranspose, "Conv3DTranspose", 3, 10)
    _axes = 3
