"""AlexNet."""

from .blocks import Chain, Conv, Dense, Dropout, Flatten, Network, max_pool


def alexnet(classes):
    features = Chain(
        Conv(64, 11, 4, 2, bias=True, relu=True),
        max_pool(3, 2),
        Conv(192, 5, 1, 2, bias=True, relu=True),
        max_pool(3, 2),
        Conv(384, 3, 1, 1, bias=True, relu=True),
        Conv(256, 3, 1, 1, bias=True, relu=True),
        Conv(256, 3, 1, 1, bias=True, relu=True),
        max_pool(3, 2),
        Flatten(),
        Dense(4096, relu=True),
        Dropout(),
        Dense(4096, relu=True),
        Dropout(),
    )
    return Network("alexnet", features, Dense(classes))
