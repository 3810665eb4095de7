"""Elements of mx.np and mx.npx: functions of integers and truths, changes at places, checks and draws."""

import numpy as np
import pytest
from test_np_functions import Call

import amp
import amp.mxnet as mx

OF_FLOATS = "exp log1p sqrt cbrt sin arctan sinh arcsinh degrees radians arcsin".split()


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("name", OF_FLOATS)
def test_functions_of_integers_are_floats(name, dtype):
    x = np.array([1, 1], dtype)
    block = Call(lambda m, a: getattr(m, name)(a))
    block.hybridize()
    for found in (getattr(mx.np, name)(mx.np.array(x, dtype=dtype)), block(mx.np.array(x, dtype=dtype))):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, getattr(np, name)(x.astype("float32")), rtol=1e-6)


@pytest.mark.parametrize("name", ["rint", "fix", "floor", "ceil", "trunc"])
def test_rounded_truths_and_integers(name):
    assert getattr(mx.np, name)(mx.np.array([True, False], dtype="bool")).tolist() == [1, 0]
    assert getattr(mx.np, name)(mx.np.array([3, -2], dtype="int32")).dtype == np.int32


def test_positive_has_gradients():
    x = mx.np.array([1, -2])
    x.attach_grad()
    with mx.autograd.record():
        total = (mx.np.positive(x) * x).sum()
    total.backward()
    assert x.grad.tolist() == [2, -4]
    found = mx.np.positive(x)
    found[0] = 5
    assert x.tolist() == [1, -2]


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64"])
def test_powers_of_integers_have_gradients(dtype):
    base = mx.np.array([1, 1] if dtype == "bool" else [2, 3], dtype=dtype)
    x = mx.np.array([1.5, 2])
    x.attach_grad()
    with mx.autograd.record():
        power = base**x
        total = power.sum() + mx.np.power(x, base).sum()
    total.backward()
    numbers, exponents = base.asnumpy().astype("float64"), np.array([1.5, 2])
    expected = numbers**exponents * np.log(numbers) + numbers * exponents ** (numbers - 1)
    assert power.dtype == np.float32
    np.testing.assert_allclose(x.grad, expected, rtol=1e-6)


