"""Functions with NumPy's signatures that work element by element. Shapes broadcast."""

import numpy as np

from ... import _core
from ..._core import NDArray
from ...base import ArgumentError
from ...nd import methods
from ...nd.operators import find_function as find_operator
from .. import _generation
from ..util import is_np_default_dtype
from . import numpy_fallback
from .create import array, asarray
from .invoke import ANY, common, into, promoted, run

UNARY = (
    "exp expm1 log log10 log2 log1p sqrt cbrt square reciprocal sin cos tan arcsin arccos arctan sinh cosh tanh "
    "arcsinh arccosh arctanh degrees radians rint fix floor ceil trunc sign negative absolute isnan isinf isfinite "
    "isneginf isposinf logical_not bitwise_not positive"
).split()
# Of integers and truths these are floats, as in MXNet 2; so is rounding there, and in 1.x that of truths.
_OF_FLOATS = (
    "exp expm1 log log10 log2 log1p sqrt cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
    "arctanh degrees radians"
).split()
_KEEPING_INTEGERS = ("floor", "ceil", "trunc")
_ROUNDING = ("rint", "fix", *_KEEPING_INTEGERS)
UNARY_SYNONYMS = {
    "abs": "absolute",
    "fabs": "absolute",
    "rad2deg": "degrees",
    "deg2rad": "radians",
    "invert": "bitwise_not",
    "bitwise_invert": "bitwise_not",
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}
BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "floor_divide": "floordiv",
    "mod": "mod",
    "remainder": "mod",
    "power": "pow",
    "pow": "pow",
    "equal": "eq",
    "not_equal": "ne",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
}


def _as_floats(x, is_rounding, keeps_integers):
    """Integers and truths as MXNet's functions of floats take them: float32, in 2.x float16 of narrow ones."""
    kind, is_second = x.dtype.kind, _generation.default().number == 2
    if kind not in "iub" or keeps_integers and kind != "b" or is_rounding and kind != "b" and not is_second:
        return x
    return x.astype("float16" if is_second and x.dtype.itemsize == 1 else "float32")


def unary(name):
    """NumPy's function of one array that runs the operator of its name."""
    known = UNARY_SYNONYMS.get(name, name)
    op = "_copy" if name == "positive" else f"_npi_{known}" if find_operator(f"_npi_{known}") else known
    gives_truths = known.startswith("is")
    kinds = known in _ROUNDING, known in _KEEPING_INTEGERS
    takes_floats = kinds[0] or known in _OF_FLOATS

    def function(x, out=None, **options):
        numpy_fallback.require_defaults(name, options)
        if gives_truths and out is not None and out.dtype != np.bool_:
            raise TypeError(f"{name}: out is an array of truths, got {out.dtype.name}")
        x = asarray(x)
        return run(op, [_as_floats(x, *kinds) if takes_floats else x], {}, out)

    return function


def _as_default_floats(x):
    """Integers and truths as float64, which quotients have in `np_default_dtype`."""
    return x.astype("float64") if isinstance(x, NDArray) and x.dtype.kind in "iub" else x


def binary(name):
    """NumPy's function of two arrays, or of an array and a number, that does what Python's operator does."""
    python_name = BINARY[name]

    def function(x1, x2, out=None, **options):
        numpy_fallback.require_defaults(name, options)
        if python_name == "truediv" and is_np_default_dtype():
            x1, x2 = _as_default_floats(x1), _as_default_floats(x2)
        if isinstance(x1, NDArray) or not isinstance(x2, NDArray):
            result = methods.binary(python_name, asarray(x1), x2 if methods.scalar_text(x2) else asarray(x2))
        elif methods.scalar_text(x1) is None or python_name in methods.COMPARISONS:
            result = methods.binary(python_name, asarray(x1), x2)
        else:
            result = methods.binary(python_name, asarray(x2), x1, reflected=True)
        if result is NotImplemented:
            raise ArgumentError(f"{name}: no operator for {type(x1).__name__} and {type(x2).__name__}")
        return into(result, out)

    return function


