"""MXNet's switches between its classic and NumPy's semantics, for each thread; scopes and decorators that set them.

`np_shape`: -1 is an unknown dimension, 0 a dimension without elements and () the shape of a scalar (classic: 0 is
unknown, () an unknown shape). `np_array`: blocks make `mx.np.ndarray`. `np_default_dtype`: float64 where nothing is
said.
"""

import functools
import inspect
import os
from tempfile import TemporaryDirectory  # noqa: F401 - MXNet's programs import it from here

from .._switches import is_on, set_switch
from ._missing import getter

__all__ = [
    "get_cuda_compute_capability",
    "get_gpu_count",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "reset_np",
    "set_flush_denorms",
    "set_module",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
    "wrap_ctx_to_device_func",
]

_SWITCHES = ("shape", "array", "default_dtype")


class _Semantics:
    """`with _Semantics(shape=True):` sets switches; as a decorator, for calls of a function or of a class's methods."""

    def __init__(self, **switches):
        self._wanted = switches
        self._previous = []

    def __enter__(self):
        self._previous.append({switch: set_switch(switch, active) for switch, active in self._wanted.items()})
        return self

    def __exit__(self, *exception):
        for switch, active in self._previous.pop().items():
            set_switch(switch, active)

    def __call__(self, decorated):
        if not inspect.isclass(decorated):
            return self._wrapped(decorated)
        for name, value in _members(decorated).items():
            if inspect.isfunction(value):
                setattr(decorated, name, self._wrapped(value))
            elif isinstance(value, property):
                accessors = [accessor and self._wrapped(accessor) for accessor in (value.fget, value.fset, value.fdel)]
                setattr(decorated, name, property(*accessors, doc=value.__doc__))
        return decorated

    def _wrapped(self, function):
        wanted = self._wanted

        @functools.wraps(function)
        def call(*args, **kwargs):
            with _Semantics(**wanted):
                return function(*args, **kwargs)

        return call


def _members(cls):
    """What the class defines, and what it inherits: methods and properties, but for special ones beside `__call__`."""
    inherited = {
        name: value
        for base in reversed(cls.__mro__[1:-1])
        for name, value in vars(base).items()
        if not name.startswith("__") or name == "__call__"
    }
    return {**inherited, **vars(cls)}


def wrap_ctx_to_device_func(func):
    """A decorator: the keyword argument `ctx` is handed on as `device`.

    >>> mx.util.wrap_ctx_to_device_func(lambda device: device)(ctx=mx.cpu())
    cpu(0)
    """

    @functools.wraps(func)
    def call(*args, **kwargs):
        if kwargs.get("ctx") is not None:
            kwargs["device"] = kwargs["ctx"]
        return func(*args, **{name: value for name, value in kwargs.items() if name != "ctx"})

    return call


def is_np_shape():
    """Whether shapes are spelled as NumPy's.

    >>> mx.is_np_shape()
    False
    """
    return is_on("shape")


def is_np_array():
    """Whether blocks make mx.np.ndarray.

    >>> mx.is_np_array()
    False
    """
    return is_on("array")


def is_np_default_dtype():
    """Whether float64 is the dtype where nothing is said, as in NumPy.

    >>> mx.is_np_default_dtype()
    False
    """
    return is_on("default_dtype")


def np_shape(active=True):
    """A scope with `is_np_shape() == active`.

    >>> with mx.np_shape():
    ...     print(amp.sym.Variable("x").infer_shape_partial()[1])
    [None]
    """
    return _Semantics(shape=active)


class _NumpyArrayScope(_Semantics):
    """MXNet 1.x's class of such scopes."""

    _current = None

    def __init__(self, is_np_array):
        super().__init__(array=is_np_array)
        self._is_np_array = is_np_array


def np_array(active=True):
    """A scope with `is_np_array() == active`.

    >>> with mx.np_array():
    ...     print(mx.is_np_array())
    True
    """
    return _Semantics(array=active)


def np_default_dtype(active=True):
    """A scope with `is_np_default_dtype() == active`.

    >>> with mx.np_default_dtype():
    ...     print(mx.is_np_default_dtype())
    True
    """
    return _Semantics(default_dtype=active)


def use_np_shape(func):
    """Decorates a function, or the methods of a class: they run with `is_np_shape()`.

    >>> mx.use_np_shape(lambda: mx.is_np_shape())()
    True
    """
    return _Semantics(shape=True)(func)


def use_np_array(func):
    """Decorates a function, or the methods of a class: they run with `is_np_array()`.

    >>> mx.use_np_array(lambda: mx.is_np_array())()
    True
    """
    return _Semantics(array=True)(func)


def use_np_default_dtype(func):
    """Decorates a function, or the methods of a class: they run with `is_np_default_dtype()`.

    >>> mx.use_np_default_dtype(lambda: mx.is_np_default_dtype())()
    True
    """
    return _Semantics(default_dtype=True)(func)


def use_np(func):
    """`use_np_shape` and `use_np_array` in one.

    >>> mx.use_np(lambda: (mx.is_np_shape(), mx.is_np_array()))()
    (True, True)
    """
    return _Semantics(shape=True, array=True)(func)


def set_np_shape(active):
    """Sets the switch of this thread; returns what it was.

    >>> mx.util.set_np_shape(True), mx.util.set_np_shape(False)
    (False, True)
    """
    return bool(set_switch("shape", active))


def set_np_default_dtype(is_np_default_dtype=True):
    """Sets the switch of this thread; returns what it was.

    >>> mx.util.set_np_default_dtype(True), mx.util.set_np_default_dtype(False)
    (False, True)
    """
    return bool(set_switch("default_dtype", is_np_default_dtype))


def set_np(shape=True, array=True, dtype=False):
    """Sets all switches of this thread.

    >>> mx.util.set_np()
    >>> mx.is_np_shape(), mx.is_np_array()
    (True, True)
    >>> mx.util.reset_np()
    """
    for switch, active in zip(_SWITCHES, (shape, array, dtype)):
        set_switch(switch, active)


def reset_np():
    """Classic semantics again.

    >>> mx.util.set_np()
    >>> mx.util.reset_np()
    >>> mx.is_np_shape()
    False
    """
    set_np(shape=False, array=False, dtype=False)


def set_module(module):
    """A decorator that sets `__module__`.

    >>> mx.util.set_module("mine")(lambda: 0).__module__
    'mine'
    """

    def decorate(decorated):
        if module is not None:
            decorated.__module__ = module
        return decorated

    return decorate


def getenv(name):
    """The value of an environment variable, or None.

    >>> mx.util.getenv("NO_SUCH_VARIABLE")
    """
    return os.environ.get(name)


def setenv(name, value):
    """Sets an environment variable; None removes it.

    >>> mx.util.setenv("AMP_EXAMPLE", "1")
    >>> mx.util.getenv("AMP_EXAMPLE")
    '1'
    >>> mx.util.setenv("AMP_EXAMPLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)


def set_flush_denorms(value):
    """Whether numbers too small for all bits of float32 became zero before: False. They never do; `value` is not used.

    >>> mx.util.set_flush_denorms(True)
    False
    """
    return False


def get_gpu_count():
    """0

    >>> mx.util.get_gpu_count()
    0
    """
    return 0


def get_cuda_compute_capability(ctx):
    """None: there are no GPUs.

    >>> mx.util.get_cuda_compute_capability(mx.cpu())
    """
    return None


__getattr__ = getter(__name__)
