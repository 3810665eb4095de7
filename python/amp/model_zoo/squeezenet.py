"""SqueezeNet."""

from .blocks import Branches, Chain, Conv, Dropout, Flatten, Network, Relu, avg_pool, max_pool

# version: (channels and kernel of the first convolution, channels of the fire modules between the poolings)
VERSIONS = {
    "1.0": ((96, 7), ((16, 16, 32), (32, 48, 48, 64), (64,))),
    "1.1": ((64, 3), ((16, 16), (32, 32), (48, 48, 64, 64))),
}


def squeezenet(version, classes):
    (channels, kernel), stages = VERSIONS[version]
    blocks = [Conv(channels, kernel, 2, bias=True), Relu()]
    for stage in stages:
        blocks.append(max_pool(3, 2, ceil=True))
        blocks += [_fire(squeezed) for squeezed in stage]
    output = Chain(Conv(classes, 1, bias=True), Relu(), avg_pool(13), Flatten())
    return Network("squeezenet", Chain(*blocks, Dropout()), output)


def _fire(squeezed):
    expanded = 4 * squeezed
    expand = Branches(_conv_relu(expanded, 1, 0), _conv_relu(expanded, 3, 1))
    return Chain(_conv_relu(squeezed, 1, 0), expand)


def _conv_relu(channels, kernel, pad):
    return Chain(Conv(channels, kernel, 1, pad, bias=True), Relu())
