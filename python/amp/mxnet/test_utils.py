"""What tests of MXNet programs compare and make arrays with. NumPy's arrays and ours may be mixed."""

import contextlib
import json
import os
import sys

import numpy as np

from .. import nd
from .._arrays import readable
from ..base import UnsupportedError
from . import random
from ._missing import getter, refusing
from .context import Context, current_context

__all__ = [
    "almost_equal",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "check_symbolic_forward",
    "default_context",
    "default_device",
    "default_dtype",
    "discard_stderr",
    "download",
    "download_model",
    "environment",
    "find_max_violation",
    "get_atol",
    "get_etol",
    "get_rtol",
    "is_aarch64_run",
    "is_cd_run",
    "list_gpus",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_uniform_arrays",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "set_default_device",
    "simple_forward",
]

# Tolerances by dtype, as MXNet has them: (rtol, atol).
_TOLERANCES = {"float16": (1e-2, 1e-1), "bfloat16": (1e-1, 1e-1), "float32": (1e-4, 1e-3), "float64": (1e-5, 1e-20)}


# ---- comparison ----


def _values(array):
    """A NumPy array; low precision as float32."""
    array = np.asarray(array if np.isscalar(array) else readable(array))
    return array.astype("f4") if array.dtype.name in ("bfloat16", "float16") or array.dtype.kind == "V" else array


def _tolerance(given, index, *arrays):
    if given is not None:
        return given
    names = [getattr(getattr(array, "dtype", None), "name", "float64") for array in arrays]
    return max(_TOLERANCES.get(name, (0, 0))[index] for name in names)


def get_rtol(rtol=None, dtype="float64"):
    """The relative tolerance for a dtype, unless one is given.

    >>> mx.test_utils.get_rtol(0.5)
    0.5
    """
    return _tolerance(rtol, 0, np.empty(0, dtype))


def get_atol(atol=None, dtype="float64"):
    """The absolute tolerance for a dtype, unless one is given.

    >>> mx.test_utils.get_atol(0.5)
    0.5
    """
    return _tolerance(atol, 1, np.empty(0, dtype))


def get_etol(etol=None):
    """The share of elements that may differ: 0 unless one is given.

    >>> mx.test_utils.get_etol()
    0
    """
    return 0 if etol is None else etol


def same(a, b):
    """Whether two arrays have equal elements.

    >>> mx.test_utils.same(np.ones(2), amp.nd.ones((2,)))
    True
    """
    return np.array_equal(_values(a), _values(b))


def same_array(array1, array2):
    """Whether two arrays share memory.

    >>> x = amp.nd.ones((2,))
    >>> mx.test_utils.same_array(x, x.copy())
    False
    """
    return np.shares_memory(np.asarray(readable(array1)), np.asarray(readable(array2)))


def almost_equal(a, b, rtol=None, atol=None, equal_nan=False, use_broadcast=True):
    """Whether |a - b| <= atol + rtol |b| everywhere; tolerances by dtype where none are given.

    >>> mx.test_utils.almost_equal(np.ones(2), np.ones(2) + 1e-9)
    True
    """
    x, y = _values(a), _values(b)
    if x.shape != y.shape and not (use_broadcast and _broadcast(x, y)):
        return False
    return np.allclose(x, y, _tolerance(rtol, 0, a, b), _tolerance(atol, 1, a, b), equal_nan)


def _broadcast(x, y):
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


def find_max_violation(a, b, rtol, atol):
    """(index, error) of the largest |a - b| / (atol + rtol |b|).

    >>> index, error = mx.test_utils.find_max_violation(np.ones(2), np.array([1, 2.0]), 0, 1)
    >>> index, error
    ((1,), 1.0)
    """
    x, y = np.broadcast_arrays(_values(a), _values(b))
    with np.errstate(all="ignore"):
        errors = np.abs(x - y) / (atol + rtol * np.abs(y) + 1e-20)
    errors = np.where(np.isnan(errors), np.inf, np.asarray(errors, "f8"))
    index = np.unravel_index(np.argmax(errors), errors.shape)
    return tuple(int(i) for i in index), float(errors[index])


def assert_almost_equal(
    a, b, rtol=None, atol=None, names=("a", "b"), equal_nan=False, use_broadcast=True, mismatches=(10, 10)
):
    """Raises AssertionError, with the largest violation, unless `almost_equal`.

    >>> mx.test_utils.assert_almost_equal(amp.nd.ones((2,)), np.ones(2))
    """
    if not almost_equal(a, b, rtol, atol, equal_nan, use_broadcast):
        raise AssertionError(_difference(a, b, _tolerance(rtol, 0, a, b), _tolerance(atol, 1, a, b), names))


