"""Random arrays. One NumPy generator serves all modules; `seed` makes it begin anew.

The numbers are not MXNet's: the distributions are. Functions take numbers, or NDArrays of parameters: then each element
has `shape` samples of its own, and the result has the shape of the parameters followed by `shape`. Inside of a
hybridized block functions become operators of its graph, which draw other numbers in each run. Those whose names end
with `_like` are operators everywhere.
"""

import hashlib
import random

import numpy as np

from .. import _devices, _random_key, _random_operators, _recording, _trace, nd
from .._arrays import readable
from ..base import ArgumentError, dtype_name
from ..nd.operators import find_function
from ._missing import getter

__all__ = [
    "binomial",
    "categorical",
    "exponential",
    "exponential_like",
    "gamma",
    "gamma_like",
    "generalized_negative_binomial",
    "generalized_negative_binomial_like",
    "generator",
    "get_state",
    "multinomial",
    "negative_binomial",
    "negative_binomial_like",
    "normal",
    "normal_like",
    "poisson",
    "poisson_like",
    "randint",
    "randn",
    "seed",
    "set_state",
    "shuffle",
    "uniform",
    "uniform_like",
]

_generator = None
_seed = None  # what `seed` was told, if it was
_spawned = 0  # seeds that were given to other processes


def generator():
    """The numpy.random.Generator that every random array of this package comes from.

    >>> type(mx.random.generator()).__name__
    'Generator'
    """
    global _generator
    if _generator is None:
        _generator = np.random.default_rng()
    return _generator


def seed(seed_state, ctx="all"):
    """Begins anew with an integer: equal seeds give equal arrays, whatever module makes them. `ctx` has no effect.

    Raises ArgumentError for what is no integer.

    >>> mx.random.seed(7)
    >>> first = mx.random.uniform(shape=(2,))
    >>> mx.random.seed(7)
    >>> mx.test_utils.same(first, mx.random.uniform(shape=(2,)))
    True
    """
    global _generator, _seed, _spawned
    if isinstance(seed_state, bool) or not isinstance(seed_state, (int, np.integer)):
        raise ArgumentError(f"seed: expected an integer, got {seed_state!r}")
    _seed, _spawned = int(seed_state) & (2**64 - 1), 0
    _generator = np.random.default_rng(_seed)
    _random_key.begin(int(seed_state))


def get_state():
    """All that random numbers of a program depend on; `set_state` takes it.

    Those are this package's generators, of arrays and of operators, NumPy's global one, by which samplers and iterators
    shuffle, as in MXNet, and Python's. The result is a dict of numbers, strings and lists, which `json` writes.

    >>> state = mx.random.get_state()
    >>> order = list(mx.gluon.data.RandomSampler(10))
    >>> mx.random.set_state(state)
    >>> list(mx.gluon.data.RandomSampler(10)) == order
    True
    """
    legacy = np.random.get_state(legacy=False)
    numbers = {name: getattr(value, "tolist", lambda value=value: value)() for name, value in legacy["state"].items()}
    return {
        "operators": list(_random_key.state()),
        "arrays": generator().bit_generator.state,
        "spawned": [_seed, _spawned],
        "numpy": {**legacy, "state": numbers},
        "python": random.getstate(),
    }


def set_state(state):
    """Goes back to what `get_state` gave. Raises ArgumentError for anything else.

    >>> state = mx.random.get_state()
    >>> first = mx.random.uniform(shape=(2,))
    >>> mx.random.set_state(state)
    >>> mx.test_utils.same(first, mx.random.uniform(shape=(2,)))
    True
    """
    checked_state(state)()


def checked_state(state):
    """A function that does what `set_state` does, once all of the state is known to be right."""
    try:
        fresh, legacy, pythons = np.random.default_rng(0), np.random.RandomState(0), random.Random(0)
        fresh.bit_generator.state = state["arrays"]
        (seed_of_runs, runs), (seed_given, spawned) = state["operators"], state["spawned"]
        legacy.set_state(state["numpy"])
        version, words, spare = state["python"]
        pythons.setstate((version, tuple(words), spare))
        numbers = [seed_of_runs, runs, spawned, *([] if seed_given is None else [seed_given])]
        if not all(isinstance(number, int) for number in numbers):
            raise TypeError(f"expected integers, got {numbers}")
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ArgumentError(f"set_state: expected what get_state gave: {type(error).__name__} {error}") from None

    def apply():
        global _seed, _spawned
        generator().bit_generator.state = fresh.bit_generator.state
        np.random.set_state(legacy.get_state(legacy=False))
        random.setstate(pythons.getstate())
        _random_key.begin(seed_of_runs, runs)
        _seed, _spawned = seed_given, spawned

    return apply


