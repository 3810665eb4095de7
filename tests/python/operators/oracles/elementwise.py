"""Operators that compute each element of the output from one element of each input."""

import math

import numpy as np

from .core import (
    ALL_TYPES,
    BFLOAT16,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Case,
    Expected,
    computed,
    is_float,
    moved,
    operator,
    wide,
    wrapped,
)

erf = np.vectorize(math.erf, otypes=[np.float64])
expm1, log1p = np.expm1, np.log1p


def inverse_erf(y):
    """By bisection."""
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return (low + high) / 2


def digamma(x):
    """By recurrence up to 40, where five terms of the asymptotic series are exact in float64."""
    total = 0.0
    while x < 40:
        total -= 1 / x
        x += 1
    return total + math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) + 1 / (240 * x**8)


def softplus(x):
    return np.maximum(x, 0) + log1p(np.exp(-np.abs(x)))


# ---- functions of one float ----------------------------------------------------------------------

# name: (function, relative error, absolute error) in units of the unit roundoff. The library computes softplus as
# n log(2) + log(2^-n + exp(r)) with |n log(2)| < 89, which cancels for negative x; its logarithm has an absolute error
# near 1; erf and exp have small relative ones.
SMOOTH = {
    "relu": (lambda x: np.maximum(x, 0), 0, 0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 8, 0),
    "tanh": (np.tanh, 8, 0),
    "log_sigmoid": (lambda x: -softplus(-x), 8, 256),
    "mish": (lambda x: x * np.tanh(softplus(x)), 16, 256),
    "softrelu": (softplus, 8, 256),
    "softsign": (lambda x: x / (1 + np.abs(x)), 4, 0),
    "exp": (np.exp, 16, 0),
    "square": (np.square, 2, 0),
    "abs": (np.abs, 0, 0),
    "log": (np.log, 16, 64),
    "sqrt": (np.sqrt, 4, 0),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "trunc": (np.trunc, 0, 0),
    "fix": (np.trunc, 0, 0),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0, 0),  # away from 0 in the middle
    "_contrib_round_ste": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0, 0),
    "_contrib_sign_ste": (np.sign, 0, 0),
    "rint": (lambda x: np.ceil(x - 0.5), 0, 0),  # downwards in the middle
    "sign": (np.sign, 0, 0),
    "negative": (np.negative, 0, 0),
    "reciprocal": (lambda x: 1 / x, 2, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 4, 0),
    "cbrt": (np.cbrt, 4, 0),
    "log2": (np.log2, 16, 4),
    "log10": (np.log10, 16, 4),
    "log1p": (np.log1p, 4, 0),
    "expm1": (np.expm1, 4, 0),
    "erf": (erf, 4, 0),
    "sin": (np.sin, 4, 0),
    "cos": (np.cos, 4, 0),
    "arctan": (np.arctan, 4, 0),
    "tan": (np.tan, 4, 0),
    "sinh": (np.sinh, 4, 0),
    "cosh": (np.cosh, 4, 0),
    "arcsinh": (np.arcsinh, 4, 0),
    "arcsin": (np.arcsin, 4, 0),
    "arccos": (np.arccos, 4, 0),
    "arctanh": (np.arctanh, 4, 0),
    "arccosh": (np.arccosh, 4, 0),
    "degrees": (np.degrees, 4, 0),
    "radians": (np.radians, 4, 0),
    "rcbrt": (lambda x: 1 / np.cbrt(x), 4, 0),
    "erfinv": (np.vectorize(inverse_erf, otypes=[np.float64]), 16, 1),
    "gamma": (np.vectorize(math.gamma, otypes=[np.float64]), 16, 0),
    "gammaln": (np.vectorize(math.lgamma, otypes=[np.float64]), 16, 32),
    "digamma": (np.vectorize(digamma, otypes=[np.float64]), 16, 64),
}


def smooth(name, x):
    function, relative, absolute = SMOOTH[name]
    y = function(wide(x))
    return Expected(y, x.dtype, relative * np.abs(y) + absolute)


def of_number(name, x):
    return smooth(name, x) if is_float(x.dtype) else wrapped(SMOOTH[name][0](wide(x)), x.dtype)


def draw_unary(low=-6.0, high=6.0, types=FLOATS):
    return lambda d: Case({}, [d.array(d.shape(d.int(1, 5)), d.dtype(types), low, high)])


