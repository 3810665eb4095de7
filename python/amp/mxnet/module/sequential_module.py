"""Modules one after another."""

import logging

from ...base import ArgumentError
from ..io import DataBatch, DataDesc
from .base_module import BaseModule


class SequentialModule(BaseModule):
    """Modules one after another: the outputs of each are the inputs of the next, in order.

    `add(module, take_labels=True)`: this one gets the labels. `auto_wiring=True` renames what comes to its data_names.

    >>> fc = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> mod = mx.mod.SequentialModule()
    >>> mod = mod.add(mx.mod.Module(fc, label_names=None)).add(mx.mod.PythonLossModule(), take_labels=True, auto_wiring=True)
    >>> mod.bind([("data", (2, 4))], [("softmax_label", (2,))])
    >>> mod.init_params()
    >>> mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))], [amp.nd.zeros((2,))]))
    >>> mod.get_outputs()[0].shape
    (2, 3)
    """  # noqa: E501

    META_TAKE_LABELS, META_AUTO_WIRING = "take_labels", "auto_wiring"

    def __init__(self, logger=logging):
        super().__init__(logger)
        self._modules, self._metas = [], []
        self._label_shapes = None

    def add(self, module, **kwargs):
        """Appends a module; returns this one. It has to be bound anew."""
        unknown = [key for key in kwargs if key not in (self.META_TAKE_LABELS, self.META_AUTO_WIRING)]
        if unknown:
            raise ArgumentError(f"SequentialModule.add: unknown options {', '.join(unknown)}")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    def _takes_labels(self, number):
        return bool(self._metas[number].get(self.META_TAKE_LABELS))

    def _end(self, number):
        if not self._modules:
            raise ArgumentError("SequentialModule: add a module first")
        return self._modules[number]

    data_names = property(lambda self: self._end(0).data_names, doc="Names of the inputs.")
    output_names = property(lambda self: self._end(-1).output_names, doc="Names of the outputs.")
    data_shapes = property(lambda self: self._end(0).data_shapes, doc="[DataDesc] of the inputs.")
    label_shapes = property(lambda self: self._label_shapes, doc="[DataDesc] of the labels, or None.")
    output_shapes = property(lambda self: self._end(-1).output_shapes, doc="[(name, shape)] of the outputs.")

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
        """Binds all modules, each to the shapes of the outputs before it; see `Module.bind`."""
        if self.binded and not force_rebind:
            return
        if shared_module is not None:
            raise ArgumentError("SequentialModule: shared_module is not supported")
        self._end(0)
        self.for_training, self.inputs_need_grad, self.binded = for_training, inputs_need_grad, True
        shapes, self._label_shapes = data_shapes, None
        for number, module in enumerate(self._modules):
            labels = label_shapes if self._takes_labels(number) else None
            self._label_shapes = labels or self._label_shapes
            if self._metas[number].get(self.META_AUTO_WIRING):
                shapes = [DataDesc(name, desc[1]) for name, desc in zip(module.data_names, shapes)]
            needs = inputs_need_grad or (for_training and number > 0)
            module.bind(shapes, labels, for_training, needs, force_rebind, grad_req=grad_req)
            shapes = module.output_shapes

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ):
        """Makes the parameters of all modules; see `Module.init_params`. Raises ArgumentError where names repeat."""
        if self.params_initialized and not force_init:
            return
        seen = set()
        for module in self._modules:
            given = [_for_module(arrays, names) for arrays, names in zip((arg_params, aux_params), _names(module))]
            module.init_params(initializer, *given, allow_missing, force_init, allow_extra)
            names = [name for group in module.get_params() for name in group]
            repeated = seen.intersection(names)
            if repeated:
                raise ArgumentError(f"SequentialModule: several modules have parameters {', '.join(sorted(repeated))}")
            seen.update(names)
        self.params_initialized = True

    def get_params(self):
        """(arg_params, aux_params) of all modules."""
        groups = {}, {}
        for module in self._modules:
            for group, found in zip(groups, module.get_params()):
                group.update(found)
        return groups

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        """Sets the optimizer of each module; see `Module.init_optimizer`."""
        if self.optimizer_initialized and not force_init:
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a DataBatch."""
        data = data_batch.data
        for number, module in enumerate(self._modules):
            labels = data_batch.label if self._takes_labels(number) else None
            module.forward(DataBatch(data, labels, data_batch.pad, data_batch.index), is_train)
            data = module.get_outputs()

    def backward(self, out_grads=None):
        """Computes gradients, from the last module to the first."""
        for number in reversed(range(len(self._modules))):
            self._modules[number].backward(out_grads)
            out_grads = self._modules[number].get_input_grads() if number else None

    def update(self):
        """Updates the parameters of all modules."""
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last module."""
        return self._end(-1).get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """Gradients of the inputs of the first module; bind with `inputs_need_grad=True`."""
        return self._end(0).get_input_grads(merge_multi_context)

    def install_monitor(self, mon):
        """Watches the runs of all modules by a Monitor."""
        for module in self._modules:
            module.install_monitor(mon)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs of the modules that take labels, and these labels, to a metric."""
        for number, module in enumerate(self._modules):
            if self._takes_labels(number):
                module.update_metric(eval_metric, labels, pre_sliced)


def _names(module):
    """(names of parameters, names of states), or None where a module does not tell."""
    return getattr(module, "_param_names", None), getattr(module, "_aux_names", None)


def _for_module(arrays, names):
    if arrays is None or names is None:
        return arrays
    return {name: array for name, array in arrays.items() if name in names}
