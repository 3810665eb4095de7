"""Random `ndarray`s with NumPy's names: `size` is a number, a tuple or None for a single number.

A tuple that begins with -2, as in MXNet, is the shape in front of that of the parameters.
Results are float32 unless `dtype` says otherwise; `ctx` or `device` is the device; `out` is an array to write to.
`mx.random.seed` seeds these, too. In a hybridized block distributions that have an operator become part of the graph,
which draws other numbers in each run; what has none is an UnsupportedError there.
"""

import numbers

import numpy as np

from ... import _devices, _recording, _trace
from ..._core import NDArray
from ...base import ArgumentError
from ...sym.attributes import attribute_text
from ..random import generator
from ..random import seed as _seed_all
from . import functions
from .array_class import ndarray
from .create import asarray, of_dtype
from .gamma import draw as draw_gamma
from .invoke import run

__all__ = [
    "beta",
    "chisquare",
    "choice",
    "exponential",
    "f",
    "gamma",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "pareto",
    "permutation",
    "power",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "seed",
    "shuffle",
    "uniform",
    "weibull",
]


def seed(seed, ctx="all"):
    """Begins anew with an integer, as `mx.random.seed` does.

    Raises ArgumentError for what is no integer.

    >>> mx.np.random.seed(seed=7)
    """
    _seed_all(seed, ctx)


def _refuse_in_graph():
    _trace.refuse("mx.np.random, which would draw once and for all,")


def as_result(values, dtype, out):
    """Drawn values as an array of `dtype` (float32 where that is None), or written to `out`."""
    _refuse_in_graph()
    result = of_dtype(np.asarray(values), dtype)
    if out is None:
        return result
    if out.shape != result.shape:
        raise ArgumentError(f"`out` has shape {out.shape}, the result {result.shape}")
    out[...] = result
    return out


def as_parameter(value):
    """A parameter as NumPy takes it; UnsupportedError where its gradient would be lost."""
    _recording.refuse("a random number with this parameter", value)
    return value.asnumpy() if isinstance(value, NDArray) else value


def _asks_for_gradients(out, *parameters):
    return out is None and any(isinstance(p, NDArray) and _recording.is_recorded(p) for p in parameters)


def _scaled(name, loc, scale, size, dtype):
    """loc + scale * standard numbers, through which gradients reach `loc` and `scale`."""
    shape = np.broadcast_shapes(np.shape(loc), np.shape(scale)) if size is None else size
    return loc + scale * as_result(getattr(generator(), name)(size=shape), dtype, None)


def _standard(name, like, size, dtype):
    """Standard numbers of the shape `size`, or of the parameter `like`."""
    return as_result(getattr(generator(), name)(size=like.shape if size is None else size), dtype, None)


def _size_text(size):
    return attribute_text(None if size is None else tuple(np.ravel(size).astype(int).tolist()))


def draw_in_graph(op, parameters, size=None, dtype=None, **attributes):
    """A node that draws, for the graph that is recorded. Parameters that are no numbers are inputs."""
    arrays = []
    for name, value in parameters.items():
        if isinstance(value, numbers.Real):
            attributes[name] = attribute_text(float(value))
        else:
            attributes[name] = "None"
            arrays.append(asarray(value))
    result = run(op, arrays, {**attributes, "size": _size_text(size)})
    return result if dtype is None else result.astype(dtype, copy=False)


def _uniform_in_graph(low, high, size, dtype):
    """Gradients reach `low` and `high`, as they do outside of graphs."""
    if isinstance(low, numbers.Real) and isinstance(high, numbers.Real):
        return draw_in_graph("_npi_uniform", {"low": low, "high": high}, size, dtype)
    low, span = asarray(low), asarray(high - low)
    result = low + span * _standard_uniform_in_graph(low + span, size)
    return result if dtype is None else result.astype(dtype, copy=False)


def _standard_uniform_in_graph(like, size):
    if size is None:
        return run("_random_uniform_like", [like])
    return draw_in_graph("_npi_uniform", {"low": 0, "high": 1}, size)


