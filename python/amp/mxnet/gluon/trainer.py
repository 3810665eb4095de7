"""`Trainer`: updates the parameters of blocks by their gradients."""

from ..._paths import write_file
from ...base import ArgumentError
from .. import kvstore as stores
from .. import optimizer as optimizers
from .. import random
from . import training_state
from .parameter import Parameter

__all__ = ["Trainer"]


class Trainer:
    """An optimizer for a list or dict of Parameters.

    `optimizer` is a name, with `optimizer_params` ({option: value}), or an Optimizer. There is one device: `kvstore`
    has no effect, unless it is a KVStore and `update_on_kvstore=True`: then updates run in the store.

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
    ):
        self._params = _parameters(params)
        self._kvstore = kvstore if isinstance(kvstore, stores.KVStore) else None
        if kvstore is not None and self._kvstore is None:
            stores.create(kvstore)  # refuses what is not supported
        if update_on_kvstore and self._kvstore is None:
            raise ArgumentError("update_on_kvstore: pass a KVStore; on one device updates run in the trainer")
        self._updates_in_store = bool(update_on_kvstore)
        self._set_optimizer(optimizer, optimizer_params or {})
        self._scale = self._first_scale = self._optimizer.rescale_grad
        self.loss_scaler = None

    def _set_optimizer(self, optimizer, options):
        if isinstance(optimizer, optimizers.Optimizer):
            if options:
                raise ArgumentError("optimizer_params: only with the name of an optimizer")
            self._optimizer = optimizer
        else:
            self._optimizer = optimizers.create(optimizer, **options)
        self._optimizer.param_dict = dict(enumerate(self._params))
        self._updater = optimizers.get_updater(self._optimizer)

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
        such parameters stay.
        """
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    def allreduce_grads(self):
        """Has no effect on one device. Raises ArgumentError where updates run in a store."""
        self._require_own_updates("allreduce_grads")

    def update(self, batch_size, ignore_stale_grad=False):
        """The second half of `step`, behind `allreduce_grads`."""
        self._require_own_updates("update")
        self._rescale(batch_size)
        self._update(ignore_stale_grad)

    def _require_own_updates(self, what):
        if self._updates_in_store:
            raise ArgumentError(f"{what}: updates run in the store; make the trainer with update_on_kvstore=False")

    def _rescale(self, batch_size):
        if not batch_size > 0:
            raise ArgumentError(f"batch_size: expected a number above 0, got {batch_size!r}")
        self._optimizer.rescale_grad = self._scale / batch_size

    # ---- scaled losses ----

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
                gradient = parameter.grad()
                gradient[...] = gradient * (self._scale / self._first_scale)
        self._scale = self._first_scale

    # ---- updates ----

    def _update(self, ignore_stale_grad):
        if self.loss_scaler is not None and self.loss_scaler.has_overflow(self._params):
            return  # this step is left out
        chosen = []
        for index, parameter in enumerate(self._params):
            if parameter.grad_req == "null":
                continue
            is_fresh = parameter.data()._fresh_grad
            if not is_fresh and not ignore_stale_grad:
                raise UserWarning(
                    f"the gradient of parameter '{parameter.name}' was not written by backward since the last step: "
                    "the model used only some of its parameters. ignore_stale_grad=True leaves such parameters alone"
                )
            if is_fresh:
                chosen.append((index, parameter))
        for index, parameter in chosen:
            self._update_one(index, parameter)
            parameter.data()._fresh_grad = False

    def _update_one(self, index, parameter):
        parameter.data()._leave_views()  # what NumPy shows of a weight stays what it was, as MXNet's copies do
        if not self._updates_in_store:
            self._updater(index, parameter.grad(), parameter.data())
            return
        self._kvstore.set_updater(self._updater)  # its states are those of the trainer
        self._kvstore.hold(index, parameter.data())
        self._kvstore.push(index, parameter.grad())

    def save_states(self, fname):
        """Writes the optimizer, its states, and where random numbers are, to a file, which is complete or the old one.

        Training that goes on with these and with the parameters gives the bits of training that was not interrupted.
        """
        self._save(fname, {})

    def load_states(self, fname):
        """Reads what `save_states` wrote. Raises ArgumentError for other files; older ones have no random numbers.

        >>> weight = mx.gluon.Parameter("weight", shape=(1,))
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], "adam")
        >>> trainer.save_states("trainer.states")
        >>> trainer.load_states("trainer.states")
        """
        self._load(fname)

    def _save(self, fname, more):
        """`save_states`, and a dict that `_load` gives back."""
        extra = {**more, "random": random.get_state()}
        if self.loss_scaler is not None:
            extra["loss_scaler"] = self.loss_scaler.state()
        write_file(fname, training_state.joined(self._updater.get_states(dump_optimizer=True), extra))

    def _load(self, fname):
        with open(fname, "rb") as file:
            content, extra = training_state.divided(file.read())
        states, optimizer = self._updater.parsed_states(content)
        self._check_states(states, optimizer)
        set_random_state = random.checked_state(extra["random"]) if "random" in extra else None
        if "loss_scaler" in extra and self.loss_scaler is not None:
            self.loss_scaler.set_state(extra["loss_scaler"])  # the last that may be refused
        self._updater.adopt(states, optimizer)
        self._optimizer = optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
        if set_random_state is not None:
            set_random_state()
        return extra

    def _check_states(self, states, optimizer):
        """Raises ArgumentError for states that are not those of this optimizer and these parameters."""
        for index, state in states.items():
            if not isinstance(index, int) or not 0 <= index < len(self._params):
                raise ArgumentError(f"the states of parameter {index!r}: there are {len(self._params)} parameters")
            parameter = self._params[index]
            if parameter._data is not None:
                expected = _outline(optimizer.create_state_multi_precision(index, parameter.data()))
                if _outline(state) != expected:
                    raise ArgumentError(
                        f"the states of parameter '{parameter.name}': expected {expected}, got {_outline(state)}"
                    )


def _outline(state):
    """What a state consists of: shapes of arrays, in tuples."""
    if isinstance(state, (list, tuple)):
        return tuple(map(_outline, state))
    return list(state.shape) if hasattr(state, "shape") else type(state).__name__


def _parameters(params):
    if isinstance(params, dict):
        params = [params[name] for name in sorted(params)]
    if not isinstance(params, (list, tuple)) or not all(isinstance(p, Parameter) for p in params):
        raise ArgumentError(f"params: expected a list or a dict of Parameters, got {type(params).__name__}")
    return list({id(parameter): parameter for parameter in params}.values())  # shared ones once
