"""Gradients of what runs on arrays: `amp.mxnet.autograd` and the methods of arrays."""

import gc
import importlib.util
import json
import os
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp._invoke import invoke
from amp.mxnet import autograd

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[4] / "shared")
CASES = SHARED / "cases"
# What the cases of grad_ops need that is not there yet, or has no gradient yet.


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def leaf(values, request="write", module=nd):
    array = module.array(values)
    array.attach_grad(request)
    return array


def gradient_of(function, array):
    with autograd.record():
        result = function(array)
    result.backward()
    return array.grad.asnumpy()


def finite_differences(function, values, step=1e-5):
    """Of the sum of what `function` makes of a float64 array."""
    found = np.zeros_like(values)
    for i in np.ndindex(values.shape):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[i] += sign * step
            ends.append(float(np.sum(function(moved).asnumpy())))
        found[i] = (ends[0] - ends[1]) / (2 * step)
    return found


# ---- values ----

ON_LEGACY_ARRAYS = {
    "arithmetic": lambda x: (2 - x) * x / (x * x + 1) + x**2 - 3 / (x + 9),
    "reflected": lambda x: 1 - x + 2**x - (-x),
    "matrix product": lambda x: nd.dot(x, x, transpose_b=True).tanh(),
    "in float32 scalar": lambda x: np.float64(2) * x,
    "several readers": lambda x: x + x * x + x.exp() + x,
    "row": lambda x: x[1] * 2,
    "element": lambda x: x[1, 2] * x[0],
    "slices": lambda x: x[:, 1:3] * x[:, ::-2],
    "negative and new axes": lambda x: x[-1, None, ...] * 3,
    "rows by a list": lambda x: x[[0, 0, 1]] ** 2,
    "pairs of indices": lambda x: x[np.array([0, 1, 1]), np.array([3, 0, 0])] * 5,
    "a mask": lambda x: x[np.array([[True, False, True, False], [False] * 4, [True] * 4])] ** 2,
    "rows by an array": lambda x: x[nd.array([2, 0])] * x[1],
    "reshape": lambda x: x.reshape((2, -1)) * nd.arange(12).reshape((2, 6)).astype("float64"),
    "reshape codes": lambda x: x.reshape((0, -4, 2, 2))[:, 0] ** 2,
    "methods": lambda x: x.sum(axis=1).sigmoid() + x.max() - x.mean(axis=1, exclude=True).sum(),
    "transpose": lambda x: x.T * x.transpose(),
    "copies": lambda x: x.copy() * x.astype("float64") * x.as_in_context(mx.cpu()),
    "iteration": lambda x: sum(row.sum() * i for i, row in enumerate(x)),
    "functions": lambda x: nd.concat(x, x.square(), dim=1).clip(-1, 1) + nd.maximum(x[:, :1], 0.25),
    "several outputs": lambda x: nd.split(x, num_outputs=2, axis=1)[1] ** 3,
    "split_v2": lambda x: nd._split_v2(x, sections=2, axis=1)[0] ** 3,
    "norms": lambda x: nd.L2Normalization(x) * nd.LayerNorm(x, nd.ones((4,), dtype="float64"), x[0]),
    "softmax": lambda x: nd.pick(nd.log_softmax(x), nd.array([0, 3, 1], dtype="float64")),
    "comparisons are constants": lambda x: x * (x > 0) + x * (x == x) + (x <= 1),
    "where": lambda x: nd.where(x > 0, x * 2, x * x),
    "stack": lambda x: nd.stack(x, x * 2).sum(axis=0) * x,
    "take": lambda x: nd.take(x, nd.array([1, 1, 2])) ** 2,
    "other class": lambda x: (x.as_np_ndarray() * 2).as_nd_ndarray() * x,
}

