"""The operator _contrib_attention: what it promises beside what the cases of all operators check."""

import numpy as np
import pytest

import amp
from amp import sym
from amp.mxnet import autograd, nd

BF16 = "bfloat16"


def draw(rows, keys, heads=4, kv_heads=2, size=24, batch=2, seed=0, dtype="float32"):
    random = np.random.default_rng(seed)
    shapes = (batch, rows, heads, size), (batch, keys, kv_heads, size), (batch, keys, kv_heads, size)
    return [amp.nd.array(random.normal(size=shape).astype("float32")).astype(dtype) for shape in shapes]


def truth(query, key, value, causal):
    """(result, lse) in float64."""
    q, k, v = (x.astype("float32").asnumpy().astype("float64").transpose(0, 2, 1, 3) for x in (query, key, value))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        rows, keys = scores.shape[-2:]
        scores = np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, scores, -np.inf)
    largest = np.maximum(scores.max(-1, keepdims=True), -1e300)
    powers = np.exp(scores - largest)
    total = powers.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = (largest + np.log(total))[..., 0]
    weights = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    return (weights @ v).transpose(0, 2, 1, 3), lse


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("rows, keys", [(70, 70), (5, 300), (40, 9)])
@pytest.mark.parametrize("dtype", ["float32", BF16])
def test_result_and_lse(rows, keys, causal, dtype):
    operands = draw(rows, keys, dtype=dtype)
    out, lse = amp.nd.contrib.attention(*operands, causal=causal)
    expected, expected_lse = truth(*operands, causal)
    np.testing.assert_allclose(
        out.astype("float32").asnumpy(), expected, atol=2e-5 if dtype == "float32" else 0.03, rtol=0
    )
    assert lse.shape == (2, 4, rows) and str(lse.dtype) == "float32"
    np.testing.assert_allclose(lse.asnumpy(), expected_lse, atol=1e-5, rtol=0)


def test_rows_that_see_no_key():
    operands = draw(12, 5)
    for array in operands:
        array.attach_grad()
    with amp.mxnet.autograd.record():
        out, lse = nd.contrib.attention(*map(nd.array, operands), causal=True)
    out, lse = out.asnumpy(), lse.asnumpy()
    assert (out[:, :7] == 0).all() and (lse[..., :7] == -np.inf).all()
    assert np.isfinite(lse[..., 7:]).all()


def executor(operands, asked=0, **options):
    variables = [sym.Variable(name, dtype=str(array.dtype)) for name, array in zip("qkv", operands)]
    symbol = sym.contrib.attention(*variables, **options)
    arrays = dict(zip("qkv", operands))
    return amp.TrainingExecutor(symbol, arrays, {}, {}, grad_req="write")


def gradients(operands, heads, **options):
    run = executor(operands, **options)
    run.forward(is_train=True)
    run.backward([amp.nd.array(head) for head in heads])
    return [run.gradients[name].astype("float32").asnumpy() for name in "qkv"]


def test_rows_that_see_no_key_have_no_gradient():
    operands = draw(12, 5)
    heads = [np.ones((2, 12, 4, 24), "float32"), np.zeros((2, 4, 12), "float32")]
    of_query, *others = gradients(operands, heads, causal=True)
    assert (of_query[:, :7] == 0).all() and np.isfinite(of_query).all()
    assert all(np.isfinite(gradient).all() and np.abs(gradient).max() > 0 for gradient in others)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("layout", ["bshd", "sbhd"])
def test_gradients_are_finite_differences(causal, layout):
    operands = draw(7, 9, size=8)
    if layout == "sbhd":
        operands = [amp.nd.array(x.asnumpy().transpose(1, 0, 2, 3).copy()) for x in operands]
    random = np.random.default_rng(1)
    shape = operands[0].shape
    heads = [random.normal(size=shape).astype("float32"), random.normal(size=(2, 4, 7)).astype("float32")]

    def total(arrays):
        as_bshd = [x if layout == "bshd" else amp.nd.array(x.asnumpy().transpose(1, 0, 2, 3).copy()) for x in arrays]
        out, lse = truth(*as_bshd, causal)
        out = out if layout == "bshd" else out.transpose(1, 0, 2, 3)
        return (out * heads[0]).sum() + (lse * heads[1]).sum()

    found = gradients(operands, heads, causal=causal, layout=layout)
    for i, gradient in enumerate(found):
        direction = random.normal(size=gradient.shape)
        around = []
        for step in (1e-3, -1e-3):
            moved = list(operands)
            moved[i] = amp.nd.array((operands[i].asnumpy() + step * direction).astype("float32"))
            around.append(total(moved))
        slope = (around[0] - around[1]) / 2e-3
        assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-3, abs=2e-3)


@pytest.mark.parametrize("dtype", ["float32", BF16])
def test_order_of_blocks_and_threads(dtype):
    operands = draw(150, 150, dtype=dtype)
    plain = amp.nd.contrib.attention(*operands)[0].astype("float32").asnumpy()
    blocks = amp.nd.contrib.attention(*operands, key_block=64, last_key_first=True)[0].astype("float32").asnumpy()
    np.testing.assert_allclose(blocks, plain, atol=1e-5 if dtype == "float32" else 0.03)
    variables = [sym.Variable(name) for name in "qkv"]
    symbol = sym.contrib.attention(*variables, key_block=64, last_key_first=True)
    shapes = {name: array.shape for name, array in zip("qkv", operands)}
    for threads in (1, 2):
        run = amp.Executor(symbol, {}, {}, shapes, input_dtypes=dict.fromkeys("qkv", dtype), num_threads=threads)
        np.testing.assert_array_equal(run(*operands)[0].astype("float32").asnumpy(), blocks)


def test_p_dtype_says_what_weights_are_rounded_to():
    operands = draw(64, 64, dtype=BF16)
    expected = truth(*operands, True)[0]

    def error(**options):
        # float32 results: only weights are rounded
        variables = [sym.Variable(name, dtype=BF16) for name in "qkv"]
        out = amp.Executor(
            sym.contrib.attention(*variables, **options),
            {},
            {},
            {name: array.shape for name, array in zip("qkv", operands)},
            input_dtypes=dict.fromkeys("qkv", BF16),
        )(*operands)[0]
        return np.abs(out.astype("float32").asnumpy() - expected).mean()

    assert error(p_dtype="float32") < error(p_dtype=BF16)


def test_gluon_trains_through_it():
    operands = [nd.array(x.asnumpy()) for x in draw(6, 6)]
    for array in operands:
        array.attach_grad()
    with autograd.record():
        out, lse = nd.contrib.attention(*operands)
        loss = (out * out).sum() + lse.sum()
    loss.backward()
    heads = [2 * out.asnumpy(), np.ones(lse.shape, "float32")]
    expected = gradients([amp.nd.array(x.asnumpy()) for x in operands], heads)
    for array, gradient in zip(operands, expected):
        np.testing.assert_allclose(array.grad.asnumpy(), gradient, rtol=1e-5, atol=1e-6)
