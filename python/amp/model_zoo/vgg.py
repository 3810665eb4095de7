"""VGG, with and without batch normalisation."""

from .blocks import BatchNorm, Chain, Conv, Dense, Dropout, Network, Relu, max_pool

# layers: convolutions of each stage
CONVOLUTIONS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}

CHANNELS = (64, 128, 256, 512, 512)
_XAVIER = '["xavier", {"rnd_type": "gaussian", "factor_type": "out", "magnitude": 2}]'


def vgg(layers, norm, classes):
    blocks = []
    for count, channels in zip(CONVOLUTIONS[layers], CHANNELS):
        for _ in range(count):
            blocks.append(Conv(channels, 3, 1, 1, bias=True, init=_XAVIER))
            blocks += [BatchNorm(), Relu()] if norm else [Relu()]
        blocks.append(max_pool(2))
    for _ in range(2):
        blocks += [Dense(4096, relu=True, init="normal"), Dropout()]
    return Network("vgg", Chain(*blocks), Dense(classes, init="normal"))
