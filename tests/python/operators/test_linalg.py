"""Factors of matrices: larger ones than random uses have, the odd ones, and gradients as MXNet has them."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx


def draw(*shape):
    return np.random.default_rng(7).normal(size=shape)


def definite(*shape):
    a = draw(*shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def array(values):
    return mx.nd.array(values, dtype="float64")


def test_factors_of_large_matrices():
    a = definite(2, 40, 40)
    np.testing.assert_allclose(amp.nd.linalg.potrf(array(a)).asnumpy(), np.linalg.cholesky(a), rtol=1e-11, atol=1e-12)
    factor = amp.nd.linalg.potrf(array(a), lower=False)
    np.testing.assert_allclose(amp.nd.linalg.potri(factor, lower=False).asnumpy(), np.linalg.inv(a), atol=1e-9)
    u, values = amp.nd.linalg.syevd(array(a))
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(a), rtol=1e-12)
    rows = u.asnumpy()
    np.testing.assert_allclose(rows @ np.swapaxes(rows, -1, -2), np.broadcast_to(np.eye(40), a.shape), atol=1e-13)
    np.testing.assert_allclose(rows @ a, values.asnumpy()[..., None] * rows, atol=1e-10)
    wide = draw(3, 20, 50)
    q, lower = (x.asnumpy() for x in amp.nd.linalg.gelqf(array(wide)))
    np.testing.assert_allclose(q @ np.swapaxes(q, -1, -2), np.broadcast_to(np.eye(20), (3, 20, 20)), atol=1e-13)
    np.testing.assert_allclose(lower @ q, wide, atol=1e-12)
    assert (np.triu(lower, 1) == 0).all()


def test_symbols_have_the_factors():
    a = mx.sym.Variable("a")
    q, lower = mx.sym.linalg.gelqf(a)
    assert mx.sym.linalg.syevd(a).list_outputs()[1].endswith("_L")
    matrix = np.array([[3, 4, 0], [6, 8, 1]], "f4")
    (product,) = amp.Executor(mx.sym.linalg.trmm(lower, q), {}, {}, {"a": (2, 3)})(matrix)
    np.testing.assert_allclose(product.asnumpy(), matrix, atol=1e-6)


@pytest.mark.parametrize(
    "matrices, words",
    [
        ([[1, 2], [2, 1]], "matrix 0 of 1 is not positive definite: its leading 2 rows and columns are not"),
        ([[[1, 0], [0, 1]], [[0, 0], [0, 1]]], "matrix 1 of 2 is not positive definite: its leading 1 rows"),
        ([[float("nan")]], "not positive definite"),
    ],
)
def test_matrices_that_are_not_positive_definite_are_refused(matrices, words):
    with pytest.raises(amp.Error, match=words):
        amp.nd.linalg.potrf(array(matrices)).asnumpy()


def test_matrices_of_lower_rank():
    q, lower = (x.asnumpy() for x in amp.nd.linalg.gelqf(array([[3, 4, 0], [6, 8, 0]])))
    np.testing.assert_allclose(lower, [[-5, 0], [-10, 0]], atol=1e-14)
    np.testing.assert_allclose(q @ q.T, np.eye(2), atol=1e-14)
    q, lower = (x.asnumpy() for x in amp.nd.linalg.gelqf(array(np.zeros((2, 3)))))
    assert (lower == 0).all() and (q == np.eye(2, 3)).all()
    u, values = (x.asnumpy() for x in amp.nd.linalg.syevd(array(np.diag([2, -1, 2]))))
    assert values.tolist() == [-1, 2, 2] and u.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_eigenvalues_of_what_is_not_finite():
    for x in amp.nd.linalg.syevd(array([[1, 0], [np.inf, 1]])):
        assert np.isnan(x.asnumpy()).all()


def gradient(function, x, *heads):
    x = array(x)
    x.attach_grad()
    with mx.autograd.record():
        y = function(x)
    mx.autograd.backward(y, [array(head) for head in heads])
    return x.grad.asnumpy()


# Of [[4, 1.5], [1, 4.25]] and the gradient [[1, 2], [3, 5]] of the output, from MXNet 1.9.1.
@pytest.mark.parametrize(
    "name, lower, expected",
    [
        ("potrf", True, [[0.140625, 0.4375], [0.4375, 1.25]]),
        ("potrf", False, [[0.24557816, 0.01179158], [0.01179158, 1.30188911]]),
        ("potri", True, [[-0.01567907, 0], [-0.06228374, -0.09932831]]),
        ("potri", False, [[-0.00919118, -0.05882353], [0, -0.0850804]]),
    ],
)
def test_gradients_of_cholesky_factors_are_those_of_mxnet(name, lower, expected):
    def function(x):
        return getattr(mx.nd.linalg, name)(x, lower=lower)

    np.testing.assert_allclose(gradient(function, [[4, 1.5], [1, 4.25]], [[1, 2], [3, 5]]), expected, atol=1e-8)


def test_gradients_of_eigenvalues_are_those_of_mxnet():
    found = gradient(mx.nd.linalg.syevd, [[4, 1.5], [1, 4.25]], [[1, 2], [3, 5]], [1, 2])
    np.testing.assert_allclose(found, [[0.64508732, 0.39702702], [0.39702702, 2.35491268]], atol=1e-8)


def test_vectors_of_equal_eigenvalues_count_as_constant():
    found = gradient(mx.nd.linalg.syevd, np.eye(2), [[1, 2], [3, 5]], [1, 2])
    np.testing.assert_array_equal(found, np.diag([1, 2]))
