"""The training of a Module."""

import types
import warnings

from ... import _autocast, nd
from ..._arrays import readable
from ..._execution.gradient_runs import requests_of
from ..._execution.handles import gradient_runs
from ..._paths import write_file
from ...base import ArgumentError
from .. import optimizer as optimizers
from .._class_labels import class_labels_of
from .._device_groups import place
from ..io.data_iter import DataDesc
from .devices import by_device
from .executor_group import ExecutorGroupOfModule

_PLANS_KEPT = 8  # of shapes of inputs, the most recent ones


class TrainingOfModule:
    """What Module inherits: gradients, and updates by an optimizer."""

    _optimizer = _updater = None
    _indices = None  # {parameter: its number for the optimizer}
    _runs = None  # {shapes of inputs: (GradientRuns, {label: NDArray})}
    _last_runs = None  # of the last forward run in training
    _gradients = None  # {name: NDArray}, shared by all runs
    _last_inputs = types.MappingProxyType({})  # of the last forward run: {input: array}
    _monitor = None  # MonitoredRuns
    _fixed_param_names = ()
    _grad_req = "write"

    @property
    def optimizer_initialized(self):
        """Whether there is an optimizer."""
        return self._optimizer is not None

    # ---- forward and backward ----

    @property
    def _exec_group(self):
        return ExecutorGroupOfModule(self)

    def install_monitor(self, mon):
        """Watches the runs of this Module by a Monitor.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> monitor = mx.mon.Monitor(1, stat_func=mx.nd.shape_array, pattern=".*output")
        >>> mod.install_monitor(monitor)
        >>> monitor.tic()
        >>> mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))]), is_train=False)
        >>> monitor.toc()
        [(1, 'fc_output', '[2 3]\\t'), (1, 'relu_output', '[2 3]\\t')]
        """
        self._require(self._data_shapes, "bind")
        mon.install(self._exec_group.execs[0])

    def _forget_runs(self):
        self._runs, self._last_runs, self._gradients = {}, None, {}

    def _forward_in_training(self, arrays):
        inputs = self._training_inputs(arrays)
        key = tuple((name, array.shape, str(array.dtype)) for name, array in inputs.items())
        self._runs[key] = self._runs.pop(key, None) or self._new_runs(inputs)  # the most recent one is the last
        if len(self._runs) > _PLANS_KEPT:
            del self._runs[next(iter(self._runs))]
        self._last_runs, labels = self._runs[key]
        self._outputs = self._last_runs.forward({**labels, **inputs})
        self._show(self._last_runs, {**labels, **inputs}, self._last_runs.last_key, True)

    def _show(self, source, inputs, key, is_train):
        """Tells what a forward run has read; monitors see it."""
        self._last_inputs = inputs
        if self._monitor is not None:
            self._monitor.show(source, {**self._arg_params, **self._aux_params, **inputs}, key, is_train)

    def _find_class_labels(self):
        shapes = {name: tuple(desc.shape) for name, desc in self._inputs().items()}
        return class_labels_of(self._symbol, [shape for _, shape in self.output_shapes], shapes)

    def _training_inputs(self, arrays):
        """{input: array} of what the batch has and the symbol reads."""
        read = self._symbol.list_arguments()
        bound = self._inputs()
        return {
            name: self._cast(array, bound[name].dtype if name in bound else "float32", name)
            for name, array in arrays.items()
            if name in read
        }

    def _new_runs(self, inputs):
        """(GradientRuns, zeros for labels that the batch lacks)"""
        types = {name: (array.dtype, tuple(array.shape)) for name, array in inputs.items()}
        runs = gradient_runs(
            self._symbol,
            self._arg_params,
            self._aux_params,
            types,
            self._requests(),
            of_integers="none",
            gradients={name: array for name, array in self._gradients.items() if name not in types},
            reduce_precision=_autocast.conversion(),
        )
        self._gradients.update(runs.gradients)
        labels = {
            name: nd.zeros(shape, dtype=dtype)
            for name, (dtype, shape) in zip(runs.handle.input_names(), runs.handle.input_types())
            if name not in types and name not in runs.arrays
        }
        return runs, labels

    def _requests(self):
        asked = self._grad_req
        if isinstance(asked, dict):  # as in MXNet: the others are written to, names of no argument are ignored
            asked = {name: asked.get(name, "write") for name in self._symbol.list_arguments()}
        requests = requests_of(self._symbol, asked)
        for name in requests:
            is_input = name not in self._param_names
            if name in self._fixed_param_names or (is_input and not self._needs_gradient(name)):
                requests[name] = "null"
        return requests

    def _needs_gradient(self, name):
        return self.inputs_need_grad and name in self._data_names

    def backward(self, out_grads=None):
        """Computes gradients for the last `forward` in training; loss layers need no `out_grads`."""
        if self._last_runs is None:
            raise ArgumentError("no forward run awaits its gradients: call forward with is_train=True first")
        if self._monitor is not None:
            self._monitor.show_gradients(self._last_runs, True, out_grads)
        self._last_runs.backward(out_grads, retain=False)

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        """Adds the outputs of the last `forward`, and these labels, to a metric."""
        labels = dict(zip(self._label_names, labels or []))
        eval_metric.update_dict(labels, dict(zip(self.output_names, self.get_outputs())))

    def get_input_grads(self, merge_multi_context=True):
        """Gradients of the inputs, in the order of data_names; bind with `inputs_need_grad=True`."""
        if not self.inputs_need_grad:
            raise ArgumentError("bind with inputs_need_grad=True")
        self._require(self._last_runs, "forward and backward")
        gradients = {name: self._last_runs.gradients.get(name) for name in self._data_names}
        place(gradients, self._places)
        gradients = list(gradients.values())
        axes = [DataDesc.get_batch_axis(desc.layout) for desc in self._data_shapes]
        return gradients if merge_multi_context else by_device(gradients, axes, self._context)

    # ---- updates ----

    def init_optimizer(
        self, kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.01),), force_init=False
    ):
        """Sets the optimizer, by name with parameters or itself. `kvstore` has no effect.

        `rescale_grad` is 1 / batch size unless `optimizer_params` say something else.
        """
        self._require(self._data_shapes, "bind")
        self._require(self._arg_params, "init_params or set_params")
        if self.optimizer_initialized and not force_init:
            warnings.warn("there is an optimizer already; use force_init=True", stacklevel=2)
            return
        scale = 1.0 / max(1, self._batch_size())
        if isinstance(optimizer, str):
            given = {"rescale_grad": scale, **dict(optimizer_params)}
            names = dict(enumerate(self._param_names))
            optimizer = optimizers.create(optimizer, sym=self._symbol, param_idx2name=names, **given)
        elif not isinstance(optimizer, optimizers.Optimizer):
            raise ArgumentError(f"optimizer: expected its name or an Optimizer, got {type(optimizer).__name__}")
        elif optimizer.rescale_grad != scale:
            warnings.warn(
                f"the optimizer's rescale_grad is {optimizer.rescale_grad}, not 1 / batch size ({scale})", stacklevel=2
            )
        if not optimizer.idx2name:
            optimizer.idx2name = dict(enumerate(self._param_names))
        self._optimizer, self._indices = optimizer, {name: i for i, name in enumerate(self._param_names)}
        self._updater = optimizers.get_updater(optimizer)
        if self._preloaded_states is not None:
            self.load_optimizer_states(self._preloaded_states)
            self._preloaded_states = None

    _preloaded_states = None  # a file, until there is an optimizer

    def _batch_size(self):
        desc = self._data_shapes[0]
        axis = desc.layout.find("N") if getattr(desc, "layout", None) else 0
        return desc.shape[axis if axis >= 0 else 0] if desc.shape else 1

    def borrow_optimizer(self, shared_module):
        """Updates by the optimizer of another Module, and its states."""
        self._require(shared_module._optimizer, "init_optimizer of the other Module")
        self._optimizer, self._updater = shared_module._optimizer, shared_module._updater
        self._indices = shared_module._indices

    def update(self):
        """Updates the parameters by the gradients."""
        self._require(self._optimizer, "init_optimizer")
        gradients = self._gradients or self._zero_gradients()
        for name in self._param_names:
            if name in gradients:
                self._updater(self._indices[name], gradients[name], self._arg_params[name])
        self._executor = None  # it has packed what is no longer so

    def _zero_gradients(self):
        """Those before the first `backward`, as in MXNet."""
        requests = self._requests()
        asked = [name for name in self._param_names if requests.get(name, "null") != "null"]
        return {name: nd.zeros_like(self._arg_params[name]) for name in asked}

    def save_optimizer_states(self, fname):
        """Writes the optimizer's states to a file."""
        self._require(self._optimizer, "init_optimizer")
        write_file(fname, self._updater.get_states())

    def load_optimizer_states(self, fname):
        """Reads what `save_optimizer_states` wrote."""
        self._require(self._optimizer, "init_optimizer")
        with open(fname, "rb") as file:
            self._updater.set_states(file.read())

    @staticmethod
    def _cast(array, dtype, name):
        array = readable(array, f"'{name}'")
        return array if array.dtype == dtype else array.astype(dtype)