ON_NUMPY_ARRAYS = {
    "arithmetic": lambda x: (2 - x) * x / (x * x + 1) + x**2 - abs(x),
    "functions": lambda x: mx.np.exp(x) + mx.np.tanh(x) * mx.np.sqrt(mx.np.square(x) + 1),
    "reductions": lambda x: x.mean(axis=0) + x.std() - mx.np.var(x) + x.prod(axis=0) + x.max(axis=0),
    "shapes": lambda x: mx.np.concatenate([x.T, mx.np.stack([x[0], x[1]]).T], axis=1) ** 2,
    "indexing": lambda x: x[1:, None, ::2] * x[0, 1],
    "advanced indexing": lambda x: x[x > 0] ** 2,
    "where": lambda x: mx.np.where(x > 0, x, x * x),
    "extension": lambda x: mx.npx.softmax(x) * mx.npx.relu(x),
    "expand and squeeze": lambda x: mx.np.squeeze(mx.np.expand_dims(x, 1)) * mx.np.broadcast_to(x[0], (3, 4)),
    "scalars": lambda x: x.sum() * x[0, 0],
    "cumsum": lambda x: mx.np.cumsum(x, axis=1) * x,
    "split": lambda x: mx.np.split(x, 2, axis=1)[1] ** 2,
    "products": lambda x: mx.np.dot(x, x.T) + x @ mx.np.transpose(x) + mx.np.matmul(x[None], x.T)[0],
    "einsum": lambda x: mx.np.einsum("ij,kj,kl->il", x, x * 2, mx.np.exp(x)) + mx.np.einsum("ij->i", x)[:, None],
    "tensordot": lambda x: mx.np.tensordot(x, x, axes=([1], [1])) * mx.np.tensordot(x, x),
}


@pytest.mark.parametrize("name", ON_LEGACY_ARRAYS)
def test_gradients_of_legacy_arrays_are_derivatives(name):
    function, values = ON_LEGACY_ARRAYS[name], numbers(3, 4)
    array = nd.array(values, dtype="float64")
    array.attach_grad()
    expected = finite_differences(lambda v: function(nd.array(v, dtype="float64")), values)
    np.testing.assert_allclose(gradient_of(function, array), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ON_NUMPY_ARRAYS)
def test_gradients_of_numpy_arrays_are_derivatives(name):
    function, values = ON_NUMPY_ARRAYS[name], numbers(3, 4)
    array = mx.np.array(values, dtype="float64")
    array.attach_grad()
    expected = finite_differences(lambda v: function(mx.np.array(v, dtype="float64")), values)
    np.testing.assert_allclose(gradient_of(function, array), expected, rtol=1e-4, atol=1e-6)
    assert type(array.grad) is mx.np.ndarray


def test_gradients_of_several_readers_are_summed_once():
    values = np.array([1.0], "float32")
    array = mx.nd.array(values).astype("bfloat16")
    array.attach_grad()
    with autograd.record():
        # 256 + 1 + ... is 256 in bfloat16, however many ones are added one after the other
        parts = [array * 256] + [array * 1 for _ in range(4)]
        total = nd.add_n(*parts)
    total.backward()
    assert float(array.grad.astype("float32").asscalar()) == 260


def test_head_gradients_and_several_heads():
    x = leaf([1, 2, 3])
    with autograd.record():
        y, z = x * x, (x * 2).sum()
    autograd.backward([y, z], [nd.array([1, 0, -1]), None])
    assert x.grad.asnumpy().tolist() == [4, 2, -4]
    with autograd.record():
        y = x * x
    y.backward(nd.array([1, 0, 1]), retain_graph=True)
    assert x.grad.asnumpy().tolist() == [2, 0, 6]
    y.backward(np.array([0, 1, 0], "float32"))
    assert x.grad.asnumpy().tolist() == [0, 4, 0]


