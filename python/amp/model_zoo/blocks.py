"""What networks are made of. `bind(place)` gives a block its name and returns the function that applies it.

Names are given when blocks are bound, in the order of the tree: Gluon names blocks when it makes them. What
is a function in Gluon and no block (additions, concatenations, some activations) is named when it is applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Scope:
    """A prefix, and the numbers that were given away behind it: conv0, conv1, batchnorm0, ..."""

    def __init__(self, prefix):
        self.prefix = prefix
        self._counts = {}

    def next_name(self, hint):
        number = self._counts.get(hint, 0)
        self._counts[hint] = number + 1
        return f"{self.prefix}{hint}{number}"


class Place(NamedTuple):
    """Where a block stands: the form to write, the scope of its name in 1.x, and its path in 2.0."""

    form: object
    scope: Scope
    path: str

    def child(self, key):
        """The place of the block that is the attribute, or the list element, `key` of this one."""
        return self._replace(path=f"{self.path}.{key}" if self.path else str(key))

    def within(self, prefix):
        """This place with a scope of its own, unless `prefix` is None."""
        return self if prefix is None else self._replace(scope=Scope(self.scope.prefix + prefix))

    def within_numbered(self, hint):
        """This place with a scope of its own that is numbered in the enclosing one."""
        return self._replace(scope=Scope(f"{self.scope.next_name(hint)}_"))

    def layer(self, hint, name=None):
        """A layer at this place, numbered unless it has a `name`."""
        return Layer(self, self.scope.next_name(hint) if name is None else self.scope.prefix + name)

    def add(self, left, right, hint="_plus"):
        return self.form.node("elemwise_add", self.scope.next_name(hint), [left, right], {})

    def relu(self, data):
        return self.form.node("Activation", self.scope.next_name("activation"), [data], {"act_type": "relu"})

    def concat(self, inputs):
        return self.form.node("Concat", self.scope.next_name("concat"), inputs, {"dim": 1})


class Layer(NamedTuple):
    """A block that has a name, hence can have parameters."""

    place: Place
    name: str

    def parameter(self, key, shape, init=None):
        return self.place.form.parameter(self.name, self.place.path, key, shape, init)

    def apply(self, operator, inputs, suffix="fwd", **attributes):
        return self.place.form.node(operator, f"{self.name}_{suffix}", inputs, attributes)


# ---- layers ----


@dataclass(frozen=True)
class Conv:
    """A convolution. `in_channels` is 0 where Gluon learns it from the first input; `relu`: with an activation."""

    channels: int
    kernel: int | tuple
    stride: int = 1
    pad: int | tuple = 0
    in_channels: int = 0
    groups: int = 1
    bias: bool = False
    relu: bool = False
    init: str | None = None
    name: str | None = None

    def bind(self, place):
        layer = place.layer("conv", self.name)
        kernel = _pair(self.kernel)
        parameters = [layer.parameter("weight", (self.channels, self.in_channels, *kernel), self.init)]
        if self.bias:
            parameters.append(layer.parameter("bias", (self.channels,), "zeros"))

        def apply(data):
            output = layer.apply(
                "Convolution",
                [data, *parameters],
                dilate=(1, 1),
                kernel=kernel,
                layout="NCHW",
                no_bias=not self.bias,
                num_filter=self.channels,
                num_group=self.groups,
                pad=_pair(self.pad),
                stride=_pair(self.stride),
            )
            return _activated(layer, output) if self.relu else output

        return apply


@dataclass(frozen=True)
class Dense:
    """A fully connected layer; `in_units` is 0 where Gluon learns it from the first input."""

    units: int
    in_units: int = 0
    relu: bool = False
    init: str | None = None

    def bind(self, place):
        layer = place.layer("dense")
        weight = layer.parameter("weight", (self.units, self.in_units), self.init)
        bias = layer.parameter("bias", (self.units,), "zeros")

        def apply(data):
            inputs = [data, weight, bias]
            output = layer.apply("FullyConnected", inputs, flatten=True, no_bias=False, num_hidden=self.units)
            return _activated(layer, output) if self.relu else output

        return apply


@dataclass(frozen=True)
class BatchNorm:
    eps: float = 1e-5
    scale: bool = True

    def bind(self, place):
        layer = place.layer("batchnorm")
        inits = {"gamma": "ones", "beta": "zeros", "running_mean": "zeros", "running_var": "ones"}
        parameters = [layer.parameter(key, (0,), init) for key, init in inits.items()]
        return lambda data: layer.apply(
            "BatchNorm",
            [data, *parameters],
            axis=1,
            eps=self.eps,
            fix_gamma=not self.scale,
            momentum=0.9,
            use_global_stats=False,
        )


@dataclass(frozen=True)
class Pool:
    """`ceil`: the output's size is rounded up; without a `stride` windows do not overlap."""

    kind: str
    kernel: int
    stride: int | None = None
    pad: int = 0
    ceil: bool = False
    is_global: bool = False

    def bind(self, place):
        layer = place.layer("pool")
        counted = {"count_include_pad": True} if self.kind == "avg" and not self.is_global else {}
        return lambda data: layer.apply(
            "Pooling",
            [data],
            global_pool=self.is_global,
            kernel=_pair(self.kernel),
            layout="NCHW",
            pad=_pair(self.pad),
            pool_type=self.kind,
            pooling_convention="full" if self.ceil else "valid",
            stride=_pair(self.stride or self.kernel),
            **counted,
        )


