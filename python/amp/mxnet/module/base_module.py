"""What all modules have: loops over batches on top of what subclasses define."""

import logging
import os

from ... import nd
from ...base import ArgumentError
from .._missing import refusing
from .loops import LoopsOfModule
from .predictions import PredictionsOfModule


class BaseModule(PredictionsOfModule, LoopsOfModule):
    """The base class of modules: `fit`, `score` and `predict` by methods that subclasses define.

    >>> class Twice(mx.mod.BaseModule):
    ...     def forward(self, data_batch, is_train=None):
    ...         self.outputs = [data_batch.data[0] * 2]
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return self.outputs
    >>> Twice().predict(mx.io.NDArrayIter(np.ones((5, 4)), batch_size=2)).shape
    (5, 4)
    """

    binded = params_initialized = optimizer_initialized = for_training = inputs_need_grad = False
    _symbol = None

    def __init__(self, logger=logging):
        self.logger = self._logger = logger

    @property
    def symbol(self):
        """The Symbol."""
        return self._symbol

    def _undefined(self, name):
        raise NotImplementedError(f"{type(self).__name__} does not define {name}")

    data_names = property(lambda self: self._undefined("data_names"), doc="Names of the inputs.")
    output_names = property(lambda self: self._undefined("output_names"), doc="Names of the outputs.")
    data_shapes = property(lambda self: self._undefined("data_shapes"), doc="[DataDesc] of the inputs.")
    label_shapes = property(lambda self: self._undefined("label_shapes"), doc="[DataDesc] of the labels.")
    output_shapes = property(lambda self: self._undefined("output_shapes"), doc="[(name, shape)] of the outputs.")

    def bind(self, *args, **kwargs):
        """Sets the shapes of the inputs."""
        self._undefined("bind")

    def init_params(self, *args, **kwargs):
        """Makes the parameters."""
        self._undefined("init_params")

    def init_optimizer(self, *args, **kwargs):
        """Sets the optimizer."""
        self._undefined("init_optimizer")

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a DataBatch."""
        self._undefined("forward")

    def backward(self, out_grads=None):
        """Computes gradients."""
        self._undefined("backward")

    def forward_backward(self, data_batch):
        """`forward` in training, then `backward`."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def update(self):
        """Updates the parameters by the gradients."""
        self._undefined("update")

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs of the last `forward`, and these labels, to a metric."""
        self._undefined("update_metric")

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last `forward`."""
        self._undefined("get_outputs")

    def get_input_grads(self, merge_multi_context=True):
        """Gradients of the inputs."""
        self._undefined("get_input_grads")

    def install_monitor(self, mon):
        """Watches the runs by a Monitor."""
        self._undefined("install_monitor")

    def prepare(self, data_batch, sparse_row_id_fn=None):
        """Has no effect: `forward` does all that a batch needs."""

    # ---- parameters ----

    def get_params(self):
        """(arg_params, aux_params)"""
        self._undefined("get_params")

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Copies arrays, by name."""
        self.init_params(
            None, arg_params, aux_params, allow_missing=allow_missing, force_init=force_init, allow_extra=allow_extra
        )

    def save_params(self, fname):
        """Writes the parameters as a file that `load_params` and MXNet read."""
        arg_params, aux_params = self.get_params()
        named = {**{f"arg:{k}": v for k, v in arg_params.items()}, **{f"aux:{k}": v for k, v in aux_params.items()}}
        nd.save(os.fspath(fname), named)

    def load_params(self, fname):
        """`set_params` with the arrays of a file."""
        groups = {"arg": {}, "aux": {}}
        for key, array in nd.load(fname).items():
            kind, _, name = key.partition(":")
            if kind not in groups:
                raise ArgumentError(f"{fname}: expected names 'arg:...' and 'aux:...', got {key!r}")
            groups[kind][name] = array
        self.set_params(groups["arg"], groups["aux"])


_REFUSED = {
    **dict.fromkeys(("get_states", "set_states"), "states are inputs here; pass them as data"),
}


for _name, _reason in _REFUSED.items():
    setattr(BaseModule, _name, refusing(f"Module.{_name}", _reason))