def test_requests():
    x, y, z = leaf([1, 2]), leaf([1, 2], "add"), leaf([1, 2], "null")
    for _ in range(3):
        with autograd.record():
            loss = x * y * z
        loss.backward()
    assert x.grad.asnumpy().tolist() == [1, 4] and y.grad.asnumpy().tolist() == [3, 12]
    assert z.grad is None
    buffer = nd.array([7, 7])
    autograd.mark_variables(x, buffer, "add")
    with autograd.record():
        loss = (x * 2).sum()
    loss.backward()
    assert x.grad is buffer and buffer.asnumpy().tolist() == [9, 9]


def test_a_gradient_that_does_not_arrive_is_zero_where_there_is_a_way():
    x = leaf([1, 2])
    with autograd.record():
        (x * 3).backward()
        y = nd.BlockGrad(x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [0, 0]
    assert [g.asnumpy().tolist() for g in _grad(lambda: nd.BlockGrad(x), [x])] == [[0, 0]]


def _grad(function, variables, **options):
    with autograd.record():
        heads = function()
    return autograd.grad(heads, variables, **options)


def test_grad_gives_new_arrays():
    x, y = leaf([1, 2]), leaf([3, 4])
    before = x.grad
    found = _grad(lambda: x + y, [x, y])
    found[0][:] = 9
    assert found[1].asnumpy().tolist() == [1, 1] and x.grad is before and before.asnumpy().tolist() == [0, 0]
    with autograd.record():
        inner = x * 2
        outer = inner * y
    assert autograd.grad([outer], [inner], retain_graph=True)[0].asnumpy().tolist() == [3, 4]
    outer.backward()
    assert x.grad.asnumpy().tolist() == [6, 8]


def test_what_gradients_were_stays_in_numpys_views():
    x = leaf([1, 2])
    first = gradient_of(lambda x: x * 2, x)
    gradient = x.grad
    second = gradient_of(lambda x: x * 3, x)
    assert first.tolist() == [2, 2] and second.tolist() == [3, 3]
    assert x.grad is gradient  # the object is the same all the time


# ---- second derivatives ----

TWICE_DIFFERENTIABLE = {
    "sin": lambda x: nd.sin(x),
    "product": lambda x: x * x * x.exp(),
    "dot": lambda x: nd.dot(x, x).tanh(),
    "softmax": lambda x: nd.log_softmax(x) * x,
    "sum": lambda x: x.sum(axis=0) ** 3,
    "convolution": lambda x: nd.Convolution(x.reshape((1, 1, 3, 3)), x.reshape((1, 1, 3, 3))[:, :, :2, :2],
                                            kernel=(2, 2), num_filter=1, no_bias=True),
    "index": lambda x: x[1] ** 2 * x[:, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE_DIFFERENTIABLE)
def test_second_derivatives(name):
    function, values, weights = TWICE_DIFFERENTIABLE[name], numbers(3, 3), numbers(3, 3, seed=1)

    def first(v):
        x = nd.array(v, dtype="float64")
        x.attach_grad()
        with autograd.record():
            gradient = autograd.grad(function(x), [x], create_graph=True)[0]
            weighted = gradient * nd.array(weights, dtype="float64")
        return x, weighted

    x, weighted = first(values)
    weighted.backward()
    expected = finite_differences(lambda v: first(v)[1], values)
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-4, atol=1e-6)


def test_third_derivative():
    x = leaf([2.0])
    with autograd.record():
        y = x**5
        for _ in range(2):
            y = autograd.grad(y, [x], create_graph=True)[0]
    y.backward()
    assert x.grad.asnumpy().tolist() == [240]


# ---- modes ----


def test_modes_nest_and_are_restored():
    def modes():
        return autograd.is_recording(), autograd.is_training()

    assert modes() == (False, False)
    with autograd.record():
        assert modes() == (True, True)
        with autograd.pause():
            assert modes() == (False, False)
        with autograd.pause(train_mode=True):
            assert modes() == (False, True)
        with autograd.predict_mode():
            assert modes() == (True, False)
        with pytest.raises(ZeroDivisionError), autograd.record(train_mode=False):
            assert modes() == (True, False)
            raise ZeroDivisionError
        assert modes() == (True, True)
    with autograd.train_mode():
        assert modes() == (False, True)
    assert autograd.set_recording(True) is False and autograd.set_training(True) is False
    assert modes() == (True, True)
    assert autograd.set_recording(False) is True and autograd.set_training(False) is True


def test_modes_belong_to_the_thread():
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append((autograd.is_recording(), autograd.is_training())))
        thread.start()
        thread.join()
    assert seen == [(False, False)]


