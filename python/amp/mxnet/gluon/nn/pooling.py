"""Pooling over windows, or over everything."""

from ....base import ArgumentError
from .layer import Layer, listed, repeated


class _Pool(Layer):
    """Pool(pool_size=2, strides=None, padding=0, layout=None, ceil_mode=False): windows of (N, C, ...).

    Without `strides` windows do not overlap; with `ceil_mode` sizes of outputs are rounded up. Average pooling also
    takes `count_include_pad` (True): whether padding counts as elements. Raises ArgumentError for unknown layouts.
    """

    _axes, _kind = 2, "max"

    def __init__(
        self, pool_size=2, strides=None, padding=0, layout=None, ceil_mode=False, count_include_pad=None, **kwargs
    ):
        super().__init__(**kwargs)
        if isinstance(layout, bool) or isinstance(ceil_mode, str):  # the order that some of MXNet's pools have
            layout, ceil_mode = ceil_mode or None, layout
        layout = _checked_layout(layout, self._axes, type(self).__name__)
        kernel = repeated(pool_size, self._axes)
        self._kwargs = {
            "kernel": kernel,
            "stride": kernel if strides is None else repeated(strides, self._axes),
            "pad": repeated(padding, self._axes),
            "pool_type": self._kind,
            "pooling_convention": "full" if ceil_mode else "valid",
            "global_pool": False,
            "layout": layout,
        }
        if self._kind == "avg":
            self._kwargs["count_include_pad"] = count_include_pad is None or bool(count_include_pad)

    def _alias(self):
        return "pool"

    def _settings_text(self):
        settings = self._kwargs
        return listed(
            size=settings["kernel"],
            stride=settings["stride"],
            padding=settings["pad"],
            ceil_mode=settings["pooling_convention"] == "full",
            global_pool=False,
            pool_type=self._kind,
            layout=settings["layout"],
        )

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` has the axes of the layout."""
        return F.Pooling(x, **self._kwargs, name="fwd")


class _GlobalPool(Layer):
    """The maximum or mean of each channel of (N, C, ...), with axes of size 1 in place of the others.

    Raises ArgumentError for unknown layouts.
    """

    _axes, _kind = 2, "max"

    def __init__(self, layout=None, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {
            "kernel": (1,) * self._axes,
            "pool_type": self._kind,
            "global_pool": True,
            "layout": _checked_layout(layout, self._axes, type(self).__name__),
        }

    def _alias(self):
        return "pool"

    def _settings_text(self):
        return listed(global_pool=True, pool_type=self._kind, layout=self._kwargs["layout"])

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` has the axes of the layout."""
        return F.Pooling(x, **self._kwargs, name="fwd")


def _checked_layout(layout, axes, name):
    usual = "NC" + "DHW"[3 - axes :]
    if layout is not None and sorted(layout) != sorted(usual):
        raise ArgumentError(f"{name}: unknown layout {layout!r}")
    return layout or usual


def _make(base, name, axes, kind):
    doc = f"{base.__doc__ or ''}\n{_example(name, axes, base is _GlobalPool)}".replace("Pool(", f"{name}(", 1)
    return type(name, (base,), {"_axes": axes, "_kind": kind, "__doc__": doc, "__module__": __name__})


def _example(name, axes, is_global):
    """A docstring's example: 8 elements per axis, in windows of 2 or in one."""
    call = f"mx.gluon.nn.{name}()(amp.nd.ones({(1, 3, *[8] * axes)})).shape"
    return f"    >>> {call}\n    {(1, 3, *[1 if is_global else 4] * axes)}\n    "


MaxPool1D, MaxPool2D, MaxPool3D = (_make(_Pool, f"MaxPool{n}D", n, "max") for n in (1, 2, 3))
AvgPool1D, AvgPool2D, AvgPool3D = (_make(_Pool, f"AvgPool{n}D", n, "avg") for n in (1, 2, 3))
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = (
    _make(_GlobalPool, f"GlobalMaxPool{n}D", n, "max") for n in (1, 2, 3)
)
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = (
    _make(_GlobalPool, f"GlobalAvgPool{n}D", n, "avg") for n in (1, 2, 3)
)


class ReflectionPad2D(Layer):
    """ReflectionPad2D(padding=0): rows and columns of (N, C, H, W) mirrored at the borders.

    >>> mx.gluon.nn.ReflectionPad2D(1)(amp.nd.ones((1, 3, 8, 8))).shape
    (1, 3, 10, 10)
    """

    def __init__(self, padding=0, **kwargs):
        super().__init__(**kwargs)
        self._width = (0, 0, 0, 0, *([padding] * 4)) if isinstance(padding, int) else tuple(padding)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, C, H, W)."""
        return F.pad(x, mode="reflect", pad_width=self._width)
