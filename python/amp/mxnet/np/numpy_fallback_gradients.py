"""Functions that NumPy computes, with gradients by known formulas. They cannot become part of graphs."""

import numpy as np

from ... import _trace
from ...base import UnsupportedError
from ..autograd import Function
from .array_class import ndarray


def computed(name, compute, derive, *arrays):
    """The arrays that `compute` makes of NumPy's arrays, as a tuple.

    derive(inputs, results, gradients of the results) gives the gradients of the inputs, each None or of its shape.
    Raises UnsupportedError in graphs, and for gradients of those gradients.
    """
    _trace.refuse(name)
    return tuple(_Computed(name, compute, derive)(*arrays))


class _Computed(Function):
    def __init__(self, name, compute, derive):
        super().__init__()
        self.name, self.compute, self.derive = name, compute, derive

    def forward(self, *inputs):
        self.inputs = inputs
        self.results = self.compute(*(np.asarray(a) for a in inputs))
        return [ndarray(result) for result in self.results]

    def backward(self, *output_grads):
        return _Gradient(self)(*output_grads, *self.inputs)


class _Gradient(Function):
    """The gradient as a function of its own, so that gradients of it are refused, and not zero."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        function = self.function
        heads = [np.asarray(a) for a in inputs[: len(function.results)]]
        arrays = [np.asarray(a) for a in function.inputs]
        found = function.derive(arrays, function.results, heads)
        return [ndarray(gradient.astype(a.dtype, copy=False)) for gradient, a in zip(found, arrays)]

    def backward(self, *output_grads):
        raise UnsupportedError(f"{self.function.name}: its gradient has no gradient itself")
