"""Shuffles of pixels: channels become pixels. MXNet 1.x has them in `gluon.contrib.nn`."""

import math

from ....base import ArgumentError
from ..block import HybridBlock
from .layer import repeated

__all__ = ["PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D"]


class _PixelShuffle(HybridBlock):
    """PixelShuffle(factor): channels become pixels: each window of `factor` pixels comes from as many channels.

    `factor` is a number, or one for each dimension. (N, channels, ...) has product(factor) times fewer channels then.
    Raises ArgumentError where the channels are no multiple.
    """

    _rank = 1

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self._factors = repeated(factor, self._rank)

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` is (N, channels, ...)."""
        windows = math.prod(self._factors)
        if hasattr(x, "asnumpy") and x._shape[1] % windows:
            raise ArgumentError(f"{type(self).__name__}: {x._shape[1]} channels are no multiple of {windows}")
        rank = self._rank
        x = F.reshape(x, shape=(0, -4, -1, windows, *[0] * rank))  # (N, C, windows, sizes...)
        for i, factor in enumerate(self._factors[:-1]):  # (N, C, factors..., sizes...)
            x = F.reshape(x, shape=(*[0] * (2 + i), -4, factor, -1, *[0] * rank))
        order = [axis for i in range(rank) for axis in (2 + rank + i, 2 + i)]
        x = F.transpose(x, axes=(0, 1, *order))
        return F.reshape(x, shape=(0, 0, *[-3] * rank))


def _documented(name, shapes):
    doc = (_PixelShuffle.__doc__ or "").replace("PixelShuffle(", f"{name}(", 1)
    before, after = shapes
    return "\n    ".join([doc, f">>> mx.gluon.nn.{name}(2)(amp.nd.ones({before})).shape", f"{after}", ""])


class PixelShuffle1D(_PixelShuffle):
    __doc__ = _documented("PixelShuffle1D", ((1, 4, 3), (1, 2, 6)))
    _rank = 1


class PixelShuffle2D(_PixelShuffle):
    __doc__ = _documented("PixelShuffle2D", ((1, 4, 3, 5), (1, 1, 6, 10)))
    _rank = 2


class PixelShuffle3D(_PixelShuffle):
    __doc__ = _documented("PixelShuffle3D", ((1, 8, 3, 5, 2), (1, 1, 6, 10, 4)))
    _rank = 3
