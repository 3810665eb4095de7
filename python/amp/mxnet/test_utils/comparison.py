"""Comparisons of arrays for tests, with MXNet's tolerances."""

import json

import numpy as np

from ..._arrays import readable

# Tolerances by dtype, as MXNet has them: (rtol, atol).
_TOLERANCES = {"float16": (1e-2, 1e-1), "bfloat16": (1e-1, 1e-1), "float32": (1e-4, 1e-3), "float64": (1e-5, 1e-20)}


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
    x, y = (values.astype(np.int8) if values.dtype == bool else values for values in (x, y))
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
    """`assert_almost_equal` with NumPy's tolerances: NaN is equal to NaN, and shapes are broadcast, as in MXNet.

    >>> mx.test_utils.assert_allclose(np.ones(2), np.ones(2))
    """
    assert_almost_equal(a, b, rtol, atol, equal_nan=equal_nan)


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