def _power_in_graph(a, size, dtype):
    """Gradients reach an array `a`, as they do outside of graphs."""
    if isinstance(a, numbers.Real):
        return draw_in_graph("_npi_powerd", {"a": a}, size, dtype)
    result = _standard_uniform_in_graph(asarray(a), size) ** (1 / asarray(a))
    return result if dtype is None else result.astype(dtype, copy=False)


def _gamma_in_graph(shape, scale, size, dtype):
    """The operator, which has no gradients. Arrays make the block run without a graph where gradients are recorded."""
    are_numbers = isinstance(shape, numbers.Real) and isinstance(scale, numbers.Real)
    if are_numbers or not _trace.mode("is_recording"):
        return draw_in_graph("_npi_gamma", {"shape": shape, "scale": scale}, size, dtype)
    return _gamma(shape, scale, size, dtype)


def _laplace_in_graph(loc, scale, size, dtype):
    """Gradients reach `loc` and `scale`, as they do outside of graphs."""
    loc, scale = asarray(loc), asarray(scale)
    drawn = _standard_uniform_in_graph(loc + scale, size) - 0.5
    sign, distance = functions.find("sign")(drawn), functions.find("abs")(drawn)
    result = loc - scale * sign * functions.find("log1p")(distance * _ALMOST_MINUS_2)
    return result if dtype is None else result.astype(dtype, copy=False)


_ALMOST_MINUS_2 = -2 * (1 - 2**-24)  # a distance of 0.5 has a finite logarithm


def becomes_part_of_graph(out):
    """Whether what is drawn now is a node of the graph that is recorded."""
    return out is None and _trace.current() is not None


def _size(size, out):
    return out.shape if size is None and out is not None else size


def whole_size(size, *parameters):
    """`size`, in which a leading -2 is replaced by the parameters' shape behind it."""
    if not isinstance(size, (tuple, list)) or not size or size[0] != -2:
        return size
    return (*size[1:], *np.broadcast_shapes(*map(np.shape, parameters)))


def uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None, out=None, *, device=None):
    """Uniform in [low, high).

    float32 by default. Gradients reach `low` and `high`. Raises ValueError for negative sizes.

    >>> mx.np.random.uniform(0, 1, size=(2, 3)).shape
    (2, 3)
    """
    size = whole_size(size, low, high)
    if becomes_part_of_graph(out):
        return _uniform_in_graph(low, high, size, dtype)
    if _asks_for_gradients(out, low, high):
        return _scaled("uniform", low, high - low, size, dtype)
    ends = as_parameter(low), as_parameter(high)  # in any order, as in MXNet
    return as_result(generator().uniform(np.minimum(*ends), np.maximum(*ends), _size(size, out)), dtype, out)


def normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None, out=None, *, device=None):
    """Normal with mean `loc` and standard deviation `scale`.

    float32 by default. Gradients reach `loc` and `scale`. Raises ValueError for negative sizes and a negative `scale`.

    >>> mx.np.random.normal(size=(2, 3)).dtype
    dtype('float32')
    """
    size = whole_size(size, loc, scale)
    if becomes_part_of_graph(out):
        return draw_in_graph("_npi_normal", {"loc": loc, "scale": scale}, size, dtype)
    if _asks_for_gradients(out, loc, scale):
        return _scaled("normal", loc, scale, size, dtype)
    return as_result(generator().normal(as_parameter(loc), as_parameter(scale), _size(size, out)), dtype, out)


def randint(low, high=None, size=None, dtype=None, ctx=None, out=None, *, device=None):
    """Integers in [low, high), or in [0, low) where there is no `high`; int64 by default.

    Raises ValueError where there is no such integer.

    >>> mx.np.random.randint(10, size=4).dtype
    dtype('int64')
    """
    values = generator().integers(as_parameter(low), as_parameter(high), _size(size, out))
    return as_result(values, "int64" if dtype is None or dtype is int else dtype, out)


def rand(*size, **kwargs):
    """Uniform in [0, 1), of a shape given as arguments.

    >>> mx.np.random.rand(2, 3).shape
    (2, 3)
    """
    return uniform(0, 1, size, **kwargs)


