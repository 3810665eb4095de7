"""`Trainer`: updates the parameters of blocks by their gradients."""

import numbers

from ...base import ArgumentError
from .. import kvstore as stores
from .. import optimizer as optimizers
from . import device_gradients, reduced_gradients
from .parameter import Parameter
from .training_state import SavedTraining

__all__ = ["Trainer"]


class Trainer(SavedTraining):
    """An optimizer for a list or dict of Parameters.

    `optimizer` is a name, with `optimizer_params` ({option: value}), or an Optimizer. Where parameters are on several
    devices `step` adds the gradients of all, and all get the new values. `kvstore` has no effect, unless it is a
    KVStore and `update_on_kvstore=True`: then updates run in the store. Nor has `compression_params`.

    kvstore="mpi" (or "dist_sync", or "horovod") trains one model on several ranks, those of `with
    amp.distributed.group(comm):` or of MPI; see docs/distributed.md. Parameters begin as they are on rank 0. `step`
    adds the gradients of all ranks and divides by `batch_size`, each rank's number of samples, times the number of
    ranks. weight_grad_reduce="bf16" adds in bfloat16 instead of float32: half of the bytes, sums that are rounded.

    >>> weight = mx.gluon.Parameter("weight", shape=(1,), init="ones")
    >>> weight.initialize()
    >>> trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.5})
    >>> with mx.autograd.record():
    ...     loss = weight.data() * 3
    >>> loss.backward()
    >>> trainer.step(batch_size=1)
    >>> weight.data().asnumpy()
    array([-0.5], dtype=float32)
    """

    def __init__(
        self,
        params,
        optimizer,
        optimizer_params=None,
        kvstore="device",
        compression_params=None,
        update_on_kvstore=None,
        *,
        weight_grad_reduce="fp32",
    ):
        self._params = _parameters(params)
        self._store = kvstore if isinstance(kvstore, stores.KVStoreBase) else None
        self._type_of_store = kvstore if isinstance(kvstore, str) else None
        if update_on_kvstore and self._store is None and stores.has_ranks(kvstore):
            raise ArgumentError("update_on_kvstore: pass a KVStore of ranks, not its name")
        self._updates_in_store = bool(update_on_kvstore) and self._store is not None
        self._set_optimizer(optimizer, optimizer_params or {})
        self._join_ranks(None if kvstore is None else self._store or stores.create(kvstore), weight_grad_reduce)
        self._scale = self._first_scale = self._optimizer.rescale_grad / self._num_ranks
        self.loss_scaler = self.constant_scaler = None

    def _join_ranks(self, store, weight_grad_reduce):
        dtype = reduced_gradients.dtype_of(weight_grad_reduce)
        comm = None if store is None else store.comm
        self._num_ranks, self._reducer = 1, None
        if store is not None and not isinstance(store, stores.KVStore):
            self._reducer = reduced_gradients.StoreReducer(store)
            self._reducer.begin_alike(self._params)
        if comm is None:
            return
        self._num_ranks = comm.size
        reduced_gradients.begin_alike(self._params, comm)
        if not self._updates_in_store:
            self._reducer = reduced_gradients.GradientReducer(comm, dtype)

    def _set_optimizer(self, optimizer, options):
        if isinstance(optimizer, optimizers.Optimizer):
            if options:
                raise ArgumentError("optimizer_params: only with the name of an optimizer")
            self._optimizer = optimizer
        else:
            self._optimizer = optimizers.create(optimizer, **options)
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._updater = optimizers.get_updater(self._optimizer)

    _kv_initialized, _params_to_init = True, ()

    def _init_kvstore(self):
        """Raises ArgumentError where updates cannot run in the store. Else there is nothing left to do."""
        if self._updates_in_store and not isinstance(self._store, stores.KVStore):
            raise ArgumentError("update_on_kvstore: a store of your own adds gradients; updates run in the trainer")

    _init_params = _reset_kvstore = _init_kvstore

    @property
    def _kvstore(self):
        """As programs for MXNet read it: the store that was passed, or one of what is on several devices, or None."""
        if self._store is not None or self._type_of_store is None:
            return self._store
        filled = [(index, one) for index, one in enumerate(self._params) if one._data is not None]
        if all(len(one.list_ctx()) < 2 for _, one in filled):
            return None
        store = stores.create(self._type_of_store)
        store.set_updater(self._updater)
        for index, parameter in filled:
            store.hold(index, parameter.list_data()[0])
        return store

    @property
    def _updaters(self):
        """As programs for MXNet read it: one for each device."""
        return [self._updater]

    @property
    def _update_on_kvstore(self):
        """As programs for MXNet read it: None without a KVStore."""
        return None if self._store is None else self._updates_in_store

    @property
    def optimizer(self):
        """The Optimizer."""
        return self._optimizer

    @property
    def learning_rate(self):
        """The learning rate of the last update."""
        return self._optimizer.learning_rate

    def set_learning_rate(self, lr):
        """A new learning rate. Raises UserWarning where a scheduler has it."""
        self._optimizer.set_learning_rate(lr)

    def step(self, batch_size, ignore_stale_grad=False):
        """Updates the parameters; gradients are divided by `batch_size` first.

        Raises UserWarning for a parameter whose gradient was not written since the last step; with `ignore_stale_grad`
        such parameters stay, where no rank has written theirs. Ranks pass the same `batch_size`.
        """
        self._rescale(batch_size)
        chosen = self._fresh(ignore_stale_grad)
        if self._reducer is not None and ignore_stale_grad:
            chosen = self._reducer.agreed(self._params, chosen)
        if self._reducer is None or self.loss_scaler is not None:
            self._reduce_all()
            self._update(chosen, device_gradients.agreed if self._store_adds else device_gradients.total)
            return
        by_index = dict(chosen)
        for indices in self._reducer.buckets(self._params):  # later ones are added while these are updated
            self._update([(index, by_index[index]) for index in indices if index in by_index], device_gradients.agreed)

    def allreduce_grads(self):
        """Adds the gradients of all devices and ranks; `update` uses the sums.

        Raises ArgumentError where updates run in a store.
        """
        self._require_own_updates("allreduce_grads")
        for parameter in self._params:
            if parameter.grad_req != "null" and not self._store_adds:
                device_gradients.write_total(parameter)
        self._reduce_all()

    @property
    def _store_adds(self):
        """Whether a store of the program adds the gradients of devices, too."""
        return isinstance(self._reducer, reduced_gradients.StoreReducer)

    def _reduce_all(self):
        if self._reducer is not None:
            for _ in self._reducer.buckets(self._params):
                pass

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, behind `allreduce_grads`."""
        self._require_own_updates("update")
        self._rescale(batch_size)
        self._update(self._fresh(ignore_stale_grad), device_gradients.agreed)

    def _require_own_updates(self, what):
        if self._updates_in_store:
            raise ArgumentError(f"{what}: updates run in the store; make the trainer with update_on_kvstore=False")

    def _rescale(self, batch_size):
        self._init_kvstore()
        if not isinstance(batch_size, numbers.Real) or not batch_size > 0:
            raise ArgumentError(f"batch_size: expected a number above 0, got {batch_size!r}")
        self._optimizer.rescale_grad = self._scale / batch_size

    # ---- scaled losses ----

    @property
    def _amp_loss_scaler(self):
        """MXNet's name of the scaler of losses, which loops with clipping read; None before `amp.init_trainer`."""
        return self.loss_scaler or self.constant_scaler

    @_amp_loss_scaler.setter
    def _amp_loss_scaler(self, scaler):
        self.loss_scaler = scaler

    @property
    def _amp_original_scale(self):
        return self._first_scale

    @property
    def amp_loss_scale(self):
        """The scale of losses."""
        return self._amp_loss_scaler.loss_scale

    def set_loss_scaler(self, scaler):
        """Losses are multiplied by the scaler's scale from now on, see `mx.amp.init_trainer`."""
        self.loss_scaler = scaler

    def scaled(self, loss):
        """The loss, or list of losses, times the scale, which gradients are divided by in the next step."""
        if self.loss_scaler is None:
            return loss
        scale = self.loss_scaler.loss_scale
        self._scale = self._first_scale / scale
        return [one * scale for one in loss] if isinstance(loss, (list, tuple)) else loss * scale

    def unscale_gradients(self):
        """Divides gradients by the scale of the loss now."""
        for parameter in self._params:
            if parameter.grad_req != "null":
                for gradient in parameter.list_grad():
                    gradient[...] = gradient * (self._scale / self._first_scale)
        self._scale = self._first_scale

    # ---- updates ----

    def _fresh(self, ignore_stale_grad):
        """[(index, parameter)] of the gradients that were written since the last step."""
        chosen = []
        for index, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            arrays = parameter._array_on(list)
            if len(arrays) > 1 and self._num_ranks > 1:
                raise ArgumentError(f"parameter '{parameter.name}': ranks have one device each, got {len(arrays)}")
            is_fresh = all(array._fresh_grad for array in arrays)
            if not is_fresh and not ignore_stale_grad:
                raise UserWarning(
                    f"the gradient of parameter '{parameter.name}' was not written by backward since the last step: "
                    "the model used only some of its parameters. ignore_stale_grad=True leaves such parameters alone"
                )
            if is_fresh:
                chosen.append((index, parameter))
        return chosen

    def _update(self, chosen, gradient_of):
        if self.loss_scaler is not None and self.loss_scaler.has_overflow(self._params):
            return  # this step is left out
        for index, parameter in chosen:
            arrays = parameter._array_on(list)
            self._update_one(index, arrays[0], gradient_of(parameter))
            parameter._set_copies()
            for array in arrays:
                array._fresh_grad = False

    def _update_one(self, index, array, gradient):
        array._leave_views()  # what NumPy shows of a weight stays what it was, as MXNet's copies do
        if not self._updates_in_store:
            self._updater(index, gradient, array)
            return
        self._store.set_updater(self._updater)  # its states are those of the trainer
        self._store.hold(index, array)
        self._store.push(index, gradient)


def _parameters(params):
    if isinstance(params, dict):
        params = [params[name] for name in sorted(params)]
    if not isinstance(params, (list, tuple)) or not all(isinstance(p, Parameter) for p in params):
        raise ArgumentError(f"params: expected a list or a dict of Parameters, got {type(params).__name__}")
    return list({id(parameter): parameter for parameter in params}.values())  # shared ones once
