"""Modules whose outputs are computed by Python."""

import logging

import numpy as np

from ... import nd
from ...base import ArgumentError
from ..io import DataDesc
from .base_module import BaseModule


class PythonModule(BaseModule):
    """PythonModule(data_names, label_names, output_names): a module without parameters.

    Subclasses define `forward`, `get_outputs` and `_compute_output_shapes`, and `backward` and `get_input_grads` for
    training.

    >>> class Twice(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [("output", self.data_shapes[0].shape)]
    >>> mod = Twice(["data"], None, ["output"])
    >>> mod.bind([("data", (2, 3))])
    >>> mod.output_shapes
    [('output', (2, 3))]
    """

    def __init__(self, data_names, label_names, output_names, logger=logging):
        super().__init__(logger)
        self._data_names, self._label_names = list(data_names), list(label_names or [])
        self._output_names = output_names
        self._data_shapes = self._label_shapes = self._output_shapes = None

    data_names = property(lambda self: self._data_names, doc="Names of the inputs.")
    output_names = property(lambda self: self._output_names, doc="Names of the outputs.")
    data_shapes = property(lambda self: self._data_shapes, doc="[DataDesc] of the inputs.")
    label_shapes = property(lambda self: self._label_shapes, doc="[DataDesc] of the labels, or None.")
    output_shapes = property(lambda self: self._output_shapes, doc="[(name, shape)] of the outputs.")

    def bind(
        self,
        data_shapes,
        label_shapes=None,
        for_training=True,
        inputs_need_grad=False,
        force_rebind=False,
        shared_module=None,
        grad_req="write",
    ):
        """Sets the shapes of the inputs. Raises ArgumentError for other names than data_names and label_names."""
        if self.binded and not force_rebind:
            return
        self._data_shapes = _described("data_shapes", data_shapes, self._data_names)
        self._label_shapes = _described("label_shapes", label_shapes, self._label_names) if label_shapes else None
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        self._output_shapes = self._compute_output_shapes()

    def install_monitor(self, mon):
        """Has no effect: there are no operators to see."""

    def _compute_output_shapes(self):
        raise NotImplementedError(f"{type(self).__name__} does not define _compute_output_shapes")

    def get_params(self):
        """({}, {})"""
        return {}, {}

    def init_params(self, *args, **kwargs):
        """There are none."""
        self.params_initialized = True

    def init_optimizer(self, *args, **kwargs):
        """Has no effect: there are no parameters."""
        self.optimizer_initialized = True

    def update(self):
        """Has no effect: there are no parameters."""

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs and these labels to a metric, where the module has labels."""
        if self._label_shapes is not None:
            eval_metric.update(labels, self.get_outputs())


class PythonLossModule(PythonModule):
    """PythonLossModule(grad_func=None): the identity, whose gradient is a function of (scores, labels).

    >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores - labels)
    >>> loss.bind([("data", (2,))], [("softmax_label", (2,))])
    >>> loss.forward(mx.io.DataBatch([amp.nd.array([3, 5])], [amp.nd.array([1, 1])]), is_train=True)
    >>> loss.backward()
    >>> loss.get_input_grads()[0].asnumpy()
    array([2., 4.], dtype=float32)
    """

    def __init__(
        self, name="pyloss", data_names=("data",), label_names=("softmax_label",), logger=logging, grad_func=None
    ):
        if grad_func is not None and not callable(grad_func):
            raise ArgumentError(f"grad_func: expected a function, got {type(grad_func).__name__}")
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        self._name, self._grad_func = name, grad_func
        self._scores = self._labels = self._scores_grad = None

    def _compute_output_shapes(self):
        return [(self._output_names[0], self._data_shapes[0].shape)]

    def forward(self, data_batch, is_train=None):
        """Keeps the scores, and in training the labels."""
        self._scores = data_batch.data[0]
        if self.for_training if is_train is None else is_train:
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context=True):
        """[scores]"""
        return [self._scores] if merge_multi_context else [[self._scores]]

    def backward(self, out_grads=None):
        """Computes the gradient; there is none of its own outputs."""
        if out_grads is not None:
            raise ArgumentError("PythonLossModule: a loss has no out_grads")
        self._backward_impl()

    def _backward_impl(self):
        if self._grad_func is None:
            raise NotImplementedError(f"{type(self).__name__} has no grad_func")
        gradient = self._grad_func(self._scores, self._labels)
        self._scores_grad = gradient if isinstance(gradient, nd.NDArray) else nd.array(np.asarray(gradient))

    def get_input_grads(self, merge_multi_context=True):
        """[gradient of the scores]"""
        return [self._scores_grad] if merge_multi_context else [[self._scores_grad]]


def _described(what, shapes, names):
    found = [desc if isinstance(desc, DataDesc) else DataDesc(*desc) for desc in shapes]
    if [desc.name for desc in found] != names:
        raise ArgumentError(f"{what}: expected {', '.join(names)}, got {', '.join(desc.name for desc in found)}")
    return found