@pytest.mark.parametrize("name", "add subtract multiply floor_divide less equal greater_equal".split())
def test_signed_beside_unsigned(name):
    x, y = np.array([100, -3, 0], "int8"), np.array([200, 253, 1], "uint8")
    a, b = mx.np.array(x, dtype="int8"), mx.np.array(y, dtype="uint8")
    block = Call(lambda m, left, right: getattr(m, name)(left, right))
    block.hybridize()
    for found, expected in (
        (getattr(mx.np, name)(a, b), getattr(np, name)(x, y)),
        (block(a, b), getattr(np, name)(x, y)),
        (getattr(mx.np, name)(b, a + 1), getattr(np, name)(y, x + np.int8(1))),
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_dtypes_of_results():
    names = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bfloat16"]
    for first in names:
        for second in names:
            a, b = mx.np.ones(2, dtype=first), mx.np.ones(2, dtype=second)
            if {first, second} != {"bool"} and {first, second} != {"bfloat16", "float16"}:
                assert mx.np.result_type(a, second) == (a + b).dtype
    assert mx.np.result_type("int32", np.float16, np.zeros(2, "int8")) == np.float16
    assert mx.np.result_type(1.5, mx.np.ones(2)) == np.float32
    with pytest.raises(ValueError):
        mx.np.result_type()
    with pytest.raises(TypeError):
        mx.np.result_type("no")


def test_arrays_of_numpy_stay_what_they_are():
    x = theirs = np.array([1, 2, 3])
    a = mx.np.array([1, 1, 2], dtype="int64")
    x += a
    x *= a
    assert x is theirs and x.tolist() == [2, 3, 10]
    assert np.add(x, a, out=a) is a and a.tolist() == [3, 4, 12]
    for found in (a << np.array([1, 0, 2]), mx.np.bitwise_left_shift(a, np.array([1, 0, 2]))):
        assert type(found) is mx.np.ndarray and found.dtype == np.int64 and found.tolist() == [6, 4, 48]
    assert (np.array([7, 6, 5]) & a).tolist() == [3, 4, 4]


def test_conversion_to_no_dtype_is_to_mxnets():
    assert mx.np.array([1, 2], dtype="int32").astype(None).dtype == np.float32


@pytest.mark.parametrize("dtype", ["int32", "float16", "float64"])
def test_inserted_values_take_the_dtype_of_the_array(dtype):
    a, values = mx.np.array([1, 2], dtype=dtype), mx.np.array([5.5, 6.5])
    values.attach_grad()
    with mx.autograd.record():
        found = mx.np.insert(a, 1, values)
        total = (found.astype("float32") * mx.np.array([1, 2, 3, 4])).sum()
    np.testing.assert_array_equal(found, np.insert(a.asnumpy(), 1, values.asnumpy()))
    assert found.dtype == np.dtype(dtype)
    if dtype != "int32":
        total.backward()
        assert values.grad.tolist() == [2, 3]


def test_nothing_is_left():
    x = mx.np.array([[1, 2], [3, 4]])
    x.attach_grad()
    with mx.autograd.record():
        rest = mx.np.delete(x, slice(None), 1), mx.np.delete(x, [0, 1, 2, 3]), mx.np.ediff1d(x[:0], 7, 8)
        total = sum(part.sum() for part in rest) + x.sum()
    total.backward()
    assert rest[0].shape == (2, 0) and rest[1].shape == (0,) and rest[2].tolist() == [8, 7]
    assert x.grad.tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize("number", [-1, 2.5, "3"])
def test_counts_of_numbers(number):
    for function in (mx.np.linspace, mx.np.logspace):
        with pytest.raises(amp.ArgumentError, match="num is an integer from 0 on"):
            function(0, 1, number)
    assert mx.np.linspace(0, 1, np.int64(2)).tolist() == [0, 1]


PLACES = {
    "numbers": ((4,), [[0, 3, 1]], (3,)),
    "line": ((4,), [0, 3], (2,)),
    "one": ((4,), 2, (1,)),
    "one-number": ((4, 2), [[1, 3], [0, 1]], ()),
    "rows": ((4, 3), [[2, 0]], (2, 3)),
    "broadcast": ((4, 3), [[2, 0]], (1, 3)),
    "columns": ((4, 3), [[2, 0]], (2, 1)),
    "same-row": ((4, 3), [[2, 0]], (3,)),
    "deep": ((4, 3, 2), [[2, 0], [1, 1]], (2, 2)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("name", PLACES)
def test_changes_at_places(name, dtype):
    shape, places, value_shape = PLACES[name]
    rng = np.random.default_rng(0)
    a, values = (rng.integers(1, 9, size).astype(dtype) for size in (shape, value_shape))
    index = tuple(np.atleast_2d(places))
    for function, change in (
        (mx.npx.index_add, lambda array: np.add.at(array, index, values)),
        (mx.npx.index_update, lambda array: array.__setitem__(index, values)),
    ):
        expected = a.copy()
        change(expected)
        for kind in ("int32", "int64"):
            ours = (mx.np.array(part, dtype=dtype) for part in (a, values))
            first, second = ours
            found = function(first, mx.np.array(places, dtype=kind), second)
            assert found.dtype == np.dtype(dtype) and first.tolist() == a.tolist()
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", PLACES)
def test_changes_at_places_have_gradients(name):
    shape, places, value_shape = PLACES[name]
    index = tuple(np.atleast_2d(places))
    weights = np.random.default_rng(0).normal(size=shape)
    expected = np.zeros(shape)
    expected[index] = 1  # where values are
    for function, of_array in ((mx.npx.index_add, weights), (mx.npx.index_update, weights * (1 - expected))):
        a, values = mx.np.zeros(shape, dtype="float64"), mx.np.ones(value_shape, dtype="float64")
        a.attach_grad()
        values.attach_grad()
        with mx.autograd.record():
            total = (
                function(a, mx.np.array(places, dtype="int32"), values) * mx.np.array(weights, dtype="float64")
            ).sum()
        total.backward()
        np.testing.assert_allclose(a.grad, of_array)
        reduced = mx.np.array(weights[index], dtype="float64")
        ones = mx.np.ones(value_shape, dtype="float64")
        ones.attach_grad()
        with mx.autograd.record():
            mx.np.multiply(mx.np.broadcast_to(ones, reduced.shape), reduced).sum().backward()
        np.testing.assert_allclose(values.grad, ones.grad)


def test_places_that_come_twice():
    a, values = mx.np.zeros(3), mx.np.array([1, 2, 4])
    places = mx.np.array([[0, 2, 2]], dtype="int32")
    assert mx.npx.index_add(a, places, values).tolist() == [1, 0, 6]
    assert mx.npx.index_update(a, places, values).tolist() == [1, 0, 4]
    with pytest.raises(IndexError):
        mx.npx.index_add(a, mx.np.array([[3]], dtype="int32"), 1)
    with pytest.raises(ValueError):
        mx.npx.index_add(a, places, mx.np.ones(2))
    with pytest.raises(amp.GraphError):
        mx.npx.index_update(a, places, mx.np.ones(2))


@pytest.mark.usefixtures("mxnet_2")
def test_updates_are_parts_of_graphs_and_sums_are_not():
    places = mx.np.array([[0, 2]], dtype="int32")
    block = Call(lambda m, a, values: mx.npx.index_update(a, places, values))
    block.hybridize()
    for value in (1, 2):
        assert block(mx.np.zeros(3), mx.np.full(2, value)).tolist() == [value, 0, value]
    block = Call(lambda m, a: mx.npx.index_add(a, places, 1))
    block.hybridize()
    with pytest.warns(RuntimeWarning, match="runs without a graph"):
        assert block(mx.np.ones(3)).tolist() == [2, 1, 2]


def test_constraints():
    held = mx.npx.constraint_check(mx.np.array([1, 2]) > 0, "no")
    assert held.dtype == np.bool_ and (mx.np.array([3.0]) * held).tolist() == [3]
    for message in ("only positive numbers", ""):
        with pytest.raises(amp.ArgumentError, match=message or "constraint"):
            mx.npx.constraint_check(mx.np.array([1, -2]) > 0, message)


def test_indices_of_a_number():
    assert mx.npx.nonzero(mx.np.array(3.0)).tolist() == [[0]]
    assert mx.npx.nonzero(mx.np.array(0.0)).shape == (0, 1)


@pytest.mark.parametrize("groups", [1, 2])
def test_deconvolution_with_bias(groups):
    x, weight = mx.np.random.normal(size=(2, 4, 5)), mx.np.random.normal(size=(4, 6 // groups, 3))
    bias = mx.np.arange(6)
    settings = {"kernel": (3,), "stride": (2,), "pad": (1,), "num_filter": 6, "num_group": groups}
    plain = mx.npx.deconvolution(x, weight, **settings)
    for found in (
        mx.npx.deconvolution(x, weight, bias, (3,), (2,), None, (1,), num_filter=6, num_group=groups),
        mx.npx.deconvolution(x, weight, bias, no_bias=False, layout="NCW", **settings),
    ):
        np.testing.assert_allclose(found, plain.asnumpy() + bias.asnumpy()[:, None], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(mx.npx.deconvolution(x, weight, bias, no_bias=True, **settings), plain)


def test_categories():
    certain = mx.np.array([[[0, 1, 0], [1, 0, 0]]])
    assert mx.npx.random.categorical(certain).tolist() == [[1, 0]]
    assert mx.npx.random.categorical(certain, shape=(2, 5)).shape == (1, 2, 2, 5)
    block = Call(lambda m, p: mx.npx.random.categorical(p, 4, dtype="float32"))
    block.hybridize()
    assert block(certain[0]).tolist() == [[1] * 4, [0] * 4]
    p = mx.np.array([0.25, 0.75])
    p.attach_grad()
    with mx.autograd.record():
        drawn, logarithms = mx.npx.random.categorical(p, get_prob=True)
    logarithms.backward()
    expected = [0, 0]
    expected[drawn.item()] = 1 / p.tolist()[drawn.item()]
    np.testing.assert_allclose(p.grad, expected, rtol=1e-6)


def test_counts_of_categories():
    counts = mx.npx.random.multinomial(mx.np.array([5, 7]), mx.np.array([[0, 1, 0], [0.5, 0, 0.5]]), shape=(4, 2))
    assert counts.shape == (2, 4, 2, 3) and counts.dtype == np.int64
    assert (counts.asnumpy()[0] == [0, 5, 0]).all()
    assert (counts.asnumpy()[1].sum(-1) == 7).all() and (counts.asnumpy()[1, ..., 1] == 0).all()
    assert mx.npx.random.multinomial(3, [0.5, 0.5], size=(2,), dtype="float32").sum(axis=1).tolist() == [3, 3]
    assert mx.npx.random.multinomial(mx.np.ones((2, 3)), mx.np.full((2, 3, 4), 0.25)).shape == (2, 3, 4)


def test_f_distribution():
    mx.random.seed(3)
    drawn = mx.np.random.f(mx.np.array([5.0, 20.0]), 12, size=(4000, 2)).asnumpy()
    np.testing.assert_allclose(drawn.mean(0), 12 / 10, rtol=0.1)
    assert drawn.dtype == np.float32 and (drawn > 0).all()


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf"])
def test_truths_go_to_truths(name):
    x, out = mx.np.array([1.0, np.nan, np.inf, -np.inf]), mx.np.zeros(4, dtype=bool)
    getattr(mx.np, name)(x, out=out)
    np.testing.assert_array_equal(out.asnumpy(), getattr(np, name)(x.asnumpy()))
    with pytest.raises(TypeError, match="truths"):
        getattr(mx.np, name)(x, out=mx.np.zeros(4))