ACTIVATIONS = ["relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu", "softsign"]
OF_POSITIVES = {"log", "sqrt", "reciprocal", "rsqrt", "log2", "log10", "log1p", "rcbrt", "gamma", "gammaln", "digamma"}
OF_FRACTIONS = {"arcsin", "arccos", "arctanh", "erfinv"}  # and inside of their ends
OF_NUMBERS = {"relu", "abs", "square", "sign", "_contrib_sign_ste", "negative"}
for unary in SMOOTH.keys() - {"softrelu", *OF_NUMBERS}:
    low, high = (0.0625, 6.0) if unary in OF_POSITIVES else (-0.875, 0.875) if unary in OF_FRACTIONS else (-6.0, 6.0)
    operator(unary, lambda attrs, x, name=unary: smooth(name, x), draw_unary(1.0 if unary == "arccosh" else low, high))
for unary in OF_NUMBERS:
    operator(
        unary,
        lambda attrs, x, name=unary: (
            smooth(name, x) if is_float(x.dtype) else wrapped(SMOOTH[name][0](wide(x)), x.dtype)
        ),
        draw_unary(types=NUMBERS),
    )


def draw_activation(d):
    return Case({"act_type": d.of(ACTIVATIONS)}, draw_unary()(d).inputs)


operator("Activation", lambda attrs, x: smooth(attrs["act_type"], x), draw_activation)


def leaky_relu(attrs, x, gamma=None):
    act_type, slope = attrs.get("act_type", "leaky"), attrs.get("slope", 0.25)
    v, dtype = wide(x), x.dtype
    if act_type == "rrelu":
        slope = (attrs.get("lower_bound", 0.125) + attrs.get("upper_bound", 0.334)) / 2
    if act_type == "prelu":
        slope = wide(gamma)
        if slope.ndim < v.ndim:
            slope = slope.reshape((-1,) + (1,) * max(0, v.ndim - 2))
    if act_type in ("leaky", "rrelu", "prelu"):
        y = np.where(v > 0, v, slope * v)
        outputs = [Expected(y, dtype, 4 * np.abs(y))]
        # the second output holds the slopes
        return outputs + [Expected(np.full(v.shape, slope), dtype, 2)] if act_type == "rrelu" else outputs
    if act_type in ("elu", "selu"):
        scale, alpha = (1, slope) if act_type == "elu" else (1.0507009873554805, 1.6732632423543772)
        y = scale * np.where(v > 0, v, alpha * expm1(v))
        return Expected(y, dtype, 4 * (np.abs(y) + np.abs(scale * alpha)))  # exp(x) - 1 cancels near 0
    if act_type == "gelu_tanh":
        y = 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))
    else:
        y = 0.5 * v * (1 + erf(v / np.sqrt(2)))
    return Expected(y, dtype, 16 * np.abs(y) + 32)  # |x| times the error of erf


def draw_leaky_relu(d):
    act_type = d.of(["leaky", "prelu", "elu", "selu", "gelu", "gelu_erf", "gelu_tanh", "rrelu"])
    attrs = d.some(slope=d.of([0.1, 0.0, 1.5, -0.5]), lower_bound=0.0625, upper_bound=0.5)
    if act_type != "leaky" or d.flag():
        attrs["act_type"] = act_type
    shape = d.shape(d.int(1, 5))
    x = d.array(shape, d.dtype())
    if act_type != "prelu":
        return Case(attrs, [x])
    if d.chance(0.3):
        return Case(attrs, [x, d.array(tuple(1 if d.chance(0.4) else n for n in shape), x.dtype)], infers=False)
    channels = shape[1 if len(shape) > 1 else 0]
    slopes = 1 if d.chance(0.3) else channels
    return Case(attrs, [x, d.array((slopes,), x.dtype)], infers=slopes == channels)


operator("LeakyReLU", leaky_relu, draw_leaky_relu)


# ---- arithmetic of two ---------------------------------------------------------------------------


