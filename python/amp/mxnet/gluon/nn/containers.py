"""Blocks one after another, or side by side."""

import warnings

from ..block import Block, HybridBlock
from .layer import functions_of


class _Container:
    def add(self, *blocks):
        """Appends blocks; their names are their numbers."""
        for block in blocks:
            self.register_child(block)

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        return iter(self._children.values())

    def __getitem__(self, key):
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = self._empty()
        part.add(*layers)
        return part


class _Chain(_Container):
    def __init__(self, *blocks, prefix=None, params=None):
        if blocks and isinstance(blocks[0], str):  # as in MXNet 1.x
            prefix, *blocks = blocks
        super().__init__(prefix, params)
        self.add(*blocks)

    def _empty(self):
        return (HybridSequential if isinstance(self, HybridBlock) else Sequential)(prefix=self.prefix)

    def _chained(self, x, *args):
        for block in self._children.values():
            x = block(x, *args)
            args = ()
            if isinstance(x, (list, tuple)):
                x, args = x[0], tuple(x[1:])
        return [x, *args] if args else x


class Sequential(_Chain, Block):
    """Sequential(*blocks): blocks one after another.

    >>> net = mx.gluon.nn.Sequential(mx.gluon.nn.Dense(8, "relu"), mx.gluon.nn.Dense(3))
    >>> net.initialize()
    >>> net(amp.nd.ones((2, 4))).shape
    (2, 3)
    """

    def forward(self, x, *args):
        """The last block's output; each takes the output of the one before it, the first one all arguments."""
        return self._chained(x, *args)

    def hybridize(self, active=True, **kwargs):
        """Makes the blocks run as graphs, each by itself. Warns where a HybridSequential could be one graph."""
        if active and self._children and all(isinstance(block, HybridBlock) for block in self):
            warnings.warn("each block becomes a graph of its own; HybridSequential makes one of all", stacklevel=2)
        super().hybridize(active, **kwargs)


class HybridSequential(_Chain, HybridBlock):
    """HybridSequential(*blocks): blocks one after another, which can run as one graph.

    >>> net = mx.gluon.nn.HybridSequential(mx.gluon.nn.Dense(8, "relu"), mx.gluon.nn.Dense(3))
    >>> net.initialize()
    >>> net.hybridize()
    >>> net(amp.nd.ones((2, 4))).shape
    (2, 3)
    """

    def hybrid_forward(self, F, x, *args):  # noqa: N803 - MXNet's name
        """The last block's output; each takes the output of the one before it, the first one all arguments."""
        return self._chained(x, *args)


class _SideBySide:
    def __init__(self, axis=-1, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def _empty(self):
        return type(self)(self.axis, prefix=self.prefix)

    def _joined(self, x):
        outputs = [block(x) for block in self._children.values()]
        return functions_of(outputs[0]).concat(*outputs, dim=self.axis)


class Concatenate(_SideBySide, Sequential):
    """Concatenate(axis=-1): blocks side by side on one input; their outputs are concatenated.

    >>> block = mx.gluon.nn.Concatenate(axis=1)
    >>> block.add(mx.gluon.nn.Identity(), mx.gluon.nn.Flatten())
    >>> block(amp.nd.ones((2, 3))).shape
    (2, 6)
    """

    def _alias(self):
        return "concurrent"  # its name in MXNet 1.x

    def forward(self, x):
        """The outputs of all blocks on `x`, one behind the other along the axis."""
        return self._joined(x)


class HybridConcatenate(_SideBySide, HybridSequential):
    """HybridConcatenate(axis=-1): blocks side by side on one input; their outputs are concatenated.

    >>> block = mx.gluon.nn.HybridConcatenate(axis=1)
    >>> block.add(mx.gluon.nn.Identity(), mx.gluon.nn.Flatten())
    >>> block(amp.nd.ones((2, 3))).shape
    (2, 6)
    """

    def _alias(self):
        return "hybridconcurrent"  # its name in MXNet 1.x

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """The outputs of all blocks on `x`, one behind the other along the axis."""
        return self._joined(x)


Concurrent, HybridConcurrent = Concatenate, HybridConcatenate  # names of MXNet 1.x
