"""Arrays: operators, methods, indices and the functions of amp.nd, mx.np and mx.npx, with NumPy as oracle."""

import operator

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import nd
from amp.mxnet import npx

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.gt, operator.ge, operator.lt, operator.le]


def numbers(shape, seed=0, low=0.5, high=3.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype("f4")


@pytest.mark.parametrize("module", [amp.nd, mx.np], ids=["nd", "np"])
@pytest.mark.parametrize("function", BINARY + COMPARISONS, ids=lambda f: f.__name__)
def test_operators_on_both_sides(module, function):
    a, b = numbers((3, 4)), numbers((1, 4), 1)
    ours, others = module.array(a), module.array(b)
    wanted = [function(a, b), function(a, 2), function(np.float32(2), a), function(a, np.float32(1.5))]
    got = [function(ours, others), function(ours, 2), function(2, ours), function(ours, np.float32(1.5))]
    for result, expected in zip(got, wanted):
        assert type(result) is type(ours)
        if module is mx.np:
            assert result.dtype == expected.dtype
        np.testing.assert_allclose(result.asnumpy().astype("f4"), np.asarray(expected, "f4"), rtol=2e-6)


@pytest.mark.parametrize("module", [amp.nd, mx.np], ids=["nd", "np"])
def test_operators_in_place_keep_the_memory(module):
    a = module.array(numbers((2, 3)))
    expected, memory = a.asnumpy(), np.asarray(a)
    a += 1
    a *= module.array(np.full((2, 3), 2, "f4"))
    a -= 0.5
    a /= 4
    np.testing.assert_allclose(memory, ((expected + 1) * 2 - 0.5) / 4, rtol=1e-6)
    with pytest.raises(amp.ArgumentError, match=r"shape \(2, 3\) cannot hold a result of shape \(4, 2, 3\)"):
        a += module.ones((4, 2, 3))


def test_promotion_follows_mxnet():
    ints, half, low = (mx.np.array([1, 2], dtype=dtype) for dtype in ("int32", "float16", "bfloat16"))
    single, double = mx.np.ones(2), mx.np.ones(2, dtype="float64")
    assert (ints + half).dtype == np.float16
    assert (ints / 2).dtype == np.float32
    assert (ints * 1.5).dtype == np.float64  # as MXNet 2.0 does
    assert (low + single).dtype == np.float32 and (low * double).dtype == np.float64
    assert (low + low).dtype == ml_dtypes.bfloat16
    with pytest.raises(amp.GraphError, match="float32"):
        nd.ones(2) + nd.ones(2, dtype="float64")


def test_arithmetic_in_bfloat16_rounds_each_result():
    a = numbers((64,)).astype(ml_dtypes.bfloat16)
    b = numbers((64,), 1).astype(ml_dtypes.bfloat16)
    product = mx.np.array(a) * mx.np.array(b)
    assert np.array_equal(product.asnumpy(), a * b)


@pytest.mark.parametrize("module", [amp.nd, mx.np], ids=["nd", "np"])
def test_indices_and_views(module):
    source = numbers((4, 3, 2))
    array = module.array(source)
    keys = [0, -1, slice(1, 3), (slice(None), 1), (Ellipsis, 0), (0, 1, 1), (None, 2), [0, 2], np.array([3, 1])]
    for key in keys:
        result = array[key]
        shape = source[key].shape or (() if module is mx.np else (1,))  # legacy arrays have axes
        assert type(result) is type(array) and result.shape == shape
        np.testing.assert_array_equal(result.asnumpy(), source[key])
    np.testing.assert_array_equal(array[module.array([2, 0])].asnumpy(), source[[2, 0]])
    view = array[1:3]
    view[:] = 7
    assert (array.asnumpy()[1:3] == 7).all() and (array.asnumpy()[0] == source[0]).all()
    array[0, :, 1] = module.array([1, 2, 3])
    assert array[0, :, 1].asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(IndexError, match="shape"):
        array[9]
    with pytest.raises(amp.ArgumentError, match="shape"):
        array[0] = np.zeros((5, 5), "f4")


def test_numbers_and_truth():
    one = nd.array([2.5])
    assert float(one) == 2.5 and int(one) == 2 and bool(one) and one.asscalar() == np.float32(2.5)
    assert mx.np.array(1.5).item() == 1.5 and list(range(5))[mx.np.array(2, dtype="int32")] == 2
    with pytest.raises(amp.ArgumentError, match="one element"):
        bool(nd.ones((2, 2)))
    with pytest.raises(TypeError, match="no index"):
        [1, 2][one]


def test_arrays_of_numpys_kind_have_its_operators():
    a, i = mx.np.array([-1.5, 0.5, 2.5]), mx.np.array([1, 2, 6], dtype="int32")
    x, n = a.asnumpy(), i.asnumpy()
    both = (a > 0) & (a < 2)
    assert both.dtype == np.bool_ and both.tolist() == [False, True, False]
    for result, expected in (
        ((a > 0) | (a < -1), (x > 0) | (x < -1)),
        ((a > 0) ^ (a < 2), (x > 0) ^ (x < 2)),
        (~(a > 0), ~(x > 0)),
        (~i, ~n),
        (i & 3, n & 3),
        (3 | i, 3 | n),
        (i << 2, n << 2),
        (1 << i, 1 << n),
        (i >> 1, n >> 1),
        (+a, x),
        (round(a), np.round(x)),
        (round(a, 0), np.round(x, 0)),
        (a.clip(0, 2), x.clip(0, 2)),
        (a.clip(max=1), x.clip(max=1)),
        (a.nonzero()[0], x.nonzero()[0]),
        (mx.np.ones((2, 3, 4)).transpose(2, 0, 1), np.ones((4, 2, 3))),
        (mx.np.ones((2, 3, 4)).transpose((2, 0, 1)), np.ones((4, 2, 3))),
        (mx.np.ones((2, 3)).transpose(), np.ones((3, 2))),
    ):
        np.testing.assert_array_equal(result.asnumpy(), expected)
    one = mx.np.array(3.14159)
    assert f"{one:.2f}" == "3.14" and f"{a}" == str(a) == str(x) and repr(a).startswith("array(")
    with pytest.raises(TypeError, match=r"shape \(3,\) has no format '.2f'"):
        f"{a:.2f}"
    with pytest.raises((TypeError, amp.Error)):
        a & i


def test_classes_follow_the_inputs():
    legacy, numpy_like = nd.ones((2, 2)), mx.np.ones((2, 2))
    assert isinstance(numpy_like, nd.NDArray) and not isinstance(legacy, mx.np.ndarray)
    assert type(nd.relu(numpy_like)) is mx.np.ndarray and type(npx.relu(legacy)) is mx.np.ndarray
    assert type(numpy_like.as_nd_ndarray()) is nd.NDArray and type(legacy.as_np_ndarray()) is mx.np.ndarray
    assert np.shares_memory(np.asarray(legacy.as_np_ndarray()), np.asarray(legacy))
    assert type(np.float32(2) * numpy_like) is mx.np.ndarray


UNARY = "exp log sqrt square sin cos tanh floor ceil sign negative abs log1p expm1 cbrt reciprocal"


@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_one_array(name):
    x = numbers((3, 4))
    np.testing.assert_allclose(getattr(mx.np, name)(x).asnumpy(), getattr(np, name)(x), rtol=3e-6, atol=4e-6)


SHAPES = {
    "reshape": lambda m, x: m.reshape(x, (4, -1)),
    "transpose": lambda m, x: m.transpose(x, (2, 0, 1)),
    "transpose-all": lambda m, x: m.transpose(x),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 2),
    "moveaxis": lambda m, x: m.moveaxis(x, 0, -1),
    "moveaxis-several": lambda m, x: m.moveaxis(x, (0, 1), (2, 0)),
    "expand_dims": lambda m, x: m.expand_dims(x, -1),
    "squeeze": lambda m, x: m.squeeze(x[:1]),
    "ravel": lambda m, x: m.ravel(x),
    "concatenate": lambda m, x: m.concatenate([x, x[:, :1]], axis=1),
    "concatenate-flat": lambda m, x: m.concatenate([x, x], axis=None),
    "stack": lambda m, x: m.stack([x, x], axis=1),
    "hstack": lambda m, x: m.hstack([x, x]),
    "vstack": lambda m, x: m.vstack([x[0], x[1]]),
    "dstack": lambda m, x: m.dstack([x[0], x[1]]),
    "column_stack": lambda m, x: m.column_stack([x[0, 0], x[0, 1]]),
    "split": lambda m, x: m.split(x, 2, axis=2)[1],
    "split-indices": lambda m, x: m.split(x, [1, 2], axis=1)[1],
    "array_split": lambda m, x: m.array_split(x, 2, axis=1)[0],
    "broadcast_to": lambda m, x: m.broadcast_to(x[:1], (5, 3, 4)),
    "repeat": lambda m, x: m.repeat(x, 2, axis=1),
    "tile": lambda m, x: m.tile(x, (2, 1, 1)),
    "flip": lambda m, x: m.flip(x, 1),
    "clip": lambda m, x: m.clip(x, 1, 2),
    "clip-open": lambda m, x: m.clip(x, None, 2),
    "where": lambda m, x: m.where(x > 1, x, -x),
    "take": lambda m, x: m.take(x, m.array([1, 0], dtype="int32"), axis=1),
    "sum": lambda m, x: m.sum(x, axis=(0, 2)),
    "mean": lambda m, x: m.mean(x, axis=1, keepdims=True),
    "max": lambda m, x: m.max(x, axis=0),
    "min": lambda m, x: m.min(x),
    "prod": lambda m, x: m.prod(x, axis=-1),
    "sort": lambda m, x: m.sort(x, axis=1),
    "argsort": lambda m, x: m.argsort(x, axis=2),
    "atleast_2d": lambda m, x: m.atleast_2d(x[0, 0]),
    "atleast_3d": lambda m, x: m.atleast_3d(x[0]),
    "unique": lambda m, x: m.unique(x),
}


