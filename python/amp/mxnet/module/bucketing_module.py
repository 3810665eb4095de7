"""One model for several lengths of its inputs."""

import logging

from ... import checkpoint, name
from ...base import ArgumentError
from .base_module import BaseModule
from .module import Module


class BucketingModule(BaseModule):
    """BucketingModule(sym_gen, default_bucket_key): a Module for each key of batches; they share parameters.

    `sym_gen(key)` gives (symbol, data_names, label_names). `bind` and `init_params` are those of the default key,
    which should have the longest inputs; batches have a `bucket_key`. Other arguments are those of Module.

    >>> def of_length(length):
    ...     shared = amp.sym.Variable("shared_weight", shape=(2, 4))
    ...     return amp.sym.FullyConnected(amp.sym.Variable("data"), shared, num_hidden=2, no_bias=True,
    ...                                   flatten=False), ("data",), None
    >>> mod = mx.mod.BucketingModule(of_length, default_bucket_key=3)
    >>> mod.bind([("data", (1, 3, 4))])
    >>> mod.init_params()
    >>> mod.forward(mx.io.DataBatch([amp.nd.ones((1, 2, 4))], bucket_key=2, provide_data=[("data", (1, 2, 4))]))
    >>> mod.get_outputs()[0].shape
    (1, 2, 2)
    """

    def __init__(
        self,
        sym_gen,
        default_bucket_key=None,
        logger=logging,
        context=None,
        work_load_list=None,
        fixed_param_names=None,
        state_names=None,
        group2ctxs=None,
        compression_params=None,
    ):
        super().__init__(logger)
        if default_bucket_key is None:
            raise ArgumentError("BucketingModule: default_bucket_key is needed")
        self._sym_gen, self._default_bucket_key = sym_gen, default_bucket_key
        self._options = {
            "logger": logger,
            "context": context,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
        }
        self._given_params = self._monitor = None
        self._buckets, self._curr_module, self._curr_bucket_key = {}, None, None

    def _of_key(self, key):
        """(symbol, data_names, label_names); nodes without a name have the same ones for every key."""
        with name.NameManager():
            return self._sym_gen(key)

    def _new_module(self, key):
        symbol, data_names, label_names = self._of_key(key)
        return Module(symbol, data_names, label_names, **self._options)

    @property
    def _any_module(self):
        """The current Module, before `bind` one that is not kept."""
        return self._curr_module or self._new_module(self._default_bucket_key)

    symbol = property(lambda self: self._any_module.symbol, doc="The Symbol of the current key.")
    data_names = property(lambda self: self._any_module.data_names, doc="Names of the inputs.")
    output_names = property(lambda self: self._any_module.output_names, doc="Names of the outputs.")
    data_shapes = property(lambda self: self._bound.data_shapes, doc="[DataDesc] of the current key.")
    label_shapes = property(lambda self: self._bound.label_shapes, doc="[DataDesc] of the labels, or None.")
    output_shapes = property(lambda self: self._bound.output_shapes, doc="[(name, shape)] of the outputs.")
    binded = property(lambda self: bool(self._buckets), doc="Whether `bind` was called.")
    params_initialized = property(
        lambda self: self._given_params is not None or (self.binded and self._curr_module.params_initialized),
        doc="Whether there are parameters.",
    )
    optimizer_initialized = property(
        lambda self: self.binded and self._curr_module.optimizer_initialized, doc="Whether there is an optimizer."
    )

    @property
    def _bound(self):
        if not self.binded:
            raise ArgumentError("call bind first")
        return self._curr_module

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
        """Sets the shapes of the default key; see `Module.bind`. Parameters stay."""
        if self.binded and not force_rebind:
            return
        if shared_module is not None:
            raise ArgumentError("BucketingModule: shared_module is not supported")
        if self.params_initialized:
            self._given_params = self.get_params()
        self.for_training, self.inputs_need_grad, self._grad_req = for_training, inputs_need_grad, grad_req
        module = self._new_module(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._buckets = {self._default_bucket_key: module}
        self._curr_module, self._curr_bucket_key = module, self._default_bucket_key
        if self._given_params is not None:
            module.set_params(*self._given_params)
            self._given_params = None

    def switch_bucket(self, bucket_key, data_shapes, label_shapes=None):
        """Makes a key the current one; a new one is bound to these shapes."""
        first = self._bound
        if bucket_key not in self._buckets:
            module = self._new_module(bucket_key)
            module.bind(data_shapes, label_shapes, self.for_training, self.inputs_need_grad, grad_req=self._grad_req)
            if first.params_initialized:
                module.share_parameters(self._buckets[self._default_bucket_key])
            if first.optimizer_initialized:
                module.borrow_optimizer(first)
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = self._buckets[bucket_key], bucket_key

    # ---- parameters and their updates ----

    def get_params(self):
        """(arg_params, aux_params), {name: NDArray} each."""
        return self._given_params if self._given_params is not None else self._bound.get_params()

    def init_params(
        self,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_init=False,
        allow_extra=False,
    ):
        """Makes the parameters of all keys; see `Module.init_params`."""
        if self.params_initialized and not force_init:
            return
        owner = self._buckets[self._default_bucket_key] if self.binded else self._bound
        owner.init_params(initializer, arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._share(owner)

    def set_params(self, arg_params, aux_params, allow_missing=False, force_init=True, allow_extra=False):
        """Copies arrays, by name; see `Module.set_params`."""
        if self.params_initialized and not force_init:
            return
        if not self.binded:
            self._given_params = arg_params, aux_params
            return
        owner = self._buckets[self._default_bucket_key]
        owner.set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
        self._share(owner)

    def _share(self, owner):
        for module in self._buckets.values():
            if module is not owner:
                module.share_parameters(owner)

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        """Sets the optimizer of all keys; see `Module.init_optimizer`."""
        if self.optimizer_initialized and not force_init:
            return
        self._bound.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)

    def update(self):
        """Updates the parameters by the gradients of the current key."""
        self._bound.update()
        for module in self._buckets.values():
            module.forget_packed_parameters()

    # ---- running ----

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a batch by the Module of its `bucket_key`."""
        self.switch_bucket(
            self._default_bucket_key if data_batch.bucket_key is None else data_batch.bucket_key,
            data_batch.provide_data or self._bound.data_shapes,
            data_batch.provide_label,
        )
        self._curr_module.forward(data_batch, is_train)

    def backward(self, out_grads=None):
        """Computes gradients for the last `forward` in training."""
        self._bound.backward(out_grads)

    def install_monitor(self, mon):
        """Watches the runs of all keys by a Monitor, also those of keys that are new later."""
        if not self.binded:
            raise ArgumentError("call bind first")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last `forward`."""
        return self._bound.get_outputs(merge_multi_context)

    def set_states(self, states=None, value=None):
        """The states of the bucket that runs next: as `Module.set_states`."""
        self._bound.set_states(states, value)

    def get_states(self, merge_multi_context=True):
        """The states of the bucket that runs next, a list of NDArrays."""
        return self._bound.get_states(merge_multi_context)

    def get_input_grads(self, merge_multi_context=True):
        """Gradients of the inputs of the last `backward`."""
        return self._bound.get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs of the last `forward`, and these labels, to a metric."""
        self._bound.update_metric(eval_metric, labels, pre_sliced)

    # ---- files ----

    def save_checkpoint(self, prefix, epoch, remove_amp_cast=False):
        """Writes the default key's symbol (<prefix>-symbol.json), those of all keys
        (<prefix>-<key>-symbol.json), and the parameters."""
        default = self._of_key(self._default_bucket_key)[0]
        checkpoint.save_checkpoint(prefix, epoch, default, *self.get_params(), remove_amp_cast=remove_amp_cast)
        for key in self._buckets:
            self._of_key(key)[0].save(f"{prefix}-{key}-symbol.json")

    @staticmethod
    def load(prefix, epoch, sym_gen=None, default_bucket_key=None, **kwargs):
        """A BucketingModule with the parameters of `<prefix>-<epoch>.params`; not bound yet."""
        return BucketingModule.load_dict(
            None,
            sym_gen,
            default_bucket_key,
            *checkpoint.load_checkpoint_leniently(prefix, epoch)[1:],
            **kwargs,
        )

    @staticmethod
    def load_dict(sym_dict=None, sym_gen=None, default_bucket_key=None, arg_params=None, aux_params=None, **kwargs):
        """A BucketingModule with these parameters; `sym_dict` is what `sym_gen` gives, by key."""
        module = BucketingModule(sym_gen or sym_dict.__getitem__, default_bucket_key, **kwargs)
        module.set_params(arg_params, aux_params or {})
        return module
