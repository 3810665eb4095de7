"""Networks of MXNet's Gluon model zoo, as symbols.

Structure, names and attributes are those that MXNet 1.9.1 exports, so that its parameter files fit.
"""

import math
import zlib

import numpy as np

from .base import ArgumentError
from .nd import NDArray

__all__ = ["get_model", "list_models", "seeded_params"]

# layers: (basic block?, units per stage, channels of the first convolution and of each stage)
_RESNETS = {
    18: (True, (2, 2, 2, 2), (64, 64, 128, 256, 512)),
    34: (True, (3, 4, 6, 3), (64, 64, 128, 256, 512)),
    50: (False, (3, 4, 6, 3), (64, 256, 512, 1024, 2048)),
    101: (False, (3, 4, 23, 3), (64, 256, 512, 1024, 2048)),
    152: (False, (3, 8, 36, 3), (64, 256, 512, 1024, 2048)),
}


def list_models():
    """Names that `get_model` knows."""
    return [f"resnet{layers}_v1" for layers in _RESNETS]


def get_model(name, classes=1000, prefix=None):
    """The network `name` as a Symbol: input `data` (N, 3, H, W), output (N, classes) without softmax.

    `prefix` begins the names of all nodes; by default 'resnetv10_', as for the first network that a
    program of MXNet makes. Raises ArgumentError for an unknown name.
    """
    networks = {f"resnet{layers}_v1": layers for layers in _RESNETS}
    if name not in networks:
        raise ArgumentError(f"unknown model {name!r}; there are {', '.join(networks)}")
    return _resnet_v1(*_RESNETS[networks[name]], classes, "resnetv10_" if prefix is None else prefix)


class _Layers:
    """Makes layers as Gluon blocks name them: `<prefix>conv0_fwd` with the variable `<prefix>conv0_weight`."""

    def __init__(self, prefix):
        from . import sym

        self._sym = sym
        self._prefix = prefix
        self._counts = {}

    def _name(self, kind):
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{self._prefix}{kind}{number}"

    def _variables(self, layer, *names):
        return {key: self._sym.Variable(f"{layer}_{name}") for key, name in names}

    def conv(self, channels, kernel, stride, pad, bias=False):
        """Counts the layer now and returns a function that applies it (Gluon makes blocks before it runs them)."""
        layer = self._name("conv")

        def apply(data):
            names = [("weight", "weight"), ("bias", "bias")] if bias else [("weight", "weight")]
            return self._sym.Convolution(
                data,
                **self._variables(layer, *names),
                dilate=(1, 1),
                kernel=(kernel, kernel),
                layout="NCHW",
                no_bias=not bias,
                num_filter=channels,
                num_group=1,
                pad=(pad, pad),
                stride=(stride, stride),
                name=f"{layer}_fwd",
            )

        return apply

    def batch_norm(self):
        layer = self._name("batchnorm")
        states = [("gamma", "gamma"), ("beta", "beta"), ("moving_mean", "running_mean"), ("moving_var", "running_var")]

        def apply(data):
            return self._sym.BatchNorm(
                data,
                **self._variables(layer, *states),
                axis=1,
                eps=1e-5,
                fix_gamma=False,
                momentum=0.9,
                use_global_stats=False,
                name=f"{layer}_fwd",
            )

        return apply

    def relu(self):
        name = f"{self._name('relu')}_fwd"
        return lambda data: self._sym.Activation(data, act_type="relu", name=name)

    def add_relu(self, left, right):
        """The end of a residual unit; these two are functions in Gluon, not blocks."""
        total = self._sym.elemwise_add(left, right, name=self._name("_plus"))
        return self._sym.Activation(total, act_type="relu", name=self._name("activation"))

    def pool(self, kind, kernel, stride, pad, is_global=False):
        name = f"{self._name('pool')}_fwd"
        return lambda data: self._sym.Pooling(
            data,
            global_pool=is_global,
            kernel=(kernel, kernel),
            layout="NCHW",
            pad=(pad, pad),
            pool_type=kind,
            pooling_convention="full" if is_global else "valid",
            stride=(stride, stride),
            name=name,
        )

    def dense(self, units):
        layer = self._name("dense")
        return lambda data: self._sym.FullyConnected(
            data,
            **self._variables(layer, ("weight", "weight"), ("bias", "bias")),
            flatten=True,
            no_bias=False,
            num_hidden=units,
            name=f"{layer}_fwd",
        )


def _chain(data, *layers):
    for layer in layers:
        data = layer(data)
    return data


def _resnet_v1(basic, units, channels, classes, prefix):
    from . import sym

    net = _Layers(prefix)
    data = sym.Variable("data")
    stem = [net.conv(channels[0], 7, 2, 3), net.batch_norm(), net.relu(), net.pool("max", 3, 2, 1)]
    data = _chain(data, *stem)
    unit = _basic_unit if basic else _bottleneck_unit
    for i, count in enumerate(units):
        stage = _Layers(f"{prefix}stage{i + 1}_")
        for j in range(count):
            stride = 2 if i > 0 and j == 0 else 1
            widened = j == 0 and channels[i + 1] != channels[i]
            data = unit(stage, data, channels[i + 1], stride, widened)
    return _chain(data, net.pool("avg", 1, 1, 0, is_global=True), net.dense(classes))


def _basic_unit(net, data, channels, stride, widened):
    body = [net.conv(channels, 3, stride, 1), net.batch_norm(), net.relu()]
    body += [net.conv(channels, 3, 1, 1), net.batch_norm()]
    shortcut = [net.conv(channels, 1, stride, 0), net.batch_norm()] if widened else []
    return net.add_relu(_chain(data, *shortcut), _chain(data, *body))


def _bottleneck_unit(net, data, channels, stride, widened):
    inner = channels // 4
    body = [net.conv(inner, 1, stride, 0, bias=True), net.batch_norm(), net.relu()]
    body += [net.conv(inner, 3, 1, 1), net.batch_norm(), net.relu()]
    body += [net.conv(channels, 1, 1, 0, bias=True), net.batch_norm()]
    shortcut = [net.conv(channels, 1, stride, 0), net.batch_norm()] if widened else []
    return net.add_relu(_chain(data, *body), _chain(data, *shortcut))


def seeded_params(sym, input_shapes, seed=0):
    """Random float32 parameters for a network: (arg_params, aux_params), dicts of NDArrays.

    `input_shapes` is {name: shape} of everything that is no parameter. Weights have the variance
    2 / fan_in, scales and running variances lie around 1, biases, shifts and running means around 0.
    The values of a parameter depend on its name, its shape and `seed` only.
    """
    arg_shapes, _, aux_shapes = sym.infer_shape(**input_shapes)
    if arg_shapes is None:
        raise ArgumentError("the input shapes do not determine the shapes of all parameters")
    args = zip(sym.list_arguments(), arg_shapes)
    aux = zip(sym.list_auxiliary_states(), aux_shapes)
    return (
        {name: _seeded(name, shape, seed) for name, shape in args if name not in input_shapes},
        {name: _seeded(name, shape, seed) for name, shape in aux},
    )


def _seeded(name, shape, seed):
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if name.endswith(("gamma", "var")):
        return NDArray(random.uniform(0.75, 1.25, shape).astype(np.float32))
    if len(shape) < 2:
        return NDArray(random.uniform(-0.1, 0.1, shape).astype(np.float32))
    values = random.standard_normal(shape, dtype=np.float32)
    values *= np.float32(math.sqrt(2.0 / math.prod(shape[1:])))
    return NDArray(values)