@pytest.mark.parametrize("name", SHAPES)
def test_functions_with_numpys_signatures(name):
    x = numbers((2, 3, 4))
    result = SHAPES[name](mx.np, mx.np.array(x))
    expected = SHAPES[name](np, x)
    assert type(result) is mx.np.ndarray and result.shape == expected.shape
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)


def test_creation():
    assert mx.np.array([1, 2]).dtype == np.float32 and mx.np.array(np.arange(2)).dtype == np.float32
    assert mx.np.array([1, 2], dtype="int8").dtype == np.int8 and mx.np.full((2,), 3).dtype == np.int64
    assert mx.np.arange(3).asnumpy().tolist() == [0, 1, 2] and mx.np.arange(1, 2, 0.5, dtype="float64").size == 2
    assert nd.arange(2, repeat=2).asnumpy().tolist() == [0, 0, 1, 1]
    assert nd.array([1, 2], None).shape == (2,) and nd.zeros((2, 3), dtype="float16").nbytes == 12
    assert nd.full((2, 2), 3).asnumpy().tolist() == [[3, 3], [3, 3]] and mx.np.eye(2, k=1).asnumpy()[0, 1] == 1
    assert mx.np.zeros_like(mx.np.ones(3, dtype="int32")).dtype == np.int32
    nested = mx.np.array([mx.np.ones(2), mx.np.zeros(2)])
    assert nested.asnumpy().tolist() == [[1, 1], [0, 0]]
    for refused in (["a"], object(), None):
        with pytest.raises(amp.ArgumentError):
            mx.np.array(refused)


