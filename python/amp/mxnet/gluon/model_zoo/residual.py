"""Residual networks as classes that programs build and extend: `ResNetV1`, `ResNetV2` and their blocks."""

from ....base import ArgumentError
from ..block import HybridBlock
from ..nn import Activation, BatchNorm, Conv2D, Dense, Flatten, GlobalAvgPool2D, HybridSequential, MaxPool2D
from .classifier import Classifier


def _conv(channels, kernel, stride=1, in_channels=0, use_bias=False):
    return Conv2D(channels, kernel, stride, kernel // 2, use_bias=use_bias, in_channels=in_channels)


def _conv3x3(channels, stride, in_channels):
    """MXNet's, which toolkits build their own networks with."""
    return _conv(channels, 3, stride, in_channels)


class _BlockV1(HybridBlock):
    """The body and the shortcut are added; the activation follows."""

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.body = HybridSequential(*self._layers(channels, stride, in_channels))
        shortcut = (_conv(channels, 1, stride, in_channels), BatchNorm()) if downsample else ()
        self.downsample = HybridSequential(*shortcut) if downsample else None


class BasicBlockV1(_BlockV1):
    """BasicBlockV1(channels, stride, downsample=False, in_channels=0): two convolutions beside a shortcut.

    >>> block = mx.gluon.model_zoo.vision.BasicBlockV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _layers(self, channels, stride, in_channels):
        first = [_conv(channels, 3, stride, in_channels), BatchNorm(), Activation("relu")]
        return [*first, _conv(channels, 3, 1, channels), BatchNorm()]

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, C, H, W)."""
        shortcut = self.downsample(x) if self.downsample else x
        return F.Activation(shortcut + self.body(x), act_type="relu")


class BottleneckV1(_BlockV1):
    """BottleneckV1(channels, stride, downsample=False, in_channels=0): three convolutions, the middle ones narrow.

    >>> block = mx.gluon.model_zoo.vision.BottleneckV1(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def _layers(self, channels, stride, in_channels):
        inner = channels // 4
        layers = [_conv(inner, 1, stride, use_bias=True), BatchNorm(), Activation("relu")]
        layers += [_conv(inner, 3, 1, inner), BatchNorm(), Activation("relu")]
        return [*layers, _conv(channels, 1, use_bias=True), BatchNorm()]

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, C, H, W)."""
        body = self.body(x)
        return F.Activation(body + (self.downsample(x) if self.downsample else x), act_type="relu")


class _BlockV2(HybridBlock):
    """A norm and an activation stand before each convolution; the shortcut begins behind the first pair."""

    def _add_shortcut(self, channels, stride, downsample, in_channels):
        self.downsample = _conv(channels, 1, stride, in_channels) if downsample else None

    def _pairs(self):
        return [(self.bn1, self.conv1), (self.bn2, self.conv2)]

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, C, H, W)."""
        shortcut = x
        for i, (norm, conv) in enumerate(self._pairs()):
            x = F.Activation(norm(x), act_type="relu")
            if i == 0 and self.downsample:
                shortcut = self.downsample(x)
            x = conv(x)
        return x + shortcut


class BasicBlockV2(_BlockV2):
    """BasicBlockV2(channels, stride, downsample=False, in_channels=0): two convolutions behind norms.

    >>> block = mx.gluon.model_zoo.vision.BasicBlockV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        self.bn1, self.conv1 = BatchNorm(), _conv(channels, 3, stride, in_channels)
        self.bn2, self.conv2 = BatchNorm(), _conv(channels, 3, 1, channels)
        self._add_shortcut(channels, stride, downsample, in_channels)


class BottleneckV2(_BlockV2):
    """BottleneckV2(channels, stride, downsample=False, in_channels=0): three convolutions behind norms.

    >>> block = mx.gluon.model_zoo.vision.BottleneckV2(8, 2, downsample=True, in_channels=4)
    >>> block.initialize()
    >>> block(amp.nd.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, channels, stride, downsample=False, in_channels=0, **kwargs):
        super().__init__(**kwargs)
        inner = channels // 4
        self.bn1, self.conv1 = BatchNorm(), _conv(inner, 1)
        self.bn2, self.conv2 = BatchNorm(), _conv(inner, 3, stride, inner)
        self.bn3, self.conv3 = BatchNorm(), _conv(channels, 1)
        self._add_shortcut(channels, stride, downsample, in_channels)

    def _pairs(self):
        return [*super()._pairs(), (self.bn3, self.conv3)]


class _ResNet(Classifier):
    """A stem, stages of blocks, a head."""

    def __init__(self, block, layers, channels, classes=1000, thumbnail=False, **kwargs):
        super().__init__(**kwargs)
        if len(layers) != len(channels) - 1:
            raise ArgumentError(
                f"{type(self).__name__}: channels are those of the stem and of each stage: "
                f"expected {len(layers) + 1}, got {len(channels)}"
            )
        with self.name_scope():
            self.features = HybridSequential(prefix="")
            self._add_front()
            self.features.add(*self._stem(channels[0], thumbnail))
            for i, count in enumerate(layers):
                stage = self._make_layer(block, count, channels[i + 1], 2 if i else 1, i + 1, in_channels=channels[i])
                self.features.add(stage)
            self._add_head()
            self.output = Dense(classes, in_units=channels[-1])

    def _add_front(self):
        """What stands before the stem."""

    @staticmethod
    def _stem(channels, thumbnail):
        if thumbnail:
            return [_conv(channels, 3)]
        return [_conv(channels, 7, 2), BatchNorm(), Activation("relu"), MaxPool2D(3, 2, 1)]

    def _make_layer(self, block, layers, channels, stride, stage_index, in_channels=0):
        """A stage: so many blocks, of which the first one changes the size and the channels."""
        stage = HybridSequential(prefix=f"stage{stage_index}_")
        unnamed = {"prefix": ""}
        with stage.name_scope():
            stage.add(block(channels, stride, channels != in_channels, in_channels=in_channels, **unnamed))
            for _ in range(layers - 1):
                stage.add(block(channels, 1, False, in_channels=channels, **unnamed))
        return stage


class ResNetV1(_ResNet):
    """ResNetV1(block, layers, channels, classes=1000, thumbnail=False): a residual network, version 1.

    `block` is the class of its blocks, `layers` how many each stage has, `channels` those of the stem and of each
    stage. `thumbnail`: for small pictures, the stem is one convolution. Raises ArgumentError where `channels` is not
    one longer than `layers`.

    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8, 16], classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 32, 32))).shape
    (2, 10)
    """

    def _add_head(self):
        self.features.add(GlobalAvgPool2D())


class ResNetV2(_ResNet):
    """ResNetV2(block, layers, channels, classes=1000, thumbnail=False): a residual network, version 2.

    Arguments and errors are those of `ResNetV1`.

    >>> vision = mx.gluon.model_zoo.vision
    >>> net = vision.ResNetV2(vision.BottleneckV2, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 3, 32, 32))).shape
    (2, 10)
    """

    def _add_front(self):
        self.features.add(BatchNorm(scale=False, center=False))

    def _add_head(self):
        self.features.add(BatchNorm(), Activation("relu"), GlobalAvgPool2D(), Flatten())