def assert_almost_equal_with_err(
    a, b, rtol=None, atol=None, etol=None, names=("a", "b"), equal_nan=False, mismatches=(10, 10)
):
    """Like `assert_almost_equal`, but a share `etol` of the elements may violate the tolerances.

    >>> mx.test_utils.assert_almost_equal_with_err(np.array([1, 2.0]), np.array([1, 3.0]), etol=0.5)
    """
    rtol, atol = _tolerance(rtol, 0, a, b), _tolerance(atol, 1, a, b)
    wrong = ~np.isclose(_values(a), _values(b), rtol, atol, equal_nan)
    share = wrong.mean() if wrong.size else 0
    if share > get_etol(etol):
        difference = _difference(a, b, rtol, atol, names)
        raise AssertionError(f"{share:.4%} of the elements differ, {get_etol(etol):.4%} may: {difference}")


def assert_almost_equal_ignore_nan(a, b, rtol=None, atol=None, names=("a", "b")):
    """Like `assert_almost_equal`, without the elements that are NaN in one of the arrays.

    >>> mx.test_utils.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1, 2.0]))
    """
    x, y = _values(a), _values(b)
    kept = ~(np.isnan(x) | np.isnan(y))
    assert_almost_equal(x[kept], y[kept], rtol, atol, names)


def assert_allclose(a, b, rtol=1e-07, atol=0, equal_nan=True):
    """numpy.testing.assert_allclose.

    >>> mx.test_utils.assert_allclose(np.ones(2), np.ones(2))
    """
    np.testing.assert_allclose(_values(a), _values(b), rtol, atol, equal_nan)


def _difference(a, b, rtol, atol, names):
    x, y = _values(a), _values(b)
    if not _broadcast(x, y):
        return f"{names[0]} has shape {x.shape}, {names[1]} {y.shape}"
    index, error = find_max_violation(x, y, rtol, atol)
    x, y = np.broadcast_arrays(x, y)
    return (
        f"error {error:.4g} (times the tolerance rtol={rtol}, atol={atol}) at {index}: "
        f"{names[0]} is {x[index]!r}, {names[1]} is {y[index]!r}"
    )


def assert_exception(f, exception_type, *args, **kwargs):
    """Raises AssertionError unless f(*args, **kwargs) raises that exception.

    >>> mx.test_utils.assert_exception(int, ValueError, "x")
    """
    try:
        f(*args, **kwargs)
    except exception_type:
        return
    raise AssertionError(f"{exception_type.__name__} was not raised")


def same_symbol_structure(sym1, sym2):
    """Whether two symbols have the same operators, connected in the same way; names and attributes may differ.

    >>> x = amp.sym.Variable("x")
    >>> mx.test_utils.same_symbol_structure(amp.sym.exp(x, name="a"), amp.sym.exp(x, name="b"))
    True
    """
    return _structure(sym1) == _structure(sym2)


def _structure(symbol):
    graph = json.loads(symbol.tojson())
    nodes = [(node["op"], [entry[:2] for entry in node["inputs"]]) for node in graph["nodes"]]
    return nodes, [entry[:2] for entry in graph["heads"]]


