"""The vision model zoo as blocks: `get_model(name)`, or a function of the network's name, such as `resnet50_v1()`."""

import functools
import os

from .... import nd
from ....base import ArgumentError
from ....base import did_you_mean as _did_you_mean
from ....model_zoo.table import NETWORKS
from ....model_zoo.table import list_models as _list_models
from ..parameter import plain_name
from .by_name import build
from .networks import VGG, AlexNet, DenseNet, Inception3, MobileNet, MobileNetV2, SqueezeNet
from .residual import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    _conv3x3,  # noqa: F401
)

__all__ = [
    "VGG",
    "AlexNet",
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "DenseNet",
    "Inception3",
    "MobileNet",
    "MobileNetV2",
    "ResNetV1",
    "ResNetV2",
    "SqueezeNet",
    "get_densenet",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "get_resnet",
    "get_squeezenet",
    "get_vgg",
    "list_models",
]

_PYTHON_NAMES = {name.replace(".", "_"): name for name in NETWORKS}
_PYTHON_NAMES["inception_v3"] = "inceptionv3"
_PYTHON_NAMES.update(
    {f"mobilenet_v2_{w.replace('.', '_')}": f"mobilenetv2_{w}" for w in ("1.0", "0.75", "0.5", "0.25")}
)


def list_models():
    """Names that `get_model` knows.

    >>> "resnet50_v1" in mx.gluon.model_zoo.vision.list_models()
    True
    """
    return _list_models()


def get_model(name, pretrained=False, ctx=None, root=None, classes=1000, *, device=None, **kwargs):
    """The network `name` as a block: (N, 3, H, W) -> (N, classes), with the parts `features` and `output`.

    `pretrained` is the path of a parameter file: of the Gluon zoo, or of an exported model. This package brings no
    parameters: pretrained=True raises ArgumentError. `ctx`, `device` and `root` have no effect. Further settings are
    those of the network's class, such as thumbnail=True or a prefix. Raises ArgumentError for an unknown name,
    TypeError for unknown settings.

    >>> net = mx.gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((1, 3, 64, 64))).shape
    (1, 10)
    """
    if pretrained is True:
        raise ArgumentError(f"{name}: no parameters come with this package; pass pretrained='file.params'")
    net = build(name, classes, **kwargs)
    if pretrained:
        _load(net, os.fspath(pretrained))
    return net


def _load(net, filename):
    """Reads a file that names parameters by their places, or by prefixes: then with another number of the network."""
    arrays = {plain_name(name): array for name, array in nd.load(filename).items()}
    if any("." in name for name in arrays):
        net.load_dict(arrays)
        return
    by_prefix = {name: parameter for name, parameter in net.collect_params().items()}
    places = {id(parameter): place for place, parameter in net._collect("").items()}
    own, given = _common_prefix(by_prefix), _common_prefix(arrays)
    renamed = {name.removeprefix(own): places[id(parameter)] for name, parameter in by_prefix.items()}
    net.load_dict({renamed.get(name.removeprefix(given), name): array for name, array in arrays.items()})


def _common_prefix(names):
    return os.path.commonprefix(list(names)).rpartition("_")[0] + "_"


def get_resnet(version, num_layers, **kwargs):
    """ResNet V1 or V2 of so many layers; options are those of `get_model`.

    >>> type(mx.gluon.model_zoo.vision.get_resnet(1, 18)).__name__
    'ResNetV1'
    """
    return get_model(f"resnet{num_layers}_v{version}", **kwargs)


def get_vgg(num_layers, *, batch_norm=False, **kwargs):
    """VGG of so many layers, with or without batch norms.

    >>> type(mx.gluon.model_zoo.vision.get_vgg(11, batch_norm=True)).__name__
    'VGG'
    """
    return get_model(f"vgg{num_layers}" + ("_bn" if batch_norm else ""), **kwargs)


def get_mobilenet(multiplier, **kwargs):
    """MobileNet of that width: 1.0, 0.75, 0.5 or 0.25.

    >>> type(mx.gluon.model_zoo.vision.get_mobilenet(0.25)).__name__
    'MobileNet'
    """
    return get_model(f"mobilenet{float(multiplier)}", **kwargs)


def get_mobilenet_v2(multiplier, **kwargs):
    """MobileNetV2 of that width: 1.0, 0.75, 0.5 or 0.25.

    >>> type(mx.gluon.model_zoo.vision.get_mobilenet_v2(0.25)).__name__
    'MobileNetV2'
    """
    return get_model(f"mobilenetv2_{float(multiplier)}", **kwargs)


def get_densenet(num_layers, **kwargs):
    """DenseNet of so many layers.

    >>> type(mx.gluon.model_zoo.vision.get_densenet(121)).__name__
    'DenseNet'
    """
    return get_model(f"densenet{num_layers}", **kwargs)


def get_squeezenet(version, **kwargs):
    """SqueezeNet 1.0 or 1.1.

    >>> type(mx.gluon.model_zoo.vision.get_squeezenet("1.1")).__name__
    'SqueezeNet'
    """
    return get_model(f"squeezenet{version}", **kwargs)


globals().update({name: functools.partial(get_model, network) for name, network in _PYTHON_NAMES.items()})


def __getattr__(name):
    hint = _did_you_mean(name, [*_PYTHON_NAMES, *__all__])
    raise AttributeError(f"module '{__name__}' has no attribute {name!r}{hint}")
