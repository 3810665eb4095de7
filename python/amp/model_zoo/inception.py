"""Inception v3."""

from .blocks import BatchNorm, Branches, Chain, Conv, Dense, Dropout, Network, Relu, avg_pool, max_pool


def inception_v3(classes):
    features = Chain(
        _conv(32, 3, 2),
        _conv(32, 3),
        _conv(64, 3, 1, 1),
        max_pool(3, 2),
        _conv(80, 1),
        _conv(192, 3),
        max_pool(3, 2),
        _a(32, "A1_"),
        _a(64, "A2_"),
        _a(64, "A3_"),
        _b("B_"),
        _c(128, "C1_"),
        _c(160, "C2_"),
        _c(160, "C3_"),
        _c(192, "C4_"),
        _d("D_"),
        _e("E1_"),
        _e("E2_"),
        avg_pool(8),
        Dropout(),
    )
    return Network("inception3", features, Dense(classes), image_size=299)


def _conv(channels, kernel, stride=1, pad=0):
    return Chain(Conv(channels, kernel, stride, pad), BatchNorm(eps=0.001), Relu())


def _row(channels, width):
    """A convolution along the rows that keeps the size."""
    return _conv(channels, (1, width), 1, (0, width // 2))


def _column(channels, height):
    return _conv(channels, (height, 1), 1, (height // 2, 0))


def _pooled(channels):
    return Chain(avg_pool(3, 1, 1), _conv(channels, 1))


def _a(pooled_channels, prefix):
    return Branches(
        Chain(_conv(64, 1)),
        Chain(_conv(48, 1), _conv(64, 5, 1, 2)),
        Chain(_conv(64, 1), _conv(96, 3, 1, 1), _conv(96, 3, 1, 1)),
        _pooled(pooled_channels),
        prefix=prefix,
    )


def _b(prefix):
    return Branches(
        Chain(_conv(384, 3, 2)),
        Chain(_conv(64, 1), _conv(96, 3, 1, 1), _conv(96, 3, 2)),
        Chain(max_pool(3, 2)),
        prefix=prefix,
    )


def _c(inner, prefix):
    return Branches(
        Chain(_conv(192, 1)),
        Chain(_conv(inner, 1), _row(inner, 7), _column(192, 7)),
        Chain(_conv(inner, 1), _column(inner, 7), _row(inner, 7), _column(inner, 7), _row(192, 7)),
        _pooled(192),
        prefix=prefix,
    )


def _d(prefix):
    return Branches(
        Chain(_conv(192, 1), _conv(320, 3, 2)),
        Chain(_conv(192, 1), _row(192, 7), _column(192, 7), _conv(192, 3, 2)),
        Chain(max_pool(3, 2)),
        prefix=prefix,
    )


def _e(prefix):
    return Branches(
        Chain(_conv(320, 1)),
        Chain(Chain(_conv(384, 1)), _cross()),
        Chain(Chain(_conv(448, 1), _conv(384, 3, 1, 1)), _cross()),
        _pooled(192),
        prefix=prefix,
    )


def _cross():
    """A row and a column side by side."""
    return Branches(Chain(_row(384, 3)), Chain(_column(384, 3)))