def truncated_quotient(a, b):
    return (np.abs(a) // np.abs(b)) * np.sign(a) * np.sign(b)


def quotient(a, b):
    return a / b if a.dtype == np.float64 else truncated_quotient(a, b)


def power(a, b):
    return np.power(a, b) if a.dtype == np.float64 else np.trunc(np.power(a.astype(np.float64), b)).astype(np.int64)


def remainder(a, b):
    """With the sign of b; 0 where b is 0."""
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


COMPARISONS = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
}
ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": quotient,
    "max": np.maximum,
    "min": np.minimum,
    "power": power,
    "mod": remainder,
    **{name: lambda a, b, compare=compare: compare(a, b).astype(a.dtype) for name, compare in COMPARISONS.items()},
}


INEXACT = {"div": 3, "power": 16}  # units of relative error


def arithmetic(kind, a, b, dtype):
    """Exact operands give one rounding; a quotient may be a product with a reciprocal, a power two functions."""
    a, b = wide(a), wide(b)
    if a.dtype != b.dtype or is_float(dtype):
        a, b = a.astype(np.float64), b.astype(np.float64)
    y = ARITHMETIC[kind](a, b)
    if dtype == np.dtype("bool"):
        return Expected(y != 0, dtype)
    return computed(y, dtype, INEXACT.get(kind, 0) * np.abs(y))


def divisors(array):
    """Without zeros and without numbers so small that quotients overflow float16."""
    return np.where(np.abs(wide(array)) < 0.125, np.ones_like(array), array)


def draw_equal_shapes(d):
    shape, dtype = d.shape(d.int(1, 5)), d.dtype(d.of([FLOATS, NUMBERS]))
    return Case({}, [d.array(shape, dtype), divisors(d.array(shape, dtype))], infers=True)


def broadcastable(d, count=2):
    """Shapes that broadcast to one: axes of size 1, and leading axes left out of all but one of them."""
    out, whole = d.shape(d.int(1, 5), high=5), d.int(0, count - 1)
    shapes = []
    for i in range(count):
        shape = [1 if d.chance(0.3) else size for size in out]
        shapes.append(tuple(shape if i == whole else shape[d.int(0, len(shape) - 1) * d.flag() :]))
    return shapes


def draw_broadcast(d):
    dtype = d.dtype(d.of([FLOATS, NUMBERS]))
    left, right = broadcastable(d)
    return Case({}, [d.array(left, dtype), divisors(d.array(right, dtype))])


for op, kind in {"elemwise_add": "add", "elemwise_sub": "sub", "elemwise_mul": "mul", "elemwise_div": "div"}.items():
    operator(op, lambda attrs, a, b, kind=kind: arithmetic(kind, a, b, a.dtype), draw_equal_shapes)
BROADCASTING = {
    "broadcast_add": "add",
    "broadcast_sub": "sub",
    "broadcast_mul": "mul",
    "broadcast_div": "div",
    "broadcast_maximum": "max",
    "broadcast_minimum": "min",
    "broadcast_mod": "mod",
    **{f"broadcast_{name}": name for name in COMPARISONS},
}
for ops, kind in BROADCASTING.items():
    operator(ops, lambda attrs, a, b, kind=kind: arithmetic(kind, a, b, a.dtype), draw_broadcast)


def khatri_rao(attrs, *arrays):
    product = np.ones((1, arrays[0].shape[1]), wide(arrays[0]).dtype)
    for array in arrays:
        product = (product[:, None] * wide(array)[None]).reshape(-1, array.shape[1])
    dtype = arrays[0].dtype
    return Expected(product, dtype, 4 * np.abs(product)) if is_float(dtype) else wrapped(product, dtype)


def draw_khatri_rao(d):
    dtype, count, columns = d.dtype(NUMBERS), d.int(1, 4), d.int(1, 5)
    arrays = [d.array((d.int(1, 4), columns), dtype, -3, 3) for _ in range(count)]
    return Case({"num_args": count}, arrays)


operator("khatri_rao", khatri_rao, draw_khatri_rao)


def draw_powers(d):
    """Of positive numbers, so that all exponents are legal; small ones, so that float16 holds them."""
    dtype = d.dtype(d.of([FLOATS, NUMBERS]))
    left, right = broadcastable(d)
    low = 0.5 if is_float(dtype) else 1
    return Case({}, [d.array(left, dtype, low, 3), d.array(right, dtype, low, 3)])


