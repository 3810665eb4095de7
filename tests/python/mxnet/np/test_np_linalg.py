"""mx.np.linalg: factors, norms and solutions against NumPy, in graphs where operators compute them, and gradients."""

import numpy as np
import pytest
from test_np_functions import Call, check_gradient, close, drawn, ours

import amp
import amp.mxnet as mx


def symmetric(x):
    return x + np.swapaxes(x, -1, -2) if isinstance(x, np.ndarray) else x + x.swapaxes(-1, -2)


def of_axes(x, axes):
    """Elements of several axes as the first axis."""
    rest = [i for i in range(x.ndim) if i not in axes]
    return x.transpose([*axes, *rest]).reshape((-1, *(x.shape[i] for i in rest)))


# Name: ours, NumPy's, and the shapes of the arrays.
OPERATORS = {
    "cross": (lambda m, x, y: m.linalg.cross(x, y, axis=0), lambda m, x, y: m.cross(x, y, axis=0), [(3, 4), (3, 4)]),
    "diagonal": (lambda m, x: m.linalg.diagonal(x, 1), lambda m, x: m.diagonal(x, 1), [(3, 4)]),
    "eigh": (lambda m, x: m.linalg.eigh(symmetric(x))[0], None, [(2, 3, 3)]),
    "eigh-upper": (
        lambda m, x: m.linalg.eigh(symmetric(x), upper=True)[0],
        lambda m, x: m.linalg.eigvalsh(symmetric(x), "U"),
        [(3, 3)],
    ),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(symmetric(x)), None, [(3, 3)]),
    "matrix_norm": (lambda m, x: m.linalg.matrix_norm(x), lambda m, x: m.linalg.norm(x, axis=(-2, -1)), [(2, 3, 4)]),
    "matrix_norm-inf": (
        lambda m, x: m.linalg.matrix_norm(x, "-inf", (0, 2), keepdims=True),
        lambda m, x: m.linalg.norm(x, -np.inf, (0, 2), keepdims=True),
        [(2, 3, 4)],
    ),
    "matrix_norm-1": (
        lambda m, x: m.linalg.matrix_norm(x, 1, (2, 1)),
        lambda m, x: m.linalg.norm(x, 1, (2, 1)),
        [(2, 3, 4)],
    ),
    "matrix_transpose": (lambda m, x: m.linalg.matrix_transpose(x), lambda m, x: np.swapaxes(x, 1, 2), [(2, 3, 4)]),
    "mT": (lambda m, x: x.mT, lambda m, x: np.swapaxes(x, -1, -2), [(3, 4)]),
    "norm-inf": (lambda m, x: m.linalg.norm(x, "inf", 1), lambda m, x: m.linalg.norm(x, np.inf, 1), [(3, 4)]),
    "norm-of-vector": (lambda m, x: m.linalg.norm(x), None, [(4,)]),
    "outer": (lambda m, x, y: m.linalg.outer(x, y), lambda m, x, y: m.outer(x, y), [(3,), (4,)]),
    "solve": (lambda m, x, y: m.linalg.solve(x, y), None, [(3, 3), (3, 2)]),
    "tensordot": (
        lambda m, x, y: m.linalg.tensordot(x, y, 1),
        lambda m, x, y: m.tensordot(x, y, 1),
        [(2, 3), (3, 4)],
    ),
    "tensorsolve": (lambda m, x, y: m.linalg.tensorsolve(x, y), None, [(4, 2, 2), (4,)]),
    "tensorsolve-axes": (lambda m, x, y: m.linalg.tensorsolve(x, y, axes=(0, 2)), None, [(2, 4, 2, 1), (4, 1)]),
    "trace": (lambda m, x: m.linalg.trace(x, -1), lambda m, x: m.trace(x, -1), [(3, 4, 2)]),
    "vector_norm": (lambda m, x: m.linalg.vector_norm(x), lambda m, x: m.linalg.norm(x.ravel()), [(2, 3, 4)]),
    "vector_norm-of-axis": (
        lambda m, x: m.linalg.vector_norm(x, 3, -1, keepdims=True),
        lambda m, x: m.linalg.norm(x, 3, -1, keepdims=True),
        [(2, 3)],
    ),
    "vector_norm-of-axes": (
        lambda m, x: m.linalg.vector_norm(x, "inf", (2, 0)),
        lambda m, x: m.linalg.norm(of_axes(x, (2, 0)), np.inf, 0),
        [(2, 3, 4)],
    ),
    "vector_norm-keeps": (
        lambda m, x: m.linalg.vector_norm(x, 1, (0, 1), keepdims=True),
        lambda m, x: m.linalg.norm(of_axes(x, (0, 1)), 1, 0, keepdims=True),
        [(2, 3, 4)],
    ),
}


def weighted(m, factors):
    """A number for each matrix that depends on all elements of all factors, and not on the sign of one."""
    total = 0
    for i, factor in enumerate(factors):
        weights = np.cos(np.arange(factor.size, dtype="float64") + i).reshape(factor.shape).astype(factor.dtype.name)
        total = total + (factor * factor * (weights if m is np else m.array(weights, dtype=weights.dtype))).sum()
    return total


