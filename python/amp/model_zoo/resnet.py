"""Residual networks, versions 1 and 2 (normalisation before each convolution)."""

from .blocks import BatchNorm, Chain, Conv, Dense, Flatten, Network, Relu, global_avg_pool, max_pool

# layers: (bottleneck units?, units of each stage)
CONFIGURATIONS = {
    18: (False, (2, 2, 2, 2)),
    34: (False, (3, 4, 6, 3)),
    50: (True, (3, 4, 6, 3)),
    101: (True, (3, 4, 23, 3)),
    152: (True, (3, 8, 36, 3)),
}


def resnet_v1(layers, classes):
    bottleneck, units = CONFIGURATIONS[layers]
    stages, channels = _stages(_BottleneckV1 if bottleneck else _BasicV1, bottleneck, units)
    features = Chain(*_stem(), *stages, global_avg_pool())
    return Network("resnetv1", features, Dense(classes, channels))


def resnet_v2(layers, classes):
    bottleneck, units = CONFIGURATIONS[layers]
    stages, channels = _stages(_BottleneckV2 if bottleneck else _BasicV2, bottleneck, units)
    head = [BatchNorm(), Relu(), global_avg_pool(), Flatten()]
    features = Chain(BatchNorm(scale=False), *_stem(), *stages, *head)
    return Network("resnetv2", features, Dense(classes, channels))


def _stem():
    return [Conv(64, 7, 2, 3), BatchNorm(), Relu(), max_pool(3, 2, 1)]


def _stages(unit, bottleneck, units):
    """The stages, and the channels that come out of the last one."""
    stages, inputs = [], 64
    for i, count in enumerate(units):
        channels = 64 * 2**i * (4 if bottleneck else 1)
        blocks = []
        for j in range(count):
            blocks.append(unit(inputs, channels, 2 if i > 0 and j == 0 else 1))
            inputs = channels
        stages.append(Chain(*blocks, prefix=f"stage{i + 1}_"))
    return stages, inputs


class _V1:
    """Body and shortcut are added, then the activation."""

    def __init__(self, inputs, channels, stride):
        self._body = Chain(*self._layers(inputs, channels, stride))
        shortcut = Chain(Conv(channels, 1, stride, in_channels=inputs), BatchNorm())
        self._shortcut = shortcut if inputs != channels else None

    def bind(self, place):
        body = self._body.bind(place.child("body"))
        shortcut = self._shortcut.bind(place.child("downsample")) if self._shortcut else _unchanged
        return lambda data: place.relu(place.add(*self._terms(body(data), shortcut(data))))


class _BasicV1(_V1):
    @staticmethod
    def _layers(inputs, channels, stride):
        first = [Conv(channels, 3, stride, 1, in_channels=inputs), BatchNorm(), Relu()]
        return [*first, Conv(channels, 3, 1, 1, in_channels=channels), BatchNorm()]

    @staticmethod
    def _terms(body, shortcut):
        return shortcut, body


class _BottleneckV1(_V1):
    @staticmethod
    def _layers(inputs, channels, stride):
        inner = channels // 4
        layers = [Conv(inner, 1, stride, bias=True), BatchNorm(), Relu()]
        layers += [Conv(inner, 3, 1, 1, in_channels=inner), BatchNorm(), Relu()]
        return [*layers, Conv(channels, 1, bias=True), BatchNorm()]

    @staticmethod
    def _terms(body, shortcut):
        return body, shortcut


class _V2:
    """Normalisation and activation stand before each convolution; the shortcut begins behind the first pair."""

    def __init__(self, inputs, channels, stride):
        self._convs = self._convolutions(inputs, channels, stride)
        self._shortcut = Conv(channels, 1, stride, in_channels=inputs) if inputs != channels else None

    def bind(self, place):
        pairs = [
            (BatchNorm().bind(place.child(f"bn{i}")), conv.bind(place.child(f"conv{i}")))
            for i, conv in enumerate(self._convs, 1)
        ]
        shortcut = self._shortcut.bind(place.child("downsample")) if self._shortcut else None

        def apply(data):
            passed_on = data
            for i, (norm, conv) in enumerate(pairs):
                data = place.relu(norm(data))
                if i == 0 and shortcut:
                    passed_on = shortcut(data)
                data = conv(data)
            return place.add(data, passed_on)

        return apply


class _BasicV2(_V2):
    @staticmethod
    def _convolutions(inputs, channels, stride):
        return [
            Conv(channels, 3, stride, 1, in_channels=inputs),
            Conv(channels, 3, 1, 1, in_channels=channels),
        ]


class _BottleneckV2(_V2):
    @staticmethod
    def _convolutions(inputs, channels, stride):
        inner = channels // 4
        return [Conv(inner, 1), Conv(inner, 3, stride, 1, in_channels=inner), Conv(channels, 1)]


def _unchanged(data):
    return data