operator("broadcast_power", lambda attrs, a, b: arithmetic("power", a, b, a.dtype), draw_powers)
NPI_NAMES = {"lesser": "less", "lesser_equal": "less_equal"}


def common_dtype(a, b):
    """Of operands of 2.0's functions: NumPy's, but floats outrank integers, and int64 holds uint64."""
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if np.dtype("bool") in (a, b):
        return b if a == np.dtype("bool") else a
    if {a, b} == {np.dtype("float16"), BFLOAT16}:
        return np.dtype("float32")
    if is_float(a):
        return a if a.itemsize >= b.itemsize else b
    both = np.promote_types(a, b)
    return both if both.kind in "iu" else np.dtype("int64")


def mixed(kind, a, b, always_float=False):
    dtype = common_dtype(a.dtype, b.dtype)
    return arithmetic(kind, a, b, np.dtype("float32") if always_float and not is_float(dtype) else dtype)


def draw_mixed(d):
    """One dtype, or different ones of which at least one is a float."""
    left, right = broadcastable(d)
    types = [d.dtype(NUMBERS)] * 2 if d.flag() else d.of([[d.dtype(NUMBERS), d.dtype()], [d.dtype(), d.dtype(NUMBERS)]])
    return Case({}, [d.array(left, types[0]), divisors(d.array(right, types[1]))])


for op, kind in {"_npi_add": "add", "_npi_subtract": "sub", "_npi_multiply": "mul"}.items():
    operator(op, lambda attrs, a, b, kind=kind: mixed(kind, a, b), draw_mixed)
operator("_npi_true_divide", lambda attrs, a, b: mixed("div", a, b, always_float=True), draw_mixed)


# ---- an array and a scalar -----------------------------------------------------------------------

# The scalar is converted to the dtype of the data (integers truncate), then the operands are computed with.
SCALAR = {
    "_plus_scalar": ("add", False),
    "_minus_scalar": ("sub", False),
    "_rminus_scalar": ("sub", True),
    "_mul_scalar": ("mul", False),
    "_div_scalar": ("div", False),
    "_rdiv_scalar": ("div", True),
    "_maximum_scalar": ("max", False),
    "_minimum_scalar": ("min", False),
    "_power_scalar": ("power", False),
    "_rpower_scalar _npi_rpower_scalar": ("power", True),
    "_mod_scalar": ("mod", False),
    "_rmod_scalar": ("mod", True),
    **{f"_{name}_scalar": (name, False) for name in COMPARISONS},
}


def with_scalar(kind, reverse, attrs, x):
    scalar, dtype = attrs.get("scalar", 1.0), x.dtype
    if not is_float(dtype):
        if not attrs.get("is_int", True):
            dtype = np.dtype("float64")  # a scalar that is no integer makes floats of integers
        elif dtype == np.dtype("bool"):
            dtype = np.dtype("int64")
    scalar = scalar if is_float(dtype) else np.trunc(scalar)
    operand = np.asarray(scalar, dtype=np.float64 if is_float(dtype) else np.int64)
    return arithmetic(kind, *((operand, x) if reverse else (x, operand)), dtype)


def whether(kind, attrs, x):
    """A comparison of 2.0; see with_scalar for what becomes of the scalar."""
    numbers = with_scalar(kind, False, attrs, x)
    return Expected(numbers.values != 0, np.dtype("bool"))


def true_quotient(reverse, attrs, x):
    """Integers give float32."""
    dtype = x.dtype if is_float(x.dtype) else np.dtype("float32")
    operand = np.float64(attrs.get("scalar", 1.0))
    return arithmetic("div", *((operand, x) if reverse else (x, operand)), dtype)


def draw_with_scalar(kind, reverse):
    def draw(d):
        dtype = d.dtype(d.of([FLOATS, [*NUMBERS, np.dtype("bool")]]))
        is_int = d.some(is_int=d.flag())
        floats = is_float(dtype) or not is_int.get("is_int", True)
        if kind == "power":
            x = d.array(d.shape(d.int(1, 4)), dtype, 0.5 if is_float(dtype) else 1, 3)
            scalar = d.of([2.0, 3.0, *([0.5, -1.0] * (floats and not reverse and dtype != np.dtype("bool")))])
            return Case({"scalar": scalar, **is_int}, [x])
        scalars = [2.0, 0.375, -1.5, 7.0] if floats else [2, 5, 2.5, *([-3] if dtype.kind == "i" else [])]
        x = d.array(d.shape(d.int(1, 5)), dtype)
        return Case({**d.some(scalar=d.of(scalars)), **is_int}, [divisors(x) if reverse and kind == "div" else x])

    return draw


