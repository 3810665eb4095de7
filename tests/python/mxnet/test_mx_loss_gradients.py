"""Loss layers have a gradient of their own, whatever comes behind them; gradients of computed arrays."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

DATA = np.array([[1, 2, 3], [0, 1, 0]], "float32")
LABEL = np.array([2, 1], "float32")


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


OF_SOFTMAX = softmax(DATA) - np.eye(3)[LABEL.astype(int)]
# {loss: (its layer, its gradient)}
LOSSES = {
    "SoftmaxOutput": (lambda m, x, y: m.SoftmaxOutput(x, y), OF_SOFTMAX),
    "LinearRegressionOutput": (lambda m, x, y: m.LinearRegressionOutput(x, m.ones_like(x)), (DATA - 1) / 3),
    "MAERegressionOutput": (lambda m, x, y: m.MAERegressionOutput(x, m.ones_like(x)), np.sign(DATA - 1) / 3),
    "LogisticRegressionOutput": (
        lambda m, x, y: m.LogisticRegressionOutput(x, m.ones_like(x)),
        (1 / (1 + np.exp(-DATA)) - 1) / 3,
    ),
    "MakeLoss": (lambda m, x, y: m.MakeLoss(x * x, grad_scale=2), 4 * DATA),
    "make_loss": (lambda m, x, y: m.make_loss(x * x), 2 * DATA),
}
BEHIND = {
    "nothing": lambda m, loss: loss,
    "BlockGrad": lambda m, loss: m.BlockGrad(loss),
    "BlockGrad and more": lambda m, loss: m.sum(m.exp(m.BlockGrad(loss))),
    "argmax": lambda m, loss: m.argmax(loss, axis=1),
    "a comparison": lambda m, loss: m.sum(loss > 0.5),
    "ones_like": lambda m, loss: m.ones_like(loss),
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_by_autograd(loss, behind):
    layer, right = LOSSES[loss]
    x = mx.nd.array(DATA)
    x.attach_grad()
    with mx.autograd.record():
        y = BEHIND[behind](mx.nd, layer(mx.nd, x, mx.nd.array(LABEL)))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), right, atol=1e-5)


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_in_graphs(loss, behind):
    layer, right = LOSSES[loss]
    symbol = BEHIND[behind](mx.sym, layer(mx.sym, mx.sym.var("x"), mx.sym.var("y")))
    arrays = {name: mx.nd.array(value) for name, value in (("x", DATA), ("y", LABEL)) if name in symbol.list_inputs()}
    gradient = mx.nd.zeros((2, 3))
    bound = symbol.bind(mx.cpu(), arrays, args_grad={"x": gradient}, grad_req={"x": "write"})
    bound.forward(is_train=True)
    bound.backward()
    np.testing.assert_allclose(gradient.asnumpy(), right, atol=1e-5)


def test_a_module_whose_output_is_behind_block_grad():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, no_bias=True, name="fc")
    net = mx.sym.BlockGrad(mx.sym.SoftmaxOutput(net, mx.sym.var("softmax_label"), name="softmax"))
    module = mx.mod.Module(net)
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    module.init_params(arg_params={"fc_weight": mx.nd.array(np.eye(3))}, aux_params={})
    module.init_optimizer(optimizer="sgd", optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
    module.forward_backward(mx.io.DataBatch([mx.nd.array(DATA)], [mx.nd.array(LABEL)]))
    module.update()
    np.testing.assert_allclose(
        module.get_params()[0]["fc_weight"].asnumpy(), np.eye(3) - OF_SOFTMAX.T @ DATA, atol=1e-5
    )


def test_an_svm_behind_block_grad():
    gradients = []
    for stops in (False, True):
        x = mx.nd.array(DATA)
        x.attach_grad()
        with mx.autograd.record():
            y = mx.nd.SVMOutput(x, mx.nd.array(LABEL))
            y = mx.nd.BlockGrad(y) if stops else y
        y.backward()
        gradients.append(x.grad.asnumpy())
    np.testing.assert_array_equal(*gradients)
    assert gradients[0].any()


def test_functions_of_programs_are_asked_too():
    class Own(mx.autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, gradient):
            return gradient + 1

    x = mx.nd.array(DATA)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.BlockGrad(Own()(x))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.ones((2, 3)))


def test_what_is_not_recorded_stays_apart():
    x = mx.nd.array(DATA)
    x.attach_grad()
    with mx.autograd.record():
        y = (mx.nd.SoftmaxOutput(x, mx.nd.array(LABEL)).detach() * x).sum()
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), softmax(DATA), atol=1e-6)


# ---- gradients of computed arrays ----


def test_a_computed_array_of_numpys_kind_keeps_its_graph():
    a, b = np.array([1.0, 2.0, 3.0], "float32"), np.array([5.0, 6.0, 7.0], "float32")
    x, y = mx.np.array(a), mx.np.array(b)
    x.attach_grad()
    y.attach_grad()
    with mx.autograd.record():
        u = x * y
        z = u * x
    u.attach_grad()
    z.backward(retain_graph=True)
    for array, right in ((u, a), (x, 2 * a * b), (y, a * a)):
        np.testing.assert_allclose(array.grad.asnumpy(), right)
    u.attach_grad("add")
    z.backward(retain_graph=True)
    z.backward(retain_graph=True)
    np.testing.assert_allclose(u.grad.asnumpy(), 2 * a)
    u.drop_grad()
    z.backward()
    assert u.grad is None
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * a * b)
    x.drop_grad()
    assert x.grad is None


def test_a_head_may_have_a_gradient_itself():
    x = mx.np.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 3
        y.attach_grad()
        z = (y * y).sum()
    z.attach_grad()
    z.backward()
    assert z.grad.tolist() == 1 and y.grad.tolist() == [6.0, 12.0] and x.grad.tolist() == [18.0, 36.0]


def test_a_computed_legacy_array_forgets_its_graph():
    x = mx.nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 3
        y.attach_grad()
        (y * y).backward()
    assert y.grad.asnumpy().tolist() == [6.0, 12.0] and x.grad.asnumpy().tolist() == [0.0, 0.0]
    with pytest.raises(amp.ArgumentError, match="grad_req"):
        y.attach_grad("sum")
