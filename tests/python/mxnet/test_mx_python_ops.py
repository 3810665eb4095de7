"""Operators in Python from before CustomOp: objects of NumpyOp and NDArrayOp."""

import numpy as np
import pytest

import amp.mxnet as mx

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated")


class Softmax(mx.operator.NumpyOp):
    """A loss."""

    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], in_shape[0][:1]], [in_shape[0]]

    def forward(self, in_data, out_data):
        out_data[0][:] = np.exp(in_data[0])
        out_data[0] /= out_data[0].sum(axis=1, keepdims=True)

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = out_data[0]
        in_grad[0][np.arange(len(in_data[1])), in_data[1].astype(int)] -= 1


def test_a_loss_on_numpy_arrays_is_softmax_output():
    data, label = mx.nd.array(np.random.default_rng(0).random((4, 3), dtype="f4")), mx.nd.array([0, 2, 1, 1])
    found = []
    for layer in (Softmax(), mx.sym.SoftmaxOutput):
        net = layer(data=mx.sym.Variable("data"), name="softmax")
        assert net.list_arguments() == ["data", "softmax_label"] and net.infer_shape(data=(4, 3))[1] == [(4, 3)]
        gradients = {"data": mx.nd.zeros((4, 3))}
        bound = net.bind(mx.cpu(), {"data": data, "softmax_label": label}, gradients)
        bound.forward(is_train=True)
        bound.backward()
        found += [bound.outputs[0].asnumpy(), gradients["data"].asnumpy()]
    np.testing.assert_allclose(found[:2], found[2:], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(data.asnumpy(), np.random.default_rng(0).random((4, 3), dtype="f4"))


class Square(mx.operator.NDArrayOp):
    def forward(self, in_data, out_data):
        out_data[0][:] = in_data[0] * in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        in_grad[0][:] = 2 * in_data[0] * out_grad[0]


@pytest.mark.parametrize("request_, expected", [("write", 12), ("add", 13)])
def test_an_operator_on_ndarrays(request_, expected):
    net = Square().get_symbol(mx.sym.Variable("x"), name="square")
    bound = net.bind(mx.cpu(), {"x": mx.nd.array([3])}, {"x": mx.nd.array([1])}, request_)
    gradient = bound.grad_arrays[0]
    assert bound.forward(is_train=True)[0].asnumpy() == 9
    bound.backward(mx.nd.array([2]))
    assert gradient.asnumpy() == expected


def test_defaults():
    with pytest.warns(UserWarning, match="NumpyOp is deprecated; use CustomOp"):
        same = mx.operator.NumpyOp()
    x = mx.nd.array([3, 4])
    gradient = mx.nd.zeros((2,))
    bound = same(mx.sym.Variable("x"), name="same").bind(mx.cpu(), [x], [gradient])
    assert bound.forward(is_train=True)[0].asnumpy().tolist() == [3, 4]
    bound.backward(x)
    assert gradient.asnumpy().tolist() == [1, 1] and isinstance(same, mx.operator.PythonOp)
