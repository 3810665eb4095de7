"""Networks as classes that programs build and extend: VGG, AlexNet, MobileNet and others."""

from ....base import ArgumentError
from ....model_zoo.alexnet import alexnet
from ....model_zoo.inception import inception_v3
from ....model_zoo.mobilenet import mobilenet, mobilenet_v2
from ....model_zoo.squeezenet import VERSIONS, squeezenet
from ... import init as initializers
from ..nn import (
    Activation,
    AvgPool2D,
    BatchNorm,
    Conv2D,
    Dense,
    Dropout,
    Flatten,
    HybridConcatenate,
    HybridSequential,
    Identity,
    MaxPool2D,
)
from .classifier import Classifier
from .layers import layers_of


class VGG(Classifier):
    """VGG(layers, filters, classes=1000, batch_norm=False): stages of convolutions, then three dense layers.

    `layers` is how many convolutions each stage has, `filters` their channels. Raises ArgumentError where these are not
    equally many.

    >>> net = mx.gluon.model_zoo.vision.VGG([1, 1], [4, 8], classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 8, 8))).shape
    (2, 10)
    """

    def __init__(self, layers, filters, classes=1000, batch_norm=False, **kwargs):
        super().__init__(**kwargs)
        if len(layers) != len(filters):
            raise ArgumentError(f"VGG: expected the filters of {len(layers)} stages, got {len(filters)}")
        with self.name_scope():
            self.features = self._make_features(layers, filters, batch_norm)
            for _ in range(2):
                self.features.add(Dense(4096, "relu", weight_initializer="normal"), Dropout(0.5))
            self.output = Dense(classes, weight_initializer="normal")

    def _make_features(self, layers, filters, batch_norm):
        """The convolutions, in a HybridSequential."""
        features = HybridSequential(prefix="")
        for count, channels in zip(layers, filters):
            for _ in range(count):
                weight = initializers.Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                features.add(Conv2D(channels, 3, 1, 1, weight_initializer=weight))
                if batch_norm:
                    features.add(BatchNorm())
                features.add(Activation("relu"))
            features.add(MaxPool2D(2))
        return features


class DenseNet(Classifier):
    """DenseNet(num_init_features, growth_rate, block_config, bn_size=4, dropout=0, classes=1000).

    Each layer adds `growth_rate` channels to its input. `num_init_features` are the channels of the stem,
    `block_config` is how many layers each stage has; inside of a layer there are `bn_size` times the channels that it
    adds. The network is for pictures of 224 x 224.

    >>> net = mx.gluon.model_zoo.vision.DenseNet(8, 4, [2, 1], classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 64, 64))).shape
    (2, 10)
    """

    def __init__(self, num_init_features, growth_rate, block_config, bn_size=4, dropout=0, classes=1000, **kwargs):
        super().__init__(**kwargs)
        channels = num_init_features
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            self.features.add(Conv2D(channels, 7, 2, 3, use_bias=False), BatchNorm(), Activation("relu"))
            self.features.add(MaxPool2D(3, 2, 1))
            for i, count in enumerate(block_config):
                if i:
                    channels //= 2
                    self.features.add(HybridSequential(*_normalized(channels, 1), AvgPool2D(2)))
                stage = HybridSequential(prefix=f"stage{i + 1}_")
                with stage.name_scope():
                    stage.add(*(_dense_layer(growth_rate, bn_size, dropout) for _ in range(count)))
                self.features.add(stage)
                channels += count * growth_rate
            self.features.add(BatchNorm(), Activation("relu"), AvgPool2D(7), Flatten())
            self.output = Dense(classes)


def _normalized(channels, kernel):
    """A norm, an activation and a convolution."""
    return BatchNorm(), Activation("relu"), Conv2D(channels, kernel, 1, kernel // 2, use_bias=False)


def _dense_layer(growth, bn_size, dropout):
    body = HybridSequential(*_normalized(bn_size * growth, 1), *_normalized(growth, 3))
    if dropout:
        body.add(Dropout(dropout))
    layer = HybridConcatenate(axis=1, prefix="")
    layer.add(Identity(), body)
    return layer


class _Described(Classifier):
    """A network that `amp.model_zoo` describes."""

    def __init__(self, network, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = layers_of(network.features)
            self.output = layers_of(network.output)


class AlexNet(_Described):
    """AlexNet(classes=1000), for pictures of 224 x 224.

    >>> net = mx.gluon.model_zoo.vision.AlexNet(classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((1, 3, 224, 224))).shape
    (1, 10)
    """

    def __init__(self, classes=1000, **kwargs):
        super().__init__(alexnet(classes), **kwargs)


class SqueezeNet(_Described):
    """SqueezeNet(version, classes=1000), for pictures of 224 x 224. Raises ArgumentError for unknown versions.

    >>> net = mx.gluon.model_zoo.vision.SqueezeNet("1.1", classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((1, 3, 224, 224))).shape
    (1, 10)
    """

    def __init__(self, version, classes=1000, **kwargs):
        if version not in VERSIONS:
            raise ArgumentError(f"SqueezeNet: version is one of {', '.join(map(repr, VERSIONS))}, got {version!r}")
        super().__init__(squeezenet(version, classes), **kwargs)


class MobileNet(_Described):
    """MobileNet(multiplier=1.0, classes=1000); `multiplier` scales the channels.

    >>> net = mx.gluon.model_zoo.vision.MobileNet(0.25, classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        super().__init__(mobilenet(multiplier, classes), **kwargs)


class MobileNetV2(_Described):
    """MobileNetV2(multiplier=1.0, classes=1000); `multiplier` scales the channels, but for the last convolution's
    only where it is above 1.

    >>> net = mx.gluon.model_zoo.vision.MobileNetV2(0.25, classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 32, 32))).shape
    (2, 10)
    """

    def __init__(self, multiplier=1.0, classes=1000, **kwargs):
        super().__init__(mobilenet_v2(multiplier, classes), **kwargs)


class Inception3(_Described):
    """Inception3(classes=1000), for pictures of 299 x 299.

    >>> net = mx.gluon.model_zoo.vision.Inception3(classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((1, 3, 299, 299))).shape
    (1, 10)
    """

    def __init__(self, classes=1000, **kwargs):
        super().__init__(inception_v3(classes), **kwargs)
