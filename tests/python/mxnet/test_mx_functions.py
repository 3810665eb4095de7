"""Functions of mx.nd and mx.contrib that are no operators of the registry, and several updates in one call."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, nd


def f32(*values):
    return nd.array(values)


# ---- functions of arrays ----


@pytest.mark.parametrize("make", [nd.array, mx.np.array])
def test_assigning_to_slices(make):
    source = np.arange(24, dtype="f4").reshape(2, 3, 4)
    x, expected = make(source), source.copy()
    changed = nd._internal._slice_assign(x, make(-np.ones((2, 1, 3))), begin=(0, 0, 0), end=(2, 1, 3))
    expected[:, :1, :3] = -1
    np.testing.assert_array_equal(changed.asnumpy(), expected)
    np.testing.assert_array_equal(x.asnumpy(), source)
    assert nd._internal._crop_assign_scalar(x, scalar=5, begin=(1,), end=(None,), out=x) is x
    expected = source.copy()
    expected[1:] = 5
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert x.slice_assign_scalar(7, (None, None, 3), (None, None, None), (None, None, -2)) is x
    expected[..., 3::-2] = 7
    assert type(x.slice_assign(make(np.zeros(4)), (0, 2), (1, 3))) is type(x)
    expected[0, 2] = 0
    np.testing.assert_array_equal(x.asnumpy(), expected)


@pytest.mark.parametrize("make", [nd.array, mx.np.array])
def test_blocks_of_space(make):
    x = make(np.arange(16, dtype="f4").reshape(1, 4, 2, 2))
    spread = x.depth_to_space(2)
    assert spread.shape == (1, 1, 4, 4) and spread.asnumpy()[0, 0, 0].tolist() == [0, 4, 1, 5]
    np.testing.assert_array_equal(spread.space_to_depth(block_size=2).asnumpy(), x.asnumpy())
    assert type(spread) is type(x)


def test_names_of_sparse_arrays():
    x, sparse = nd.ones((2,)), nd.sparse
    assert not isinstance(x, (sparse.CSRNDArray, sparse.RowSparseNDArray, sparse.BaseSparseNDArray))
    assert sparse.add(x, x).asnumpy().tolist() == [2, 2] and sparse.zeros("default", (2,)).shape == (2,)
    for make in (sparse.CSRNDArray, sparse.csr_matrix, sparse.row_sparse_array, lambda s: sparse.zeros("csr", s)):
        with pytest.raises(amp.UnsupportedError, match="sparse arrays are not supported"):
            make((2, 3))


def test_boolean_mask():
    x = nd.array([[1, 2], [3, 4], [5, 6]])
    x.attach_grad()
    with autograd.record():
        y = nd.contrib.boolean_mask(x, nd.array([0, 1, 1])) * 2
    y.backward()
    assert y.asnumpy().tolist() == [[6, 8], [10, 12]] and x.grad.asnumpy().tolist() == [[0, 0], [2, 2], [2, 2]]
    assert nd.contrib.boolean_mask(x, nd.array([0, 1]), axis=1).asnumpy().tolist() == [[2], [4], [6]]
    assert nd.contrib.boolean_mask(x, nd.zeros((3,))).shape == (0, 2)
    with pytest.raises(amp.ArgumentError, match=r"expected an index for axis 0 of \(3, 2\), got \(2,\)"):
        nd.contrib.boolean_mask(x, nd.zeros((2,)))


def test_histogram():
    x = np.random.default_rng(0).normal(size=100).astype("f4")
    for bins, span in ((5, (-1.0, 1.0)), (7, None), (np.array([-2, 0, 1], "f4"), None)):
        counts, edges = nd.histogram(nd.array(x), nd.array(bins) if isinstance(bins, np.ndarray) else bins, span)
        expected, expected_edges = np.histogram(x, bins, span)
        np.testing.assert_allclose(edges.asnumpy(), expected_edges, rtol=1e-5)
        assert np.abs(counts.asnumpy() - expected).sum() <= 2  # edges are rounded
    assert nd.histogram(nd.ones((3,)), 2)[0].asnumpy().sum() == 3
    symbol = mx.sym.histogram(amp.sym.Variable("x"), bins=2, range=(0, 2))
    assert symbol.eval(x=f32(0.5, 1.5, 2))[0].asnumpy().tolist() == [1, 2]
    assert mx.sym.histogram(amp.sym.Variable("x"), amp.sym.Variable("b")).list_arguments() == ["x", "b"]


def test_positions_that_do_not_exist_are_index_errors():
    for call in (
        lambda: nd.gather_nd(nd.ones((2, 3)), nd.array([[0, 2]], dtype="int32")),
        lambda: nd.take(nd.ones((2, 3)), nd.array([5]), mode="raise"),
        lambda: nd.contrib.index_copy(nd.ones((2, 3)), nd.array([2], dtype="int32"), nd.ones((1, 3))),
    ):
        with pytest.raises(IndexError, match="is out of range for an axis of size 2") as error:
            call()
        assert isinstance(error.value, amp.GraphError) and type(error.value) is amp.OutOfRangeError


def test_operators_of_mxnets_arguments():
    arguments = mx.operator.get_operator_arguments("Activation")
    assert arguments.narg == 2 and arguments.names == ["data", "act_type"]
    assert arguments.types[0] == "NDArray-or-Symbol" and arguments.types[1].endswith("}, required")
    with pytest.raises(amp.ArgumentError, match="there is no operator 'Actvation'; did you mean 'Activation'"):
        mx.operator.get_operator_arguments("Actvation")


def test_arange_of_integers_wraps():
    assert nd.arange(254, 258, dtype="uint8").asnumpy().tolist() == [254, 255, 0, 1]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_maximum_and_minimum_of_nans_are_nans(dtype):
    x, y = nd.array([np.nan, 1, np.nan, 1], dtype=dtype), nd.array([1, np.nan, np.nan, 2], dtype=dtype)
    pair = mx.sym.broadcast_maximum(mx.sym.Variable("x"), mx.sym.Variable("y"))
    several = [nd.maximum(x, y), nd.broadcast_minimum(x, y), mx.np.maximum(x.as_np_ndarray(), y.as_np_ndarray())]
    several += pair.bind(mx.cpu(), {"x": x, "y": y}).forward()
    for result in several:
        assert np.isnan(result.asnumpy()).tolist() == [True, True, True, False]
    column = nd.array([[np.nan], [2]], dtype=dtype)
    assert np.isnan(nd.broadcast_maximum(column, nd.ones((1, 3), dtype=dtype)).asnumpy()).sum() == 3
    assert np.isnan(nd.broadcast_maximum(nd.ones((1, 3), dtype=dtype), column).asnumpy()).sum() == 3


FUNCTIONS_OF_NANS = {
    "clip": lambda x: nd.clip(x, -1, 1),
    "exp": nd.exp,
    "log": nd.log,
    "hard_sigmoid": nd.hard_sigmoid,
    "sigmoid": nd.sigmoid,
    "tanh": nd.tanh,
    "sqrt": nd.sqrt,
    "elu": lambda x: nd.LeakyReLU(x, act_type="elu"),
    "gelu": lambda x: nd.LeakyReLU(x, act_type="gelu"),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS_OF_NANS)
def test_functions_of_nans_are_nans(name, dtype):
    x = nd.array([np.nan, 0.25] * 20).astype(dtype)
    found = FUNCTIONS_OF_NANS[name](x).astype("float32").asnumpy()
    assert np.isnan(found).tolist() == [True, False] * 20


def test_logarithms_of_numbers_below_the_normal_ones():
    x = f32(1e-40, 2e-45, 1e-38)
    np.testing.assert_allclose(nd.log(x).asnumpy(), np.log(x.asnumpy().astype(np.float64)), rtol=1e-6)


def test_the_first_nan_is_the_extreme():
    x = f32(1, np.nan, 3, np.nan)
    assert nd.argmax(x, axis=0).asscalar() == nd.argmin(x, axis=0).asscalar() == 1
    assert nd.max(nd.array([[-np.inf]], dtype="float64")).asscalar() == -np.inf


def test_gradients_of_boxes_go_to_those_that_are_kept():
    boxes = nd.array([[0, 0.5, 0, 0, 1, 1], [0, 0.9, 0, 0, 1, 1], [1, 0.7, 0, 0, 1, 1]])
    boxes.attach_grad()
    with autograd.record():
        kept = nd.contrib.box_nms(boxes, id_index=0)
    kept.backward(nd.array(np.arange(18).reshape(3, 6)))
    assert boxes.grad.asnumpy().tolist() == [[0] * 6, [0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_dlpack_both_ways():
    x = nd.array([[1, 2], [3, 4]])
    shared = nd.from_dlpack(x.to_dlpack_for_write())
    shared[0] = 7
    assert x.asnumpy().tolist() == [[7, 7], [3, 4]]
    assert nd.from_dlpack(nd.to_dlpack_for_read(x)).asnumpy().tolist() == x.asnumpy().tolist()
    capsule = x.to_dlpack_for_read()
    nd.from_dlpack(capsule)
    with pytest.raises(amp.ArgumentError, match="no unused DLPack capsule"):
        nd.from_dlpack(capsule)


def test_formats_of_one_number():
    assert f"{nd.array([0.125]).asnumpy():.3f}" == "0.125" and f"{nd.array([2]).asnumpy()}" == "[2.]"


# ---- random functions ----


def test_samples_for_each_parameter():
    mx.random.seed(3)
    drawn = nd.sample_normal(f32(0, 100), sigma=f32(1, 1), shape=(1000,))
    assert drawn.shape == (2, 1000) and np.abs(drawn.asnumpy().mean(1) - [0, 100]).max() < 0.2
    rates = nd.sample_exponential(f32(0.1, 10), shape=2000).asnumpy().mean(1)
    assert 8 < rates[0] < 12 and 0.08 < rates[1] < 0.12
    assert 0.2 < nd.random_exponential(lam=4, shape=(2000,)).asnumpy().mean() < 0.3
    with pytest.raises(amp.ArgumentError, match="sample_normal: expected the arrays mu, sigma"):
        nd.sample_normal(f32(0))


@pytest.mark.parametrize("name", ["normal", "uniform", "laplace", "logistic", "gumbel", "exponential", "rayleigh"])
def test_gradients_reach_the_parameters_of_random_numbers(name):
    """What is drawn is loc + scale * standard."""
    mx.random.seed(5)
    scale = mx.np.array([0.5, 4])
    scale.attach_grad()
    loc = mx.np.array([[1.0], [2.0], [3.0]])
    loc.attach_grad()
    has_loc = name not in ("exponential", "rayleigh")
    draw = getattr(mx.np.random, name)
    with autograd.record():
        if name == "uniform":
            drawn = draw(loc, loc + scale)
        else:
            drawn = draw(loc, scale, size=(3, 2)) if has_loc else draw(scale, size=(3, 2))
        (drawn * mx.np.array([[1.0, 10.0]])).sum().backward()
    standard = (drawn - (loc if has_loc else 0)).asnumpy() / scale.asnumpy()
    np.testing.assert_allclose(scale.grad.asnumpy(), standard.sum(0) * [1, 10], rtol=1e-4)
    if has_loc:
        assert loc.grad.asnumpy().tolist() == [[11]] * 3
    if has_loc:
        assert draw(loc.detach(), (loc + scale).detach()).shape == (3, 2)
    else:
        assert draw(scale=scale.detach()).shape == (2,)


def test_parameters_of_random_numbers_without_a_gradient():
    mx.random.seed(6)
    shape = mx.np.array([2.0, 30.0])
    assert mx.np.random.gamma(shape=shape, scale=1.0, size=(1000, 2)).asnumpy().mean(0).argmax() == 1
    shape.attach_grad()
    with autograd.record():
        with pytest.raises(amp.UnsupportedError, match="has no gradient"):
            mx.np.random.beta(shape, 1.0)
    with pytest.raises(TypeError, match="unexpected argument 'shap'"):
        mx.np.random.gamma(shap=2.0)


def test_words_of_a_vocabulary():
    mx.random.seed(4)
    drawn, of_true, of_drawn = nd.contrib.rand_zipfian(nd.array([0, 19]), 2000, 20)
    counts = np.bincount(drawn.asnumpy(), minlength=20)
    expected = np.log((np.arange(20) + 2) / (np.arange(20) + 1)) / np.log(21) * 2000
    assert np.abs(counts - expected).max() < 100 and of_drawn.dtype == np.float64
    np.testing.assert_allclose(of_true.asnumpy(), expected[[0, 19]])
    net = mx.sym.Group(mx.sym.contrib.rand_zipfian(mx.sym.Variable("true"), 2000, 20))
    symbols = net.bind(mx.cpu(), {"true": nd.array([0, 19])}).forward()
    assert np.abs(np.bincount(symbols[0].asnumpy(), minlength=20) - expected).max() < 100
    np.testing.assert_allclose(symbols[1].asnumpy(), expected[[0, 19]])
    np.testing.assert_allclose(symbols[2].asnumpy(), expected[symbols[0].asnumpy()])
    classes, tries = nd._internal._sample_unique_zipfian(50, shape=(3, 20))
    assert all(len(set(row)) == 20 for row in classes.asnumpy().tolist()) and tries.asnumpy().min() >= 20


def test_probabilities_of_samples_have_gradients():
    x = nd.array([[0.25, 0.75]])
    x.attach_grad()
    with autograd.record():
        drawn, logs = mx.random.multinomial(x, shape=3, get_prob=True)
    logs.backward()
    counts = np.bincount(drawn.asnumpy()[0], minlength=2)
    np.testing.assert_allclose(x.grad.asnumpy(), [counts / [0.25, 0.75]], rtol=1e-5)


def test_random_numbers_do_not_become_constants_of_a_graph():
    class Noise(mx.gluon.HybridBlock):
        def __init__(self, draw):
            super().__init__()
            self.draw = draw

        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return x + self.draw()

    net = Noise(lambda: mx.nd.random.normal(shape=(2,)))
    net.hybridize()
    assert (net(nd.zeros((2,))).asnumpy() != net(nd.zeros((2,))).asnumpy()).all()
    net = Noise(lambda: mx.np.random.beta(1, 2, size=(2,)).as_nd_ndarray())
    net.hybridize()
    with pytest.warns(RuntimeWarning, match="mx.np.random, which would draw once and for all"):
        first = net(nd.zeros((2,)))
    assert (first.asnumpy() != net(nd.zeros((2,))).asnumpy()).all()


# ---- old names ----


def test_contrib_has_the_operators_and_the_old_autograd():
    assert mx.contrib.nd is nd.contrib is mx.contrib.ndarray and mx.contrib.sym is mx.sym.contrib is mx.contrib.symbol
    gradients, loss = mx.contrib.autograd.grad_and_loss(lambda x, y: x * y, argnum=1)(f32(3), f32(4))
    assert gradients[0].asscalar() == 3 and loss.asscalar() == 12
    assert not mx.contrib.autograd.set_is_training(True) and autograd.is_recording()
    with mx.contrib.autograd.test_section():
        assert not autograd.is_training()
    assert mx.contrib.autograd.set_is_training(False) and not autograd.is_recording()


# ---- updates of several weights ----


@pytest.mark.parametrize("name", ["sgd_update", "sgd_mom_update", "mp_sgd_update", "mp_sgd_mom_update"])
@pytest.mark.parametrize("is_preloaded", [False, True])
def test_several_steps_are_single_steps(name, is_preloaded):
    lrs, wds = [0.1, 0.2], [0.01, 0.02]
    options = {"momentum": 0.9} if "mom" in name else {}

    def groups():
        rng = np.random.default_rng(6)
        for _ in range(2):
            weight = nd.array(rng.normal(size=3))
            low = weight.astype("float16") if name.startswith("mp_") else weight
            extra = [nd.zeros((3,))] if "mom" in name else []
            yield [low, nd.array(rng.normal(size=3), dtype=low.dtype), *extra, *([weight] if low is not weight else [])]

    single, several = list(groups()), list(groups())
    for group, lr, wd in zip(single, lrs, wds):
        getattr(nd, name)(*group, lr=lr, wd=wd, out=group[0], **options)
    arrays = [array for group in several for array in group]
    out = [group[0] for group in several]
    if is_preloaded:
        getattr(nd, f"preloaded_multi_{name}")(*arrays, f32(*lrs), f32(*wds), num_weights=2, out=out, **options)
    else:
        getattr(nd, f"multi_{name}")(*arrays, lrs=lrs, wds=wds, num_weights=2, out=out, **options)
    for mine, theirs in zip(single, several):
        for a, b in zip(mine, theirs):
            assert mx.test_utils.same(a, b)
    with pytest.raises(amp.ArgumentError, match=f"multi_{name}: expected {len(single[0])} arrays, a learning rate"):
        getattr(nd, f"multi_{name}")(*arrays[:-1], lrs=lrs, wds=wds)


def test_adamw_skips_gradients_that_are_not_finite():
    def arrays():
        return [f32(1, 2), f32(0.5, -0.5), nd.zeros((2,)), nd.zeros((2,))]

    for scale in (nd.array([np.nan]), 0.0, np.inf):
        weight, *others = arrays()
        assert nd.contrib.adamw_update(weight, *others, scale, lr=0.1, eta=1, out=weight) is weight
        assert weight.asnumpy().tolist() == [1, 2] and others[1].asnumpy().tolist() == [0, 0]
    first, second = arrays(), arrays()
    nd.contrib.adamw_update(*first, 2.0, lr=0.1, eta=0.5, wd=0.1, clip_gradient=0.25, out=first[0])
    columns = [[column] for column in second]
    options = {"lrs": [0.1], "etas": [0.5], "wds": [0.1], "clip_gradient": 0.25}
    nd.contrib.multi_adamw_update(*columns, nd.array([2.0]), out=[second[0]], **options)
    m, v = 0.1 * np.array([0.25, -0.25]), 0.001 * np.array([0.0625, 0.0625])
    expected = np.array([1, 2]) - 0.5 * (0.1 * m / (np.sqrt(v) + 1e-8) + 0.1 * np.array([1, 2]))
    np.testing.assert_allclose(first[0].asnumpy(), expected, rtol=1e-5)
    assert mx.test_utils.same(first[0], second[0]) and mx.test_utils.same(first[2], second[2])
    weight, *others = arrays()
    low = weight.astype("float16")
    nd.contrib.mp_adamw_update(low, *others, weight, 2.0, lr=0.1, eta=0.5, wd=0.1, clip_gradient=0.25, out=low)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)
    assert low.dtype == np.float16 and mx.test_utils.same(low, weight.astype("float16"))


def test_lamb_in_two_phases_is_the_optimizer():
    weight, grad = nd.array([[1.0, -2.0]]), nd.array([[0.3, 0.4]])
    mean, var = nd.zeros((1, 2)), nd.zeros((1, 2))
    update = mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1, wd=0.01))
    expected = weight.copy()
    update(0, grad, expected)
    step = nd.lamb_update_phase1(weight, grad, mean, var, t=1, wd=0.01)
    nd.lamb_update_phase2(weight, step, weight.norm(), step.norm(), lr=0.1, out=weight)
    np.testing.assert_allclose(weight.asnumpy(), expected.asnumpy(), rtol=1e-5)


def test_rates_of_lars():
    sums = nd.multi_sum_sq(f32(3, 4), f32(0, 0), num_arrays=2)
    assert sums.asnumpy().tolist() == [25, 0]
    rates = nd.multi_lars(f32(1, 2), sums, f32(4, 1), f32(0.1, 0.1), eta=0.5, eps=0.5)
    np.testing.assert_allclose(rates.asnumpy(), [0.5 * 5 / (2 + 0.5 + 0.5), 2], rtol=1e-6)


def test_group_adagrad():
    weight, history = nd.array([[1, 2]]), nd.zeros((1, 1))
    nd.contrib.group_adagrad_update(weight, nd.array([[3, 4]]), history, lr=0.1, out=weight)
    np.testing.assert_allclose(history.asnumpy(), [[12.5]])
    np.testing.assert_allclose(weight.asnumpy(), [[1 - 0.3 / 12.5**0.5, 2 - 0.4 / 12.5**0.5]], rtol=1e-5)


# ---- what tests of MXNet programs use ----


def test_consistency_of_dtypes():
    x = amp.sym.Variable("x")
    ways = [{"ctx": mx.cpu(), "x": (3, 4), "type_dict": {"x": dtype}} for dtype in ("float64", "float32", "float16")]
    truth = mx.test_utils.check_consistency(amp.sym.tanh(x, name="y"), ways)
    assert truth["y_output"].dtype == np.float64 and set(truth) == {"x", "y_output"}
    shapes = [{"x": (2,)}, {"x": (2,)}]
    with pytest.raises(AssertionError, match="y_output"):
        mx.test_utils.check_consistency([amp.sym.tanh(x, name="y"), amp.sym.exp(x, name="y")], shapes)
    mx.test_utils.check_consistency(
        [amp.sym.tanh(x, name="y"), amp.sym.exp(x, name="y")], shapes, raise_on_err=False, grad_req="null"
    )
    with pytest.raises(AssertionError, match="other names"):
        mx.test_utils.check_consistency([amp.sym.tanh(x, name="y"), amp.sym.tanh(x, name="z")], shapes)
    with pytest.raises(amp.ArgumentError, match="1 symbols and 1 ways"):
        mx.test_utils.check_consistency(x, shapes[:1])
