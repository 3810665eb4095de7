"""What else MXNet's `test_utils` has: tolerances by dtype, comparisons of optimizers and of blocks, small helpers."""

import functools
import time

import numpy as np

from ... import nd
from ...base import ArgumentError, dtype_name
from .. import random
from ..io.data_iter import DataIter
from .comparison import assert_almost_equal

_EPSILONS = {"float16": 2**-6, "bfloat16": 2**-6, "float32": 2**-9, "float64": 2**-14}
_RELATIVE = {"float16": 1e-2, "bfloat16": 1e-1, "float32": 1e-4, "float64": 1e-5, "bool": 0}
_ABSOLUTE = {"float16": 1e-1, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-20, "bool": 0}


def effective_dtype(dat):
    """The dtype whose rounding an array's numbers have: its own.

    >>> mx.test_utils.effective_dtype(amp.nd.ones((2,)))
    dtype('float32')
    """
    return dat.dtype if hasattr(dat, "dtype") else np.dtype(dat)


def default_numeric_eps():
    """{dtype: step of finite differences}

    >>> mx.test_utils.default_numeric_eps()[np.dtype("float32")]
    0.001953125
    """
    return _by_dtype(_EPSILONS)


def default_rtols():
    """{dtype: relative tolerance}

    >>> mx.test_utils.default_rtols()[np.dtype("float64")]
    1e-05
    """
    return _by_dtype(_RELATIVE)


def default_atols():
    """{dtype: absolute tolerance}

    >>> mx.test_utils.default_atols()[np.dtype("float32")]
    0.001
    """
    return _by_dtype(_ABSOLUTE)


def _by_dtype(values):
    return {np.dtype(name): value for name, value in values.items() if name != "bfloat16"}


def get_tolerance(dat, tol, default_tol):
    """`tol`, or what `default_tol` ({dtype: number}) says of the array's dtype.

    >>> mx.test_utils.get_tolerance(amp.nd.ones((2,)), None, mx.test_utils.default_rtols())
    0.0001
    """
    if isinstance(tol, dict):
        default_tol, tol = tol, None
    return default_tol.get(effective_dtype(dat), 0) if tol is None else tol


def get_tols(x, y, rtol, atol):
    """Relative and absolute tolerance for two arrays: the larger of theirs where None is given.

    >>> mx.test_utils.get_tols(amp.nd.ones((2,)), amp.nd.ones((2,)), None, 1e-7)
    (0.0001, 1e-07)
    """
    rtol = max(get_tolerance(array, rtol, default_rtols()) for array in (x, y))
    atol = max(get_tolerance(array, atol, default_atols()) for array in (x, y))
    return rtol, atol


def compare_ndarray_tuple(t1, t2, rtol=None, atol=None):
    """Compares arrays, or tuples of them that may hold tuples and None. Raises AssertionError.

    >>> mx.test_utils.compare_ndarray_tuple((amp.nd.ones((2,)), None), (amp.nd.ones((2,)), None))
    """
    if t1 is None or t2 is None:
        assert t1 is t2, f"one of the two is None: {t1}, {t2}"
    elif isinstance(t1, (tuple, list)):
        assert len(t1) == len(t2), f"{len(t1)} arrays and {len(t2)}"
        for one, other in zip(t1, t2):
            compare_ndarray_tuple(one, other, rtol, atol)
    else:
        assert_almost_equal(t1, t2, rtol=rtol, atol=atol)


def compare_optimizer(
    opt1,
    opt2,
    shapes,
    dtype,
    w_stype="default",
    g_stype="default",
    rtol=1e-4,
    atol=1e-5,
    compare_states=True,
    ntensors=1,
    *,
    noise_seed=None,
):
    """Lets two optimizers update equal random weights by equal gradients, and compares. Raises AssertionError.

    `shapes`: one shape, or a list of one for each of `ntensors` weights that are updated together. With `noise_seed`
    both draw the same random numbers.

    >>> one, other = (mx.optimizer.SGD(momentum=0.9) for _ in range(2))
    >>> mx.test_utils.compare_optimizer(one, other, (3, 4), "float32")
    """
    shapes = shapes if isinstance(shapes, list) else [shapes]

    def arrays():
        return [random.uniform(-1, 1, shape=shape).astype(dtype_name(dtype)) for shape in shapes]

    weights, gradients = arrays(), arrays()
    found = []
    for optimizer in (opt1, opt2):
        own, given = [array.copy() for array in weights], [array.copy() for array in gradients]
        states = [optimizer.create_state_multi_precision(i, weight) for i, weight in enumerate(own)]
        if noise_seed is not None:
            random.seed(noise_seed)
        if len(shapes) == 1:
            optimizer.update_multi_precision(0, own[0], given[0], states[0])
        else:
            optimizer.update_multi_precision(list(range(len(own))), own, given, states)
        found.append((own, states))
    if compare_states:
        compare_ndarray_tuple(tuple(found[0][1]), tuple(found[1][1]), rtol=rtol, atol=atol)
    compare_ndarray_tuple(found[0][0], found[1][0], rtol=rtol, atol=atol)


