"""Operators as methods: `x.exp()` is `amp.sym.exp(x)`."""

from .._operator_names import FLUENT
from ..base import NotImplementedForSymbol, UnsupportedError

# MXNet's list. What the registry lacks raises UnsupportedError when it is called.
NAMES = [*FLUENT, "depth_to_space", "reshape", "space_to_depth", "split_v2"]

# Methods of arrays, which need values.
_OF_ARRAYS = "as_in_context asnumpy asscalar backward copy detach wait_to_read".split()

# Attributes that take one tuple, whose elements may also be arguments, as for arrays.
_TUPLES = {"reshape": "shape", "transpose": "axes"}


class FluentMethods:
    """What a Symbol inherits."""

    __slots__ = ()
    _find = None  # (name, whether it is NumPy's) -> function or None; set once all functions exist

    def astype(self, dtype, copy=True):
        """A symbol of another element type, by the operator Cast; `copy` has no effect.

        >>> amp.sym.Variable("x").astype("float16").infer_type(x="float32")[1]
        [<class 'numpy.float16'>]
        """
        return _call("Cast", self, (), {"dtype": dtype})


def _call(name, symbol, args, kwargs):
    function = FluentMethods._find(name, symbol._is_numpy)
    if function is None:
        raise UnsupportedError(f"Symbol.{name}: the operator {name} is not registered")
    return type(symbol)(function(symbol, *args, **kwargs)._handle)


def _method(name):
    def method(self, *args, **kwargs):
        kwargs.pop("inplace", None)  # of MXNet's expand_dims, flatten and squeeze
        if name in _TUPLES and len(args) > 1 or len(args) == 1 and name == "reshape" and isinstance(args[0], int):
            args, kwargs = (), {**kwargs, _TUPLES[name]: args}
        return _call(name, self, args, kwargs)

    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    method.__doc__ = f"`x.{name}(...)` is `amp.sym.{name}(x, ...)`."
    return method


def _refusal(name):
    def method(self, *args, **kwargs):
        raise NotImplementedForSymbol(f"Symbol.{name}: a Symbol has no values; bind it, or use amp.Executor")

    method.__name__, method.__qualname__ = name, f"Symbol.{name}"
    method.__doc__ = "Raises NotImplementedForSymbol: a Symbol has no values."
    return method


for _name in NAMES:
    setattr(FluentMethods, _name, _method(_name))
for _name in _OF_ARRAYS:
    setattr(FluentMethods, _name, _refusal(_name))
