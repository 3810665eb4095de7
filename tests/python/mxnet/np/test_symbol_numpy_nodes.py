"""`mx.sym.np.linalg` and other functions of symbols that run functions of arrays. Values and gradients by NumPy."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

GENERATOR = np.random.default_rng(3)


def spd(*shape):
    a = GENERATOR.normal(size=shape)
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


A, BATCH, TALL = spd(3, 3), spd(2, 3, 3), GENERATOR.normal(size=(4, 3))
VECTOR = GENERATOR.normal(size=3)

CASES = {
    "det": (lambda m, a: m.linalg.det(a), [A]),
    "det-batch": (lambda m, a: m.linalg.det(a), [BATCH]),
    "slogdet": (lambda m, a: m.linalg.slogdet(a)[1], [BATCH]),
    "eigh": (lambda m, a: m.linalg.eigh(a)[0], [A]),
    "eigvalsh": (lambda m, a: m.linalg.eigvalsh(a, "U"), [BATCH]),
    "svd": (lambda m, a: m.linalg.svd(a)[1], [TALL]),
    "solve": (lambda m, a, b: m.linalg.solve(a, b), [A, VECTOR]),
    "tensorinv": (lambda m, a: m.linalg.tensorinv(a, ind=1), [spd(6, 6).reshape(6, 2, 3)]),
    "tensorsolve": (lambda m, a, b: m.linalg.tensorsolve(a, b), [spd(6, 6).reshape(6, 2, 3), np.ones(6)]),
    "pinv": (lambda m, a: m.linalg.pinv(a), [TALL]),
    "qr": (lambda m, a: abs(m.linalg.qr(a)[1]), [TALL]),
    "kron": (lambda m, a, b: m.kron(a, b), [TALL, A]),
    "kron-number": (lambda m, a, b: m.kron(a, b), [A, np.array(2.0)]),
    "kron-ranks": (lambda m, a, b: m.kron(a, b), [VECTOR, BATCH]),
    "cross": (lambda m, a, b: m.cross(a, b), [TALL, TALL[::-1].copy()]),
}


def bound(case):
    function, arrays = CASES[case]
    names = "ab"[: len(arrays)]
    symbol = function(mx.sym.np, *(mx.sym.var(name).as_np_ndarray() for name in names))
    args = {name: amp.nd.array(array, dtype="float64") for name, array in zip(names, arrays)}
    grads = {name: amp.nd.zeros(array.shape, dtype="float64") for name, array in zip(names, arrays)}
    return symbol.bind(mx.cpu(), args, args_grad=grads), grads


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case):
    function, arrays = CASES[case]
    executor, grads = bound(case)
    (result,) = executor.forward(is_train=True)
    expected = (lambda m, a: np.linalg.slogdet(a)[1])(np, *arrays) if case == "slogdet" else _numpys(case)
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6, atol=1e-9)
    assert result.shape == np.shape(expected)
    head = GENERATOR.normal(size=result.shape)
    executor.backward(amp.nd.array(head, dtype="float64"))
    arrays = [mx.np.array(array, dtype="float64") for array in arrays]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        loss = (function(mx.np, *arrays) * mx.np.array(head, dtype="float64")).sum()
    loss.backward()
    for array, found in zip(arrays, grads.values()):
        np.testing.assert_allclose(found.asnumpy(), array.grad.asnumpy(), rtol=1e-6, atol=1e-9)


def _numpys(case):
    function, arrays = CASES[case]
    return np.linalg.svd(arrays[0], full_matrices=False)[1] if case == "svd" else function(np, *arrays)


def test_shapes_are_known_before_a_run():
    x = mx.sym.var("x", shape=(4, 3))
    _, shapes, _ = mx.sym.Group(mx.sym.np.linalg.svd(x)).infer_shape()
    assert shapes == [(4, 3), (3,), (3, 3)]
    _, (shape,), _ = mx.sym.np.kron(x, x).infer_shape()
    assert shape == (16, 9)


def test_a_file_keeps_the_node():
    symbol = mx.sym.np.linalg.tensorinv(mx.sym.var("a"), ind=1)
    again = mx.sym.load_json(symbol.tojson())
    a = amp.nd.array(np.eye(6).reshape(6, 2, 3))
    np.testing.assert_allclose(again.eval(a=a)[0].asnumpy(), np.eye(6).reshape(2, 3, 6))


def test_hybrid_forward_with_kron():
    class Kron(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):  # noqa: N803
            return F.np.kron(a, b)

    with mx.util.np_array(), mx.util.np_shape():
        block = Kron()
        block.hybridize()
        a, b = mx.np.array(TALL), mx.np.array(A)
        a.attach_grad()
        with mx.autograd.record():
            y = block(a, b)
        y.backward()
    np.testing.assert_allclose(y.asnumpy(), np.kron(TALL, A), rtol=1e-5)
    np.testing.assert_allclose(a.grad.asnumpy(), np.full_like(TALL, A.sum()), rtol=1e-5)


def test_refusals():
    a = mx.sym.var("a")
    with pytest.raises(amp.ArgumentError, match="svd: expected symbols"):
        mx.sym.np.linalg.svd(3)
    with pytest.raises(TypeError, match="lower"):
        mx.sym.np.linalg.solve(a, a, lower=True)
    assert mx.sym.np.linalg.svd(a)[1].eval(a=amp.nd.array([[2, 0], [0, 3]], dtype="int32"))[0].dtype == "float64"
    with pytest.raises(amp.Error, match="not real"):
        mx.sym.np.linalg.eigvals(a).eval(a=amp.nd.array([[0, 1], [-1, 0]]))
