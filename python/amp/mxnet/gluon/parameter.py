"""Parameters of blocks."""

import copy

import numpy as np

from ... import _core, _recording, nd
from ..._arrays import native, readable
from ..._core import NDArray
from ...base import ArgumentError, Error, dtype_name
from ...sym import Symbol, Variable
from .. import init as initializers
from ..context import cpu
from ..np.array_class import ndarray
from ..util import is_np_array
from ._parameter_names import NamesOfMXNet
from .parameter_arrays import (  # noqa: F401 - as programs know them
    WrongArraysError,
    fits,
    in_dtypes,
    is_known,
    load_arrays,
    plain_name,
    set_arrays,
    shape_of,
)
from .parameter_devices import ArraysOnDevices, numbers_of
from .parameter_gradient import GradientOfParameter


class DeferredInitializationError(Error):
    """The array of a parameter is asked for before a call has told its shape."""


class UninitializedError(ArgumentError):
    """The array of an uninitialized parameter is asked for."""


class StorageError(ArgumentError, AssertionError):
    """A kind of storage that MXNet does not have either."""


class ShapeClashError(ArgumentError, AssertionError):
    """A shape that a parameter cannot have; MXNet raises AssertionError."""


_STORAGES = ("default", "row_sparse", "csr")


class Parameter(NamesOfMXNet, GradientOfParameter, ArraysOnDevices):
    """An array of a block.

    Parameter(name, shape=None, dtype='float32', init=None, allow_deferred_init=False): 0 and -1 are sizes that the
    first call tells; then `allow_deferred_init` has to be True for `initialize` to wait for it. `init` is an
    initializer of `mx.init`, or its name. `grad_req` says what backward does with the gradient: 'write' it, 'add' it to
    what is there, or nothing ('null', as for `differentiable=False` and integers). `lr_mult` and `wd_mult` are for
    optimizers; `stype` and `grad_stype` have no effect. Raises ArgumentError for unknown dtypes and requests.

    >>> weight = mx.gluon.Parameter("weight", shape=(2, 3), init="ones")
    >>> weight.initialize()
    >>> weight.data().shape
    (2, 3)
    """

    is_constant = False
    is_listed = False  # whether a ParameterDict of a block made it, or has taken it
    _var = None  # what `var` gave, and for what

    def __init__(
        self,
        name="weight",
        grad_req="write",
        shape=None,
        dtype="float32",
        lr_mult=1.0,
        wd_mult=1.0,
        init=None,
        allow_deferred_init=False,
        differentiable=True,
        stype="default",
        grad_stype="default",
    ):
        for storage in (stype, grad_stype):
            if storage not in _STORAGES:
                raise StorageError(f"parameter '{name}': stype is one of {', '.join(_STORAGES)}, got {storage!r}")
        self.name = name
        self._differentiable = differentiable
        self.grad_req = grad_req
        self.lr_mult, self.wd_mult, self.init = lr_mult, wd_mult, init
        self.allow_deferred_init = allow_deferred_init
        self._waiting = None  # the default initializer, while the shape is open
        self.when_filled = None  # what is done with the array of first values
        self._shape = None if shape is None else shape_of(shape)
        self._dtype = _core.numpy_dtype(dtype_name(dtype))

    @classmethod
    def of_array(cls, name, array, grad_req="write"):
        """A parameter that has its array, an NDArray."""
        parameter = cls(name, grad_req, array.shape, array.dtype)
        parameter._hold(type(array)(array))  # an object of its own: the caller's has no gradient
        return parameter

    # ---- what it is ----

    @property
    def dtype(self):
        """The numpy.dtype of the elements; setting it casts the array."""
        return self._dtype if self._array is None else self._array.dtype

    @dtype.setter
    def dtype(self, dtype):
        self.cast(dtype)

    @property
    def shape(self):
        """The shape of the array, a tuple in which 0 or -1 is not known yet, or None."""
        return self._shape if self._array is None else self._array.shape

    @shape.setter
    def shape(self, shape):
        shape = shape_of(shape)
        if self._shape is not None and not fits(shape, self._shape):
            raise ShapeClashError(f"parameter '{self.name}': shape {shape} contradicts its shape {self._shape}")
        self._shape = shape

    def learn_shape(self, shape):
        """Takes sizes of `shape` where its own are not known. Raises ArgumentError for a contradiction."""
        shape = shape_of(shape)
        if not is_known(shape) and self._shape is not None and len(shape) == len(self._shape):
            shape = tuple(new if new > 0 else known for new, known in zip(shape, self._shape))
        self.shape = shape

    @property
    def is_open(self):
        """Whether `initialize` waits for a shape."""
        return self._array is None and self._waiting is not None

    @property
    def is_initialized(self):
        """Whether there is an array, or will be when the shape is known."""
        return self._array is not None or self._waiting is not None

    # ---- its array ----

    def initialize(self, init=None, ctx=None, default_init=None, force_reinit=False, *, device=None):
        """Makes the array, now or (see `allow_deferred_init`) when the shape is known.

        The values come from `init`, else from the parameter's own initializer, else from `default_init`, else they are
        uniform in [-0.07, 0.07], or 0 or 1 where the name says that it is no weight. `ctx` (or `device`) is a device,
        or a list of devices, which begin with the same values; by default the current one. An array that is there stays
        unless `force_reinit` is True. Raises ArgumentError for an unknown shape that nothing will tell.

        >>> bias = mx.gluon.Parameter("bias", shape=(2,))
        >>> bias.initialize("ones")
        >>> bias.data()
        [1. 1.]
        <NDArray float32[2]>
        """
        if self._array is not None and not force_reinit:
            return
        self._array, self._copies, self._waiting = None, (), (init, default_init)
        self._places = numbers_of(ctx if ctx is not None else device)
        if is_known(self._shape):
            self.finish_initialization()
        elif not self.allow_deferred_init:
            self._waiting = None
            raise ArgumentError(f"parameter '{self.name}': cannot be initialized, its shape {self._shape} is not known")

    def finish_initialization(self):
        """Makes the array of a parameter that waited for its shape. Raises ArgumentError while that is unknown."""
        if not self.is_open:
            return
        if not is_known(self._shape):
            raise DeferredInitializationError(f"parameter '{self.name}': its shape {self._shape} is not known yet")
        array = copy.copy(NDArray(np.zeros(self._shape, np.float32)))  # in memory of its own
        with _recording.scope(is_recording=False):
            self._fill(array, *self._waiting)
            if self.when_filled is not None:
                self.when_filled(array)
        self._waiting = None
        self._hold(self._class_for(array)(array.astype(self._dtype, copy=False)))

    def _fill(self, array, init, default_init):
        own = init if init is not None else self.init
        if own is not None:
            initializer = _with_default(initializers.create(own), default_init)
            write = getattr(initializer, "_init_weight", None)
            write(self.name, array) if write else initializer(initializers.InitDesc(self.name), array)
        else:
            initializer = initializers.create(default_init or initializers.Uniform())
            if initializers.says_purpose(self.name) or not hasattr(initializer, "_init_weight"):
                initializer(initializers.InitDesc(self.name), array)
            else:
                initializer._init_weight(self.name, array)

    def _hold_all(self, arrays, places):
        super()._hold_all(arrays, places)
        self.when_filled = None  # there were first values
        self._shape, self._dtype = self._array.shape, self._array.dtype

    def _no_array_error(self):
        if self._waiting is not None:
            text = f"parameter '{self.name}' has no array yet: its shape {self._shape} follows from the first call"
            return DeferredInitializationError(text)
        return UninitializedError(f"parameter '{self.name}' has no array: call initialize() or load_parameters()")

    def set_data(self, data):
        """Makes `data`, an array of the parameter's shape, its array; it is copied and cast to the dtype.

        Raises ArgumentError for another shape.

        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.set_data(np.array([1, 2]))
        >>> weight.data()
        [1. 2.]
        <NDArray float32[2]>
        """
        array = data if isinstance(data, NDArray) else NDArray(native(readable(data, f"parameter '{self.name}'")))
        if self._shape is not None and not fits(array.shape, self._shape):
            raise ArgumentError(f"parameter '{self.name}': expected shape {self._shape}, got {tuple(array.shape)}")
        self._waiting = None
        self._hold(self._class_for(array)(array.astype(self.dtype, copy=True)))

    def _class_for(self, array):
        """That of the array that is there; without one `mx.np.ndarray` in `use_np`, else that of `array`."""
        return type(self._array) if self._array is not None else ndarray if is_np_array() else type(array)

    def cast(self, dtype):
        """Changes the dtype, of the array too where there is one.

        Raises ArgumentError for unknown dtypes.

        >>> weight = mx.gluon.Parameter("weight", shape=(2,))
        >>> weight.cast("bfloat16")
        >>> weight.dtype
        dtype(bfloat16)
        """
        self._dtype = _core.numpy_dtype(dtype_name(dtype))
        if self._array is not None and self._array.dtype != self._dtype:
            self._hold_all([array.astype(self._dtype) for array in self._arrays()], self._present_places())

    def var(self):
        """A variable for the parameter in a symbol: the same one as long as the parameter does not change."""
        if isinstance(self._var, Symbol):  # a program has set it
            return self._var
        shape = None if self.shape is None else tuple(max(dim, 0) for dim in self.shape)
        key = self.name, self.dtype, shape, self.init, self.lr_mult, self.wd_mult
        if self._var is None or self._var[0] != key:
            options = {"shape": shape, "init": self.init, "lr_mult": self.lr_mult, "wd_mult": self.wd_mult}
            self._var = key, Variable(self.name, dtype=self.dtype, __storage_type__=0, **options)
        return self._var[1]

    def __copy__(self):
        return self._copied([type(array)(array) for array in self._arrays()])

    def __deepcopy__(self, memo):
        return self._copied([array.copy() for array in self._arrays()])

    def _copied(self, arrays):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._array, other._copies = None, ()
        if arrays:
            other._hold_all(arrays, self._present_places())
        return other

    def __repr__(self):
        return f"Parameter {self.name} (shape={self.shape}, dtype={self.dtype.name})"