for ops, (kind, reverse) in SCALAR.items():
    operator(
        ops,
        lambda attrs, x, kind=kind, reverse=reverse: with_scalar(kind, reverse, attrs, x),
        draw_with_scalar(kind, reverse),
    )


for kind in COMPARISONS:
    op = f"_npi_{NPI_NAMES.get(kind, kind)}_scalar"
    operator(op, lambda attrs, x, kind=kind: whether(kind, attrs, x), draw_with_scalar(kind, False))
for op, reverse in {"_npi_true_divide_scalar": False, "_npi_rtrue_divide_scalar": True}.items():
    operator(op, lambda attrs, x, reverse=reverse: true_quotient(reverse, attrs, x), draw_with_scalar("div", reverse))


def power_times(attrs, x):
    """multiplier * x ** exponent, of integers in integers unless a scalar is none."""
    is_int = attrs.get("exp_is_int", True) and attrs.get("mul_is_int", True)
    exponent, multiplier = attrs.get("exponent", 1.0), attrs.get("multiplier", 1.0)
    if is_float(x.dtype) or not is_int:
        dtype = x.dtype if is_float(x.dtype) else np.dtype("float64")
        y = multiplier * wide(x).astype(np.float64) ** exponent
        return computed(y, dtype, 20 * np.abs(y))
    y = x.astype(np.int64) ** int(exponent) * int(multiplier)
    return computed(y, np.dtype("int64") if x.dtype == np.dtype("bool") else x.dtype, 0)


def draw_power_times(d):
    dtype = d.dtype(d.of([FLOATS, [*NUMBERS, np.dtype("bool")]]))
    flags = d.some(exp_is_int=d.flag(), mul_is_int=d.flag())
    floats = is_float(dtype) or not (flags.get("exp_is_int", True) and flags.get("mul_is_int", True))
    x = d.array(d.shape(d.int(1, 4)), dtype, 0.5 if is_float(dtype) else 1, 3)
    attrs = d.some(exponent=d.of([2.0, 3.0, *([0.5] * floats)]), multiplier=d.of([2.0, 4.0, *([-1.5] * floats)]))
    return Case({**attrs, **flags}, [x])


operator("_sg_pow_mul_scalar", power_times, draw_power_times)


def clip(attrs, x):
    """Elements of x, or a bound: rounded once to the dtype, for integers truncated."""
    low, high = (np.trunc(v) if not is_float(x.dtype) else v for v in (attrs["a_min"], attrs["a_max"]))
    return computed(np.clip(wide(x), low, high).astype(wide(x).dtype), x.dtype, 0)


def draw_clip(d):
    low, high = d.of([(0.0, 6.0), (-1.0, 1.0), (0.1, 0.3), (-2.5, 2.5), (-300.0, 3.0), (-1e30, 2.0)])
    dtype = d.dtype(d.of([FLOATS, NUMBERS]))
    return Case({"a_min": low, "a_max": high}, [d.array(d.shape(d.int(1, 5)), dtype)])


operator("clip", clip, draw_clip)


# ---- conversions and identities ------------------------------------------------------------------


def converted(x, dtype):
    """Floats are rounded to the nearest, to even in the middle; to integers they are truncated; bool says 'not 0'."""
    if dtype == np.dtype("bool"):
        return Expected(wide(x) != 0, dtype)
    return Expected(wide(x).astype(dtype), dtype)


def draw_cast(d, types=ALL_TYPES, targets=ALL_TYPES):
    x = d.array(d.shape(d.int(1, 5)), d.dtype(types), low=0, high=100)
    return Case({"dtype": d.of(targets).name}, [x])


operator("Cast", lambda attrs, x: converted(x, np.dtype(attrs["dtype"])), draw_cast)


def amp_cast(attrs, x):
    return converted(x, np.dtype(attrs["dtype"])) if is_float(x.dtype) else moved(x)


operator("amp_cast", amp_cast, lambda d: draw_cast(d, targets=FLOATS))

