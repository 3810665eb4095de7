"""NumPy's functions of symbols, `amp.sym.np.X`, where operators take other arguments than NumPy's functions.

Names, arguments and defaults are those of `mxnet.symbol.numpy`. A pair of a symbol and a number is an operator with the
number as its attribute. `out`, which symbols do not have, may only be None.
"""

from numbers import Integral

import numpy as np

from .. import _core
from .._operator_names import OPERATIONS, node_hint, scalar_operator
from ..attribute import AttrScope
from ..base import ArgumentError
from ..name import NameManager
from .arithmetic import is_number
from .attributes import attribute_text
from .symbol import Symbol

_NAMES = {operation.numpy: name for name, operation in OPERATIONS.items() if name != "matmul"}
# Pairs that are no operators of Python; those where the order matters have an operator for a number in front.
_ORDERED = ("arctan2", "copysign", "ldexp", "fmod", "bitwise_left_shift", "bitwise_right_shift")
_SYMMETRIC = (
    *("fmax", "fmin", "logaddexp", "logical_and", "logical_or", "logical_xor"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
)
_OF_FLOATS = ("arctan2", "copysign", "hypot", "ldexp", "logaddexp")  # also of integers
_MIRRORED = {
    "greater": "less",
    "greater_equal": "less_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}
_OTHER_NAMES = {"divide": "true_divide", "remainder": "mod", "pow": "power", "atan2": "arctan2"}


def _call(op, inputs, name=None, **attributes):
    """An operator on symbols; attributes that are None are left out."""
    for i, value in enumerate(inputs):
        if not isinstance(value, Symbol):
            raise ArgumentError(f"{op}: input {i} must be a Symbol, got {type(value).__name__}")
    texts = {key: attribute_text(value) for key, value in attributes.items() if value is not None}
    scope = AttrScope.current()
    texts = scope.constrain({**scope.get(), **texts})
    name = NameManager.current().get(name, node_hint(op))
    handle = _core.apply(op, name, texts, [value._handle for value in inputs], {})
    return Symbol(handle).as_np_ndarray()


def _without(out):
    if out is not None:
        raise ArgumentError("out: symbols hold no memory to write to")


# ---- pairs ----


def _pair(name):
    own = _OTHER_NAMES.get(name, name)

    def function(x1, x2, out=None):
        _without(out)
        if isinstance(x1, Symbol) and isinstance(x2, Symbol):
            return _call(f"_npi_{own}", [x1, x2])
        if is_number(x1) and is_number(x2):
            return getattr(np, own)(x1, x2)
        symbol, number = (x1, x2) if isinstance(x1, Symbol) else (x2, x1)
        if not isinstance(symbol, Symbol) or not is_number(number):
            raise ArgumentError(f"{name}: expected symbols and numbers, got {type(x1).__name__}, {type(x2).__name__}")
        number = int(number) if isinstance(number, (bool, np.bool_)) else number
        is_int = isinstance(number, Integral) and own not in _OF_FLOATS
        return _call(_scalar_op(own, symbol is not x1), [symbol], scalar=number, is_int=is_int)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of two symbols, or of a symbol and a number."
    return function


def _scalar_op(name, is_reflected):
    if name in _MIRRORED:
        return f"_npi_{_MIRRORED[name] if is_reflected else name}_scalar"
    if name in _NAMES:
        return scalar_operator(_NAMES[name], True, is_reflected)
    return f"_npi_{'r' if is_reflected and name in _ORDERED else ''}{name}_scalar"


_PAIRS = (*_NAMES, *_ORDERED, *_SYMMETRIC, *_OTHER_NAMES)
globals().update({name: _pair(name) for name in _PAIRS})


def where(condition, x, y):
    """Elements of `x` where the condition holds, of `y` elsewhere; each a symbol or a number."""
    if isinstance(x, Symbol):
        return _call("_npi_where", [condition, x, y]) if isinstance(y, Symbol) else _where_number("r", condition, x, y)
    if isinstance(y, Symbol):
        return _where_number("l", condition, y, x)
    return _call("_npi_where_scalar2", [condition], x=float(x), y=float(y))


def _where_number(side, condition, symbol, number):
    return _call(f"_npi_where_{side}scalar", [condition, symbol], scalar=float(number))


# ---- products ----


def einsum(subscripts, *operands, out=None, optimize=False):
    """NumPy's `einsum` of text and symbols."""
    _without(out)
    return _call("_npi_einsum", operands, num_args=len(operands), subscripts=str(subscripts), optimize=int(optimize))


def tensordot(a, b, axes=2):
    """The sum over a number of last and first axes, or over two lists of axes.

    Raises ArgumentError for lists of different lengths.
    """
    if hasattr(axes, "__index__"):
        return _call("_npi_tensordot_int_axes", [a, b], axes=int(axes))
    left, right = ((axis,) if hasattr(axis, "__index__") else tuple(axis) for axis in axes)
    if len(left) != len(right):
        raise ArgumentError(f"tensordot: {len(left)} axes of a and {len(right)} of b")
    return _call("_npi_tensordot", [a, b], a_axes_summed=left, b_axes_summed=right)


def inner(a, b):
    """The sum of products over the last axes."""
    return tensordot(a, b, (-1, -1))


def outer(a, b):
    """Each element of the flattened `a` times each of the flattened `b`."""
    return tensordot(ravel(a), ravel(b), 0)


def vdot(a, b):
    """The sum of products of both, flattened."""
    return tensordot(ravel(a), ravel(b), 1)


# ---- shapes ----


def ravel(x, order="C"):
    """The elements as one axis. Raises ArgumentError for any `order` but 'C'."""
    if order != "C":
        raise ArgumentError(f"ravel: arrays are row-major, order {order!r} is not supported")
    return _call("_np_reshape", [x], newshape=(-1,))


def concatenate(seq, axis=0, out=None):
    """Symbols one behind the other along an axis; with axis=None flattened before."""
    _without(out)
    parts, axis = ([ravel(part) for part in seq], 0) if axis is None else (list(seq), axis)
    return _call("_npi_concatenate", parts, num_args=len(parts), axis=int(axis))


def append(arr, values, axis=None):
    """`concatenate` of two."""
    return concatenate([arr, values], axis)


def stack(arrays, axis=0, out=None):
    """Symbols of one shape, beside each other along a new axis."""
    _without(out)
    arrays = list(arrays)
    return _call("_npi_stack", arrays, num_args=len(arrays), axis=int(axis))


def _stacked(name, op):
    def function(arrays, out=None):
        _without(out)
        arrays = list(arrays)
        return _call(op, arrays, num_args=len(arrays))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of a list of symbols."
    return function


vstack = _stacked("vstack", "_npi_vstack")
row_stack = _stacked("row_stack", "_npi_vstack")
hstack = _stacked("hstack", "_npi_hstack")
dstack = _stacked("dstack", "_npi_dstack")
column_stack = _stacked("column_stack", "_npi_column_stack")


def _parts(op, ary, parts, axis):
    if hasattr(parts, "__index__"):
        return _call(op, [ary], indices=(), axis=axis, sections=int(parts))
    return _call(op, [ary], indices=(0, *(int(place) for place in parts)), axis=axis, sections=0)


def split(ary, indices_or_sections, axis=0):
    """So many equal parts along an axis, or those that begin at some places."""
    return _parts("_npi_split", ary, indices_or_sections, int(axis))


def array_split(ary, indices_or_sections, axis=0):
    """The same; the first parts may be larger by one."""
    return _parts("_npi_array_split", ary, indices_or_sections, int(axis))


def hsplit(ary, indices_or_sections):
    """`split` along the second axis, or the only one."""
    return _parts("_npi_hsplit", ary, indices_or_sections, 1)


def vsplit(ary, indices_or_sections):
    """`split` along the first axis."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    """`split` along the third axis."""
    return _parts("_npi_dsplit", ary, indices_or_sections, 2)


def flip(m, axis=None, out=None):
    """Backwards along an axis, several or all."""
    _without(out)
    if axis is None:
        return _call("reshape_like", [flip(ravel(m), 0), m])
    return _call("_npi_flip", [m], axis=axis)


def rot90(m, k=1, axes=(0, 1)):
    """Turned `k` times by a right angle, from the first of two axes to the second."""
    return _call("_npi_rot90", [m], k=int(k), axes=tuple(axes))


def take(a, indices, axis=None, mode="raise", out=None):
    """Elements at `indices` along an axis, or of the flattened symbol; `mode` is 'raise', 'clip' or 'wrap'."""
    _without(out)
    return _call("take", [ravel(a) if axis is None else a, indices], axis=int(axis or 0), mode=mode)


def argsort(a, axis=-1, kind=None, order=None):
    """The indices, int64, that sort along an axis; `kind` has no effect, `order` is for NumPy's records alone."""
    return _call("argsort", [a], axis="None" if axis is None else int(axis), dtype="int64")


def flipud(m):
    """The first axis backwards."""
    return _call("_npi_flip", [m], axis=0)


def fliplr(m):
    """The second axis backwards."""
    return _call("_npi_flip", [m], axis=1)


def pad(x, pad_width, mode="constant", constant_values=0):
    """NumPy's `pad`, with a pair of widths for each axis."""
    pairs = tuple(tuple(int(width) for width in pair) for pair in pad_width)
    return _call("_npi_pad", [x], pad_width=str(pairs), mode=str(mode), constant_values=float(constant_values))


# ---- numbers ----


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None):
    """Evenly spaced numbers. Raises ArgumentError for `retstep` and for other axes than 0."""
    if retstep or axis != 0:
        raise ArgumentError("linspace: retstep and axis are not supported for symbols")
    return _call("_npi_linspace", [], start=start, stop=stop, num=int(num), endpoint=bool(endpoint), dtype=dtype)


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None):
    """Powers of `base` with evenly spaced exponents. Raises ArgumentError for other axes than 0."""
    if axis != 0:
        raise ArgumentError("logspace: axis is not supported for symbols")
    what = {"start": start, "stop": stop, "num": int(num), "endpoint": bool(endpoint), "base": base, "dtype": dtype}
    return _call("_npi_logspace", [], **what)


