"""`amp.sym.random`: operators that draw random numbers, with the arguments of MXNet's functions.

Parameters are numbers, or symbols: then each element has `shape` samples of its own. `kwargs` are `name` and `attr`;
`ctx` has no effect. Each run draws other numbers, the same ones behind `mx.random.seed`: they are a function of the
seed, of the number of the run and of the node's place in the graph.
"""

from .. import _leniency
from .._random_operators import draw
from ..base import ArgumentError
from .operators import find_function
from .symbol import Symbol

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]


def uniform(low=0, high=1, shape=None, dtype=None, **kwargs):
    """Numbers from [low, high), float32 unless `dtype` says otherwise.

    Without a shape, or with sizes of 0, the shape is that of what reads them. Raises GraphError for a low above high.

    >>> noise = amp.sym.random.uniform(-1, 1, shape=(2, 3))
    >>> amp.Executor(noise, {}, {}, {})()[0].shape
    (2, 3)
    """
    return _draw("uniform", (low, high), shape, dtype, kwargs)


def normal(loc=0, scale=1, shape=None, dtype=None, **kwargs):
    """Normally distributed numbers with mean `loc` and standard deviation `scale`.

    See `uniform` for shapes and dtypes. Raises GraphError for a scale that is not positive.

    >>> noisy = amp.sym.Variable("x") + amp.sym.random.normal(0, 0.1)
    >>> amp.Executor(noisy, {}, {}, {"x": (2, 3)})(np.ones((2, 3), "float32"))[0].shape
    (2, 3)
    """
    return _draw("normal", (loc, scale), shape, dtype, kwargs)


def randn(*shape, loc=0, scale=1, dtype=None, **kwargs):
    """`normal` with the dimensions as arguments.

    >>> amp.sym.random.randn(2, 3).infer_shape()[1]
    [(2, 3)]
    """
    return normal(loc, scale, shape, dtype, **kwargs)


def exponential(scale=1, shape=None, dtype=None, **kwargs):
    """Exponentially distributed numbers with mean `scale`.

    See `uniform` for shapes and dtypes. Raises GraphError for a scale that is not positive.

    >>> amp.sym.random.exponential(2, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw("exponential", (scale,), shape, dtype, kwargs)


def gamma(alpha=1, beta=1, shape=None, dtype=None, **kwargs):
    """Gamma distributed numbers with shape parameter `alpha` and scale `beta`.

    See `uniform` for shapes and dtypes. Raises GraphError for parameters that are not positive.

    >>> amp.sym.random.gamma(2, 1, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw("gamma", (alpha, beta), shape, dtype, kwargs)


def poisson(lam=1, shape=None, dtype=None, **kwargs):
    """Poisson distributed counts with mean `lam`, as floats.

    See `uniform` for shapes and dtypes. Raises GraphError for a negative mean.

    >>> amp.sym.random.poisson(4, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw("poisson", (lam,), shape, dtype, kwargs)


def negative_binomial(k=1, p=1, shape=None, dtype=None, **kwargs):
    """Counts of failures before `k` successes, each with probability `p`, as floats.

    See `uniform` for shapes and dtypes. Raises GraphError for a negative k, and for a p that is not from (0, 1].

    >>> amp.sym.random.negative_binomial(3, 0.5, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw("negative_binomial", (k, p), shape, dtype, kwargs)


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, **kwargs):
    """Poisson counts whose mean is gamma distributed: mean `mu`, dispersion `alpha`; as floats.

    See `uniform` for shapes and dtypes. Raises GraphError for negative parameters.

    >>> amp.sym.random.generalized_negative_binomial(2, 0.5, shape=(2, 3)).infer_shape()[1]
    [(2, 3)]
    """
    return _draw("generalized_negative_binomial", (mu, alpha), shape, dtype, kwargs)


def randint(low, high, shape=None, dtype=None, **kwargs):
    """Integers from [low, high), int32 unless `dtype` says int64.

    See `uniform` for shapes. Raises GraphError where there is no such integer, ArgumentError for symbols.

    >>> amp.sym.random.randint(0, 10, shape=(2, 3)).infer_type()[1]
    [<class 'numpy.int32'>]
    """
    if isinstance(low, Symbol) or isinstance(high, Symbol):
        raise ArgumentError("randint: expected numbers, got symbols")
    return _draw("randint", (low, high), shape, dtype, kwargs)


def multinomial(data, shape=None, get_prob=True, dtype="int32", **kwargs):
    """Indices drawn with the probabilities in the last axis of `data`, of which they are the positions.

    The result has the leading axes of `data` followed by `shape`. With `get_prob` the logarithm of each one's
    probability is a second output, which has a gradient.

    >>> drawn = amp.sym.random.multinomial(amp.sym.Variable("p"), shape=4, get_prob=False)
    >>> amp.Executor(drawn, {}, {}, {"p": (3,)})(np.array([0, 0, 1], "float32"))[0]
    [2 2 2 2]
    <NDArray int32[4]>
    """
    given = {} if shape is None else {"shape": shape}
    return find_function("_sample_multinomial")(data, get_prob=get_prob, dtype=dtype, **given, **kwargs)


def shuffle(data, **kwargs):
    """The rows of `data` in random order.

    >>> rows = amp.sym.random.shuffle(amp.sym.Variable("x"))
    >>> sorted(amp.Executor(rows, {}, {}, {"x": (3,)})(np.array([1, 2, 3], "float32"))[0].asnumpy().tolist())
    [1.0, 2.0, 3.0]
    """
    return find_function("_shuffle")(data, **kwargs)


def _draw(name, parameters, shape, dtype, kwargs):
    left_out = ("ctx", "data") if _leniency.is_on else ("ctx",)  # MXNet ignores symbols that a draw has no use for
    options = {key: value for key, value in kwargs.items() if key not in left_out}
    return draw(find_function, Symbol, name, parameters, shape=shape, dtype=dtype, **options)
