"""Arithmetic and comparison of symbols."""

import numpy as np

from .. import _core
from ..attribute import AttrScope
from ..name import NameManager
from .attributes import attribute_text

# Kind of expression -> (operators for two symbols, the first registered one counts; operator for a number).
# Nodes are named after the kind: _plus0, _plusscalar0.
_CLASSIC = {
    "plus": (("elemwise_add",), "_plus_scalar"),
    "minus": (("elemwise_sub",), "_minus_scalar"),
    "rminus": ((), "_rminus_scalar"),
    "mul": (("elemwise_mul",), "_mul_scalar"),
    "div": (("elemwise_div",), "_div_scalar"),
    "rdiv": ((), "_rdiv_scalar"),
    "mod": (("_mod", "broadcast_mod"), "_mod_scalar"),
    "rmod": ((), "_rmod_scalar"),
    "power": (("_power", "broadcast_power"), "_power_scalar"),
    "rpower": ((), "_rpower_scalar"),
    "equal": (("_equal", "broadcast_equal"), "_equal_scalar"),
    "not_equal": (("_not_equal", "broadcast_not_equal"), "_not_equal_scalar"),
    "greater": (("_greater", "broadcast_greater"), "_greater_scalar"),
    "greater_equal": (("_greater_equal", "broadcast_greater_equal"), "_greater_equal_scalar"),
    "lesser": (("_lesser", "broadcast_lesser"), "_lesser_scalar"),
    "lesser_equal": (("_lesser_equal", "broadcast_lesser_equal"), "_lesser_equal_scalar"),
    "maximum": (("_maximum", "broadcast_maximum"), "_maximum_scalar"),
    "minimum": (("_minimum", "broadcast_minimum"), "_minimum_scalar"),
    "hypot": (("_hypot", "broadcast_hypot"), "_hypot_scalar"),
}

# Kind -> name of the operator after `_npi_`, which broadcasts; `_npi_<name>_scalar` takes a number.
_NUMPY = {
    "plus": "add",
    "minus": "subtract",
    "rminus": "rsubtract",
    "mul": "multiply",
    "div": "true_divide",
    "rdiv": "rtrue_divide",
    "lesser": "less",
    "lesser_equal": "less_equal",
}


class Arithmetic:
    """The operators of Python, for Symbols and numbers on both sides.

    Those that are not registered raise UnsupportedError.
    """

    __slots__ = ()
    _is_numpy = False

    def __add__(self, other):
        return binary("plus", self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return binary("minus", self, other)

    def __rsub__(self, other):
        return binary("rminus", self, other)

    def __mul__(self, other):
        return binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return binary("div", self, other)

    def __rtruediv__(self, other):
        return binary("rdiv", self, other)

    def __mod__(self, other):
        return binary("mod", self, other)

    def __rmod__(self, other):
        return binary("rmod", self, other)

    def __pow__(self, other):
        return binary("power", self, other)

    def __rpow__(self, other):
        return binary("rpower", self, other)

    # Comparisons are symbols, too: 0 or 1 for each element. `symbol == None` is False.

    def __eq__(self, other):
        return binary("equal", self, other)

    def __ne__(self, other):
        return binary("not_equal", self, other)

    def __gt__(self, other):
        return binary("greater", self, other)

    def __ge__(self, other):
        return binary("greater_equal", self, other)

    def __lt__(self, other):
        return binary("lesser", self, other)

    def __le__(self, other):
        return binary("lesser_equal", self, other)

    __hash__ = object.__hash__

    def __neg__(self):
        return self * -1.0

    def __abs__(self):
        return compose("_npi_absolute" if self._is_numpy else "abs", "abs", {}, self)


def is_number(value):
    """Whether a value is a scalar of Python or NumPy that an expression takes."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def compose(op_name, hint, attributes, *inputs):
    """A symbol of NumPy's kind where an input is, else of the class of the inputs."""
    name = NameManager.current().get(None, hint)
    scope = AttrScope.current()
    attributes = scope.constrain({**scope.get(), **attributes})
    kind = type(max(inputs, key=lambda symbol: symbol._is_numpy))
    return kind(_core.apply(op_name, name, attributes, [symbol._handle for symbol in inputs], {}))


def binary(kind, left, right):
    """The symbol of an expression; NotImplemented for a `right` that is neither a Symbol nor a number."""
    if isinstance(right, Arithmetic):
        return compose(*_tensor_op(kind, left, right), {}, left, right)
    if is_number(right):
        number = int(right) if isinstance(right, (bool, np.bool_)) else right
        op_name, hint = _scalar_op(kind, left)
        return compose(op_name, hint, {"scalar": attribute_text(number)}, left)
    return NotImplemented


def _tensor_op(kind, left, right):
    if left._is_numpy or right._is_numpy:
        name = _NUMPY.get(kind, kind)
        return f"_npi_{name}", name
    candidates = _CLASSIC[kind][0]
    registered = [name for name in candidates if name in _core.operator_names()]
    return (registered or candidates)[0], f"_{kind}"


def _scalar_op(kind, left):
    if left._is_numpy:
        name = _NUMPY.get(kind, kind)
        return f"_npi_{name}_scalar", f"{name}_scalar"
    joint = "_" if kind == "rpower" or kind.split("_")[-1] in ("equal", "greater", "lesser") else ""
    return _CLASSIC[kind][1], f"_{kind}{joint}scalar"
