"""What all optimizers share: learning rates and decays by parameter, counting of updates, and precision."""

import copy
import io
import pickle
import warnings

import numpy as np

from ... import nd
from ...base import ArgumentError, did_you_mean
from ..lr_scheduler import LRScheduler
from ..util import is_np_array
from . import for_mxnet, state_files
from .elementwise import run_formula
from .of_generations import is_of_2

_LOW = ("float16", "bfloat16")
_FLOATS = ("float32", "bfloat16")  # of elementwise programs


class Optimizer:
    """Updates weights by gradients. A subclass has `create_state(index, weight)` and `update(...)`.

    rescale_grad: gradients are multiplied with it first.
    clip_gradient: None, or the largest magnitude of an element of a gradient.
    wd: weight decay. Where in the formula it stands is the optimizer's.
    learning_rate, lr_scheduler: a learning rate (0.01 where neither is given), or who knows it by the number of
        updates; with both, the rate is the scheduler's first one.
    param_idx2name: {index: name}; weights whose names end neither in '_weight' nor in '_gamma' do not decay then.
    sym: a symbol whose variables may have attributes __lr_mult__ and __wd_mult__.
    multi_precision: keep a float32 copy of weights of float16 and bfloat16, which is what is updated.
    param_dict: {index: Parameter}, whose lr_mult and wd_mult hold.
    begin_num_update: the number of updates that were made before.

    >>> mx.optimizer.Optimizer.create_optimizer('sgd', momentum=0.9).momentum
    0.9
    """

    opt_registry = {}
    _is_of_2 = False  # whether the formula is that of MXNet 2; of optimizers that were pickled before
    _master_is_last = False  # states of multi_precision are (master, state), or (state, master) as MXNet's SGD has them

    def __init__(
        self,
        rescale_grad=1.0,
        param_idx2name=None,
        wd=0.0,
        clip_gradient=None,
        learning_rate=None,
        lr_scheduler=None,
        sym=None,
        begin_num_update=0,
        multi_precision=False,
        param_dict=None,
        aggregate_num=None,
        use_fused_step=None,
    ):
        if param_idx2name is not None and not isinstance(param_idx2name, dict):
            raise ArgumentError(f"param_idx2name: expected a dict, got {type(param_idx2name).__name__}")
        self._is_of_2 = is_of_2()
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        self.lr = 0.01 if lr_scheduler is None and learning_rate is None else learning_rate
        if lr_scheduler is not None and learning_rate is not None:
            lr_scheduler.base_lr = learning_rate
        self.wd = wd
        self.clip_gradient = clip_gradient
        self.begin_num_update = self.num_update = begin_num_update
        self._index_update_count = {}
        self.multi_precision = multi_precision
        self.aggregate_num = 0
        self.allow_np_array = is_np_array()  # MXNet 1.x
        self.idx2name = dict(param_idx2name or {})
        self.sym_info = (sym.attr_dict(), sym.list_arguments()) if sym is not None else ()
        self.param_dict = param_dict or {}
        self.set_lr_mult({})
        self.set_wd_mult({})

    # ---- registry ----

    @staticmethod
    def register(klass):
        """Makes the class known by its name in lower case; a decorator.

        >>> @mx.optimizer.register
        ... class Lazy(mx.optimizer.Optimizer):
        ...     pass
        >>> mx.optimizer.create('lazy').learning_rate
        0.01
        """
        name = klass.__name__.lower()
        if name in Optimizer.opt_registry:
            warnings.warn(f"optimizer {name!r} is registered anew", stacklevel=2)
        Optimizer.opt_registry[name] = klass
        return klass

    @staticmethod
    def create_optimizer(name, **kwargs):
        """A new optimizer of that name, in upper or lower case. Raises ArgumentError for an unknown one.

        >>> mx.optimizer.create('adam').learning_rate
        0.001
        """
        if isinstance(name, Optimizer):
            return name
        known = Optimizer.opt_registry
        if not isinstance(name, str) or name.lower() not in known:
            raise ArgumentError(f"unknown optimizer {name!r}{did_you_mean(str(name), known)}")
        return known[name.lower()](**kwargs)

    # ---- states and updates ----

    def create_state(self, index, weight):
        """What the optimizer keeps for a weight: None, an NDArray or a tuple of them."""
        return None

    def create_state_multi_precision(self, index, weight):
        """The same, beside a float32 copy of the weight where `multi_precision` says so."""
        if not self._keeps_master(weight):
            return self.create_state(index, weight)
        master = weight.astype("float32")
        state = self.create_state(index, master)
        return (state, master) if self._master_is_last else (master, state)

    def update(self, index, weight, grad, state):
        """Updates a weight, or a list of them, in place.

        Subclasses define it, or as in MXNet 2 `step(indices, weights, grads, states)`, which takes lists.
        """
        step = getattr(self, "step", None)
        if step is None:
            raise NotImplementedError(f"{type(self).__name__} has no update and no step")
        arguments = (index, weight, grad, state)
        step(*(arguments if isinstance(index, (list, tuple)) else ([argument] for argument in arguments)))

    def update_multi_precision(self, index, weight, grad, state):
        """The same, on the float32 copy where there is one."""
        if isinstance(index, (list, tuple)):
            for each in zip(index, weight, grad, state):
                self.update_multi_precision(*each)
        elif self._keeps_master(weight):
            inner, master = state if self._master_is_last else state[::-1]
            self.update(index, master, grad.astype("float32"), inner)
            weight[...] = master.astype(weight.dtype)
        else:
            self.update(index, weight, grad, state)

    def _keeps_master(self, weight):
        return self.multi_precision and weight.dtype.name in _LOW

    # ---- learning rates and decays ----

    @property
    def learning_rate(self):
        """The learning rate of the last update."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr):
        """A new learning rate. Raises UserWarning where a scheduler has it."""
        if self.lr_scheduler is not None:
            raise UserWarning("the learning rate is the lr_scheduler's: set_learning_rate has no effect on it")
        self.lr = lr

    def set_lr_mult(self, args_lr_mult):
        """{name or index: factor of the learning rate}; others have that of the symbol's variables, or 1."""
        self.lr_mult = {**self._attributes("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult):
        """{name or index: factor of the weight decay}, as `set_lr_mult`."""
        undecayed = {name: 0.0 for name in self.idx2name.values() if not name.endswith(("_weight", "_gamma"))}
        self.wd_mult = {**undecayed, **self._attributes("__wd_mult__"), **args_wd_mult}

    def _attributes(self, key):
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {name: float(attributes[name][key]) for name in names if key in attributes.get(name, {})}

    def _update_count(self, index):
        for one in index if isinstance(index, (list, tuple)) else [index]:
            self._index_update_count[one] = self._index_update_count.get(one, self.begin_num_update) + 1
            self.num_update = max(self._index_update_count[one], self.num_update)

    def _get_lr(self, index):
        return self.learning_rate * self._factor(index, "lr_mult")

    def _get_wd(self, index):
        return self.wd * self._factor(index, "wd_mult")

    def _get_lrs(self, indices):
        return [self._get_lr(index) for index in indices]

    def _get_wds(self, indices):
        return [self._get_wd(index) for index in indices]

    def _factor(self, index, kind):
        if index in self.param_dict:
            return getattr(self.param_dict[index], kind)
        factors = getattr(self, kind)
        return factors.get(index, factors.get(self.idx2name.get(index), 1.0))

    def __getstate__(self):
        """Parameters are not pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "param_dict"}

    def __setstate__(self, state):
        self.__dict__ = {**state, "param_dict": {}}


class Formula(Optimizer):
    """An optimizer that is a formula on float32 arrays: `num_states` arrays of zeros per weight, and `step`.

    Where `is_elementwise`, `step` looks at each element by itself and runs as one pass over memory; it is given
    Numbers then, see elementwise.py. Else it is given NumPy arrays.
    """

    num_states = 0
    is_elementwise = True

    def create_state(self, index, weight):
        states = tuple(zeros_like(weight) for _ in range(self.num_states))
        return None if not states else states[0] if self.num_states == 1 else states

    def update(self, index, weight, grad, state):
        """Updates a weight, or a list of them, in place."""
        if isinstance(index, (list, tuple)):
            for each in zip(index, weight, grad, state):
                self.update(*each)
            return
        self._update_count(index)
        states = () if state is None else state if isinstance(state, tuple) else (state,)
        rescale = np.float32(self.rescale_grad)
        if not self.is_elementwise:
            with _Float32(weight, *states) as arrays:
                self.step(index, arrays[0], np.asarray(grad).astype(np.float32) * rescale, arrays[1:])
            return
        with _Floats(weight, *states) as arrays:
            gradient = grad if grad.dtype.name in _FLOATS else grad.astype("float32")
            run_formula(lambda g, w, *s: self.step(index, w, g * rescale, list(s)), [gradient, *arrays])

    def step(self, index, weight, grad, states):
        """Changes `weight` and `states` in place; `grad` is scaled already and may be written to."""
        raise NotImplementedError(f"{type(self).__name__} has no step")

    def decayed(self, grad, weight, index):
        """`grad` clipped, with the weight decay: which MXNet 1.x clips, too."""
        decay = np.float32(self._get_wd(index)) * weight
        if self._is_of_2:
            self.clipped(grad)
            grad += decay
            return grad
        grad += decay
        return self.clipped(grad)

    def root(self, square, epsilon):
        """What gradients are divided by: MXNet 1.x takes the root of epsilon, too."""
        epsilon = np.float32(epsilon)
        return np.sqrt(square) + epsilon if self._is_of_2 else np.sqrt(square + epsilon)

    def clipped(self, grad):
        """Clips in place."""
        if self.clip_gradient:
            np.clip(grad, -self.clip_gradient, self.clip_gradient, out=grad)
        return grad

    def count_of(self, index):
        """The number of updates of this weight, the current one included."""
        return self._index_update_count[index]


class _Copies:
    """Arrays of other dtypes as copies in float32, which are written back at the end."""

    dtypes = ()  # names of dtypes that are not copied

    def __init__(self, *arrays):
        self._arrays = arrays
        self._numbers = [a if a.dtype.name in self.dtypes else np.asarray(a).astype(np.float32) for a in arrays]

    def __enter__(self):
        return self._numbers

    def __exit__(self, kind, error, trace):
        for array, numbers in zip(self._arrays, self._numbers):
            if numbers is not array:
                array[...] = numbers.astype(array.dtype)


class _Floats(_Copies):
    dtypes = _FLOATS


class _Float32(_Copies):
    """As NumPy arrays."""

    dtypes = ("float32",)

    def __enter__(self):
        return [np.asarray(numbers) for numbers in self._numbers]


def zeros_like(array):
    """An NDArray of zeros of the same type."""
    return nd.NDArray(np.zeros(array.shape, array.dtype)).copy()


class Updater:
    """`updater(index, grad, weight)` updates by an optimizer, and keeps its states.

    >>> update = mx.optimizer.Updater(mx.optimizer.SGD(learning_rate=0.5))
    >>> weight = amp.nd.array([1.0])
    >>> update(0, amp.nd.array([1.0]), weight)
    >>> weight.asnumpy()
    array([0.5], dtype=float32)
    """

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.states = {}
        self.states_synced = {}

    def __call__(self, index, grad, weight):
        if isinstance(index, (list, tuple)):
            for each in zip(index, grad, weight):
                self(*each)
            return
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight)
            self.states_synced[index] = True
        self.optimizer.update_multi_precision(index, weight, grad, self.states[index])

    def get_states(self, dump_optimizer=False):
        """States as bytes, with the optimizer where `dump_optimizer` says so: a pickle that MXNet reads, too."""
        return for_mxnet.pickled(self.states, self.optimizer, dump_optimizer)

    def set_states(self, states):
        """What `get_states` gave, here or in MXNet: arrays and optimizers. Raises ArgumentError for anything else."""
        self.adopt(*self.parsed_states(states))

    def parsed_states(self, states):
        """({index: state}, optimizer) of bytes; nothing changes. Raises ArgumentError as `set_states` does."""
        loaded, optimizer = _Unpickler(io.BytesIO(states)).load(), self.optimizer
        if isinstance(loaded, tuple) and len(loaded) == 2:
            loaded, optimizer = loaded
        try:
            if isinstance(optimizer, state_files.Saved):
                optimizer = _optimizer_of(optimizer)
            if isinstance(loaded, dict):
                loaded = {index: _arrays(state) for index, state in loaded.items()}
                if type(optimizer).__name__ == "RMSProp":  # one state is no tuple in MXNet 2
                    loaded = {index: (state,) if hasattr(state, "shape") else state for index, state in loaded.items()}
        except RecursionError:
            raise ArgumentError("these are no states of an optimizer: they are nested too deeply") from None
        if not isinstance(loaded, dict) or not isinstance(optimizer, Optimizer):
            kinds = f"{type(loaded).__name__} and {type(optimizer).__name__}"
            raise ArgumentError(f"these are no states of an optimizer: expected a dict and an Optimizer, got {kinds}")
        return loaded, optimizer

    def adopt(self, states, optimizer):
        """Goes on with these."""
        self.optimizer, self.states = optimizer, states
        self.states_synced = dict.fromkeys(self.states, False)


class _Unpickler(pickle.Unpickler):
    """Reads arrays, numbers and the classes of optimizers and schedulers; nothing that a file names is called."""

    _MODULES = ("numpy", "numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric", "numpy._core.numeric")
    _NAMES = ("_reconstruct", "scalar", "ndarray", "dtype", "_frombuffer")

    def find_class(self, module, name):
        if module in self._MODULES and name in self._NAMES:
            return super().find_class(module, name)
        if (module, name) in (("ml_dtypes", "bfloat16"), ("builtins", "bytearray")):
            return super().find_class(module, name)
        if module.partition(".")[0] == "mxnet":
            return state_files.saved_class(name)
        known = {*Optimizer.opt_registry.values(), *_subclasses(LRScheduler)}
        for klass in known:
            if (klass.__module__, klass.__qualname__) == (module, name):
                return klass
        raise ArgumentError(f"the states name {module}.{name}, which is neither an array nor a registered optimizer")

    def load(self):
        try:
            return super().load()
        except ArgumentError:
            raise
        except Exception as error:
            raise ArgumentError(f"these are no states of an optimizer: {error}") from None


def _subclasses(klass):
    for child in klass.__subclasses__():
        yield child
        yield from _subclasses(child)


def _optimizer_of(saved):
    """Our optimizer, and scheduler, with what MXNet saved of its own."""
    optimizer = Optimizer.create_optimizer(type(saved).__name__)
    known = vars(optimizer)
    numbers = state_files.numbers_of(saved)
    for theirs, ours in for_mxnet.NAMES_OF_2.get(type(saved).__name__, {}).items():
        if theirs in numbers and ours not in numbers:
            numbers[ours] = numbers[theirs]
    known.update((name, value) for name, value in numbers.items() if name in known)
    if isinstance(saved.attributes.get("lr_scheduler"), state_files.Saved):
        optimizer.lr_scheduler = _scheduler_of(saved.attributes["lr_scheduler"], optimizer.num_update)
    return optimizer


def _scheduler_of(saved, num_update):
    name = type(saved).__name__
    klass = next((klass for klass in _subclasses(LRScheduler) if klass.__name__ == name), None)
    if klass is None:
        raise ArgumentError(f"the states name the scheduler {name}, which is not registered")
    scheduler = klass.__new__(klass)
    vars(scheduler).update(state_files.numbers_of(saved))
    try:
        float(copy.deepcopy(scheduler)(num_update))
    except Exception as error:
        raise ArgumentError(f"the scheduler {name} of the states gives no rate: {error}") from None
    return scheduler


def _arrays(state):
    if isinstance(state, (list, tuple)):
        return tuple(_arrays(one) for one in state)
    if isinstance(state, state_files.Saved):
        return state_files.array_of(state)
    return nd.NDArray(state).copy() if isinstance(state, np.ndarray) else state
