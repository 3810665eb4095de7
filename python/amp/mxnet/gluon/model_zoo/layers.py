"""Descriptions of networks, those of `amp.model_zoo`, as layers that programs can look at, change and take apart."""

import contextlib
import json

from ....base import ArgumentError
from ....model_zoo import blocks, mobilenet
from ... import init as initializers
from .. import nn
from ..block import HybridBlock


class RELU6(HybridBlock):
    """min(max(x, 0), 6)."""

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` has any shape."""
        return F.clip(x, a_min=0, a_max=6, name="relu6")


class LinearBottleneck(HybridBlock):
    """Layers from wide to narrow; the input is added where the shapes agree."""

    def __init__(self, description):
        super().__init__()
        self.use_shortcut = description._adds
        with self.name_scope():
            self.out = layers_of(description._body)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, C, H, W)."""
        return F.elemwise_add(self.out(x), x) if self.use_shortcut else self.out(x)


def layers_of(description):
    """The layer, or the container of layers, of a description.

    Raises ArgumentError for an unknown kind of description.
    """
    make = _LAYERS.get(type(description))
    if make is None:
        raise ArgumentError(f"{type(description).__name__} has no layer")
    return make(description)


def _container(container_class, parts, prefix, **options):
    container = container_class(prefix=prefix or "", **options)
    with container.name_scope() if prefix else contextlib.nullcontext():
        container.add(*(layers_of(part) for part in parts))
    return container


def _chain(chain):
    return _container(nn.HybridSequential, chain.blocks, chain._prefix)


def _branches(branches):
    return _container(nn.HybridConcatenate, branches._blocks, branches._prefix, axis=1)


def _conv(conv):
    return nn.Conv2D(
        conv.channels,
        conv.kernel,
        conv.stride,
        conv.pad,
        groups=conv.groups,
        activation="relu" if conv.relu else None,
        use_bias=conv.bias,
        weight_initializer=_initializer(conv.init),
        in_channels=conv.in_channels,
        prefix=f"{conv.name}_" if conv.name else None,
    )


def _dense(dense):
    activation = "relu" if dense.relu else None
    return nn.Dense(dense.units, activation, weight_initializer=_initializer(dense.init), in_units=dense.in_units)


def _pool(pool):
    if pool.is_global:
        return nn.GlobalMaxPool2D() if pool.kind == "max" else nn.GlobalAvgPool2D()
    pool_class = nn.MaxPool2D if pool.kind == "max" else nn.AvgPool2D
    return pool_class(pool.kernel, pool.stride, pool.pad, ceil_mode=pool.ceil)


def _initializer(text):
    if text is None or not text.startswith("["):
        return text
    kind, options = json.loads(text)
    return initializers.create(kind, **options)


_LAYERS = {
    blocks.Chain: _chain,
    blocks.Branches: _branches,
    blocks.Conv: _conv,
    blocks.Dense: _dense,
    blocks.Pool: _pool,
    blocks.BatchNorm: lambda norm: nn.BatchNorm(epsilon=norm.eps, scale=norm.scale),
    blocks.Relu: lambda _: nn.Activation("relu"),
    blocks.Relu6: lambda _: RELU6(),
    blocks.Flatten: lambda _: nn.Flatten(),
    blocks.Dropout: lambda _: nn.Dropout(0.5),
    blocks.Identity: lambda _: nn.Identity(),
    mobilenet._Bottleneck: LinearBottleneck,
}
