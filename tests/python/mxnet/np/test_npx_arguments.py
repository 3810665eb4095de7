"""Functions of `mx.npx` take their arguments in MXNet 2's order and under its names."""

import numpy as np
import pytest

import amp.mxnet as mx

pytestmark = pytest.mark.usefixtures("mxnet_2")


def test_order():
    x = mx.np.array([[1.0, 2], [4, 3]])
    exp = np.exp(x.asnumpy())
    np.testing.assert_allclose(mx.npx.log_softmax(x, 0).asnumpy(), np.log(exp / exp.sum(0)), rtol=1e-5)
    np.testing.assert_allclose(
        mx.npx.log_softmax(x, -1, None, 2.0).asnumpy()[0, 0], -np.log(1 + np.exp(0.5)), rtol=1e-5
    )
    np.testing.assert_allclose(mx.npx.softmax(x, None, 0).asnumpy(), exp / exp.sum(0), rtol=1e-5)
    assert mx.npx.pick(x, mx.np.array([0, 3]), -1, "wrap", True).asnumpy().tolist() == [[1], [3]]
    data, weight = mx.np.ones((1, 2, 4, 4)), mx.np.ones((3, 2, 3, 3))
    found = mx.npx.convolution(data, weight, None, (3, 3), (1, 1), (1, 1), (1, 1), 3, 1, 1024, True)
    assert found.shape == (1, 3, 4, 4) and found.asnumpy()[0, 0, 1, 1] == 18
    x = mx.np.ones((3, 2, 4))
    parameters, state = mx.np.zeros((5 * 4 + 5 * 5 + 10,)), mx.np.zeros((1, 2, 5))
    assert mx.npx.rnn(x, parameters, state, None, None, "rnn_tanh", 5, 1).shape == (3, 2, 5)


def test_names():
    a = mx.np.array([[[1.0, 2]]])
    assert mx.npx.batch_dot(a=a, b=a, transpose_b=True).asnumpy().tolist() == [[[5]]]
    assert mx.npx.batch_dot(a, b=a, transpose_b=True).asnumpy().tolist() == [[[5]]]
    assert mx.npx.one_hot(data=mx.np.array([1]), depth=2).asnumpy().tolist() == [[0, 1]]
    assert mx.npx.one_hot(mx.np.array([1]), 2, 5.0, 3.0).asnumpy().tolist() == [[3, 5]]
    assert mx.npx.reshape(a=a, newshape=(2, 1)).shape == (2, 1)
    assert mx.npx.nonzero(a=mx.np.array([0, 3])).asnumpy().tolist() == [[1]]
    assert mx.npx.constraint_check(x=a > 0).item()


def test_errors():
    x = mx.np.ones((1, 2, 2))
    with pytest.raises(TypeError, match="several values for the argument 'a'"):
        mx.npx.batch_dot(x, a=x)
    with pytest.raises(TypeError, match="takes 5 arguments, got 6"):
        mx.npx.pick(x, x, 1, "clip", True, 3)