def test_out_is_written_and_returned():
    x, out = mx.np.array([-1.0, 2.0]), mx.np.zeros(2)
    assert mx.np.abs(x, out=out) is out and out.asnumpy().tolist() == [1, 2]
    assert nd.elemwise_add(x, x, out=out) is out and out.asnumpy().tolist() == [-2, 4]
    with pytest.raises(amp.ArgumentError, match=r"`out` has shape \(3,\), the result \(2,\)"):
        nd.relu(x, out=nd.zeros(3))
    with pytest.raises(amp.ArgumentError, match="must be an NDArray"):
        nd.relu(x, out=np.zeros(2, "f4"))


def test_layers_as_functions():
    x, w, b = numbers((2, 3, 5, 5)), numbers((4, 3, 3, 3), 1), numbers((4,), 2)
    arrays = [mx.np.array(a) for a in (x, w, b)]
    result = npx.convolution(*arrays, kernel=(3, 3), num_filter=4)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    np.testing.assert_allclose(
        result.asnumpy(), np.einsum("nchwij,ocij->nohw", windows, w) + b[:, None, None], rtol=1e-5
    )
    normed = nd.BatchNorm(nd.array(x), nd.ones(3), nd.zeros(3), nd.ones(3), nd.full(3, 4.0), fix_gamma=False, eps=0)
    np.testing.assert_allclose(normed.asnumpy(), (x - 1) / 2, rtol=1e-5)
    flat = npx.fully_connected(arrays[0], mx.np.ones((2, 75)), no_bias=True, num_hidden=2)
    np.testing.assert_allclose(flat.asnumpy()[:, 0], x.sum((1, 2, 3)), rtol=1e-5)
    first, second = nd.split(nd.array(x), num_outputs=3, axis=1)[:2]
    np.testing.assert_array_equal(second.asnumpy(), x[:, 1:2])
    assert first.shape == (2, 1, 5, 5)