WIDTHS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16}


def amp_multicast(attrs, *arrays):
    """All floats in the widest (narrowest) dtype among them; float16 with bfloat16 means float32."""
    names = {x.dtype.name for x in arrays if is_float(x.dtype)}
    choose = min if attrs.get("cast_narrow", False) else max
    width = choose((WIDTHS[name] for name in names), default=0)
    widest = {name for name in names if WIDTHS[name] == width}
    target = "float32" if len(widest) > 1 else "".join(widest)
    return [converted(x, np.dtype(target)) if is_float(x.dtype) else moved(x) for x in arrays]


def draw_amp_multicast(d):
    count = d.int(1, 4)
    types = d.of([FLOATS, FLOATS + INTEGERS])
    attrs = {"num_outputs": count, **d.some(cast_narrow=d.flag())}
    return Case(attrs, [d.array(d.shape(d.int(1, 3)), d.dtype(types)) for _ in range(count)])


operator("amp_multicast", amp_multicast, draw_amp_multicast)


def draw_any(d, low_rank=1):
    return Case({}, [d.array(d.shape(d.int(low_rank, 5)), d.dtype(ALL_TYPES))])


operator("_copy BlockGrad", lambda attrs, x: moved(x), draw_any)


def draw_dropout(d):
    case = draw_any(d)
    axes = tuple(sorted(d.some_axes(case.inputs[0].ndim)))
    return Case(d.some(p=0.25, mode="training", axes=axes), case.inputs)


operator("Dropout", lambda attrs, x: moved(x), draw_dropout)


def filled_like(value):
    return lambda attrs, x: converted(np.full(x.shape, value), np.dtype(attrs.get("dtype") or x.dtype))


def draw_like(d):
    return Case(d.some(dtype=d.of([None, *ALL_TYPES])), draw_any(d).inputs)


def draw_filled_like(d):
    case = draw_like(d)
    if case.attrs.get("dtype") is not None:
        case.attrs["dtype"] = case.attrs["dtype"].name
    return case


operator("zeros_like", filled_like(0), draw_filled_like)
operator("ones_like", filled_like(1), draw_filled_like)


def ones_of_floats(attrs, x):
    dtype = np.dtype(attrs.get("dtype") or x.dtype)
    return converted(np.full(x.shape, int(is_float(dtype))), dtype)


operator("_float_ones_like", ones_of_floats, draw_filled_like)


# ---- what an element is --------------------------------------------------------------------------


def predicate(function):
    """The answer of a question about floats; integers are converted, which changes no answer."""
    return lambda attrs, x: Expected(function(wide(x).astype(np.float64)), np.dtype("bool"))


def draw_predicate(d):
    x = d.array(d.shape(d.int(1, 5)), d.dtype(ALL_TYPES))
    if is_float(x.dtype):
        awkward = d.rng.choice([np.nan, np.inf, -np.inf, 0.0], x.shape)
        x = np.where(d.rng.random(x.shape) < 0.3, awkward, wide(x)).astype(x.dtype)
    return Case({}, [x])


for name in ("isnan", "isinf", "isposinf", "isneginf", "isfinite", "logical_not"):
    operator(f"_npi_{name}", predicate(getattr(np, name)), draw_predicate)
operator("logical_not", lambda attrs, x: moved((wide(x) == 0).astype(x.dtype)), draw_predicate)

BITS = [dtype for dtype in ALL_TYPES if not is_float(dtype)]
operator(
    "_npi_bitwise_not", lambda attrs, x: moved(np.invert(x)), lambda d: Case({}, [d.array(d.shape(3), d.dtype(BITS))])
)


def around(attrs, x):
    decimals = attrs.get("decimals", 0)
    if not is_float(x.dtype):  # cut off, not rounded
        unit = 10 ** max(0, -decimals)
        return wrapped(np.trunc(wide(x) / unit).astype(np.int64) * unit, x.dtype)
    return Expected(np.around(wide(x), decimals), x.dtype, 4 * np.abs(wide(x)))


def draw_around(d):
    """Multiples of 1/8, which are nowhere near the middle of two decimals, or just there."""
    x = d.array(d.shape(d.int(1, 4)), d.dtype(NUMBERS), -40, 40)
    if is_float(x.dtype):
        x = (np.round(wide(x) * 8) / 8).astype(x.dtype)
    return Case(d.some(decimals=d.of([0, 1, -1])), [x])