# ---- arrays ----


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False):
    """A random shape (m, n), with m from 1 (or 0) up to dim0 and n up to dim1.

    >>> len(mx.test_utils.rand_shape_2d())
    2
    """
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False):
    """A random shape of three dimensions; see `rand_shape_2d`.

    >>> len(mx.test_utils.rand_shape_3d())
    3
    """
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim, dim=10, allow_zero_size=False):
    """A random shape of `num_dim` dimensions up to `dim`.

    >>> len(mx.test_utils.rand_shape_nd(5))
    5
    """
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(limits, allow_zero_size):
    return tuple(int(random.generator().integers(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_ndarray(shape, stype="default", density=None, dtype=None, distribution=None, ctx=None, **options):
    """A dense NDArray of normally distributed numbers; raises UnsupportedError for sparse ones.

    >>> mx.test_utils.rand_ndarray((2, 3)).shape
    (2, 3)
    """
    if stype != "default":
        raise UnsupportedError(f"rand_ndarray: arrays are dense, got stype {stype!r}")
    return random.normal(shape=tuple(shape), dtype=dtype or "float32")


def random_arrays(*shapes):
    """NumPy arrays of normally distributed numbers; one array for one shape, else a list.

    >>> mx.test_utils.random_arrays((2, 3)).shape
    (2, 3)
    """
    arrays = [np.asarray(random.generator().normal(size=shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=None):
    """NumPy arrays of uniformly distributed numbers, a list.

    >>> [array.shape for array in mx.test_utils.random_uniform_arrays((2, 3), (4,))]
    [(2, 3), (4,)]
    """
    dtype = dtype or default_dtype()
    return [np.asarray(random.generator().uniform(low, high, shape), dtype=dtype) for shape in shapes]


# ---- surroundings ----


def default_context():
    """The device that tests use: the current one.

    >>> mx.test_utils.default_context()
    cpu(0)
    """
    return current_context()


default_device = default_context


def set_default_context(ctx):
    """Makes a device the one outside of `with` blocks.

    >>> mx.test_utils.set_default_context(mx.cpu())
    """
    Context.set_default(ctx)


set_default_device = set_default_context


def default_dtype():
    """numpy.float32

    >>> mx.test_utils.default_dtype()
    <class 'numpy.float32'>
    """
    return np.float32


def list_gpus():
    """[]

    >>> mx.test_utils.list_gpus()
    []
    """
    return []


def is_cd_run():
    """Whether the variable CD_JOB is 1.

    >>> mx.test_utils.is_cd_run() in (True, False)
    True
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run():
    """Whether this is an ARM machine with 64 bits.

    >>> mx.test_utils.is_aarch64_run() in (True, False)
    True
    """
    return os.uname().machine == "aarch64"


@contextlib.contextmanager
def environment(*args):
    """A scope with environment variables: environment(name, value) or environment({name: value}); None removes one.

    >>> with mx.test_utils.environment("AMP_EXAMPLE", "1"):
    ...     print(mx.util.getenv("AMP_EXAMPLE"))
    1
    """
    wanted = dict(args[0]) if len(args) == 1 else dict([args])
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set_variables(wanted)
        yield
    finally:
        _set_variables(before)


def _set_variables(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


@contextlib.contextmanager
def discard_stderr():
    """A scope without standard error, that of C++ included.

    >>> with mx.test_utils.discard_stderr():
    ...     pass
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
            sys.stderr.flush()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


_NO_NETWORK = "nothing is downloaded from a network; get the file by other means"

download = refusing("test_utils.download", _NO_NETWORK)
download_model = refusing("test_utils.download_model", f"{_NO_NETWORK}, and use amp.load_checkpoint")


# ---- running ----


def simple_forward(sym, ctx=None, is_train=False, **inputs):
    """The outputs of a symbol for NumPy arrays by name: a NumPy array, or a list of them.

    Raises ArgumentError for arrays that are missing.

    >>> mx.test_utils.simple_forward(amp.sym.exp(amp.sym.Variable("x")), x=np.zeros(2))
    array([1., 1.], dtype=float32)
    """
    bound = sym.bind(ctx, {name: nd.array(readable(array, name)) for name, array in inputs.items()})
    outputs = [output.asnumpy() for output in bound.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym, location, expected, rtol=None, atol=None, aux_states=None, ctx=None, equal_nan=False, dtype=np.float32
):
    """Asserts that a symbol gives `expected` for `location`; both are lists, or dicts by name. Returns the outputs.

    >>> _ = mx.test_utils.check_symbolic_forward(amp.sym.exp(amp.sym.Variable("x")), [np.zeros(2)], [np.ones(2)])
    """
    bound = sym.bind(ctx, _arrays(sym.list_arguments(), location, dtype), aux_states=_states(sym, aux_states, dtype))
    outputs = bound.forward()
    if hasattr(expected, "items"):
        expected = [expected[name] for name in sym.list_outputs()]
    for name, output, wanted in zip(sym.list_outputs(), outputs, expected):
        assert_almost_equal(output, wanted, rtol, atol, ("forward of " + name, "expected"), equal_nan)
    return outputs


def _arrays(names, values, dtype):
    pairs = values.items() if hasattr(values, "items") else zip(names, values)
    return {name: nd.array(readable(value, name), dtype=getattr(value, "dtype", dtype)) for name, value in pairs}


def _states(sym, values, dtype):
    return None if values is None else _arrays(sym.list_auxiliary_states(), values, dtype)


__getattr__ = getter(__name__)