def _filled(name, value):
    def function(a, dtype=None, order="C", ctx=None, out=None):
        _without(out)
        return _call("_npi_full_like", [a], fill_value=value, dtype=dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of a symbol."
    return function


zeros_like, empty_like, ones_like = _filled("zeros_like", 0), _filled("empty_like", 0), _filled("ones_like", 1)


def full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None):
    """A number in the shape of `a`."""
    _without(out)
    return _call("_npi_full_like", [a], fill_value=fill_value, dtype=dtype)


def percentile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The `q` of 100 parts; `q` is a number or a symbol."""
    _without(out)
    how = {"axis": axis, "interpolation": str(interpolation), "keepdims": bool(keepdims)}
    if isinstance(q, Symbol):
        return _call("_npi_percentile", [a, q], **how)
    return _call("_npi_percentile", [a], q_scalar=float(q), **how)


def quantile(a, q, axis=None, out=None, overwrite_input=None, interpolation="linear", keepdims=False):
    """The `q` of one part; `q` is a number or a symbol."""
    return percentile(a, multiply(q, 100), axis, out, overwrite_input, interpolation, keepdims)  # noqa: F821


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The middle one."""
    return percentile(a, 50, axis, out, keepdims=keepdims)


def average(a, axis=None, weights=None, returned=False, out=None):
    """The mean, weighted where there are weights; with `returned` the sum of the weights, too."""
    _without(out)
    inputs = [a] if weights is None else [a, weights]
    how = {"axis": axis, "returned": bool(returned), "weighted": weights is not None}
    return _call("_npi_average", inputs, **how)