def test_errors_name_the_operator():
    with pytest.raises(amp.GraphError, match="FullyConnected"):
        nd.FullyConnected(nd.ones((2, 3)), nd.ones((4, 7)), nd.zeros(4), num_hidden=4)
    with pytest.raises(amp.ArgumentError, match="inputs are missing: weight"):
        nd.FullyConnected(nd.ones((2, 3)), num_hidden=4, no_bias=True)
    with pytest.raises(amp.ArgumentError, match="input weight must be an array, got int"):
        nd.FullyConnected(nd.ones((2, 3)), 3, num_hidden=4, no_bias=True)
    with pytest.raises(AttributeError, match="did you mean 'Convolution'"):
        nd.Convolutoin(nd.ones(2))
    with pytest.raises(AttributeError, match="did you mean"):
        mx.np.concatenat([nd.ones(2)])
    with pytest.raises(amp.GraphError, match="bogus"):
        nd.softmax(nd.ones(2), bogus=1)


def test_dlpack_goes_both_ways():
    source = numbers((3, 2))
    ours = amp.nd.from_dlpack(source)
    assert np.shares_memory(np.from_dlpack(mx.np.ndarray(ours)), source)


def test_uses_of_one_kind_share_a_plan():
    x = nd.array(numbers((5, 7)))
    results = [nd.softmax(x * i) for i in range(3)]
    for i, result in enumerate(results):  # each call has memory of its own
        e = np.exp(x.asnumpy() * i)
        np.testing.assert_allclose(result.asnumpy(), e / e.sum(1, keepdims=True), rtol=1e-5)


def test_random_numbers_are_seeded():
    draws = []
    for _ in range(2):
        mx.random.seed(7)
        draws.append([mx.np.random.uniform(-1, 1, (3, 2)), mx.np.random.normal(size=4), amp.nd.random.uniform(shape=3)])
    for first, second in zip(*draws):
        np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())
    uniform = mx.np.random.uniform(low=2, high=3, size=(1000,), dtype="float16")
    assert uniform.dtype == np.float16 and 2 <= uniform.asnumpy().min() and uniform.asnumpy().max() <= 3
    ints = mx.np.random.randint(0, 5, (100,), dtype="int32")
    assert ints.dtype == np.int32 and set(ints.asnumpy().tolist()) == set(range(5))
    out = mx.np.zeros((2, 2))
    assert mx.np.random.normal(0, 1, (2, 2), dtype="float32", out=out) is out and out.asnumpy().any()
    rows = mx.np.arange(10)
    mx.np.random.shuffle(rows)
    assert sorted(rows.tolist()) == list(range(10)) and rows.tolist() != list(range(10))
    assert mx.np.random.gamma(2.0, 1.0, (3,)).shape == (3,) and mx.np.random.rand(2, 3).shape == (2, 3)


@pytest.mark.parametrize("module", [amp.nd, mx.np], ids=["nd", "np"])
@pytest.mark.parametrize("source, destination", [(2, 0), (0, -3), ((0, -2), (0, 1)), ((0, 1), 0)])
def test_moveaxis_refuses_axes_that_are_not_there(module, source, destination):
    with pytest.raises(amp.ArgumentError, match="moveaxis"):
        module.moveaxis(module.ones((2, 3)), source, destination)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda a: mx.np.exp(a, where=a), NotImplementedError, r"exp: where=array\(\[1., 1.\]\) is not supported"),
        (lambda a: mx.np.sum(a, initial=1), TypeError, "unexpected keyword"),
    ],
)
def test_keywords_without_an_operator_are_refused_not_ignored(call, error, message):
    with pytest.raises(error, match=message):
        call(mx.np.ones(2))