def compare_optimizer_noise_seeded(opt1, opt2, shapes, dtype, noise_seed, *args, **kwargs):
    """`compare_optimizer` of two that add random numbers, such as SGLD: both draw those that follow `noise_seed`.

    >>> one, other = (mx.optimizer.SGLD() for _ in range(2))
    >>> mx.test_utils.compare_optimizer_noise_seeded(one, other, [(3, 4)], "float32", 7)
    """
    compare_optimizer(opt1, opt2, shapes, dtype, *args, noise_seed=noise_seed, **kwargs)


def assign_each(the_input, function):
    """An array of function(element), or a copy where there is none.

    >>> mx.test_utils.assign_each(np.array([1.0, 2.0]), lambda x: x + 1)
    array([2., 3.])
    """
    return np.array(the_input) if function is None else np.vectorize(function)(np.array(the_input))


def assign_each2(input1, input2, function):
    """An array of function(element, element).

    >>> mx.test_utils.assign_each2(np.array([1.0]), np.array([2.0]), max)
    array([2.])
    """
    return np.array(input1) if function is None else np.vectorize(function)(np.array(input1), np.array(input2))


def create_vector(size, dtype=np.int64):
    """0, 1, 2, ... as an array.

    >>> mx.test_utils.create_vector(3).asnumpy()
    array([0, 1, 2])
    """
    return nd.array(np.arange(size, dtype=dtype), dtype=dtype)


def create_2d_tensor(rows, columns, dtype=np.int64):
    """Rows of equal numbers: 0, 1, 2, ...

    >>> mx.test_utils.create_2d_tensor(2, 3).asnumpy()
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    return nd.array(np.broadcast_to(np.arange(rows, dtype=dtype)[:, None], (rows, columns)), dtype=dtype)


def get_identity_mat(size):
    """The identity matrix (size, size).

    >>> mx.test_utils.get_identity_mat(2).asnumpy().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return nd.array(np.identity(size))


def get_identity_mat_batch(size):
    """Two identity matrices.

    >>> mx.test_utils.get_identity_mat_batch(3).shape
    (2, 3, 3)
    """
    return nd.array([np.identity(size)] * 2)


def rand_coord_2d(x_low, x_high, y_low, y_high):
    """Two random integers, the first from [x_low, x_high), the second from [y_low, y_high).

    >>> mx.test_utils.rand_coord_2d(1, 2, 5, 6)
    (1, 5)
    """
    x, y = (random.generator().integers(low, high) for low, high in ((x_low, x_high), (y_low, y_high)))
    return int(x), int(y)


def random_sample(population, k):
    """k elements in the order in which they were.

    >>> mx.test_utils.random_sample([1, 2, 3], 3)
    [1, 2, 3]
    """
    chosen = random.generator().choice(len(population), size=k, replace=False)
    return [population[i] for i in sorted(int(i) for i in chosen)]


