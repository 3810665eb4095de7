"""`Module`: a symbol, its parameters and the shapes that it is bound to, with MXNet 1.x's interface."""

import logging
import warnings

import numpy as np

from ... import _core, checkpoint
from ..._arrays import readable
from ...base import ArgumentError, dtype_name
from ...executor import Executor
from ...sym import Symbol
from .._device_groups import places_of_groups
from ..context import cpu
from ..io import DataDesc
from .base_module import BaseModule
from .devices import batch_axes, by_device
from .parameters import ParametersOfModule
from .states import ModuleStates
from .training import TrainingOfModule


class ShapeError(ArgumentError, TypeError):
    """What is no shape; MXNet raises a TypeError."""


class Module(ParametersOfModule, TrainingOfModule, ModuleStates, BaseModule):
    """A model that is bound, given parameters and then called with batches.

        mod = mx.mod.Module(symbol, label_names=None)
        mod.bind(data_shapes=[("data", (1, 3, 224, 224))])
        mod.set_params(arg_params, aux_params)
        mod.forward(mx.io.DataBatch([image]))
        scores = mod.get_outputs()[0]

    `data_names` and `label_names` say which arguments are inputs, `fixed_param_names` which are not trained, and
    `state_names` which are states (`set_states`). One run computes a batch
    for all devices of `context`; arrays that are not merged are told by device. `fit` trains it;
    `bind`, `forward`, `backward` and `update` do so by hand. Raises ArgumentError for data and state names that the
    symbol lacks; labels that it lacks are a warning.

    >>> sym, args, aux = amp.load_checkpoint("model", 0)
    >>> mod = mx.mod.Module(sym, label_names=None)
    >>> mod.bind(data_shapes=[("data", (2, 4))])
    >>> mod.set_params(args, aux)
    >>> mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))]))
    >>> mod.get_outputs()[0].shape
    (2, 3)
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
    ):
        super().__init__(logger)
        if not isinstance(symbol, Symbol):
            raise ArgumentError(f"expected a Symbol, got {type(symbol).__name__}")
        self._symbol = symbol
        self._context = context if context is not None else cpu()
        self._places = places_of_groups(symbol, group2ctxs)
        arguments = symbol.list_arguments()
        self._data_names, self._label_names = list(data_names or []), list(label_names or [])
        _check_names("data_names", self._data_names, arguments, _raise)
        self._state_names, self._states = list(state_names or []), {}
        _check_names("label_names", self._label_names, arguments, warnings.warn)
        _check_names("state_names", self._state_names, arguments, _raise)
        inputs = {*self._data_names, *self._label_names, *self._state_names, *_labels_of(symbol)}
        self._param_names = [name for name in arguments if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._data_shapes = self._label_shapes = None
        self._fixed_param_names = frozenset(fixed_param_names or ())
        self._forget_runs()
        self._executor = self._outputs = None
        self.for_training = self.inputs_need_grad = False

    @staticmethod
    def load(prefix, epoch, load_optimizer_states=False, **kwargs):
        """A Module of `<prefix>-symbol.json` with the parameters of `<prefix>-<epoch>.params`; not bound yet.

        `kwargs` are those of Module.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.output_shapes
        [('relu_output', (2, 3))]
        """
        symbol, arg_params, aux_params = checkpoint.load_checkpoint_leniently(prefix, epoch)
        module = Module(symbol, **kwargs)
        module._arg_params, module._aux_params = arg_params, aux_params
        if load_optimizer_states:
            module._preloaded_states = f"{prefix}-{epoch:04d}.states"
        return module

    # ---- what it consists of ----

    @property
    def data_names(self):
        """Names of the inputs."""
        return self._data_names

    @property
    def label_names(self):
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self):
        """Names of the outputs."""
        return self._symbol.list_outputs()

    @property
    def data_shapes(self):
        """[DataDesc] of the binding."""
        self._require(self._data_shapes, "bind")
        return self._data_shapes

    @property
    def label_shapes(self):
        """[DataDesc] of the labels, or None."""
        self._require(self._data_shapes, "bind")
        return self._label_shapes

    @property
    def output_shapes(self):
        """[(name, shape)] of the outputs."""
        self._require(self._data_shapes, "bind")
        known = {name: desc.shape for name, desc in self._inputs().items()}
        return list(zip(self.output_names, self._symbol.infer_shape(**known)[1] or []))

    @property
    def binded(self):
        """Whether `bind` was called."""
        return self._data_shapes is not None

    # ---- binding ----

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
        """Sets the shapes of the inputs: a list of (name, shape) or DataDesc.

        `for_training` is what `forward` does where it is not told. `grad_req` is 'write' or 'add', for all parameters,
        or a list or dict of requests by argument; `inputs_need_grad`: inputs have gradients, too. A Module that is
        bound stays so unless `force_rebind`. Raises ArgumentError for other names than data_names.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.data_shapes
        [DataDesc[data,(2, 4),<class 'numpy.float32'>,NCHW]]
        """
        if inputs_need_grad and not for_training:
            raise ArgumentError("inputs_need_grad: bind with for_training=True")
        if self.binded and not force_rebind:
            warnings.warn("the Module is bound already; use force_rebind=True, or reshape", stacklevel=2)
            return
        self._set_shapes(data_shapes, label_shapes)
        self.for_training, self.inputs_need_grad, self._grad_req = bool(for_training), bool(inputs_need_grad), grad_req
        self._executor = self._outputs = None
        self._forget_runs()
        if shared_module is not None and shared_module.params_initialized:
            self.set_params(*shared_module.get_params(), allow_extra=True)

    def _set_shapes(self, data_shapes, label_shapes):
        descriptions = _descriptions(data_shapes)
        names = [desc.name for desc in descriptions]
        if sorted(names) != sorted(self._data_names):
            raise ArgumentError(f"data_shapes: expected {', '.join(self._data_names)}, got {', '.join(names)}")
        self._data_shapes = descriptions
        self._label_shapes = _descriptions(label_shapes) if label_shapes else None

    def reshape(self, data_shapes, label_shapes=None):
        """Sets other shapes; packed weights are kept.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.reshape([("data", (8, 4))])
        >>> mod.output_shapes
        [('relu_output', (8, 3))]
        """
        self._require(self._data_shapes, "bind")
        self._set_shapes(data_shapes, label_shapes)
        if self._executor is not None:
            bound = self._inputs()
            dtypes = self._executor.input_dtypes
            if all(_dtype(bound[name].dtype) == dtypes[name] for name in dtypes):
                self._executor = self._executor.reshape({name: tuple(bound[name].shape) for name in dtypes})
            else:
                self._executor = None

    # ---- running ----

    def forward(self, data_batch, is_train=None):
        """Computes the outputs of a DataBatch (or an object like it); `get_outputs` has them.

        In training batch norms use the statistics of the batch, dropout drops, and `backward` may follow; `is_train` is
        by default what `bind` was told. Another shape of the data is a `reshape`.

        >>> mod = mx.mod.Module.load("model", 0, label_names=None)
        >>> mod.bind(data_shapes=[("data", (2, 4))])
        >>> mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))]))
        >>> mod.get_outputs()[0].shape
        (2, 3)
        """
        self._require(self._data_shapes, "bind")
        self._require(self._arg_params, "set_params or init_params")
        arrays = self._arrays_of(data_batch)
        self._follow(arrays)
        arrays.update(self._current_states())
        if self.for_training if is_train is None else is_train:
            self._forward_in_training(arrays)
            return
        if self._executor is None:
            shapes = {name: tuple(desc.shape) for name, desc in self._inputs().items()}
            dtypes = {name: desc.dtype for name, desc in self._inputs().items()}
            self._executor = Executor(self._symbol, self._arg_params, self._aux_params, shapes, input_dtypes=dtypes)
        dtypes = self._executor.input_dtypes
        inputs = {n: _cast(arrays[n], dtypes[n], n) for n in self._executor.input_names}
        self._outputs = self._executor(inputs)
        self._show(self._executor, inputs, self._executor._last_key, False)

    def _arrays_of(self, batch):
        if not isinstance(getattr(batch, "data", None), (list, tuple)):
            raise ArgumentError(f"expected a DataBatch, got {type(batch).__name__}")
        names = [desc[0] for desc in getattr(batch, "provide_data", None) or self._data_shapes]
        data = list(batch.data)
        if len(data) != len(names):
            raise ArgumentError(f"the batch has {len(data)} arrays for {len(names)} inputs ({', '.join(names)})")
        labels = list(getattr(batch, "label", None) or [])
        return {**dict(zip(self._label_names, labels)), **dict(zip(names, data))}

    def _follow(self, arrays):
        """Reshapes where the arrays of a batch have other shapes than the binding."""
        data, labels = (
            [
                DataDesc(desc.name, tuple(np.shape(arrays[desc.name])), desc.dtype, desc.layout)
                for desc in bound or []
                if desc.name in arrays
            ]
            for bound in (self._data_shapes, self._label_shapes)
        )
        if [desc.shape for desc in data] != [tuple(desc.shape) for desc in self._data_shapes]:
            self.reshape(data, labels)

    def _inputs(self):
        """{input: DataDesc}, labels and states included."""
        described = [*self._data_shapes, *(self._label_shapes or []), *self._state_descriptions()]
        return {desc.name: desc for desc in described}

    def get_outputs(self, merge_multi_context=True):
        """The outputs of the last `forward`, a list of NDArrays; without merging each is a list, by device."""
        self._require(self._outputs, "forward")
        if merge_multi_context:
            return list(self._outputs)
        return by_device(self._outputs, batch_axes(self._symbol), self._context)


def _raise(message, stacklevel=None):
    raise ArgumentError(message)


def _check_names(what, names, arguments, complain):
    unknown = [name for name in names if name not in arguments]
    if unknown:
        candidates = [name for name in arguments if not name.endswith(("_weight", "_bias", "_gamma", "_beta"))]
        complain(f"{what}: the symbol has no {unknown[0]!r}; candidates are {', '.join(candidates)}", stacklevel=3)


def _labels_of(symbol):
    """Variables that only loss layers read, as labels: inference does without."""
    return {name for name, slots in symbol._handle.slots_of_variables().items() if slots and set(slots) == {"label"}}


def _descriptions(shapes):
    try:
        descriptions = [desc if isinstance(desc, DataDesc) else DataDesc(*desc) for desc in shapes]
        valid = all(int(dim) >= 0 for desc in descriptions for dim in desc.shape)
    except (TypeError, ValueError):
        valid = False
    if not valid or not all(isinstance(desc.shape, (tuple, list)) for desc in descriptions):
        raise ShapeError(f"expected a list of (name, shape), got {shapes!r:.80}")
    return descriptions


def _dtype(spelling):
    return _core.numpy_dtype(dtype_name(spelling))


def _cast(array, dtype, name):
    array = readable(array, f"'{name}'")
    return array if array.dtype == dtype else array.astype(dtype)
