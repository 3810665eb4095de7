"""What MXNet 1.x keeps in `gluon.contrib.nn`: blocks side by side, and shuffles of pixels."""

from ..nn import (
    Concurrent,
    Embedding,
    HybridConcurrent,
    Identity,
    PixelShuffle1D,
    PixelShuffle2D,
    PixelShuffle3D,
    SyncBatchNorm,
)

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "SparseEmbedding",
    "SyncBatchNorm",
]


class SparseEmbedding(Embedding):
    """SparseEmbedding(input_dim, output_dim): an Embedding; its gradient is dense, too.

    >>> block = mx.gluon.contrib.nn.SparseEmbedding(10, 3)
    >>> block.initialize()
    >>> block(amp.nd.array([1, 2])).shape
    (2, 3)
    """
