"""Ring attention as an operator of graphs, with its gradient."""

import numpy as np

import amp.mxnet as mx
from amp import distributed


def test_the_gradient_of_a_graph_is_that_of_the_function():
    """Symbols, gluon and the function use the same code."""
    draws = np.random.default_rng(0)
    whole = [draws.standard_normal((2, 16, 4, 8)).astype(np.float32) for _ in range(4)]

    def both(comm):
        q, k, v, dout = (distributed.split_for_ring(array, comm.rank, comm.size, 1) for array in whole)
        k, v = k[:, :, :2].copy(), v[:, :, :2].copy()
        out, lse = distributed.ring_attention(q, k, v, comm=comm)
        gradients = distributed.ring_attention_backward(dout, q, k, v, out, lse, comm=comm)
        expected = [np.asarray(array) for array in (out, *gradients)]
        with distributed.group(comm):
            arrays = [mx.nd.array(array) for array in (q, k, v)]
            for array in arrays:
                array.attach_grad()
            with mx.autograd.record():
                found, _ = mx.nd.contrib.ring_attention(*arrays)
            found.backward(mx.nd.array(dout))
            of_arrays = [found.asnumpy(), *(array.grad.asnumpy() for array in arrays)]
            symbol = mx.sym.contrib.ring_attention(*map(mx.sym.Variable, "qkv"))[0]
            named = dict(zip("qkv", arrays))
            bound = symbol.bind(mx.cpu(), named, {name: mx.nd.zeros(array.shape) for name, array in named.items()})
            of_symbol = [bound.forward(is_train=True)[0].asnumpy()]
            bound.backward([mx.nd.array(dout)])
            of_symbol += [bound.grad_dict[name].asnumpy() for name in "qkv"]
        return expected, of_arrays, of_symbol

    for expected, of_arrays, of_symbol in distributed.run_local(2, both):
        for want, got, of_graph in zip(expected, of_arrays, of_symbol):
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(of_graph, want)


def test_gradients_of_log_sum_exps():
    """Through both results, against one rank."""
    whole = [np.random.default_rng(1).standard_normal((1, 16, 2, 8)).astype(np.float32) for _ in range(3)]

    def gradients(comm):
        arrays = [mx.nd.array(distributed.split_for_ring(array, comm.rank, comm.size, 1)) for array in whole]
        for array in arrays:
            array.attach_grad()
        with distributed.group(comm):
            with mx.autograd.record():
                out, lse = mx.nd.contrib.ring_attention(*arrays)
                loss = (out * out).sum() + (lse * lse).sum()
            loss.backward()
        return [array.grad.asnumpy() for array in arrays]

    (alone,), parts = distributed.run_local(1, gradients), distributed.run_local(4, gradients)
    for i, expected in enumerate(alone):
        found = distributed.join_from_ring([part[i] for part in parts], 1)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