def numpys_svd(a):
    return np.linalg.svd(a, full_matrices=False)


# The same, computed by NumPy: nodes of graphs that run in Python.
COMPUTED = {
    "matrix_norm-2": (
        lambda m, x: m.linalg.matrix_norm(x, 2, (0, 2), keepdims=True),
        lambda m, x: m.linalg.norm(x, 2, (0, 2), keepdims=True),
        [(2, 3, 4)],
    ),
    "norm-2": (lambda m, x: m.linalg.norm(x, -2, (-1, 0)), None, [(2, 3, 4)]),
    "norm-nuc": (lambda m, x: m.linalg.norm(x, "nuc"), None, [(4, 3)]),
    "pinv": (lambda m, x: m.linalg.pinv(x), None, [(2, 3, 4)]),
    "pinv-tall": (lambda m, x: m.linalg.pinv(x, 1e-5), None, [(4, 2)]),
    "qr-deep": (lambda m, x: weighted(m, m.linalg.qr(x)), None, [(2, 4, 3)]),
    "qr-wide": (lambda m, x: weighted(m, m.linalg.qr(x)), None, [(3, 5)]),
    "svd-square": (lambda m, x: weighted(m, m.linalg.svd(x)), lambda m, x: weighted(m, numpys_svd(x)), [(2, 3, 3)]),
    "svd-tall": (lambda m, x: weighted(m, m.linalg.svd(x)), lambda m, x: weighted(m, numpys_svd(x)), [(4, 2)]),
    "svd-wide": (lambda m, x: weighted(m, m.linalg.svd(x)), lambda m, x: weighted(m, numpys_svd(x)), [(2, 3, 4)]),
    "svdvals": (lambda m, x: m.linalg.svdvals(x), lambda m, x: numpys_svd(x)[1], [(2, 4, 3)]),
}
OPERATORS["eigenvectors"] = (lambda m, x: weighted(m, m.linalg.eigh(symmetric(x))), None, [(3, 3)])
ALL = {**OPERATORS, **COMPUTED}


def calls(name):
    call, numpys, shapes = ALL[name]
    return call, numpys or call, shapes


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ALL)
def test_results_are_numpys(name, dtype):
    call, numpys, shapes = calls(name)
    block = Call(call)
    block.hybridize()
    for seed in range(2):
        arrays = drawn(shapes, dtype, seed)
        close(call(mx.np, *ours(arrays)), numpys(np, *arrays), dtype)
        close(block(*ours(arrays)), numpys(np, *arrays), dtype)


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_central_differences(name):
    call, numpys, shapes = calls(name)
    check_gradient(call, numpys, drawn(shapes, "float64", seed=3))


@pytest.mark.usefixtures("mxnet_2")
@pytest.mark.parametrize("name", COMPUTED)
def test_what_numpy_computes_is_trained_in_graphs(name, recwarn):
    call, numpys, shapes = calls(name)
    block = Call(call)
    block.hybridize()
    arrays = drawn(shapes, "float64")
    close(block(*ours(arrays)), numpys(np, *arrays), "float64")
    assert not recwarn.list
    check_gradient(lambda m, *given: block(*given), numpys, arrays)


def test_factors():
    a = np.random.default_rng(0).normal(size=(2, 4, 3))
    for shape in ((2, 4, 3), (2, 3, 4)):
        x = mx.np.array(a.reshape(shape), dtype="float64")
        u, s, v = mx.np.linalg.svd(x)
        assert u.shape == (2, shape[1], 3) and v.shape == (2, 3, shape[2])
        np.testing.assert_allclose((u * s[:, None, :]) @ v, x, atol=1e-12)
        largest = np.take_along_axis(v.asnumpy(), np.abs(v.asnumpy()).argmax(-1)[..., None], -1)
        assert (largest > 0).all()
        q, r = mx.np.linalg.qr(x)
        np.testing.assert_allclose(q @ r, x, atol=1e-12)
        assert (np.tril(r.asnumpy()[..., :3], -1) == 0).all()


def test_eigenvectors():
    x = mx.np.array(symmetric(np.random.default_rng(0).normal(size=(2, 3, 3))), dtype="float64")
    for options in ({}, {"upper": True}, {"UPLO": "u"}):
        values, vectors = mx.np.linalg.eigh(x, **options)
        np.testing.assert_allclose((x @ vectors).asnumpy(), (vectors * values[:, None, :]).asnumpy(), atol=1e-12)
    other = mx.np.triu(x) + 5 * mx.np.tril(x, -1)
    for function in (lambda *given: mx.np.linalg.eigh(*given)[0], mx.np.linalg.eigvalsh):
        for triangle in "UL":
            close(function(other, triangle), np.linalg.eigvalsh(other.asnumpy(), triangle), "float64")
        close(function(other, True), np.linalg.eigvalsh(x.asnumpy()), "float64")
    assert mx.np.linalg.eigvalsh(x, "U").shape == (2, 3)
    with pytest.raises(ValueError, match="UPLO"):
        mx.np.linalg.eigh(x, "X")
    with pytest.raises(np.linalg.LinAlgError):
        mx.np.linalg.eigvalsh(mx.np.ones((2, 3)))


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_integers_are_numpys(dtype):
    x = np.array([[4, 1], [1, 3]], dtype)
    a = mx.np.array(x, dtype=dtype)
    close(mx.np.linalg.eigvalsh(a, upper=True), np.linalg.eigvalsh(x, "U"), "float64")
    close(mx.np.linalg.svdvals(a), np.linalg.svd(x, compute_uv=False), "float64")
    close(mx.np.linalg.qr(a)[1], np.linalg.qr(x)[1], "float64")
    close(mx.np.linalg.pinv(a), np.linalg.pinv(x), "float64")