def randn(*size, **kwargs):
    """Normal with mean 0 and standard deviation 1, of a shape given as arguments.

    >>> mx.np.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(0, 1, size, **kwargs)


def choice(a, size=None, replace=True, p=None, ctx=None, out=None, *, device=None):
    """Elements of an array, or numbers below `a`, with probabilities `p`.

    Raises ValueError where there is nothing to choose from.

    >>> mx.np.random.choice(5, size=3).shape
    (3,)
    """
    if becomes_part_of_graph(out) and hasattr(a, "__index__") and not getattr(a, "shape", ()):
        weights = [] if p is None else [asarray(p)]
        attributes = {"a": str(int(a)), "replace": str(bool(replace)), "weighted": str(bool(weights))}
        return run("_npi_choice", weights, {**attributes, "size": _size_text(size)})
    values = generator().choice(as_parameter(a), size, replace, _probabilities(p))
    dtype = a.dtype if isinstance(a, NDArray) else values.dtype if values.dtype.kind != "f" else None
    return as_result(values, dtype, out)


def _probabilities(p):
    if p is None:
        return None
    weights = np.asarray(as_parameter(p), np.float64)
    return weights / weights.sum(-1, keepdims=True)  # float32 probabilities do not add up to 1


def permutation(x, ctx=None, *, device=None):
    """The rows of an array, or the numbers below `x`, in random order.

    >>> sorted(mx.np.random.permutation(4).asnumpy().tolist())
    [0, 1, 2, 3]
    """
    _refuse_in_graph()
    values = generator().permutation(as_parameter(x))
    return ndarray(values)


def shuffle(x):
    """Puts the rows of an array into random order.

    >>> x = mx.np.arange(4)
    >>> mx.np.random.shuffle(x)
    >>> sorted(x.asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    _refuse_in_graph()
    x[:] = generator().permutation(np.asarray(x))


def multinomial(n, pvals, size=None):
    """How often each outcome comes in `n` draws, int64.

    >>> mx.np.random.multinomial(10, [0.5, 0.5]).sum().item()
    10
    """
    _refuse_in_graph()
    if np.ndim(pvals) == 0 or np.shape(pvals)[-1] == 0:
        shape = () if size is None else (size,) if hasattr(size, "__index__") else tuple(size)
        return ndarray(np.zeros((*shape, 0), np.int64))
    return ndarray(generator().multinomial(n, _probabilities(pvals), size))


def multivariate_normal(mean, cov, size=None, check_valid=None, tol=None):
    """Vectors with a mean and a covariance matrix, or with several of them.

    The shape is `size` followed by that which `mean` (..., K) and the rows of `cov` (..., K, K) broadcast to.

    >>> mx.np.random.multivariate_normal([0, 0], np.eye(2), size=3).shape
    (3, 2)
    """
    mean, cov = as_parameter(mean), as_parameter(cov)
    if np.ndim(mean) <= 1 and np.ndim(cov) <= 2:
        return as_result(generator().multivariate_normal(mean, cov, size), None, None)
    mean, cov = (np.asarray(value, np.float64) for value in (mean, cov))
    shape = np.broadcast_shapes(mean.shape, cov.shape[:-1])
    shape = shape if size is None else (*np.ravel(size).astype(int), *shape)
    axes, variances, _ = np.linalg.svd(cov)  # cov = axes * variances * axes^T
    roots = axes * np.sqrt(variances)[..., None, :]
    return as_result(mean + np.einsum("...ij,...j->...i", roots, generator().normal(size=shape)), None, None)


def _lognormal(mean, sigma, size, dtype):
    return functions.find("exp")(_scaled("normal", mean, sigma, size, dtype))


def _pareto(a, size, dtype):
    return functions.find("expm1")(_standard("exponential", a, size, dtype) / a)


def _power(a, size, dtype):
    return _standard("uniform", a, size, dtype) ** (1 / a)


def _weibull(a, size, dtype):
    return _standard("exponential", a, size, dtype) ** (1 / a)


def _gamma(shape, scale, size, dtype):
    _require_positive("gamma", {"shape": shape, "scale": scale})
    result = draw_gamma(shape, scale, size)
    return result if dtype is None else result.astype(dtype, copy=False)


# Of standard numbers that depend on no parameter: gradients reach the parameters (inverse transform sampling). Those of
# `gamma` depend on its shape.
_DIFFERENTIABLE = {"gamma": _gamma, "lognormal": _lognormal, "pareto": _pareto, "power": _power, "weibull": _weibull}

_DEFAULTS = {"loc": 0.0, "scale": 1.0, "mean": 0.0, "sigma": 1.0}
_POSITIVE = {"gamma": ("shape", "scale"), **dict.fromkeys(("pareto", "power", "weibull"), ("a",))}

# What operators they are in graphs.
_OPERATORS = {name: f"_npi_{name}" for name in "exponential gumbel logistic pareto rayleigh weibull".split()}
_IN_GRAPHS = {"gamma": _gamma_in_graph, "laplace": _laplace_in_graph, "power": _power_in_graph}


def _complete(name, parameters, given):
    """Values of all parameters, in their order."""
    missing = [key for key in parameters if key not in given]
    if missing:
        raise TypeError(f"{name}() missing the argument {missing[0]!r}")
    return {key: given[key] for key in parameters}


def _require_positive(name, parameters):
    """MXNet's rule for shapes and scales, of which NumPy lets some be 0."""
    for key in _POSITIVE.get(name, ()):
        if key in parameters and not np.all(np.asarray(parameters[key]) > 0):
            raise ArgumentError(f"{name}: {key} has to be positive")


def _distribution(name, *parameters):
    is_scaled = parameters in (("loc", "scale"), ("scale",))
    operator = _OPERATORS.get(name)
    defaults = {key: value for key, value in _DEFAULTS.items() if key in parameters}

    def draw(*args, size=None, dtype=None, ctx=None, out=None, device=None, **named):
        if len(args) > len(parameters):
            *args, size = args
        unknown = [key for key in named if key not in parameters[len(args) :]]
        if unknown:
            raise TypeError(f"{name}() got an unexpected argument {unknown[0]!r}")
        given = dict(zip(parameters, args), **named)
        size = whole_size(size, *given.values())
        if name in _IN_GRAPHS and becomes_part_of_graph(out):
            return _IN_GRAPHS[name](*_complete(name, parameters, {**defaults, **given}).values(), size, dtype)
        if operator is not None and becomes_part_of_graph(out):
            return draw_in_graph(operator, _complete(name, parameters, {**defaults, **given}), size, dtype)
        if is_scaled and _asks_for_gradients(out, *given.values()):
            return _scaled(name, given.get("loc", 0.0), given.get("scale", 1.0), size, dtype)
        if name in _DIFFERENTIABLE and _asks_for_gradients(out, *given.values()):
            values = _complete(name, parameters, {**defaults, **given})
            return _DIFFERENTIABLE[name](*values.values(), size, dtype)
        given = {key: as_parameter(value) for key, value in given.items()}
        _require_positive(name, given)
        return as_result(getattr(generator(), name)(**given, size=_size(size, out)), dtype, out)

    gradients = " Gradients reach\n    the parameters." if is_scaled or name in _DIFFERENTIABLE else ""
    draw.__name__ = draw.__qualname__ = name
    draw.__doc__ = f"""NumPy's distribution `{name}` with the parameters {", ".join(parameters)}, numbers or arrays.

    The result has the shape `size`, or that of the parameters, and is float32 unless `dtype` says otherwise.{gradients}

    >>> mx.np.random.{name}({", ".join("1" * len(parameters))}, size=(2, 3)).shape
    (2, 3)
    """
    return draw


beta = _distribution("beta", "a", "b")
chisquare = _distribution("chisquare", "df")
exponential = _distribution("exponential", "scale")
f = _distribution("f", "dfnum", "dfden")
gamma = _distribution("gamma", "shape", "scale")
gumbel = _distribution("gumbel", "loc", "scale")
laplace = _distribution("laplace", "loc", "scale")
logistic = _distribution("logistic", "loc", "scale")
lognormal = _distribution("lognormal", "mean", "sigma")
pareto = _distribution("pareto", "a")
power = _distribution("power", "a")
rayleigh = _distribution("rayleigh", "scale")
weibull = _distribution("weibull", "a")

_devices.take_device(globals())