def spawn_seed():
    """A list of integers that seeds another process: another one for each call.

    Equal seeds, of `seed` or else of `numpy.random`, give equal lists. Nothing is drawn from any generator.
    """
    global _spawned
    _spawned += 1
    if _seed is not None:
        return [_seed, _spawned]
    _, keys, position, *_ = np.random.get_state()
    digest = hashlib.blake2b(keys.tobytes() + str(position).encode(), digest_size=8).digest()
    return [int.from_bytes(digest, "little"), _spawned]


def begin_in_worker(seeds):
    """Seeds this package's generators, NumPy's and Python's by a list of integers."""
    words = np.random.SeedSequence(seeds).generate_state(4)
    seed(int(words[0]) << 32 | int(words[1]))
    np.random.seed(int(words[2]))
    random.seed(int(words[3]))


def uniform(low=0, high=1, shape=None, dtype=None, ctx=None, out=None):
    """Numbers from [low, high), float32 unless `dtype` or `out` says otherwise.

    Raises ArgumentError for shapes that are none and for parameters that NumPy refuses.

    >>> mx.random.uniform(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw(
        "uniform",
        lambda rng, size, a, b: rng.uniform(np.minimum(a, b), np.maximum(a, b), size),
        (low, high),
        shape,
        dtype,
        out,
    )


def normal(loc=0, scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Normally distributed numbers with mean `loc` and standard deviation `scale`.

    float32 by default. Raises ArgumentError as `uniform` does, such as for a negative `scale`.

    >>> mx.random.normal(0, 1, shape=(2, 3)).dtype
    dtype('float32')
    """
    return _draw("normal", lambda rng, size, a, b: rng.normal(a, b, size), (loc, scale), shape, dtype, out)


