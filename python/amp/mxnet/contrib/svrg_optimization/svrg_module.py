"""A Module that trains with gradients of less variance."""

import logging

from .... import nd
from ....base import ArgumentError
from ... import optimizer as optimizers
from ...module.module import Module
from .svrg_optimizer import _SVRGOptimizer  # noqa: F401 - registered, and MXNet's name here

__all__ = ["SVRGModule"]


class SVRGModule(Module):
    """A Module whose updates use g(w) - g(v) + G(v), for weights w and earlier ones v.

    g is the gradient of a batch, G the mean over all batches. v and G are of the last `update_full_grads`, which `fit`
    calls every `update_freq` epochs; by hand it is called before the first update. Other arguments are those of Module.
    Unlike MXNet's, each mean begins with 0. Raises TypeError and ValueError for an `update_freq` that is no integer
    above 0.

    >>> data = mx.io.NDArrayIter(np.ones((4, 2)), np.ones((4, 1)), batch_size=2, label_name="y")
    >>> out = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=1)
    >>> out = amp.sym.LinearRegressionOutput(out, amp.sym.Variable("y"))
    >>> module = mx.contrib.svrg_optimization.svrg_module.SVRGModule(out, label_names=["y"], update_freq=2)
    >>> module.fit(data, eval_metric="mse", num_epoch=2)
    """

    def __init__(
        self,
        symbol,
        data_names=("data",),
        label_names=("softmax_label",),
        logger=logging,
        context=None,
        work_load_list=None,
        fixed_param_names=None,
        state_names=None,
        group2ctxs=None,
        compression_params=None,
        update_freq=None,
    ):
        if not isinstance(update_freq, int):
            raise TypeError(f"update_freq: expected a number of epochs, got {update_freq!r}")
        if update_freq <= 0:
            raise ValueError(f"update_freq: expected a number above 0, got {update_freq}")
        options = (logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, compression_params)
        super().__init__(symbol, data_names, label_names, *options)
        self._mod_aux = Module(symbol, data_names, label_names, *options)  # has the earlier weights
        self.update_freq = update_freq
        self._param_dict = None  # for each device: {parameter: the mean gradient}

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
        """`Module.bind` of both modules."""
        asked = for_training, inputs_need_grad, force_rebind, shared_module, grad_req
        super().bind(data_shapes, label_shapes, *asked)
        if for_training:
            self._mod_aux.bind(data_shapes, label_shapes, *asked)

    def reshape(self, data_shapes, label_shapes=None):
        """`Module.reshape` of both modules."""
        super().reshape(data_shapes, label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes)

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        """`Module.init_optimizer`; means of gradients are 0."""
        names = dict(enumerate(self._param_names))
        names.update({len(names) + i: f"{name}_full" for i, name in enumerate(self._param_names)})
        given = {"rescale_grad": 1.0 / max(1, self._batch_size()), **dict(optimizer_params)}
        made = optimizers.create("_SVRGOptimizer", default_optimizer=optimizer, param_idx2name=names, **given)
        made.rescale_grad, scale = 1.0 / max(1, self._batch_size()), made.rescale_grad  # that is no reason to warn
        super().init_optimizer(kvstore, made, force_init=force_init)
        made.rescale_grad = scale
        self._param_dict = [{name: nd.zeros_like(self._arg_params[name]) for name in self._param_names}]

    def forward(self, data_batch, is_train=None):
        """`Module.forward`; in training with the earlier weights, too."""
        super().forward(data_batch, is_train)
        is_training = self.for_training if is_train is None else is_train
        if is_training and self._mod_aux.params_initialized:
            self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads=None):
        """`Module.backward` with both weights."""
        super().backward(out_grads)
        if self._mod_aux.params_initialized:
            self._mod_aux.backward(out_grads)

    def update(self):
        """Updates the parameters by the gradients of less variance."""
        self._update_svrg_gradients()
        super().update()

    def _update_svrg_gradients(self):
        self._require(self._param_dict, "init_optimizer")
        for name, earlier in self._mod_aux._gradients.items():
            if name in self._param_dict[0]:
                gradient = self._gradients[name]
                gradient[...] = gradient - earlier + self._param_dict[0][name]

    def update_full_grads(self, train_data):
        """The weights of now become the earlier ones; computes their mean gradient over an iterator's batches.

        Rows that pad the last batch do not count for the number of batches. Raises ArgumentError without batches.
        """
        self._require(self._param_dict, "init_optimizer")
        self._mod_aux.set_params(*self.get_params())
        train_data.reset()
        batches, means = 0, {name: nd.zeros_like(array) for name, array in self._param_dict[0].items()}
        for batch in train_data:
            self._mod_aux.forward(batch, is_train=True)
            self._mod_aux.backward()
            batches += 1 - (batch.pad or 0) / train_data.batch_size
            for name, gradient in self._mod_aux._gradients.items():
                if name in means:
                    means[name] += gradient
        if not batches:
            raise ArgumentError("update_full_grads: the iterator has no batches")
        self._param_dict[0] = {name: total / batches for name, total in means.items()}

    def _train_epoch(self, epoch, train_data, *rest):
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()
        super()._train_epoch(epoch, train_data, *rest)