operator("_npi_around", around, draw_around)


def hard_sigmoid(attrs, x):
    line = attrs.get("alpha", 0.2) * wide(x) + attrs.get("beta", 0.5)
    return Expected(np.clip(line, 0, 1), x.dtype, 8 + 4 * np.abs(wide(x)))


operator(
    "hard_sigmoid",
    hard_sigmoid,
    lambda d: Case(d.some(alpha=d.of([0.25, -0.5]), beta=d.of([0.0, 0.75])), draw_unary()(d).inputs),
)


# ---- more functions of two -----------------------------------------------------------------------


def truncated_remainder(a, b):
    """With the sign of a; 0 where b is 0."""
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def floor_quotient(a, b):
    """Of integers 0 where b is 0."""
    return np.floor(a / b) if a.dtype == np.float64 else np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def cut_off(function):
    """Integers by way of floats."""

    def of_any(a, b):
        y = function(a.astype(np.float64), b.astype(np.float64))
        return y if a.dtype == np.float64 else np.trunc(y).astype(np.int64)

    return of_any


def logical(function):
    return lambda a, b: function(a != 0, b != 0).astype(a.dtype)


ARITHMETIC |= {
    "hypot": cut_off(np.hypot),
    "arctan2": cut_off(np.arctan2),
    "logaddexp": cut_off(np.logaddexp),
    "copysign": cut_off(np.copysign),
    "ldexp": cut_off(lambda a, b: a * np.exp2(b)),
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": truncated_remainder,
    "floor_divide": floor_quotient,
    "times_log": cut_off(lambda a, b: a * np.log(b)),
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
}
INEXACT |= {name: 16 for name in ("hypot", "arctan2", "logaddexp", "ldexp", "times_log")}
LOGICAL = ("logical_and", "logical_or", "logical_xor")


def same_dtype(kind):
    return lambda attrs, a, b: arithmetic(kind, a, b, a.dtype)


for kind in (*COMPARISONS, *LOGICAL, "hypot", "mod"):
    operator(f"_{kind}", same_dtype(kind), draw_equal_shapes)
operator("_maximum", same_dtype("max"), draw_equal_shapes)
operator("_minimum", same_dtype("min"), draw_equal_shapes)


def draw_equal_powers(d):
    case = draw_equal_shapes(d)
    return Case({}, [(np.abs(x) + 1).astype(x.dtype) for x in case.inputs], infers=True)


operator("_power", same_dtype("power"), draw_equal_powers)
operator("_times_log", same_dtype("times_log"), draw_equal_powers)


def draw_times_log(d):
    """Scalars above 1: integers cut them off."""
    x = d.array(d.shape(d.int(1, 5)), d.dtype(d.of([FLOATS, NUMBERS])))
    return Case({"scalar": d.of([2.0, 3.0, 10.0]), **d.some(is_int=d.flag())}, [x])


operator("_times_log_scalar", lambda attrs, x: with_scalar("times_log", False, attrs, x), draw_times_log)
for kind in (*LOGICAL, "hypot"):
    operator(f"broadcast_{kind}", same_dtype(kind), draw_broadcast)


def draw_small(d):
    """Operands that no power of two overflows."""
    dtype = d.dtype(d.of([FLOATS, NUMBERS]))
    left, right = broadcastable(d)
    low = -3 if dtype.kind != "u" else 0
    return Case({}, [d.array(left, dtype, low, 3), d.array(right, dtype, low, 3)])


for kind in ("fmax", "fmin", "fmod", "copysign", "ldexp"):
    operator(f"_npi_{kind}", same_dtype(kind), draw_small)


def draw_floats(d):
    dtype = d.dtype(FLOATS)
    left, right = broadcastable(d)
    return Case({}, [d.array(left, dtype), d.array(right, dtype)])


operator("_npi_arctan2", same_dtype("arctan2"), draw_floats)
operator("_npi_logaddexp", same_dtype("logaddexp"), draw_floats)


for kind in (*COMPARISONS, *LOGICAL):
    op = "_npi_" + NPI_NAMES.get(kind, kind)
    operator(op, lambda attrs, a, b, kind=kind: arithmetic(kind, a, b, np.dtype("bool")), draw_mixed)
