"""Dtypes of mx.np: NumPy's promotion, but floats beside integers decide alone."""

import itertools
import operator

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64"]
VALUES = [3, 1, 2]
PAIRS = "add multiply maximum minimum fmax fmin where concatenate stack".split()
COMPARISONS = "less less_equal greater greater_equal equal not_equal".split()


def promoted(*dtypes):
    floats = [dtype for dtype in dtypes if dtype.startswith("float")]
    return np.result_type(*(floats or dtypes))


def both(dtype):
    values = np.array(VALUES, dtype)
    return values, mx.np.array(values, dtype=dtype)


def call(module, name, a, b):
    if name == "where":
        return module.where(module.array([True, False, True]), a, b)
    if name in ("concatenate", "stack"):
        return getattr(module, name)([a, b])
    return getattr(module, name)(a, b)


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_all_dtypes(name):
    for first, second in itertools.product(DTYPES, repeat=2):
        (a, x), (b, y) = both(first), both(second)
        found, dtype = call(mx.np, name, x, y), promoted(first, second)
        if name in ("fmax", "fmin") and dtype == np.bool_:
            continue  # these two have no truths
        assert found.dtype == dtype, (first, second)
        np.testing.assert_array_equal(found.asnumpy(), call(np, name, a, b).astype(dtype), f"{first} {second}")


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_of_all_dtypes(name):
    for first, second in itertools.product(DTYPES, repeat=2):
        (a, x), (_, y) = both(first), both(second)
        found, (b, y) = getattr(mx.np, name)(x, y[::-1].copy()), both(second)
        assert found.dtype == np.bool_
        np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(a, b[::-1]), f"{first} {second}")


OPERATORS = {
    "x + s": lambda m, x: x + 1.1,
    "s - x": lambda m, x: 0.5 - x,
    "x * s": lambda m, x: x * 3.9,
    "x ** s": lambda m, x: x**3.1,
    "s ** x": lambda m, x: 2.5**x,
    "x % s": lambda m, x: x % 1.5,
    "x // s": lambda m, x: x // 0.7,
    "x < s": lambda m, x: x < 1e-3,
    "x >= s": lambda m, x: x >= 1.5,
    "x == s": lambda m, x: x == 1.5,
    "s != x": lambda m, x: 2.5 != x,
    "maximum": lambda m, x: m.maximum(x, 1.5),
    "minimum": lambda m, x: m.minimum(1.5, x),
    "hypot": lambda m, x: m.hypot(x, 1.5),
    "fmax": lambda m, x: m.fmax(x, 1.5),
    "fmod": lambda m, x: m.fmod(x, 0.7),
    "arctan2": lambda m, x: m.arctan2(x, 1.5),
    "logaddexp": lambda m, x: m.logaddexp(x, 0.5),
    "where": lambda m, x: m.where(x > 1, x, 0.5),
    "clip": lambda m, x: m.clip(x, 1.5, 2.5),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_python_floats_are_not_cut(name):
    function = OPERATORS[name]
    for dtype in ("int8", "int32", "int64", "float32"):
        values, array = both(dtype)
        found, right = function(mx.np, array), function(np, values)
        expected = right.dtype if right.dtype == np.bool_ else np.dtype("float32" if dtype == "float32" else "float64")
        assert found.dtype == expected, dtype
        np.testing.assert_allclose(found.asnumpy().astype("f8"), right.astype("f8"), rtol=1e-6, err_msg=dtype)


class Calls(gluon.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(mx.np, x)


@pytest.mark.parametrize("name", OPERATORS)
def test_hybridized_equals_imperative(name):
    with mx.util.np_array(), mx.util.np_shape():
        block, (_, array) = Calls(OPERATORS[name]), both("int32")
        expected = block(array)
        block.hybridize()
        for _ in range(2):
            found = block(array)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x + 0.5,
        lambda m, x: 0.5 - x,
        lambda m, x: x < 1.5,
        lambda m, x: x**0.5,
        lambda m, x: m.maximum(x, 1.5),
        lambda m, x: m.hypot(x, 2),
    ],
)
def test_symbols_with_floats(function):
    values, array = both("int32")
    symbol = function(amp.sym.np, amp.sym.var("x").as_np_ndarray())
    found = symbol.eval(x=array)[0].asnumpy()
    np.testing.assert_allclose(found, function(np, values), rtol=1e-6)


def test_results_that_an_array_cannot_hold():
    whole = mx.np.array([1, 2], dtype="int32")
    whole += 2
    assert whole.dtype == np.int32 and whole.tolist() == [3, 4]
    with pytest.raises(amp.ArgumentError, match="an array of int32 cannot hold a result of float64"):
        whole += 0.5
    with pytest.raises(amp.GraphError, match="truths have no difference"):
        operator.sub(whole > 3, whole > 4)


def test_small_and_unsigned_integers():
    small, unsigned = mx.np.ones(2, dtype="int8"), mx.np.full((2,), 200, dtype="uint8")
    assert (small + unsigned).dtype == np.int16 and (small + unsigned).tolist() == [201, 201]
    assert mx.np.array([16777217], dtype="int32") != mx.np.array([16777216.0])  # exact beside floats


# ---- reductions ----

WIDE = np.array([[10504983.0, 1.0, 2.0], [3.0, 0.5, 10.0]], "float32")


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "std", "var"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_compute_in_the_dtype_asked_for(name, axis):
    right = getattr(np, name)(WIDE, axis=axis, dtype="float64")
    found = getattr(mx.np, name)(mx.np.array(WIDE), axis=axis, dtype="float64")
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.asnumpy(), right, rtol=1e-13)


def test_reductions_to_integers():
    top = mx.np.array([2**31 - 1, 1], dtype="int32")
    assert int(top.sum(dtype="int64")) == 2**31
    assert int(mx.np.array([0.7, 0.7]).sum(dtype="int32")) == 0  # NumPy casts the terms
    np.testing.assert_allclose(float(mx.np.std(mx.np.arange(4, dtype="int32"))), np.std(np.arange(4)), rtol=1e-6)


def test_statistics_of_nothing():
    empty = mx.np.zeros((2, 0))
    for name in ("mean", "std", "var"):
        assert np.isnan(getattr(mx.np, name)(empty, axis=1).asnumpy()).all()
        assert np.isnan(float(getattr(mx.np, name)(empty)))
    assert float(empty.sum()) == 0 and float(empty.prod()) == 1
    assert np.isnan(float(mx.np.mean(mx.np.array([], dtype="int32"))))