def test_backward_may_run_in_another_thread():
    x = leaf([1, 2])
    with autograd.record():
        y = x * x
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert x.grad.asnumpy().tolist() == [2, 4]


def test_threads_record_graphs_of_their_own():
    x = leaf(np.ones(100), "add")
    failed = []

    def work():
        try:
            for _ in range(20):
                with autograd.record():
                    y = (x * 2).sum()
                y.backward()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed and x.grad.asnumpy().tolist() == [160] * 100


def test_only_one_of_two_threads_takes_a_graph():
    x = leaf([1, 2], "add")
    with autograd.record():
        y = x * x
    errors = []

    def work():
        try:
            y.backward()
        except amp.ArgumentError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 3 and x.grad.asnumpy().tolist() == [2, 4]


def test_pause_and_detach_cut():
    x = leaf([1, 2])
    with autograd.record():
        with autograd.pause():
            constant = x * 10
        y = x * constant + x.detach() * x
    y.backward()
    assert x.grad.asnumpy().tolist() == [11, 22]
    detached = x.detach()
    detached[0] = 5
    assert detached.grad is None and x.asnumpy().tolist() == [5, 2]


def test_attach_grad_forgets_where_an_array_came_from():
    x = leaf([1, 2])
    with autograd.record():
        y = x * 2
        y.attach_grad()
        z = y * y
    z.backward()
    assert y.grad.asnumpy().tolist() == [4, 8] and x.grad.asnumpy().tolist() == [0, 0]


def test_dropout_drops_in_training_alone():
    x = leaf(np.ones(1000))
    assert nd.Dropout(x, p=0.5).asnumpy().tolist() == [1] * 1000
    mx.random.seed(3)
    with autograd.record():
        y = nd.Dropout(x, p=0.5)
    y.backward()
    kept = y.asnumpy()
    assert set(kept.tolist()) == {0, 2} and 400 < np.count_nonzero(kept) < 600
    assert np.array_equal(x.grad.asnumpy(), kept)
    with autograd.train_mode():
        other = nd.Dropout(x, p=0.5).asnumpy()
        mx.random.seed(3)
        again = nd.Dropout(x, p=0.5).asnumpy()
    assert np.array_equal(again, kept) and not np.array_equal(other, kept)
    with autograd.record(train_mode=False):
        y = nd.Dropout(x, p=0.5)
    assert y.asnumpy().tolist() == [1] * 1000