operator("_npi_mod", lambda attrs, a, b: mixed("mod", a, b), draw_mixed)
operator("_npi_floor_divide", lambda attrs, a, b: mixed("floor_divide", a, b), draw_mixed)
operator("_npi_power", lambda attrs, a, b: mixed("power", a, b), draw_powers)


# ---- bits ----------------------------------------------------------------------------------------


def left_shift(a, places):
    """0 for places that there are not."""
    return np.where((places < 0) | (places > 63), 0, np.left_shift(a, np.clip(places, 0, 63)))


def right_shift(a, places):
    return np.where(places < 0, 0, np.right_shift(a, np.clip(places, 0, 63)))


def bits(function):
    """Of two integers or bools, in the wider dtype."""
    return lambda attrs, a, b: of_bits(function(wide(a), wide(b)), common_dtype(a.dtype, b.dtype))


def of_bits(y, dtype):
    return Expected(y != 0, dtype) if dtype == np.dtype("bool") else wrapped(y, dtype)


def bits_with_scalar(function, reverse=False):
    def oracle(attrs, x):
        scalar = np.int64(attrs.get("scalar", 1.0))
        scalar = np.int64(scalar != 0) if x.dtype == np.dtype("bool") else scalar
        return of_bits(function(scalar, wide(x)) if reverse else function(wide(x), scalar), x.dtype)

    return oracle


def draw_bits(types):
    def draw(d):
        left, right = broadcastable(d)
        return Case({}, [d.array(left, d.dtype(types), -9, 9), d.array(right, d.dtype(types), -9, 9)])

    return draw


def draw_bits_with_scalar(types):
    return lambda d: Case(
        d.some(scalar=d.of([2.0, 5.5, 0.0]), is_int=d.flag()), [d.array(d.shape(3), d.dtype(types), -9, 9)]
    )


for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    operator(f"_npi_{name}", bits(getattr(np, name)), draw_bits(BITS))
    operator(f"_npi_{name}_scalar", bits_with_scalar(getattr(np, name)), draw_bits_with_scalar(BITS))
for name, shift in {"left": left_shift, "right": right_shift}.items():
    operator(f"_npi_bitwise_{name}_shift", bits(shift), draw_bits(INTEGERS))
    operator(f"_npi_bitwise_{name}_shift_scalar", bits_with_scalar(shift), draw_bits_with_scalar(INTEGERS))
    operator(f"_npi_rbitwise_{name}_shift_scalar", bits_with_scalar(shift, True), draw_bits_with_scalar(INTEGERS))
for name in ("gcd", "lcm"):
    operator(f"_npi_{name}", bits(getattr(np, name)), draw_bits(INTEGERS))


# ---- more functions with a scalar ----------------------------------------------------------------


def draw_small_with_scalar(d):
    dtype = d.dtype(d.of([FLOATS, [*NUMBERS, np.dtype("bool")]]))
    is_int = d.some(is_int=d.flag())
    floats = is_float(dtype) or not is_int.get("is_int", True)
    scalars = [2.0, 0.375, -1.5, 3.0] if floats else [2, 3, 2.5, *([-3] if dtype.kind == "i" else [])]
    return Case({**d.some(scalar=d.of(scalars)), **is_int}, [divisors(d.array(d.shape(d.int(1, 4)), dtype, -3, 3))])


for kind in ("hypot", "arctan2", "logaddexp", "copysign", "ldexp", "fmod", "floor_divide", "fmax", "fmin"):
    for reverse in (False, True) if kind not in ("hypot", "logaddexp", "fmax", "fmin") else (False,):
        op = "_hypot_scalar" if kind == "hypot" else f"_npi_{'r' * reverse}{kind}_scalar"
        operator(
            op,
            lambda attrs, x, kind=kind, reverse=reverse: with_scalar(kind, reverse, attrs, x),
            draw_small_with_scalar,
        )
for kind in LOGICAL:
    operator(f"_{kind}_scalar", lambda attrs, x, kind=kind: with_scalar(kind, False, attrs, x), draw_small_with_scalar)
    operator(f"_npi_{kind}_scalar", lambda attrs, x, kind=kind: whether(kind, attrs, x), draw_small_with_scalar)