def max_pool(kernel, stride=None, pad=0, ceil=False):
    return Pool("max", kernel, stride, pad, ceil)


def avg_pool(kernel, stride=None, pad=0):
    return Pool("avg", kernel, stride, pad)


def global_avg_pool():
    return Pool("avg", 1, ceil=True, is_global=True)


class Relu:
    def bind(self, place):
        layer = place.layer("relu")
        return lambda data: layer.apply("Activation", [data], act_type="relu")


class Relu6:
    def bind(self, place):
        layer = place.layer("relu6")
        return lambda data: layer.apply("clip", [data], suffix="relu6", a_max=6, a_min=0)


class Flatten:
    def bind(self, place):
        layer = place.layer("flatten")
        return lambda data: layer.apply("Flatten", [data], suffix="flatten0")


class Dropout:
    """Half of the values, in training only."""

    def bind(self, place):
        layer = place.layer("dropout")
        return lambda data: layer.apply("Dropout", [data], axes=(), cudnn_off=False, p=0.5)


class Identity:
    def bind(self, place):
        return lambda data: data


# ---- blocks of blocks ----


class Chain:
    """Blocks one after another; `prefix` begins the names inside, None for no scope of their own."""

    def __init__(self, *blocks, prefix=None):
        self.blocks = blocks
        self._prefix = prefix

    def bind(self, place):
        steps = _bind_all(self.blocks, place.within(self._prefix))

        def apply(data):
            for step in steps:
                data = step(data)
            return data

        return apply


class Branches:
    """Blocks side by side on one input; their outputs are concatenated. `prefix` as for `Chain`."""

    def __init__(self, *blocks, prefix=None):
        self._blocks = blocks
        self._prefix = prefix

    def bind(self, place):
        place = place.within(self._prefix)
        branches = _bind_all(self._blocks, place)
        return lambda data: place.concat([branch(data) for branch in branches])


class Network(NamedTuple):
    """A classifier: `kind` is the default prefix without its number, `image_size` what it was made for."""

    kind: str
    features: object
    output: object
    image_size: int = 224

    def trace(self, form, prefix):
        """The network as a Symbol."""
        root = Place(form, Scope(prefix), "")
        features, output = self.features.bind(root.child("features")), self.output.bind(root.child("output"))
        return output(features(form.data()))


def _bind_all(blocks, place):
    return [block.bind(place.child(index)) for index, block in enumerate(blocks)]


def _activated(layer, data):
    return layer.apply("Activation", [data], suffix="relu_fwd", act_type="relu")


def _pair(size):
    return size if isinstance(size, tuple) else (size, size)