def randn(*shape, loc=0, scale=1, dtype=None, ctx=None, out=None):
    """`normal` with the dimensions as arguments.

    Errors are those of `uniform`.

    >>> mx.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


def exponential(scale=1, shape=None, dtype=None, ctx=None, out=None):
    """Exponentially distributed numbers with mean `scale`.

    float32 by default. Errors are those of `uniform`.

    >>> mx.random.exponential(2, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("exponential", lambda rng, size, a: rng.exponential(a, size), (scale,), shape, dtype, out)


def gamma(alpha=1, beta=1, shape=None, dtype=None, ctx=None, out=None):
    """Gamma distributed numbers with shape parameter `alpha` and scale `beta`.

    float32 by default. Errors are those of `uniform`.

    >>> mx.random.gamma(2, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("gamma", lambda rng, size, a, b: rng.gamma(a, b, size), (alpha, beta), shape, dtype, out)


def poisson(lam=1, shape=None, dtype=None, ctx=None, out=None):
    """Poisson distributed counts with mean `lam`, as floats.

    float32 by default. Errors are those of `uniform`.

    >>> mx.random.poisson(4, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw("poisson", lambda rng, size, a: rng.poisson(a, size), (lam,), shape, dtype, out)


def binomial(n=1, p=0.5, shape=None, dtype=None, ctx=None, out=None):
    """How many of `n` trials succeed, each with probability `p`; of MXNet 2. There are no gradients.

    Raises ArgumentError for negative trials and for what is no probability. A hybridized block with it has no graph.

    >>> mx.random.binomial(4, 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    _trace.refuse("mx.random.binomial, which would draw once and for all,")

    def sample(rng, size, trials, probability):
        return rng.binomial(np.asarray(trials, "f8").astype("i8"), probability, size)

    return _draw("binomial", sample, (n, p), shape, dtype, out)


def negative_binomial(k=1, p=1, shape=None, dtype=None, ctx=None, out=None):
    """Counts of failures before `k` successes, each with probability `p`, as floats.

    float32 by default. Errors are those of `uniform`.

    >>> mx.random.negative_binomial(3, 0.5, shape=(2, 3)).shape
    (2, 3)
    """
    return _draw(
        "negative_binomial", lambda rng, size, n, q: rng.negative_binomial(n, q, size), (k, p), shape, dtype, out
    )


def generalized_negative_binomial(mu=1, alpha=1, shape=None, dtype=None, ctx=None, out=None):
    """Poisson counts whose mean is gamma distributed: mean `mu`, dispersion `alpha`; as floats.

    float32 by default. Errors are those of `uniform`.

    >>> mx.random.generalized_negative_binomial(2, 0.5, shape=(2, 3)).shape
    (2, 3)
    """

    def sample(rng, size, mean, dispersion):
        dispersion = np.asarray(dispersion, "f8")
        if not dispersion.all():
            return rng.poisson(mean, size)
        return rng.poisson(rng.gamma(1 / dispersion, dispersion * mean, size))

    return _draw("generalized_negative_binomial", sample, (mu, alpha), shape, dtype, out)


def randint(low, high, shape=None, dtype=None, ctx=None, out=None):
    """Integers from [low, high), int32 unless `dtype` (int32 or int64) or `out` says otherwise.

    Raises ArgumentError where there is no such integer.

    >>> mx.random.randint(0, 10, shape=(2, 3)).dtype
    dtype('int32')
    """
    sample = lambda rng, size, a, b: rng.integers(a, b, size)  # noqa: E731 - like those above
    return _draw("randint", sample, (low, high), shape, dtype, out, default_dtype="int32")


def _drawn_from(rows, count):
    """`count` indices for each row of weights: where as many uniform numbers lie among the row's sums so far."""
    sums = np.cumsum(rows / rows.sum(-1, keepdims=True), axis=1)
    sums /= sums[:, -1:]
    numbers = generator().random((len(rows), count))
    low, high = np.zeros(numbers.shape, "i8"), np.full(numbers.shape, rows.shape[1] - 1)
    for _ in range(rows.shape[1].bit_length()):  # by bisection, all rows at once
        middle = (low + high) // 2
        is_behind = np.take_along_axis(sums, middle, 1) <= numbers
        low, high = np.where(is_behind & (low < high), middle + 1, low), np.where(is_behind, high, middle)
    return low


def multinomial(data=None, shape=None, get_prob=False, out=None, dtype=None, *, n=None, p=None, ctx=None):
    """Indices drawn in proportion to the numbers in the last axis of `data`: probabilities, or weights.

    The result has the leading axes of `data` followed by `shape`; int32 unless `dtype` says otherwise. With `get_prob`
    it is a list: indices, and the logarithm of each one's number, which has a gradient.

    With two arrays, `n` and `p`, it is MXNet 2's function of this name: how often each index occurs among n trials with
    the probabilities in the last axis of `p`, float32, with `shape` between the leading axes and the last one. Raises
    ArgumentError for rows with a negative number, a NaN or an infinity, and for rows of zeros.

    >>> mx.random.multinomial(amp.nd.array([0, 0, 1]), shape=4)
    [2 2 2 2]
    <NDArray int32[4]>
    """
    if isinstance(shape, nd.NDArray):
        data, shape, n, p = None, get_prob or None, data, shape
    if n is not None or p is not None:
        return _multinomial_counts(n, p, shape, dtype or "float32", out)
    dtype = dtype or "int32"
    if _trace.current() is not None:
        given = {} if shape is None else {"shape": shape}
        return find_function("_sample_multinomial")(data, get_prob=get_prob, dtype=dtype_name(dtype), out=out, **given)
    weights = np.asarray(readable(data, "multinomial: data"), "f8")
    size = _sizes("multinomial", shape) or ()
    if not weights.ndim:
        raise ArgumentError("multinomial: expected rows of probabilities, got a scalar")
    with np.errstate(over="ignore", invalid="ignore"):
        sums = weights.sum(-1)
    if not (weights >= 0).all() or not np.isfinite(sums).all() or not sums.all():
        raise ArgumentError("multinomial: expected rows of probabilities, got negative ones, NaN, infinity or only 0")
    rows = weights.reshape(-1, weights.shape[-1])
    drawn = _drawn_from(rows, int(np.prod(size, dtype="i8")))
    result_shape = weights.shape[:-1] + size or (1,)
    chosen = _give(drawn.reshape(result_shape), dtype, out)
    if not get_prob:
        return chosen
    if not (isinstance(data, nd.NDArray) and _recording.is_recorded(data)):
        return [chosen, _give(np.log(np.take_along_axis(rows, drawn, 1)).reshape(result_shape), "float32", None)]
    picked = nd.op._take_along_axis(data.reshape(rows.shape), nd.from_numpy(drawn), axis=-1)
    return [chosen, nd.op.log(picked).reshape(result_shape)]


def _multinomial_counts(n, p, shape, dtype, out):
    _trace.refuse("mx.random.multinomial of counts, which would draw once and for all,")
    trials = np.asarray(readable(n, "multinomial: n")).astype("i8")
    rows = np.asarray(readable(p, "multinomial: p"), "f8")
    if rows.ndim != trials.ndim + 1 or rows.shape[:-1] != trials.shape:
        raise ArgumentError(f"multinomial: expected p of shape {trials.shape} and one more axis, got {rows.shape}")
    size = _sizes("multinomial", shape) or ()
    sums = rows.sum(-1, keepdims=True)
    if not (rows >= 0).all() or not np.isfinite(sums).all() or not sums.all() or (trials < 0).any():
        raise ArgumentError("multinomial: expected counts of trials and rows of probabilities")
    between = (slice(None),) * trials.ndim + (None,) * len(size)
    drawn = generator().multinomial(trials[between], (rows / sums)[between], trials.shape + size)
    return _give(drawn, dtype, out)


def categorical(data, shape=None, get_prob=False, out=None, dtype="int32"):
    """MXNet 2's name of `multinomial`.

    >>> mx.random.categorical(amp.nd.array([0, 0, 1]), shape=4)
    [2 2 2 2]
    <NDArray int32[4]>
    """
    return multinomial(data, shape, get_prob, out, dtype)


def shuffle(data):
    """A copy with its first axis in random order.

    Shape and dtype stay. Raises ArgumentError for what has no rows.

    >>> sorted(mx.random.shuffle(amp.nd.arange(4)).asnumpy().tolist())
    [0.0, 1.0, 2.0, 3.0]
    """
    if _trace.current() is not None:
        return find_function("_shuffle")(data)
    array = np.asarray(readable(data, "shuffle: data"))
    if not array.ndim:
        raise ArgumentError("shuffle: expected an array with rows, got a scalar")
    return nd.NDArray(generator().permutation(array, axis=0))


def _draw(what, sample, parameters, shape, dtype, out, default_dtype="float32"):
    if _trace.current() is not None:
        dtype = None if dtype is None else dtype_name(dtype)
        return _random_operators.draw(find_function, nd.NDArray, what, parameters, shape=shape, dtype=dtype, out=out)
    parameters = [value.asnumpy() if hasattr(value, "asnumpy") else value for value in parameters]
    size = _sizes(what, shape)
    try:
        own = np.broadcast_shapes(*(np.shape(value) for value in parameters))
    except ValueError:
        raise ArgumentError(f"{what}: shapes of parameters differ: {[np.shape(v) for v in parameters]}") from None
    if out is not None and size is None:
        size = tuple(out.shape)[len(own) :]
    if own:
        size = own + (size or ())
        parameters = [_at_the_front(value, own, len(size)) for value in parameters]
    try:
        values = sample(generator(), (1,) if size is None else size, *parameters)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{what}: {error}") from None
    return _give(values, dtype or (None if out is not None else default_dtype), out)


def _like(name):
    def function(data, *args, **kwargs):
        return find_function(f"_random_{name}")(data, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The operator `_random_{name}`: numbers of the shape and the dtype of an array.

    >>> mx.random.{name}(amp.nd.zeros((2, 3))).shape
    (2, 3)
    """
    return function


uniform_like = _like("uniform_like")
normal_like = _like("normal_like")
gamma_like = _like("gamma_like")
exponential_like = _like("exponential_like")
poisson_like = _like("poisson_like")
negative_binomial_like = _like("negative_binomial_like")
generalized_negative_binomial_like = _like("generalized_negative_binomial_like")


def _at_the_front(value, own, rank):
    """A parameter that varies along the first axes of the result."""
    value = np.broadcast_to(np.asarray(value, "f8"), own)
    return value.reshape(own + (1,) * (rank - len(own)))


def _sizes(what, shape):
    """A tuple, or None where nothing is said (as in MXNet also for ())."""
    if shape is None or not isinstance(shape, (int, np.integer)) and not len(shape):
        return None
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in sizes):
        raise ArgumentError(f"{what}: expected a shape of integers from 0, got {shape!r}")
    return tuple(int(n) for n in sizes)


def _give(values, dtype, out):
    if out is None:
        return nd.NDArray(np.ascontiguousarray(values)).astype(dtype_name(dtype), copy=False)
    if tuple(out.shape) != values.shape:
        raise ArgumentError(f"out: expected shape {values.shape}, got {tuple(out.shape)}")
    out[:] = values.astype(out.dtype)
    return out


_devices.take_device(globals())
__getattr__ = getter(__name__)
