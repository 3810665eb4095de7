"""MXNet's switches between its classic and NumPy's semantics, for each thread; scopes and decorators that set them.

`np_shape`: -1 is an unknown dimension, 0 a dimension without elements and () the shape of a scalar (classic: 0 is
unknown, () an unknown shape). `np_array`: blocks make `amp.np.ndarray`. `np_default_dtype`: float64 where nothing is
said.
"""

import functools
import inspect
import os
import threading

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
    "set_module",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
]

_SWITCHES = ("shape", "array", "default_dtype")
_state = threading.local()


def _is_on(switch):
    return getattr(_state, switch, False)


def _set(switch, active):
    previous = _is_on(switch)
    setattr(_state, switch, bool(active))
    return previous


class _Semantics:
    """`with _Semantics(shape=True):` sets switches; as a decorator, for calls of a function or of a class's methods."""

    def __init__(self, **switches):
        self._wanted = switches
        self._previous = []

    def __enter__(self):
        self._previous.append({switch: _set(switch, active) for switch, active in self._wanted.items()})
        return self

    def __exit__(self, *exception):
        for switch, active in self._previous.pop().items():
            _set(switch, active)

    def __call__(self, decorated):
        if not inspect.isclass(decorated):
            return self._wrapped(decorated)
        for name, value in list(vars(decorated).items()):
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


def is_np_shape():
    """Whether shapes are spelled as NumPy's.

    >>> amp.is_np_shape()
    False
    """
    return _is_on("shape")


def is_np_array():
    """Whether blocks make amp.np.ndarray.

    >>> amp.is_np_array()
    False
    """
    return _is_on("array")


def is_np_default_dtype():
    """Whether float64 is the dtype where nothing is said, as in NumPy.

    >>> amp.is_np_default_dtype()
    False
    """
    return _is_on("default_dtype")


def np_shape(active=True):
    """A scope with `is_np_shape() == active`.

    >>> with amp.np_shape():
    ...     print(amp.sym.Variable("x").infer_shape_partial()[1])
    [None]
    """
    return _Semantics(shape=active)


def np_array(active=True):
    """A scope with `is_np_array() == active`.

    >>> with amp.np_array():
    ...     print(amp.is_np_array())
    True
    """
    return _Semantics(array=active)


def np_default_dtype(active=True):
    """A scope with `is_np_default_dtype() == active`.

    >>> with amp.np_default_dtype():
    ...     print(amp.is_np_default_dtype())
    True
    """
    return _Semantics(default_dtype=active)


def use_np_shape(func):
    """Decorates a function, or the methods of a class: they run with `is_np_shape()`.

    >>> amp.use_np_shape(lambda: amp.is_np_shape())()
    True
    """
    return _Semantics(shape=True)(func)


def use_np_array(func):
    """Decorates a function, or the methods of a class: they run with `is_np_array()`.

    >>> amp.use_np_array(lambda: amp.is_np_array())()
    True
    """
    return _Semantics(array=True)(func)


def use_np_default_dtype(func):
    """Decorates a function, or the methods of a class: they run with `is_np_default_dtype()`.

    >>> amp.use_np_default_dtype(lambda: amp.is_np_default_dtype())()
    True
    """
    return _Semantics(default_dtype=True)(func)


def use_np(func):
    """`use_np_shape` and `use_np_array` in one.

    >>> amp.use_np(lambda: (amp.is_np_shape(), amp.is_np_array()))()
    (True, True)
    """
    return _Semantics(shape=True, array=True)(func)


def set_np_shape(active):
    """Sets the switch of this thread; returns what it was.

    >>> amp.util.set_np_shape(True), amp.util.set_np_shape(False)
    (False, True)
    """
    return _set("shape", active)


def set_np_default_dtype(is_np_default_dtype=True):
    """Sets the switch of this thread; returns what it was.

    >>> amp.util.set_np_default_dtype(True), amp.util.set_np_default_dtype(False)
    (False, True)
    """
    return _set("default_dtype", is_np_default_dtype)


def set_np(shape=True, array=True, dtype=False):
    """Sets all switches of this thread.

    >>> amp.util.set_np()
    >>> amp.is_np_shape(), amp.is_np_array()
    (True, True)
    >>> amp.util.reset_np()
    """
    for switch, active in zip(_SWITCHES, (shape, array, dtype)):
        _set(switch, active)


def reset_np():
    """Classic semantics again.

    >>> amp.util.set_np()
    >>> amp.util.reset_np()
    >>> amp.is_np_shape()
    False
    """
    set_np(shape=False, array=False, dtype=False)


def set_module(module):
    """A decorator that sets `__module__`.

    >>> amp.util.set_module("mine")(lambda: 0).__module__
    'mine'
    """

    def decorate(decorated):
        if module is not None:
            decorated.__module__ = module
        return decorated

    return decorate


def getenv(name):
    """The value of an environment variable, or None.

    >>> amp.util.getenv("NO_SUCH_VARIABLE")
    """
    return os.environ.get(name)


def setenv(name, value):
    """Sets an environment variable; None removes it.

    >>> amp.util.setenv("AMP_EXAMPLE", "1")
    >>> amp.util.getenv("AMP_EXAMPLE")
    '1'
    >>> amp.util.setenv("AMP_EXAMPLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = str(value)


def get_gpu_count():
    """0

    >>> amp.util.get_gpu_count()
    0
    """
    return 0


def get_cuda_compute_capability(ctx):
    """None: there are no GPUs.

    >>> amp.util.get_cuda_compute_capability(amp.cpu())
    """
    return None


__getattr__ = getter(__name__)