def _renamed(name, op):
    def function(x, out=None, **kwargs):
        _without(out)
        return _call(op, [x], **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"NumPy's `{name}` of a symbol."
    return function


rad2deg, deg2rad = _renamed("rad2deg", "_npi_degrees"), _renamed("deg2rad", "_npi_radians")
invert, fabs = _renamed("invert", "_npi_bitwise_not"), _renamed("fabs", "_npi_absolute")


def around(x, decimals=0, out=None, **kwargs):
    """Rounded to a number of decimals."""
    _without(out)
    return _call("_npi_around", [x], decimals=int(decimals), **kwargs)


round = round_ = around  # noqa: A001 - NumPy's name

_OTHERS = """
append argsort around array_split average column_stack concatenate deg2rad dsplit dstack einsum empty_like fabs flip
fliplr flipud full_like hsplit hstack inner invert linspace logspace median ones_like outer pad percentile quantile
rad2deg ravel rot90 round round_ row_stack split stack take tensordot vdot vsplit vstack where zeros_like
""".split()
__all__ = sorted({*_PAIRS, *_OTHERS})

# ---- random numbers ----


def _drawn(name, parameters, has_dtype=True):
    """A function of `{parameter: default}`, of which each is a number or a symbol."""

    def function(*args, **kwargs):
        given = dict(zip([*parameters, "size", "dtype", "ctx", "out"], args))
        values = {**parameters, **given, **kwargs}
        _without(values.pop("out", None))
        values.pop("ctx", None)
        size, dtype = values.pop("size", None), values.pop("dtype", None)
        node_name = values.pop("name", None)
        unknown = set(values) - set(parameters)
        if unknown:
            raise ArgumentError(f"random.{name}: unknown argument '{min(unknown)}'")
        inputs = [value for value in values.values() if isinstance(value, Symbol)]
        numbers = {key: "None" if isinstance(value, Symbol) else value for key, value in values.items()}
        how = {"dtype": dtype or "float32"} if has_dtype else {}
        return _call(f"_npi_{name}", inputs, node_name, size=size, **numbers, **how)

    function.__name__ = function.__qualname__ = name
    text = ", ".join(f"{key}={value}" for key, value in parameters.items())
    function.__doc__ = f"NumPy's `random.{name}` ({text}, size=None): parameters are numbers or symbols."
    return function


RANDOM = {
    "uniform": _drawn("uniform", {"low": 0.0, "high": 1.0}),
    "normal": _drawn("normal", {"loc": 0.0, "scale": 1.0}),
    "gamma": _drawn("gamma", {"shape": 1.0, "scale": 1.0}),
    "exponential": _drawn("exponential", {"scale": 1.0}, False),
    "rayleigh": _drawn("rayleigh", {"scale": 1.0}, False),
    "gumbel": _drawn("gumbel", {"loc": 0.0, "scale": 1.0}, False),
    "logistic": _drawn("logistic", {"loc": 0.0, "scale": 1.0}, False),
}
