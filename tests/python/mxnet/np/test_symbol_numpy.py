"""`mx.sym.np`: NumPy's functions of symbols, with NumPy's arguments, against NumPy."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

F = mx.sym.np
A, B = (mx.sym.Variable(name).as_np_ndarray() for name in "ab")
X = np.random.default_rng(3).uniform(-2, 2, (3, 4)).astype("f4")
Y = np.random.default_rng(4).uniform(0.5, 2, (3, 4)).astype("f4")
LEFT, RIGHT = np.array([[9, 5], [3, 12]], "i4"), np.array([[1, 2], [3, 1]], "i4")


def values_of(symbol, a=X, b=Y):
    given = {"a": mx.np.array(a, dtype=a.dtype), "b": mx.np.array(b, dtype=b.dtype)}
    found = symbol.eval(**{name: given[name] for name in symbol.list_inputs()})
    return [output.asnumpy() for output in found]


PAIRS = (
    *("add", "subtract", "multiply", "true_divide", "divide", "mod", "remainder", "floor_divide", "maximum", "minimum"),
    *("hypot", "arctan2", "copysign", "fmod", "fmax", "fmin", "logaddexp", "ldexp"),
    *("equal", "not_equal", "greater", "greater_equal", "less", "less_equal"),
    *("logical_and", "logical_or", "logical_xor"),
)


def numpy_pair(name, x, y):
    if name == "ldexp":
        return x * 2**y
    return getattr(np, name)(x, y)


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    function = getattr(F, name)
    for symbol, expected in [
        (function(A, B), numpy_pair(name, X, Y)),
        (function(A, 1.5), numpy_pair(name, X, np.float32(1.5))),
        (function(1.5, B), numpy_pair(name, np.float32(1.5), Y)),
        (function(B, 2), numpy_pair(name, Y, np.float32(2))),
    ]:
        np.testing.assert_allclose(values_of(symbol)[0], expected, rtol=1e-5, atol=1e-5)
    assert function(3, 2) == numpy_pair(name, 3, 2)
    with pytest.raises(amp.ArgumentError, match=f"{name}: expected symbols and numbers, got"):
        function(A, "1")


SHIFTS = {"bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor", *SHIFTS])
def test_pairs_of_integers(name):
    function, of_numpy = getattr(F, name), getattr(np, SHIFTS.get(name, name))
    for symbol, expected in [
        (function(A, B), of_numpy(LEFT, RIGHT)),
        (function(A, 3), of_numpy(LEFT, 3)),
        (function(20, B), of_numpy(20, RIGHT)),
    ]:
        np.testing.assert_array_equal(values_of(symbol, LEFT, RIGHT)[0], expected)


@pytest.mark.parametrize(
    "symbol, expected",
    [
        (F.power(B, 2), Y**2),
        (F.power(2, A), 2**X),
        (F.where(A > 0, A, B), np.where(X > 0, X, Y)),
        (F.where(A > 0, A, 5.0), np.where(X > 0, X, 5)),
        (F.where(A > 0, 5, A), np.where(X > 0, 5, X)),
        (F.where(A > 0, 1, 2), np.where(X > 0, 1, 2)),
        (F.einsum("ij,kj->ik", A, B), X @ Y.T),
        (F.tensordot(A, B, ([1], [1])), X @ Y.T),
        (F.tensordot(A, B, 2), np.tensordot(X, Y, 2)),
        (F.tensordot(A, B, (0, 0)), X.T @ Y),
        (F.inner(A, B), np.inner(X, Y)),
        (F.outer(A, B), np.outer(X, Y)),
        (F.vdot(A, B), np.vdot(X, Y)),
        (F.ravel(A), X.ravel()),
        (F.concatenate([A, B], 1), np.concatenate([X, Y], 1)),
        (F.concatenate([A, B], axis=None), np.concatenate([X, Y], axis=None)),
        (F.append(A, B), np.append(X, Y)),
        (F.stack([A, B], -1), np.stack([X, Y], -1)),
        (F.vstack([A, B]), np.vstack([X, Y])),
        (F.row_stack([A, B]), np.vstack([X, Y])),
        (F.hstack([A, B]), np.hstack([X, Y])),
        (F.dstack([A, B]), np.dstack([X, Y])),
        (F.column_stack([A, B]), np.column_stack([X, Y])),
        (F.flipud(A), X[::-1]),
        (F.fliplr(A), X[:, ::-1]),
        (F.pad(A, ((1, 0), (2, 1)), constant_values=3), np.pad(X, ((1, 0), (2, 1)), constant_values=3)),
        (F.pad(A, ((1, 0), (2, 1)), "reflect"), np.pad(X, ((1, 0), (2, 1)), "reflect")),
        (F.linspace(0, 1, 5), np.linspace(0, 1, 5)),
        (F.logspace(0, 2, 3, base=2.0), [1, 2, 4]),
        (F.zeros_like(A), np.zeros_like(X)),
        (F.ones_like(A), np.ones_like(X)),
        (F.full_like(A, 2.5), np.full_like(X, 2.5)),
        (F.percentile(A, 30, axis=1), np.percentile(X, 30, axis=1)),
        (F.quantile(A, 0.25, interpolation="lower"), np.quantile(X, 0.25, method="lower")),
        (F.median(A, 0, keepdims=True), np.median(X, 0, keepdims=True)),
        (F.average(A), np.average(X)),
        (F.average(A, 1, B), np.average(X, 1, Y)),
        (F.rad2deg(A), np.rad2deg(X)),
        (F.deg2rad(A), np.deg2rad(X)),
        (F.fabs(A), np.fabs(X)),
        (F.round(A, 1), np.round(X, 1)),
    ],
)
def test_functions(symbol, expected):
    assert symbol.list_outputs()[0].count("npi") == 0
    np.testing.assert_allclose(values_of(symbol)[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "symbol, expected",
    [
        (F.split(A, 2, axis=1), np.split(X, 2, axis=1)),
        (F.split(A, [1]), np.split(X, [1])),
        (F.array_split(A, 3, 1), np.array_split(X, 3, 1)),
        (F.hsplit(A, [1, 3]), np.hsplit(X, [1, 3])),
        (F.vsplit(A, 3), np.vsplit(X, 3)),
        (F.dsplit(F.reshape(A, (1, 3, 4)), 2), np.dsplit(X.reshape(1, 3, 4), 2)),
    ],
)
def test_parts(symbol, expected):
    found = values_of(symbol)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)


def test_random_numbers():
    size = (2000,)
    uniform, shifted = values_of(F.random.uniform(size=size))[0], values_of(F.random.uniform(2.0, high=3, size=size))[0]
    assert 0 <= uniform.min() < 0.1 and 0.9 < uniform.max() < 1 and 2 <= shifted.min() and shifted.max() < 3
    each = values_of(F.random.normal(A, 0.001))[0]
    assert each.shape == X.shape and 0 < abs(each - X).max() < 0.01
    assert values_of(F.random.gamma(2.0, B))[0].shape == Y.shape
    for name in ("exponential", "rayleigh", "gumbel", "logistic"):
        assert values_of(getattr(F.random, name)(size=size))[0].std() > 0.5
    with pytest.raises(amp.ArgumentError, match="random.uniform: unknown argument 'middle'"):
        F.random.uniform(middle=1)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: F.add(A, 1, out=A), "out: symbols hold no memory"),
        (lambda: F.stack([A, 1]), "input 1 must be a Symbol, got int"),
        (lambda: F.tensordot(A, B, ([0], [0, 1])), "tensordot: 1 axes of a and 2 of b"),
        (lambda: F.linspace(0, 1, retstep=True), "retstep and axis are not supported"),
        (lambda: F.ravel(A, "F"), "order 'F' is not supported"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


def test_nodes_have_names_of_mxnet():
    # as MXNet 1.9.1 names them
    plain = mx.sym.Variable("x")
    for symbol, name in [
        (mx.sym.contrib.box_nms(plain), "box_nms"),
        (mx.sym.linalg.syrk(plain), "syrk"),
        (mx.sym.npx.relu(A), "relu"),
        (F.exp(A), "exp"),
        (F.add(A, 2), "add_scalar"),
        (F.outer(A, B), "tensordot_int_axes"),
        (mx.sym.broadcast_add(plain, plain), "broadcast_add"),
        (mx.sym.random.uniform(0, 1, (2,)), "_random_uniform"),
    ]:
        assert symbol.name.rstrip("0123456789") == name
    norm = mx.sym.contrib.SyncBatchNorm(plain, key="norm")
    assert norm.list_arguments()[1] == f"{norm.name}_gamma" and norm.name.startswith("syncbatchnorm")