class Constant(Parameter):
    """A parameter with a value that nobody initializes: Constant(value) or Constant(name, value).

    The array is float32 unless `value` keeps its dtype in `amp.nd.array`. Raises ArgumentError for what is no array of
    numbers.

    >>> mx.gluon.Constant([1, 2]).data()
    [1. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, name, value=None):
        name, value = ("const", name) if value is None else (name, value)
        array = value if isinstance(value, NDArray) else nd.array(value)
        super().__init__(name, "null", array.shape, array.dtype)
        self._hold(type(array)(array))

    is_constant = True

    def initialize(self, init=None, ctx=None, default_init=None, force_reinit=False, *, device=None):
        """Only puts the value, which is there, on the given devices."""
        if ctx is not None or device is not None:
            self.reset_ctx(ctx, device=device)


class ParameterDict(dict):
    """ParameterDict(prefix='', shared=None): {name: Parameter}, as `collect_params` gives it.

    `get` puts the prefix in front of names. Parameters that `shared`, another ParameterDict, has are taken from there.

    >>> params = mx.gluon.nn.Dense(3, in_units=4, prefix="fc_").collect_params()
    >>> params["fc_weight"].shape
    (3, 4)
    >>> params = mx.gluon.ParameterDict("net_")
    >>> params.get("weight", shape=(3, 4))
    Parameter net_weight (shape=(3, 4), dtype=float32)
    """

    def __init__(self, prefix="", shared=None, named=()):
        super().__init__(named)
        self.prefix, self.shared = prefix, shared
        self.owner = None  # the block that collected them

    _prefix = property(lambda self: self.prefix)
    _shared = property(lambda self: self.shared)
    _params = property(lambda self: self, doc="As toolkits read and write it: the dict itself.")

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, *, device=None):
        """Initializes all parameters; see `Parameter.initialize`."""
        for parameter in self.values():
            parameter.initialize(None, ctx, init, force_reinit, device=device)

    def save(self, filename, strip_prefix=""):
        """Writes the arrays under their names, without `strip_prefix` in front."""
        cut = len(strip_prefix)
        named = {name[cut:] if name.startswith(strip_prefix) else name: p.to_save() for name, p in self.items()}
        nd.save(filename, named)

    def load(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        restore_prefix="",
        cast_dtype=False,
        dtype_source="current",
        *,
        device=None,
    ):
        """Reads arrays that `save` wrote; see `load_arrays`."""
        devices = ctx if ctx is not None else device
        load_arrays(self, filename, allow_missing, ignore_extra, restore_prefix, cast_dtype, dtype_source, devices)

    def reset_ctx(self, ctx=None, *, device=None):
        """Puts all parameters on these devices; see `Parameter.reset_ctx`."""
        for parameter in self.values():
            parameter.reset_ctx(ctx, device=device)

    reset_device = reset_ctx

    def zero_grad(self):
        """Sets all gradients to zeros."""
        for parameter in self.values():
            parameter.zero_grad()

    def setattr(self, name, value):
        """Sets an attribute, such as grad_req, of all parameters."""
        for parameter in self.values():
            setattr(parameter, name, value)

    def get(self, name, default=None, **options):
        """The parameter of that name, with the prefix or without; where there is none and options are given, a new one.

        Raises ArgumentError where a known parameter has another shape.
        """
        found = self._find(name)
        if found is None and options:
            found = self._add(Parameter(self.prefix + name, **options))
        elif found is not None and options.get("shape") is not None:
            found.learn_shape(options["shape"])
        return default if found is None else found

    def get_constant(self, name, value=None):
        """The Constant of that name, which is made of `value` where there is none.

        Raises ArgumentError where the known one has another value.

        >>> mx.gluon.ParameterDict("net_").get_constant("two", [2]).data()
        [2.]
        <NDArray float32[1]>
        """
        found = self._find(name)
        if found is None and value is not None:
            found = self._add(Constant(self.prefix + name, value))
        elif found is None:
            raise ArgumentError(f"there is no constant {self.prefix + name!r}: give its value")
        elif value is not None and not np.array_equal(found.data().asnumpy(), nd.array(value).asnumpy()):
            raise ArgumentError(f"the constant {found.name!r} has another value")
        return found

    def _add(self, parameter):
        parameter.is_listed = True
        self[parameter.name] = parameter
        return parameter

    def _find(self, name):
        whole = self.prefix + name
        if whole not in self and self.shared is not None:
            shared = self.shared._lookup(whole)
            if shared is not None:
                self[whole] = shared
        return self[whole] if whole in self else super().get(name)

    def _lookup(self, whole):
        """A parameter by its whole name, from here or from where these are shared from."""
        if whole in self:
            return self[whole]
        return None if self.shared is None else self.shared._lookup(whole)

    def update(self, other):
        """Adds the parameters of another dict. Raises ArgumentError where a name stands for another parameter here."""
        for name, parameter in other.items():
            if self.setdefault(name, parameter) is not parameter:
                raise ArgumentError(f"there are two parameters {name!r}")

    def list_ctx(self):
        """The devices of all parameters."""
        found = {device: None for parameter in self.values() for device in parameter.list_ctx()}
        return list(found) or [cpu()]

    def cast(self, dtype):
        """Changes the dtype of all parameters."""
        for parameter in self.values():
            parameter.cast(dtype)

    def __repr__(self):
        if self.owner is not None and self.owner._generation.names_places:
            return dict.__repr__(self)  # as in MXNet 2, where it is a dict
        head = f"{self.prefix or 'ParameterDict'} ("
        return "\n".join([head, *(f"  {parameter!r}" for parameter in self.values()), ")"])


def _with_default(initializer, default):
    """An initializer of several weights takes that of the block for those that have none of their own."""
    if hasattr(initializer, "set_initializer"):
        initializer.set_initializer(default)
    return initializer