def test_batch_norm_moves_its_statistics_in_backward():
    x, gamma, beta = leaf(numbers(8, 3)), leaf(np.ones(3)), leaf(np.zeros(3))
    mean, variance = nd.zeros((3,)), nd.ones((3,))
    batch = x.asnumpy()
    with autograd.record():
        y = nd.BatchNorm(x, gamma, beta, mean, variance, momentum=0.75, fix_gamma=False, eps=1e-5)
    np.testing.assert_allclose(y.asnumpy().std(axis=0), 1, atol=1e-3)
    assert mean.asnumpy().tolist() == [0] * 3
    y.backward(retain_graph=True)
    np.testing.assert_allclose(mean.asnumpy(), 0.25 * batch.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(variance.asnumpy(), 0.75 + 0.25 * batch.var(axis=0), rtol=1e-5)
    y.backward()
    np.testing.assert_allclose(mean.asnumpy(), (0.75 * 0.25 + 0.25) * batch.mean(axis=0), rtol=1e-5)
    with autograd.record(train_mode=False):
        y = nd.BatchNorm(x, gamma, beta, nd.zeros((3,)), nd.ones((3,)), fix_gamma=False, eps=0)
    np.testing.assert_allclose(y.asnumpy(), batch, rtol=1e-5)


# ---- Function ----


class Scaled(autograd.Function):
    """Two outputs, and a gradient that is not the derivative."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x, y):
        assert not autograd.is_recording()
        self.save_for_backward(x)
        return x * self.factor, y + 1

    def backward(self, dx, dy):
        return dx * 100 + self.saved_tensors[0], dy


def test_functions():
    x, y = leaf([1, 2]), leaf([3, 4])
    with autograd.record():
        a, b = Scaled(5)(x, y)
        c = a * 2 + b
    c.backward()
    assert a.asnumpy().tolist() == [5, 10]
    assert x.grad.asnumpy().tolist() == [201, 202] and y.grad.asnumpy().tolist() == [1, 1]
    with autograd.record():
        a, _ = Scaled(5)(x, y)
    a.backward()
    assert y.grad.asnumpy().tolist() == [0, 0]  # zeros came in for the output without gradient
    used = Scaled(2)
    used(x, y)
    with pytest.raises(amp.ArgumentError, match="called once"):
        used(x, y)


def test_functions_have_to_return_gradients():
    class Wrong(autograd.Function):
        result = None

        def forward(self, x):
            return x * 1

        def backward(self, dx):
            return Wrong.result(dx)

    x = leaf([1, 2])
    for result, message in [
        (lambda dx: (dx, dx), "2 gradients for 1 inputs"),
        (lambda dx: 3, "int among gradients"),
        (lambda dx: nd.ones((3,)), r"shape \(3,\) for an input of shape \(2,\)"),
    ]:
        Wrong.result = staticmethod(result)
        with autograd.record():
            y = Wrong()(x)
        with pytest.raises(amp.ArgumentError, match=message):
            y.backward()


# ---- writes ----


def test_writes_to_recorded_arrays_are_refused():
    x, constant = leaf([1, 2]), nd.array([3, 4])
    x[:] = 5
    x += 1
    with autograd.record():
        y = x * constant
        for write in (
            lambda: x.__setitem__(0, 1),
            lambda: y.__setitem__(slice(None), 1),
            lambda: constant.__setitem__(slice(None), 1),
            lambda: y.__iadd__(1),
            lambda: nd.relu(constant, out=x),
        ):
            with pytest.raises(amp.ArgumentError, match="part of a graph that is being recorded"):
                write()
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 4]
    with autograd.record():
        constant[:] = 1  # the graph that read it is gone
    assert constant.asnumpy().tolist() == [1, 1]


def test_a_whole_write_to_a_new_array_is_recorded():
    x, y, z = leaf([1, 2]), nd.zeros((2,)), nd.zeros((2,))
    with autograd.record():
        y[:] = x * 2
        nd.square(x, out=z)
        w = nd.zeros((3, 2))
        w[:] = x
        loss = (y * z).sum() + w.sum()
    loss.backward()
    assert x.grad.asnumpy().tolist() == [6 + 3, 24 + 3]
    with autograd.record(), pytest.raises(amp.UnsupportedError, match="a part of an array has no gradient"):
        y = nd.zeros((2,))
        y[0] = x[1]


def test_losses_overwrite_what_they_are_to_be_added_to():
    label = nd.array([1.0])

    def gradient(run):
        x = leaf([[1, 2]])
        x.attach_grad("add")
        for _ in range(2):
            with autograd.record():
                y = run(x)
            y.backward()
        return x.grad.asnumpy()

    once = nd.softmax(nd.array([[1.0, 2.0]])).asnumpy() - [[0, 1]]
    np.testing.assert_allclose(gradient(lambda x: nd.SoftmaxOutput(x, label)), once, rtol=1e-6)
    block = mx.gluon.nn.HybridLambda(lambda F, x: F.SoftmaxOutput(x, label if F is nd else F.ones((1,))))
    block.hybridize()
    np.testing.assert_allclose(gradient(block), once, rtol=1e-6)
    # What is computed in front of a loss is added, and so are several gradients.
    np.testing.assert_allclose(gradient(lambda x: nd.SoftmaxOutput(x * 1, label)), 2 * once, rtol=1e-6)
    two = gradient(lambda x: nd.SoftmaxOutput(x, label) + x)
    np.testing.assert_allclose(two, 2 * (once + 1), rtol=1e-6)


def test_graphs_are_freed_with_their_results():
    x = leaf([1, 2])
    with autograd.record():
        y = x * 2
        z = (y + 1).sum()
    node = weakref.ref(y._place.node)
    del y, z
    gc.collect()
    assert node() is None
    with autograd.record():
        y = x * 2
        z = y.sum()
    z.backward()
    assert y._place.node.run is None


def test_long_chains_are_no_deep_recursion():
    x = leaf([1])
    with autograd.record():
        y = x
        for _ in range(20000):
            y = y + 1
    y.backward()
    assert x.grad.asnumpy().tolist() == [1]
    del y


# ---- errors ----


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda x: x * x, [[4, 0], [2, 6]]),
        (lambda x: x.sum(axis=0), [[1, 1], [1, 1]]),
        (lambda x: mx.np.flip(x, 0), [[1, 1], [1, 1]]),
        (lambda x: x[:, 1:], [[0, 1], [0, 1]]),
        (lambda x: mx.np.concatenate([x, x * 3]), [[4, 4], [4, 4]]),
        (lambda x: x + mx.np.ones((3, 2, 2), dtype=x.dtype), [[3, 3], [3, 3]]),
        (lambda x: mx.np.diag(x), [[1, 0], [0, 1]]),
    ],
)
def test_gradients_of_integers_are_integers(dtype, call, expected):
    x = mx.np.array([[2, 0], [1, 3]], dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = call(x)
    y.backward()
    assert x.grad.dtype == dtype and x.grad.tolist() == expected


def test_gradients_of_truth_are_truth():
    x = mx.np.array([True, False], dtype="bool")
    x.attach_grad()
    with autograd.record():
        y = mx.np.concatenate([x, x])[1:]
    y.backward()
    assert x.grad.tolist() == [True, True] and x.grad.dtype == bool


def test_errors():
    x = leaf([1, 2])
    plain = nd.array([1, 2])
    with pytest.raises(amp.ArgumentError, match="head 0 depends on nothing that was recorded"):
        (x * 2).backward()
    with autograd.record():
        y = plain * 2
    with pytest.raises(amp.ArgumentError, match="head 0 depends on nothing that was recorded"):
        y.backward()
    with pytest.raises(amp.ArgumentError, match="expected an array, got int"):
        autograd.backward([3])
    with autograd.record():
        y = x * 2
    other = leaf([1])
    with pytest.raises(amp.ArgumentError, match="the heads do not depend on variable 0"):
        autograd.grad(y, [other])
    with pytest.raises(amp.ArgumentError, match="variable 0 is not part of what was recorded"):
        autograd.grad(y, [plain])
    with pytest.raises(amp.ArgumentError, match="no variable is given"):
        autograd.grad(y, [])
    with pytest.raises(amp.ArgumentError, match="1 heads and 2 head gradients"):
        autograd.backward(y, [None, None])
    with pytest.raises(amp.ArgumentError, match=r"the gradient of head 0: expected float32\[2\], got float32\[3\]"):
        y.backward(nd.ones((3,)))
    with pytest.raises(amp.ArgumentError, match="expected float32"):
        y.backward(nd.ones((2,), dtype="float64"))
    y.backward()
    with pytest.raises(amp.ArgumentError, match="retain_graph=True"):
        y.backward()
    with pytest.raises(amp.ArgumentError, match="expected 'write', 'add' or 'null', got 'inplace'"):
        x.attach_grad("inplace")
    with pytest.raises(amp.ArgumentError, match="a gradient of shape"):
        autograd.mark_variables([x], [nd.ones((3,))])
    with pytest.raises(amp.ArgumentError, match="1 variables, 2 gradients and 1 requests"):
        autograd.mark_variables([x], [nd.ones((2,)), nd.ones((2,))])


def test_what_a_differentiated_graph_made_is_a_constant():
    """As the state that a recurrent network carries from one batch to the next."""
    x, state, gradients = leaf([0.5, -0.25]), nd.zeros((2,)), []
    for _ in range(3):
        before = state.asnumpy()
        with autograd.record():
            state = nd.tanh(state + x)
        state.backward()
        np.testing.assert_allclose(x.grad.asnumpy(), 1 - np.tanh(before + x.asnumpy()) ** 2, rtol=1e-5)
        gradients.append(x.grad.asnumpy())
    assert np.abs(gradients[0] - gradients[1]).max() > 0.01
    with autograd.record():
        y = state * 2
    with pytest.raises(amp.ArgumentError, match="head 0 depends on nothing that was recorded"):
        y.backward()


@pytest.mark.parametrize("retain", [False, True])
def test_two_losses_of_one_graph(retain):
    x = leaf([1, 2])
    with autograd.record():
        inner = x * 3
        first = inner * inner
    first.backward(retain_graph=retain)
    with autograd.record():
        second = inner * x
    second.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6, 12] if retain else [3, 6])


def test_an_operator_without_gradient_is_named_where_one_is_asked_for():
    x = leaf(np.ones((2, 3)))
    with autograd.record():
        y = nd.batch_take(x, nd.array([0, 1], dtype="int32"))
    with pytest.raises(amp.UnsupportedError, match="batch_take 'node' has no gradient"):
        y.backward()


def test_functions_that_numpy_computes_are_refused_where_they_would_lose_gradients():
    x = mx.np.array([1, 2])
    assert mx.np.interp(x, x, x).tolist() == [1, 2]
    x.attach_grad()
    with autograd.record():
        for call in (lambda: mx.np.interp(x, x, x), lambda: np.nancumsum(x), lambda: mx.np.cumprod(x)):
            with pytest.raises(amp.UnsupportedError, match="has no gradient: it is computed by NumPy"):
                call()
        assert mx.np.cumprod(x.detach() * 0)[1] == 0


def test_symbols_of_what_was_recorded():
    x, y = leaf([1, 2]), nd.array([3, 4])
    with autograd.record():
        z = (x * y).exp() + x
    symbol = autograd.get_symbol(z)
    assert symbol.list_arguments() == ["var0", "var1"]
    found = symbol.eval(var0=nd.array([1, 2]), var1=y)[0]
    np.testing.assert_allclose(found.asnumpy(), z.asnumpy())
    z.backward()
    with pytest.raises(amp.ArgumentError, match="was freed by backward"):
        autograd.get_symbol(z)
    with pytest.raises(amp.ArgumentError, match="depends on nothing that was recorded"):
        autograd.get_symbol(y)
    with autograd.record():
        a, _ = Scaled(1)(x, y)
    with pytest.raises(amp.UnsupportedError, match="Scaled has no symbol"):
        autograd.get_symbol(a)


# ---- MXNet's numbers ----


def _case_module():
    spec = importlib.util.spec_from_file_location("case", CASES / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _labels():
    return [
        (path.parent, label)
        for path in sorted((CASES / "grad_ops").glob("*/case.json"))
        for label in json.loads(path.read_text()).get("labels", {})
    ]


def _run_nodes(graph, arrays):
    """The outputs of a symbol file, node by node."""
    values = []
    for node in graph["nodes"]:
        if node["op"] == "null":
            values.append([arrays[node["name"]]])
        else:
            inputs = [values[entry[0]][entry[1]] for entry in node["inputs"]]
            attributes = {key: value for key, value in node.get("attrs", {}).items() if not key.startswith("__")}
            values.append(invoke(node["op"], inputs, {}, attributes))
    return [values[entry[0]][entry[1]] for entry in graph["heads"]]


@pytest.mark.skipif(not CASES.exists(), reason=f"{CASES} does not exist: the reference cases are not here")
@pytest.mark.parametrize(("folder", "label"), _labels(), ids=lambda value: getattr(value, "name", value))
def test_operators_on_arrays_have_mxnets_gradients(folder, label):
    case = _case_module().GradCase(str(folder))
    graph = json.loads(case.symbol_json(label))
    arrays = {name: amp.nd.NDArray(value) for name, value in {**case.inputs(label), **case.params(label)}.items()}
    buffers = case.initial_gradients(label)
    for name, request in case.grad_req(label).items():
        if request != "null" and arrays[name].dtype.kind == "f":
            start = buffers.get(name, np.zeros(arrays[name].shape, arrays[name].dtype))
            autograd.mark_variables([arrays[name]], [nd.array(start, dtype=arrays[name].dtype)], request)
    for _ in range(case.steps):
        with autograd.record():
            outputs = _run_nodes(graph, arrays)
        recorded = [(o, h) for o, h in zip(outputs, case.head_gradients(label)) if o._place is not None]
        autograd.backward([o for o, _ in recorded], [h.astype(o.dtype) for o, h in recorded])
    problems = []
    listed = {m["name"] for m in case.info["gradients"]}
    given = {n: np.zeros(a.shape) if a.grad is None else a.grad.asnumpy() for n, a in arrays.items() if n in listed}
    for name, (largest, rms, _) in case.gradient_errors(given, label).items():
        bounds = case.tolerance(name)
        if not (largest <= bounds[0] and rms <= bounds[1]):
            problems.append(f"gradient of {name}: {largest:.2g}, {rms:.2g}, allowed {bounds}")
    states = {name: arrays[name].asnumpy() for name in case.aux_names(label)}
    for name, (largest, _, _) in case.aux_errors(states, label).items():
        if not largest <= 1e-5:
            problems.append(f"state {name}: {largest:.2g}")
    assert not problems


@pytest.mark.parametrize("name", ["round_ste", "sign_ste"])
def test_straight_through(name):
    x = mx.nd.array([-2.5, -0.25, 0, 0.75])
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.nd.contrib, name)(x) * mx.nd.array([1, 2, 3, 4])
    y.backward()
    assert x.grad.asnumpy().tolist() == [1, 2, 3, 4]


def test_khatri_rao():
    arrays = [mx.nd.array(np.arange(2.0 * n).reshape(n, 2) - 2, dtype="float64") for n in (2, 3, 4)]
    for array in arrays:
        array.attach_grad()
    heads = np.random.default_rng(0).standard_normal((24, 2))
    with mx.autograd.record():
        y = mx.nd.khatri_rao(*arrays)
    y.backward(mx.nd.array(heads, dtype="float64"))
    a, b, c = (array.asnumpy() for array in arrays)
    np.testing.assert_array_equal(y.asnumpy(), np.einsum("in,jn,kn->ijkn", a, b, c).reshape(24, 2))
    heads = heads.reshape(2, 3, 4, 2)
    for array, subscripts in zip(arrays, ("ijkn,jn,kn->in", "ijkn,in,kn->jn", "ijkn,in,jn->kn")):
        others = [other for other in (a, b, c) if other.shape != array.shape]
        np.testing.assert_allclose(array.grad.asnumpy(), np.einsum(subscripts, heads, *others), rtol=1e-12)
