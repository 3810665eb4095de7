"""Which operators stand for Python's operators and methods, on symbols and on arrays."""

import re
from typing import NamedTuple


class Operation(NamedTuple):
    """The operators of one binary expression."""

    kind: str | None  # MXNet's word for it: nodes are named after it, and `_<kind>_scalar` takes a number
    elementwise: str | None  # of two classic symbols, where it is registered
    broadcasting: str | None  # of two classic arrays, and of symbols otherwise
    numpy: str  # `_npi_<numpy>` of two arrays with NumPy's semantics, `_npi_<numpy>_scalar` with a number


# By Python's name of the operator; the last three are functions.
OPERATIONS = {
    "add": Operation("plus", "elemwise_add", "broadcast_add", "add"),
    "sub": Operation("minus", "elemwise_sub", "broadcast_sub", "subtract"),
    "mul": Operation("mul", "elemwise_mul", "broadcast_mul", "multiply"),
    "truediv": Operation("div", "elemwise_div", "broadcast_div", "true_divide"),
    "floordiv": Operation(None, None, None, "floor_divide"),
    "mod": Operation("mod", "_mod", "broadcast_mod", "mod"),
    "pow": Operation("power", "_power", "broadcast_power", "power"),
    "matmul": Operation(None, None, None, "matmul"),
    "eq": Operation("equal", "_equal", "broadcast_equal", "equal"),
    "ne": Operation("not_equal", "_not_equal", "broadcast_not_equal", "not_equal"),
    "gt": Operation("greater", "_greater", "broadcast_greater", "greater"),
    "ge": Operation("greater_equal", "_greater_equal", "broadcast_greater_equal", "greater_equal"),
    "lt": Operation("lesser", "_lesser", "broadcast_lesser", "less"),
    "le": Operation("lesser_equal", "_lesser_equal", "broadcast_lesser_equal", "less_equal"),
    "maximum": Operation("maximum", "_maximum", "broadcast_maximum", "maximum"),
    "minimum": Operation("minimum", "_minimum", "broadcast_minimum", "minimum"),
    "hypot": Operation("hypot", "_hypot", "broadcast_hypot", "hypot"),
}
FUNCTIONS = ("maximum", "minimum", "hypot")
COMPARISONS = ("eq", "ne", "gt", "ge", "lt", "le")
_COMMUTATIVE = ("add", "mul", *FUNCTIONS)
_WITHOUT_NUMBERS = ("matmul",)


def scalar_operator(name, is_numpy, reflected=False):
    """The operator on an array and a number (reflected: a number and an array), or None."""
    operation = OPERATIONS[name]
    if name in _WITHOUT_NUMBERS or reflected and name in COMPARISONS:
        return None
    kind = operation.numpy if is_numpy else operation.kind
    if kind is None:
        return None
    reversing = "r" if reflected and name not in _COMMUTATIVE else ""
    return f"_npi_{reversing}{kind}_scalar" if is_numpy else f"_{reversing}{kind}_scalar"


# Operators that are methods, too: `x.exp()` is the function `exp` of x.
FLUENT = (
    "abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort broadcast_axes "
    "broadcast_like broadcast_to cbrt ceil clip cos cosh degrees diag exp expand_dims expm1 fix flatten flip floor "
    "log log10 log1p log2 log_sigmoid log_softmax max mean min mish nanprod nansum norm one_hot ones_like pad pick "
    "prod radians rcbrt reciprocal relu repeat reshape_like rint round rsqrt shape_array sigmoid sign sin sinh "
    "size_array slice slice_axis slice_like softmax softmin sort split sqrt square squeeze sum swapaxes take tan tanh "
    "tile topk transpose trunc zeros_like"
).split()

_FAMILY = re.compile("_(contrib|linalg|sparse|image)_|_npi_|_npx?_(_(contrib|image|linalg|random)_)?")


def node_hint(name):
    """What MXNet names a node after, given the operator's name: without its family, in small letters."""
    return _FAMILY.sub("", name, count=1).lower() if _FAMILY.match(name) else name.lower()
