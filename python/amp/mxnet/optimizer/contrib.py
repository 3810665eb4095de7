"""Optimizers for rows of tables."""

import numpy as np

from ... import nd
from ...base import ArgumentError
from .._missing import getter
from .base import Formula, Optimizer
from .of_generations import in_mxnet_2

__all__ = ["GroupAdaGrad"]


@Optimizer.register
@in_mxnet_2("learning_rate", "epsilon", epsilon=1e-6)
class GroupAdaGrad(Formula):
    """Steps divided by the root of a sum that each row of a matrix has: that of its mean squares.

    Raises ArgumentError for a weight decay and for weights that are no matrices.

    >>> update = mx.optimizer.get_updater(mx.optimizer.contrib.GroupAdaGrad(learning_rate=0.1))
    >>> weight = amp.nd.array([[1.0, 1.0]])
    >>> update(0, amp.nd.array([[0.5, 0.5]]), weight)
    >>> weight.asnumpy().round(4)
    array([[0.9, 0.9]], dtype=float32)
    """

    is_elementwise = False

    def __init__(self, eps=1e-5, epsilon=None, **kwargs):
        super().__init__(**kwargs)
        self.float_stable_eps = eps if epsilon is None else epsilon  # MXNet 2's name

    def create_state(self, index, weight):
        """The sums of squares, (rows, 1)."""
        if len(weight.shape) != 2:
            raise ArgumentError(f"GroupAdaGrad: weights are matrices, got one of shape {weight.shape}")
        return nd.zeros((weight.shape[0], 1), dtype=weight.dtype)

    def step(self, index, weight, grad, states):
        """A step of each row."""
        if self._get_wd(index):
            raise ArgumentError("GroupAdaGrad has no weight decay")
        self.clipped(grad)
        states[0] += np.square(grad).mean(axis=1, keepdims=True)
        weight -= np.float32(self._get_lr(index)) * grad / self.root(states[0], self.float_stable_eps)


__getattr__ = getter(__name__)