def extreme(name):
    """NumPy's `maximum` or `minimum`."""

    def function(x1, x2, out=None, **options):
        numpy_fallback.require_defaults(name, options)
        first, second = (x1, x2) if isinstance(x1, NDArray) else (x2, x1)
        text = methods.scalar_text(second)
        if text is not None:
            return run(f"_{name}_scalar", [first], {"scalar": text, "is_int": methods.is_integer_text(second)}, out)
        return run(f"_npi_{name}", common([first, second], ANY), {}, out)

    return function


def _is_fraction(number):
    return number is not None and methods.scalar_text(number) is not None and float(number) % 1 != 0


def clip(a, a_min, a_max, out=None):
    """Elements below `a_min` become `a_min`, those above `a_max` become `a_max`; None is no bound.

    The dtype stays, except that bounds which are no whole numbers make float64 of integers. Raises ArgumentError where
    both bounds are None.

    >>> mx.np.clip(mx.np.array([-1, 2, 9]), 0, 5)
    array([0., 2., 5.])
    """
    if a_min is None and a_max is None:
        raise ArgumentError("clip: one of a_min and a_max is needed")
    a = asarray(a)
    if a.dtype.kind in "iub" and (_is_fraction(a_min) or _is_fraction(a_max)):
        a = a.astype("float64")
    low = -np.inf if a_min is None else float(a_min)
    high = np.inf if a_max is None else float(a_max)
    return run("clip", [a], {"a_min": repr(low), "a_max": repr(high)}, out)


def where(condition, x=None, y=None):
    """Elements of `x` where the condition holds, of `y` elsewhere; without them the indices where it holds (host).

    Shapes broadcast, else GraphError is raised.

    >>> mx.np.where(mx.np.array([1, 0]), mx.np.array([5, 6]), mx.np.array([7, 8]))
    array([5., 8.])
    """
    if x is None or y is None:
        return numpy_fallback.find("where")(condition)
    x, y = _beside(x, y), _beside(y, x)
    return run("_npi_where", [condition, *common([x, y], ANY)])


def _beside(value, other):
    """`value` as an array; numbers have the dtype of the array `other`, floats beside integers are float64."""
    if isinstance(value, NDArray):
        return value
    dtype = other.dtype if isinstance(other, NDArray) else np.dtype("float32")
    if dtype.kind in "iub" and methods.is_integer_text(value) == "False" and methods.scalar_text(value) is not None:
        dtype = np.dtype("float64")
    elif dtype.kind == "b" and methods.scalar_text(value) is not None and not isinstance(value, (bool, np.bool_)):
        dtype = np.dtype("int64")
    return array(value, dtype)


def around(x, decimals=0, out=None):
    """Rounded to a number of decimals, to the nearest even one in the middle.

    >>> mx.np.around(mx.np.array([1.25, 2.5]))
    array([1., 2.])
    """
    return run("_npi_around", [x], {"decimals": str(int(decimals))}, out)


def result_type(*arrays_and_dtypes):
    """The dtype of what operators make of these arrays and dtypes: floats beside integers decide alone, as in MXNet.

    Raises ValueError where there are none, TypeError for what is no dtype.

    >>> mx.np.result_type(mx.np.ones(2, dtype="int32"), "float16")
    dtype('float16')
    """
    given = [value.dtype if isinstance(value, NDArray) else value for value in arrays_and_dtypes]
    dtypes = [_dtype(value) if isinstance(value, (str, type)) else getattr(value, "dtype", value) for value in given]
    floats = {dtype for dtype in dtypes if isinstance(dtype, np.dtype) and dtype.kind in "fV"}
    return promoted(floats) if floats else np.result_type(*dtypes)


def _dtype(name):
    return _core.numpy_dtype(name) if name == "bfloat16" else np.dtype(name)
