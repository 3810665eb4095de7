"""Checks of blocks for tests."""

from .. import autograd
from .comparison import assert_almost_equal


def check_gluon_hybridize_consistency(net_builder, data_l, numpy_func=None, test_grad=True, rtol=1e-4, atol=1e-4):
    """Asserts that a block gives the same outputs and gradients hybridized or not, and those of a NumPy function.

    `net_builder()` makes the block, with the same parameters each time; `data_l` are the arrays of a call.

    >>> def build(prefix=None):
    ...     return mx.gluon.nn.Activation("relu")
    >>> mx.test_utils.check_gluon_hybridize_consistency(build, [amp.nd.array([-1.0, 2.0])])
    """
    expected, net = None, None
    for is_hybrid in (False, True):
        net = _with_parameters_of(net, net_builder())
        found = _outputs_and_gradients(net, data_l, is_hybrid, test_grad)
        if expected is None:
            expected = found
        for ours, theirs in zip(found, expected):
            assert_almost_equal(ours, theirs, rtol=rtol, atol=atol)
    if numpy_func is not None:
        assert_almost_equal(expected[0], numpy_func(*(data.asnumpy() for data in data_l)), rtol=rtol, atol=atol)


def _with_parameters_of(other, net):
    """`net` with the parameters of another net that was built in the same way and has run; new ones without it."""
    net.initialize()
    if other is not None:
        for parameter, known in zip(net.collect_params().values(), other.collect_params().values()):
            parameter.shape = known.shape
            parameter.set_data(known.data())
    return net


def _outputs_and_gradients(net, data_l, is_hybrid, test_grad):
    if is_hybrid:
        net.hybridize()
    inputs = [data.copy() for data in data_l]
    if not test_grad:
        return [net(*inputs).asnumpy()]
    for data in inputs:
        data.attach_grad()
    with autograd.record():
        output = net(*inputs)
    output.backward()
    parameters = [p for _, p in sorted(net.collect_params().items()) if p.grad_req != "null"]
    return [output.asnumpy(), *(data.grad.asnumpy() for data in inputs), *(p.grad().asnumpy() for p in parameters)]
