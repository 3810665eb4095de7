"""DenseNet."""

from .blocks import BatchNorm, Branches, Chain, Conv, Dense, Flatten, Identity, Network, Relu, avg_pool, max_pool

# layers: (channels of the first convolution, channels that a unit adds, units of each stage)
CONFIGURATIONS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def densenet(layers, classes):
    channels, growth, units = CONFIGURATIONS[layers]
    blocks = [Conv(channels, 7, 2, 3), BatchNorm(), Relu(), max_pool(3, 2, 1)]
    for i, count in enumerate(units):
        if i > 0:
            channels //= 2
            blocks.append(Chain(BatchNorm(), Relu(), Conv(channels, 1), avg_pool(2)))
        blocks.append(Chain(*[_unit(growth) for _ in range(count)], prefix=f"stage{i + 1}_"))
        channels += count * growth
    blocks += [BatchNorm(), Relu(), avg_pool(7), Flatten()]
    return Network("densenet", Chain(*blocks), Dense(classes))


def _unit(growth):
    body = [BatchNorm(), Relu(), Conv(4 * growth, 1), BatchNorm(), Relu(), Conv(growth, 3, 1, 1)]
    return Branches(Identity(), Chain(*body))
