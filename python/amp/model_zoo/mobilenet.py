"""MobileNet 1 and 2. `width` scales the channels."""

from .blocks import BatchNorm, Chain, Conv, Dense, Flatten, Network, Relu, Relu6, global_avg_pool

WIDTHS = (1.0, 0.75, 0.5, 0.25)

# (channels, stride) of each separable convolution
_SEPARABLE = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]

# (expansion, channels, bottlenecks, stride of the first)
_BOTTLENECKS = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def mobilenet(width, classes):
    inputs = int(32 * width)
    blocks = _conv(inputs, 3, 2, Relu)
    for full, stride in _SEPARABLE:
        channels = int(full * width)
        blocks += _conv(inputs, 3, stride, Relu, groups=inputs) + _conv(channels, 1, 1, Relu)
        inputs = channels
    return Network("mobilenet", Chain(*blocks, global_avg_pool(), Flatten()), Dense(classes))


def mobilenet_v2(width, classes):
    inputs = int(32 * width)
    blocks = _conv(inputs, 3, 2, Relu6)
    for expansion, full, count, first_stride in _BOTTLENECKS:
        channels = int(full * width)
        for i in range(count):
            blocks.append(_Bottleneck(inputs, expansion * inputs, channels, first_stride if i == 0 else 1))
            inputs = channels
    blocks += _conv(int(1280 * max(width, 1)), 1, 1, Relu6)
    output = Chain(Conv(classes, 1, name="pred"), Flatten(), prefix="output_")
    return Network("mobilenetv2", Chain(*blocks, global_avg_pool(), prefix="features_"), output)


def _conv(channels, kernel, stride, activation, groups=1):
    return [Conv(channels, kernel, stride, kernel // 2, groups=groups), BatchNorm(), activation()]


class _Bottleneck:
    """Widens, convolves each channel, narrows; adds its input where the shapes agree."""

    def __init__(self, inputs, inner, channels, stride):
        blocks = _conv(inner, 1, 1, Relu6) + _conv(inner, 3, stride, Relu6, groups=inner)
        self._body = Chain(*blocks, Conv(channels, 1), BatchNorm())
        self._adds = stride == 1 and inputs == channels

    def bind(self, place):
        place = place.within_numbered("linearbottleneck")
        body = self._body.bind(place.child("out"))
        return lambda data: place.add(body(data), data, "elemwise_add") if self._adds else body(data)
