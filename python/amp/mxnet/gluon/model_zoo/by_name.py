"""The classes of the zoo by the names of networks, for settings that only the classes have."""

import functools
import re

from ....model_zoo import densenet, resnet, vgg
from ....model_zoo.table import find_network
from .networks import VGG, AlexNet, DenseNet, Inception3, MobileNet, MobileNetV2, SqueezeNet
from .residual import BasicBlockV1, BasicBlockV2, BottleneckV1, BottleneckV2, ResNetV1, ResNetV2

_RESIDUAL = {"1": (ResNetV1, BasicBlockV1, BottleneckV1), "2": (ResNetV2, BasicBlockV2, BottleneckV2)}


def build(name, classes, **settings):
    """The network `name` as an object of its class. `settings` are the class's; TypeError for others.

    Raises ArgumentError for an unknown name and for a wrong number of classes.
    """
    find_network(name, classes)  # the errors
    for pattern, class_of in _CLASSES.items():
        if match := re.fullmatch(pattern, name.lower()):
            return class_of(*match.groups())(classes=classes, **settings)
    raise AssertionError(name)


def _resnet(layers, version):
    has_bottlenecks, units = resnet.CONFIGURATIONS[int(layers)]
    network, basic, bottleneck = _RESIDUAL[version]
    channels = [64, *(64 * 2**i * (4 if has_bottlenecks else 1) for i in range(len(units)))]
    return functools.partial(network, bottleneck if has_bottlenecks else basic, units, channels)


def _vgg(layers, norm):
    norms = {"batch_norm": True} if norm else {}
    return functools.partial(VGG, vgg.CONVOLUTIONS[int(layers)], vgg.CHANNELS, **norms)


_CLASSES = {
    r"resnet(\d+)_v([12])": _resnet,
    r"vgg(\d+)(_bn)?": _vgg,
    r"densenet(\d+)": lambda layers: functools.partial(DenseNet, *densenet.CONFIGURATIONS[int(layers)]),
    r"squeezenet([\d.]+)": lambda version: functools.partial(SqueezeNet, version),
    r"mobilenet([\d.]+)": lambda width: functools.partial(MobileNet, float(width)),
    r"mobilenetv2_([\d.]+)": lambda width: functools.partial(MobileNetV2, float(width)),
    "alexnet": lambda: AlexNet,
    "inceptionv3": lambda: Inception3,
}