def test_deviations_know_degrees_of_freedom():
    x = np.array([[1, 2, 4], [0, 3, 5]], np.float32)
    for name in ("std", "var"):
        ours = getattr(mx.np, name)(mx.np.array(x), axis=1, ddof=1)
        np.testing.assert_allclose(ours.asnumpy(), getattr(np, name)(x, axis=1, ddof=1), rtol=1e-6)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("i,j->ji", [(2,), (3,)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ijk->kj", [(2, 3, 4)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("ij,j,k->i", [(2, 3), (3,), (4,)]),
        ("ii->i", [(3, 3)]),
        ("iij->j", [(3, 3, 2)]),
        ("...j->...", [(2, 3)]),
        ("...ij,jk->...ik", [(2, 4, 3, 2), (2, 5)]),
    ],
)
def test_sums_of_products_are_numpys(subscripts, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    found = mx.np.einsum(subscripts, *map(mx.np.array, arrays))
    expected = np.einsum(subscripts, *arrays)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_einsum_of_other_dtypes_and_forms():
    a, b = np.arange(6, dtype="int32").reshape(2, 3), np.arange(6, dtype="int32").reshape(3, 2)
    found = mx.np.einsum("ij,jk", mx.np.array(a, dtype="int32"), mx.np.array(b, dtype="int32"))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found.asnumpy(), a @ b)
    out = mx.np.zeros((3,))
    assert mx.np.einsum("ii->i", mx.np.array(numbers((3, 3))), out=out, optimize=True) is out
    np.testing.assert_array_equal(out.asnumpy(), np.diagonal(numbers((3, 3))))
    lists = mx.np.einsum(mx.np.array(numbers((2, 3))), [0, 1], [1, 0])
    np.testing.assert_array_equal(lists.asnumpy(), numbers((2, 3)).T)


def test_einsum_with_repeated_letters_belongs_to_graphs():
    class Traces(mx.gluon.HybridBlock):
        def forward(self, x):
            return mx.np.einsum("bii->b", x) * mx.np.einsum("bij,bij->b", x, x)

    block = Traces()
    x = mx.np.array(numbers((2, 3, 3)))
    expected = block(x).asnumpy()
    block.hybridize()
    np.testing.assert_allclose(block(x).asnumpy(), expected, rtol=1e-6)
    np.testing.assert_allclose(block(x * 2).asnumpy(), expected * 8, rtol=1e-6)


@pytest.mark.parametrize(
    ("axes", "left", "right"),
    [
        (0, (2, 3), (4,)),
        (1, (2, 3), (3, 4)),
        (2, (2, 3, 4), (3, 4, 5)),
        (([0, 2], [1, 0]), (2, 3, 4), (4, 2, 3)),
        ((-1, 0), (2, 3), (3, 4)),
        (([], []), (2, 3), (2,)),
    ],
)
def test_tensordot_is_numpys(axes, left, right):
    a, b = numbers(left), numbers(right, seed=1)
    found = mx.np.tensordot(mx.np.array(a), mx.np.array(b), axes)
    np.testing.assert_allclose(found.asnumpy(), np.tensordot(a, b, axes), rtol=1e-5)


def test_sums_of_products_check_sizes():
    ones = mx.np.ones
    with pytest.raises(amp.GraphError, match="axis 'j' has size 3 in one array and 4 in another"):
        mx.np.einsum("ij,jk->ik", ones((2, 3)), ones((4, 5)))
    with pytest.raises(amp.ArgumentError, match="1 axes of a and 2 of b"):
        mx.np.tensordot(ones((2, 3)), ones((3, 2)), axes=([0], [0, 1]))


def test_elements_are_changed_in_place():
    array = nd.array([1, 2, 3])
    array[0] *= 3
    array[2] -= 1
    assert array.asnumpy().tolist() == [3, 2, 2]


def test_from_numpy_shares_memory_or_says_so():
    source = np.zeros((2, 3), "float32")
    shared = amp.nd.from_numpy(source)
    shared[1, 2] = 5
    assert source[1, 2] == 5
    with pytest.raises(ValueError, match="read-only"):
        source[0, 0] = 1
    amp.nd.from_numpy(source)[0, 0] = 7
    assert shared[0, 0] == 7
    with pytest.raises(ValueError, match="row-major"):
        amp.nd.from_numpy(np.zeros((2, 3)).T)
    assert amp.nd.from_numpy(np.ones((2, 3)).T, zero_copy=False).shape == (3, 2)