def collapse_sum_like(a, shape):
    """The sum of `a` over all axes along which an array of `shape` was broadcast to it.

    >>> mx.test_utils.collapse_sum_like(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    added = a.ndim - len(shape)
    axes = tuple(range(added)) + tuple(i + added for i, size in enumerate(shape) if size == 1 != a.shape[i + added])
    return a.sum(axis=axes, keepdims=True).reshape(shape)


def retry(n):
    """A decorator: the function may raise AssertionError n - 1 times.

    >>> mx.test_utils.retry(2)(lambda: 1)()
    1
    """
    assert n > 0

    def decorate(function):
        @functools.wraps(function)
        def tried(*args, **kwargs):
            for _ in range(n - 1):
                try:
                    return function(*args, **kwargs)
                except AssertionError:
                    continue
            return function(*args, **kwargs)

        return tried

    return decorate


def has_tvm_ops():
    """False: there are no operators of TVM.

    >>> mx.test_utils.has_tvm_ops()
    False
    """
    return False


def is_op_runnable():
    """True: every operator runs on this machine.

    >>> mx.test_utils.is_op_runnable()
    True
    """
    return True


def np_reduce(dat, axis, keepdims, numpy_reduce_func):
    """A reduction of NumPy over several axes, one after the other.

    >>> mx.test_utils.np_reduce(np.ones((2, 3)), (0, 1), False, np.sum)
    array(6.)
    """
    axes = range(dat.ndim) if axis is None else (axis,) if np.isscalar(axis) else axis
    axes = sorted(one % dat.ndim for one in axes)
    result = dat
    for one in reversed(axes):
        result = numpy_reduce_func(result, axis=one)
    return result.reshape([1 if i in axes else n for i, n in enumerate(dat.shape)]) if keepdims else np.asarray(result)


def gen_buckets_probs_with_ppf(ppf, nbuckets):
    """Buckets of equal probability of a distribution whose quantiles are `ppf(probability)`: their bounds and these.

    >>> mx.test_utils.gen_buckets_probs_with_ppf(lambda p: p, 2)
    ([(0.0, 0.5), (0.5, 1.0)], [0.5, 0.5])
    """
    bounds = [float(ppf(i / nbuckets)) for i in range(nbuckets + 1)]
    return list(zip(bounds, bounds[1:])), [1 / nbuckets] * nbuckets


def mean_check(generator, mu, sigma, nsamples=1000000):
    """Whether the mean of samples is within three standard errors of `mu`.

    >>> mx.test_utils.mean_check(lambda n: np.zeros(n), 0, 1, 100)
    True
    """
    return bool(abs(np.mean(np.asarray(generator(nsamples))) - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator, sigma, nsamples=1000000):
    """Whether the variance of samples is within three standard errors of `sigma` squared.

    >>> mx.test_utils.var_check(lambda n: np.tile([-1.0, 1.0], n // 2), 1, 100)
    True
    """
    variance = np.var(np.asarray(generator(nsamples), np.float64), ddof=1)
    return bool(abs(variance - sigma**2) < 3 * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(generator, buckets, probs, nsamples=1000000):
    """(p, counted, expected) of Pearson's test; buckets are intervals or single values. Needs SciPy.

    >>> callable(mx.test_utils.chi_square_check)
    True
    """
    from scipy.stats import chisquare

    samples = np.asarray(generator(nsamples)).reshape(-1)
    expected = np.asarray(probs, np.float64) * samples.size
    if isinstance(buckets[0], (list, tuple)):
        counts = [np.count_nonzero((samples >= low) & (samples < high)) for low, high in buckets]
    else:
        counts = [np.count_nonzero(samples == value) for value in buckets]
    counts = np.asarray(counts, np.float64)
    return chisquare(counts, expected * counts.sum() / expected.sum()).pvalue, counts, expected


def verify_generator(
    generator, buckets, probs, nsamples=1000000, nrepeat=5, success_rate=0.2, alpha=0.05, always_success=False
):
    """Pearson's test several times: p values. Raises AssertionError if too few are above `alpha`. Needs SciPy.

    >>> callable(mx.test_utils.verify_generator)
    True
    """
    found = [chi_square_check(generator, buckets, probs, nsamples)[0] for _ in range(nrepeat)]
    succeeded = sum(p > alpha for p in found)
    assert always_success or succeeded >= nrepeat * success_rate, f"p values {found}: {succeeded} above {alpha}"
    return found


class DummyIter(DataIter):
    """The first batch of another iterator, again and again without an end: for measurements of speed.

    >>> batches = mx.test_utils.DummyIter(mx.io.NDArrayIter(np.arange(6), batch_size=2))
    >>> [next(batches).data[0].asnumpy().tolist() for _ in range(2)]
    [[0.0, 1.0], [0.0, 1.0]]
    """

    def __init__(self, real_iter):
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        self.provide_data, self.provide_label = real_iter.provide_data, real_iter.provide_label
        self.the_batch = next(real_iter)

    def next(self):
        """The batch."""
        return self.the_batch


def check_speed(sym, location=None, ctx=None, N=20, grad_req=None, typ="whole", **kwargs):  # noqa: N803 - MXNet's name
    """Seconds of a run of a symbol, the mean of `N` behind a first one that is not counted.

    `location` is {argument: array}; without it, shapes are `kwargs` ({name: shape}) and numbers are random. Runs are
    'whole', forward and backward, or 'forward'. Raises ArgumentError for another `typ`.

    >>> mx.test_utils.check_speed(amp.sym.exp(amp.sym.Variable("x")), x=(2, 3), N=2) > 0
    True
    """
    if typ not in ("whole", "forward"):
        raise ArgumentError(f"check_speed: typ is 'whole' or 'forward', got {typ!r}")
    shapes = kwargs if location is None else {name: array.shape for name, array in location.items()}
    bound = sym.simple_bind(ctx, grad_req or "write", **shapes)
    if location is None:
        location = {name: random.generator().normal(size=array.shape) for name, array in bound.arg_dict.items()}
    for name, array in location.items():
        bound.arg_dict[name][:] = array

    def run():
        bound.forward(is_train=typ == "whole")
        if typ == "whole":
            bound.backward(bound.outputs)

    run()
    begin = time.perf_counter()
    for _ in range(N):
        run()
    return (time.perf_counter() - begin) / N
