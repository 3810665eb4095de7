"""Operators that programs write in Python: mx.operator.CustomOp and mx.nd.Custom."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, gluon, nd


class Sigmoid(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        assert not autograd.is_recording()
        self.assign(out_data[0], req[0], 1 / (1 + nd.exp(-in_data[0])))
        aux[0][:] += 1 if is_train else 10

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        y = out_data[0]
        self.assign(in_grad[0], req[0], out_grad[0] * y * (1 - y))


@mx.operator.register("test_sigmoid")
class SigmoidProp(mx.operator.CustomOpProp):
    def list_auxiliary_states(self):
        return ["calls"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Sigmoid()


class Parts(mx.operator.CustomOp):
    def __init__(self, scale):
        self._scale = scale

    def forward(self, is_train, req, in_data, out_data, aux):
        for out, request in zip(out_data, req):
            self.assign(out, request, (in_data[0] + in_data[1]) * self._scale)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        assert req == ["write", "null"]
        self.assign(in_grad[0], req[0], out_grad[0] * self._scale)
        self.assign(in_grad[1], req[1], out_grad[0])
        self.assign(in_grad[0], "add", out_grad[1])


@mx.operator.register("test_parts")
class PartsProp(mx.operator.CustomOpProp):
    def __init__(self, scale="2"):
        super().__init__(need_top_grad=True)
        assert isinstance(scale, str)
        self._scale = float(scale)

    def list_arguments(self):
        return ["a", "b"]

    def list_outputs(self):
        return ["first", "second"]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Parts(self._scale)


def test_forward_backward_and_states():
    x, calls = nd.array([1, -2]), nd.zeros((1,))
    x.attach_grad()
    with autograd.record():
        y = nd.Custom(x, calls, op_type="test_sigmoid") * 3
    y.backward()
    expected = 1 / (1 + np.exp(-x.asnumpy()))
    mx.test_utils.assert_almost_equal(x.grad, 3 * expected * (1 - expected))
    assert calls.asscalar() == 1
    nd.Custom(data=x, calls=calls, op_type="test_sigmoid", name="any")
    assert calls.asscalar() == 11


def test_several_outputs_and_requests():
    a, b = nd.ones((2,)), nd.ones((2,))
    a.attach_grad()
    with autograd.record():
        first, second = nd.Custom(a, b=b, op_type="test_parts", scale=4)
        loss = first + 0 * second
    loss.backward()
    assert first.asnumpy().tolist() == [8, 8] and a.grad.asnumpy().tolist() == [4, 4]
    with autograd.record():
        nd.Custom(a, b, op_type="test_parts")[1].backward()  # no gradient arrives at the first
    assert a.grad.asnumpy().tolist() == [1, 1]


def test_in_a_block():
    class Net(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.dense = gluon.nn.Dense(2, in_units=2)

        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return F.Custom(self.dense(x), nd.zeros((1,)), op_type="test_sigmoid")

    net = Net()
    net.initialize("ones")
    with autograd.record():
        loss = net(nd.zeros((1, 2))).sum()
    loss.backward()
    assert net.dense.bias.grad().asnumpy().tolist() == [0.25, 0.25]
    net.hybridize()
    with pytest.warns(RuntimeWarning, match="'test_sigmoid' with a state that is no parameter or input cannot"):
        net(nd.zeros((1, 2)))
    with autograd.record():
        loss = net(nd.zeros((1, 2))).sum()
    loss.backward()
    assert net.dense.bias.grad().asnumpy().tolist() == [0.25, 0.25]


def test_arrays_of_numpys_kind():
    assert type(mx.nd.Custom(mx.np.ones(2), mx.np.zeros(1), op_type="test_sigmoid")) is mx.np.ndarray


def test_errors():
    x = nd.ones((2,))
    with pytest.raises(amp.ArgumentError, match="no operator 'test_sigmiod' is registered; did you mean"):
        nd.Custom(x, op_type="test_sigmiod")
    with pytest.raises(amp.ArgumentError, match=r"expected the inputs \['data', 'calls'\], got 1 by position"):
        nd.Custom(x, op_type="test_sigmoid")
    with pytest.raises(amp.ArgumentError, match="input calls: expected an array, got 3"):
        nd.Custom(x, 3, op_type="test_sigmoid")
    with pytest.raises(amp.Error, match="test_sigmoid: __init__ raised TypeError: .*'scale'"):
        nd.Custom(x, x, op_type="test_sigmoid", scale=1)
    with pytest.raises(amp.Error, match="test_parts: __init__ raised ValueError"):
        nd.Custom(x, x, op_type="test_parts", scale="much")
    with pytest.raises(amp.ArgumentError, match="expected a subclass of CustomOpProp"):
        mx.operator.register("other")(Sigmoid)
    with pytest.raises(NotImplementedError, match="CustomOp defines no forward"):
        mx.operator.CustomOp().forward(True, [], [], [], [])
    with pytest.raises(NotImplementedError, match="CustomOpProp defines no create_operator"):
        mx.operator.CustomOpProp().create_operator(mx.cpu(), [], [])
