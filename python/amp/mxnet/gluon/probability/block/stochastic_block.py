"""Blocks that collect losses while they run, as Bayesian networks do with the divergences of their layers."""

import functools

from ...block import HybridBlock

__all__ = ["StochasticBlock", "StochasticSequential"]


class StochasticBlock(HybridBlock):
    """A block whose `forward` adds losses beside its output; `losses` are those of the last call.

    `forward` is decorated with `StochasticBlock.collectLoss` and calls `add_loss`. Raises ValueError where it is not
    decorated.

    >>> class Squared(mx.gluon.probability.StochasticBlock):
    ...     @mx.gluon.probability.StochasticBlock.collectLoss
    ...     def forward(self, x):
    ...         self.add_loss(x * x)
    ...         return x + 1
    >>> block = Squared()
    >>> block(mx.np.array([2])), block.losses
    (array([3.]), [array([4.])])
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._losses, self._losscache = [], []
        self._flag = False  # whether a decorated function has run; a graph does not run it again

    def add_loss(self, loss):
        """Collects a loss; `forward` calls it."""
        self._losscache.append(loss)

    @staticmethod
    def collectLoss(func):  # noqa: N802 - MXNet's name
        """Decorates a `forward` that calls `add_loss`."""

        @functools.wraps(func)
        def collecting(self, *args, **kwargs):
            try:
                output, losses = func(self, *args, **kwargs), self._losscache
            finally:
                self._losscache = []
            self._flag = True
            return output, losses

        return collecting

    def __call__(self, *args, **kwargs):
        result = super().__call__(*args, **kwargs)
        if not self._flag:
            raise ValueError(f"{type(self).__name__}: decorate forward with StochasticBlock.collectLoss")
        output, self._losses = result
        return output

    @property
    def losses(self):
        """The losses of the last call, in the order in which they were added."""
        return self._losses


class StochasticSequential(StochasticBlock):
    """Blocks one after another; `losses` has the list of each StochasticBlock among them.

    >>> net = mx.gluon.probability.StochasticSequential()
    >>> net.add(mx.gluon.nn.Activation("relu"))
    >>> net(mx.np.array([-2, 2])), net.losses
    (array([0., 2.]), [])
    """

    def add(self, *blocks):
        """Appends blocks; their names are their numbers."""
        for block in blocks:
            self.register_child(block)

    @StochasticBlock.collectLoss
    def forward(self, x, *args):
        """The last block's output; each takes the output of the one before it, the first one all arguments."""
        for block in self:
            x = block(x, *args)
            args = ()
            if isinstance(x, (tuple, list)):
                x, *args = x
        for block in self:
            if isinstance(block, StochasticBlock):
                self.add_loss(block.losses)
        return (x, *args) if args else x

    def __iter__(self):
        return iter(self._children.values())

    def __len__(self):
        return len(self._children)

    def __getitem__(self, key):
        found = list(self)[key]
        if not isinstance(found, list):
            return found
        part = type(self)()
        part.add(*found)
        return part
