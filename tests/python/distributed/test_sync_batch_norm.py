"""Batch norms over the batches of all ranks, against one rank with all of them."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import distributed
from amp.mxnet import gluon

SIZES = [3, 1, 5, 2]  # batches by rank


def batches(dtype="float32"):
    """(data, gradients of the output) by rank: other means and deviations on each."""
    draws = np.random.default_rng(0)
    found = []
    for rank, size in enumerate(SIZES):
        x = (rank + 1) * draws.standard_normal((size, 4, 3, 2)) + 2 * rank
        found.append((x.astype(dtype), draws.standard_normal(x.shape).astype(dtype)))
    return found


def whole(parts):
    return tuple(np.concatenate(arrays) for arrays in zip(*parts))


def trained(part, block=gluon.nn.SyncBatchNorm, hybridize=False, dtype="float32", **options):
    """{name: array} of what one step of a norm computes from (data, gradient)."""
    net = block(in_channels=4, **options)
    net.initialize()
    draws = np.random.default_rng(1)
    for name in ("gamma", "beta", "running_mean", "running_var"):
        getattr(net, name).set_data(mx.nd.array(draws.uniform(0.5, 2, 4), dtype="float32"))
    net.cast(dtype)
    if hybridize:
        net.hybridize()
    x = mx.nd.array(part[0], dtype=dtype)
    x.attach_grad()
    with mx.autograd.record():
        y = net(x)
    y.backward(mx.nd.array(part[1], dtype=dtype))
    found = {"y": y, "dx": x.grad, "mean": net.running_mean.data(), "variance": net.running_var.data()}
    trained = {"dgamma": net.gamma, "dbeta": net.beta}
    found |= {name: each.grad() for name, each in trained.items() if each.grad_req != "null"}
    return {name: array.asnumpy() for name, array in found.items()}


def trained_by_ranks(parts, **options):
    def rank(comm):
        with distributed.group(comm):
            return trained(parts[comm.rank], **options)

    return distributed.run_local(len(parts), rank, timeout=60)


@pytest.mark.parametrize("hybridize", [True, False])
@pytest.mark.parametrize("dtype, error", [("float32", 2e-6), ("float64", 1e-12)])
def test_ranks_compute_what_one_rank_does_with_all_batches(dtype, error, hybridize):
    parts = batches(dtype)
    expected = trained(whole(parts), gluon.nn.BatchNorm, dtype=dtype)
    ranks = trained_by_ranks(parts, hybridize=hybridize, dtype=dtype)
    for name in ("y", "dx"):
        found = np.concatenate([rank[name] for rank in ranks])
        np.testing.assert_allclose(found, expected[name], rtol=error, atol=error)
    for name in ("dgamma", "dbeta"):  # a trainer adds them
        np.testing.assert_allclose(sum(rank[name] for rank in ranks), expected[name], rtol=10 * error, atol=10 * error)
    for name in ("mean", "variance"):
        for rank in ranks:
            np.testing.assert_array_equal(rank[name], ranks[0][name])
            np.testing.assert_allclose(rank[name], expected[name], rtol=error)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision(dtype):
    parts = batches()
    expected = trained(whole(parts), gluon.nn.BatchNorm, dtype=dtype)
    ranks = trained_by_ranks(parts, dtype=dtype)
    for name in ("y", "dx"):
        found = np.concatenate([rank[name] for rank in ranks]).astype(np.float32)
        np.testing.assert_allclose(found, expected[name].astype(np.float32), rtol=2**-7, atol=2**-8)


@pytest.mark.parametrize("hybridize", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_one_rank_has_the_bits_of_a_batch_norm(hybridize, scale):
    part = whole(batches())
    expected = trained(part, gluon.nn.BatchNorm, hybridize=hybridize, scale=scale)
    outside = trained(part, hybridize=hybridize, scale=scale)
    (alone,) = trained_by_ranks([part], hybridize=hybridize, scale=scale)
    for name, array in expected.items():
        np.testing.assert_array_equal(outside[name], array)
        np.testing.assert_array_equal(alone[name], array)


def test_inference_and_global_statistics_ask_no_other_rank():
    def rank(comm):
        x, _ = part = batches()[comm.rank]
        with distributed.group(comm):
            net = gluon.nn.SyncBatchNorm(in_channels=4)
            net.initialize()
            inferred = net(mx.nd.array(x)).asnumpy()
            found = trained(part, use_global_stats=True)
        assert comm.bytes_sent == 0
        plain = gluon.nn.BatchNorm(in_channels=4)
        plain.initialize()
        np.testing.assert_array_equal(inferred, plain(mx.nd.array(x)).asnumpy())
        for name, array in trained(part, gluon.nn.BatchNorm, use_global_stats=True).items():
            np.testing.assert_array_equal(found[name], array)

    distributed.run_local(4, rank, timeout=60)


def test_ranks_send_two_numbers_for_each_channel_forwards_and_two_backwards():
    def rank(comm):
        with distributed.group(comm):
            trained(batches()[comm.rank])
        return comm.bytes_sent

    forward, backward = (1 + 4) + (1 + 4), 1 + 2 * 4  # with the number of elements; means come before variances
    assert distributed.run_local(2, rank, timeout=60) == [8 * (forward + backward)] * 2


class Branches(gluon.HybridBlock):
    """Norms whose order follows from no data."""

    def __init__(self, norm):
        super().__init__()
        self.norms = [norm(in_channels=4) for _ in range(3)]
        for i, each in enumerate(self.norms):
            self.register_child(each, f"norm{i}")

    def forward(self, x):
        """Three branches."""
        first, second, third = self.norms
        return first(x) * second(x.sigmoid()) + third(x.tanh())


@pytest.mark.parametrize("hybridize", [True, False])
def test_branches_exchange_messages_in_one_order(hybridize):
    def gradient(part, norm):
        net = Branches(norm)
        net.initialize()
        if hybridize:
            net.hybridize()
        x = mx.nd.array(part[0])
        x.attach_grad()
        with mx.autograd.record():
            y = net(x)
        y.backward(mx.nd.array(part[1]))
        return x.grad.asnumpy()

    def rank(comm):
        with distributed.group(comm):
            return gradient(parts[comm.rank], gluon.nn.SyncBatchNorm)

    parts = batches()
    found = np.concatenate(distributed.run_local(4, rank, timeout=60))
    np.testing.assert_allclose(found, gradient(whole(parts), gluon.nn.BatchNorm), rtol=1e-4, atol=1e-5)


def normed(name):
    return mx.sym.contrib.SyncBatchNorm(mx.sym.Variable("x"), name=name, fix_gamma=False, ndev=4, key=name)


@pytest.mark.parametrize("backend", ["onednn", "reference"])
def test_executors(backend):
    parts = batches()
    arguments = {"n_gamma": np.linspace(1, 2, 4, dtype=np.float32), "n_beta": np.zeros(4, np.float32)}

    def gradients(part):
        states = {"n_moving_mean": np.zeros(4, np.float32), "n_moving_var": np.ones(4, np.float32)}
        options = {"grad_req": "write", "backend": backend}
        executor = amp.TrainingExecutor(normed("n"), arguments, states, {"x": part[0].shape}, **options)
        executor.forward(is_train=True, x=part[0])
        executor.backward([part[1]])
        return executor.gradients["x"].asnumpy()

    def rank(comm):
        with distributed.group(comm):
            return gradients(parts[comm.rank])

    found = np.concatenate(distributed.run_local(4, rank, timeout=60))
    np.testing.assert_allclose(found, gradients(whole(parts)), rtol=1e-5, atol=1e-6)


def test_graphs_have_mxnets_operator():
    net = gluon.nn.SyncBatchNorm(in_channels=4, num_devices=2, prefix="norm_")
    (node,) = (node for node in json.loads(net(mx.sym.Variable("x")).tojson())["nodes"] if node["op"] != "null")
    assert node["op"] == "_contrib_SyncBatchNorm"
    assert {**node["attrs"], "key": "norm", "ndev": "2"} == node["attrs"] and "axis" not in node["attrs"]


@pytest.mark.parametrize("is_train", [False, True])
def test_the_third_output_is_the_variance(is_train):
    """As in MXNet, whose BatchNorm gives 1 / sqrt(variance + eps) there; gradients are those of BatchNorm."""
    x, gradient = batches()[0]
    found = {}
    for op in (amp.sym.BatchNorm, amp.sym.contrib.SyncBatchNorm):
        symbol = op(amp.sym.Variable("x"), fix_gamma=False, eps=0.5, output_mean_var=True, name="norm")
        bound = symbol.simple_bind(x=x.shape)
        arrays = {"x": x, "norm_gamma": [1, 2, 3, 4], "norm_beta": [4, 3, 2, 1]}
        states = {"norm_moving_mean": [1, 2, 3, 4], "norm_moving_var": [0.5, 1, 2, 3]}
        bound.copy_params_from(*({n: amp.nd.array(a) for n, a in given.items()} for given in (arrays, states)))
        outputs = [output.asnumpy() for output in bound.forward(is_train=is_train)]
        bound.backward([amp.nd.array(gradient), None, None], is_train=is_train)
        found[op] = (outputs, [array.asnumpy() for array in bound.grad_arrays])
    (plain, plain_gradients), (synced, synced_gradients) = found.values()
    variance = x.var((0, 2, 3)) if is_train else np.array([0.5, 1, 2, 3])
    np.testing.assert_allclose(synced[2], variance, rtol=1e-5)
    np.testing.assert_allclose(plain[2], 1 / np.sqrt(variance + 0.5), rtol=1e-5)
    for one, other in zip(plain[:2] + plain_gradients, synced[:2] + synced_gradients):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