def test_numpys_options():
    x = np.array([[4, 1, 0], [1, 3, 2]], "float64")
    a = mx.np.array(x, dtype="float64")
    assert mx.np.linalg.svd(a, full_matrices=True)[2].shape == (3, 3)
    close(mx.np.linalg.svd(a, compute_uv=False), np.linalg.svd(x, compute_uv=False), "float64")
    assert mx.np.linalg.qr(a, "complete")[0].shape == (2, 2)
    close(mx.np.linalg.pinv(a, rcond=mx.np.array(0.5)), np.linalg.pinv(x, 0.5), "float64")
    close(mx.np.linalg.pinv(a[:, :2], hermitian=True), np.linalg.pinv(x[:, :2], hermitian=True), "float64")


@pytest.mark.parametrize("shape", [(0, 1), (3, 0), (2, 0, 3), (0, 3, 3)])
def test_matrices_without_elements(shape):
    x = mx.np.zeros(shape)
    x.attach_grad()
    with mx.autograd.record():
        total = sum(factor.sum() for factor in (*mx.np.linalg.svd(x), *mx.np.linalg.qr(x), mx.np.linalg.pinv(x)))
    total.backward()
    assert x.grad.shape == shape and not x.grad.asnumpy().any()


def test_equal_singular_values():
    """Functions that no choice of their vectors changes have their gradients."""
    x = mx.np.eye(3)
    x.attach_grad()
    with mx.autograd.record():
        total = mx.np.linalg.svdvals(x).sum() + mx.np.linalg.norm(2 * x, "nuc")
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * np.eye(3), atol=1e-6)


def test_gradients_of_gradients_are_refused():
    x = mx.np.array([[3, 1], [1, 2]])
    x.attach_grad()
    with mx.autograd.record():
        total = (mx.np.linalg.svdvals(x) ** 2).sum()
        first = mx.autograd.grad(total, x, create_graph=True)[0]
    np.testing.assert_allclose(first.asnumpy(), 2 * x.asnumpy(), rtol=1e-5)
    with pytest.raises(amp.UnsupportedError, match=r"mx\.np\.linalg\.svd: its gradient has no gradient"):
        first.backward()


def test_ranks_are_arrays():
    for x in (np.ones((3, 3)), np.zeros(3), np.float64(2), np.stack([np.eye(2), np.ones((2, 2))])):
        close(mx.np.linalg.matrix_rank(mx.np.array(x)), np.asarray(np.linalg.matrix_rank(x)), "float64")
    x = np.diag([1, 0.1, 0.01])
    for bound in (0.05, mx.np.array(0.05)):
        for options in ({"tol": bound}, {"rtol": bound}):
            assert mx.np.linalg.matrix_rank(mx.np.array(x), **options).item() == 2


def test_shapes_that_are_refused():
    x = mx.np.ones((2, 3))
    for axis in (None, 1, (0, 1, 2)):
        with pytest.raises(ValueError, match="pair of axes"):
            mx.np.linalg.matrix_norm(x, axis=axis)
    with pytest.raises(ValueError, match="two axes or more"):
        mx.np.linalg.matrix_transpose(x[0])
    with pytest.raises(ValueError, match="two axes or more"):
        x[0].mT  # noqa: B018
    with pytest.raises(ValueError, match="order"):
        mx.np.linalg.norm(x, "none", axis=(0, 1))
    for function in (mx.np.linalg.svd, mx.np.linalg.svdvals, mx.np.linalg.qr, mx.np.linalg.pinv):
        with pytest.raises(np.linalg.LinAlgError):
            function(x[0])
    for call in (lambda: mx.np.linalg.tensorsolve(x, x[0]), lambda: mx.np.linalg.tensorsolve(mx.np.zeros((2, 2)), x)):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match="cross"):
        mx.np.cross(mx.np.ones(4), mx.np.ones(4))


def test_least_squares_by_words_for_the_bound():
    a, b = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])
    for word, bound in (("warn", -1), (None, None), (0.1, 0.1)):
        found = mx.np.linalg.lstsq(mx.np.array(a, dtype="float64"), mx.np.array(b, dtype="float64"), rcond=word)
        assert found[2].item() == np.linalg.lstsq(a, b, rcond=bound)[2]
