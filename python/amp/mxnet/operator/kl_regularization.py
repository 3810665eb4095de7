"""The operator IdentityAttachKLSparseReg: data, whose gradient is drawn to rare activations."""

import numpy as np

from ... import _core
from ..._core import NDArray
from ...base import ArgumentError

NAME = "IdentityAttachKLSparseReg"
DEFAULTS = {"sparseness_target": 0.1, "penalty": 0.001, "momentum": 0.9}


class KLSparseRegularization:
    """What a node computes; csrc/custom.cc calls it.

    The state is the moving average of each column of the data, which is of sigmoids. The gradient that arrives is
    increased by the derivative of the divergence (Kullback and Leibler) of that average from `sparseness_target`.
    """

    arguments, states, outputs = ["data"], ["moving_avg"], ["output"]

    def __init__(self, attributes):
        given = {key: float(text) for key, text in attributes.items() if not key.startswith("__")}
        if not given.keys() <= DEFAULTS.keys():
            raise ArgumentError(f"{NAME}: expected attributes {sorted(DEFAULTS)}, got {sorted(given)}")
        self._target, self._penalty, self._momentum = {**DEFAULTS, **given}.values()

    def infer_shape(self, shapes):
        """Those of the data, the output and the state."""
        (shape,) = shapes
        if shape is not None and len(shape) != 2:
            raise ArgumentError(f"{NAME}: expected data (batch, units), got shape {tuple(shape)}")
        return [shape, shape, None if shape is None else (shape[1],)]

    def infer_type(self, dtypes):
        """That of the data."""
        return dtypes * 3

    def forward(self, is_train, inputs):
        """The data, and what the state becomes."""
        data, average = map(np.asarray, inputs)
        if is_train:
            average = self._momentum * average + (1 - self._momentum) * data.mean(0)
        return [inputs[0], NDArray(average.astype(data.dtype))]

    def backward(self, output_gradients, inputs, results):
        """The gradient of the data."""
        average = np.asarray(results[1])
        with np.errstate(divide="ignore"):
            slope = (1 - self._target) / (1 - average) - self._target / average
        gradient = np.asarray(output_gradients[0]) + self._penalty * slope
        return [NDArray(gradient.astype(_core.numpy_dtype(inputs[0].dtype)))]
