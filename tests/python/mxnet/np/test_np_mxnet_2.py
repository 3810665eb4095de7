"""What `mx.np` has of MXNet 2: default dtypes, files, DLPack, the array API, losses of samples."""

import operator

import numpy as np
import pytest

import amp
import amp.mxnet as mx


@pytest.fixture
def default_dtype():
    with mx.np_default_dtype():
        yield


def test_default_dtypes_are_numpys_where_that_is_asked_for(default_dtype):
    whole = mx.np.array([1, 2], dtype="int32")
    made = [
        mx.np.array([1, 2]),
        mx.np.ones(2),
        mx.np.zeros((2, 3)),
        mx.np.empty(2),
        mx.np.full(2, 0.5),
        mx.np.eye(2),
        mx.np.linspace(0, 1, 3),
        mx.np.hanning(3),
        mx.np.random.uniform(size=3),
        mx.np.random.gamma(3),
        mx.np.mean(whole),
        mx.np.true_divide(whole, 4),
        mx.np.true_divide(4.0, whole),
        mx.np.arange(0.5, 3),
    ]
    assert {array.dtype.name for array in made} == {"float64"}
    assert mx.np.arange(3, 7, 2).dtype.name == "int64" and mx.np.arange(3, dtype="float32").dtype.name == "float32"
    assert mx.np.mean(mx.np.ones(2, dtype="float32")).dtype.name == "float32"
    assert mx.np.add(whole, whole).dtype.name == "int32"


def test_default_dtypes_are_float32_otherwise():
    whole = mx.np.array([1, 2], dtype="int32")
    for made in (mx.np.array([1, 2]), mx.np.arange(3), mx.np.ones(2), mx.np.mean(whole), mx.np.true_divide(whole, 4)):
        assert made.dtype.name == "float32"


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
@pytest.mark.parametrize("method", ["lower", "midpoint"])
def test_interpolation_is_mxnets_name_of_a_method(name, method):
    values, q = np.arange(10, dtype="float32"), 0.4 if "quantile" in name else 40
    found = getattr(mx.np, name)(mx.np.array(values), q, interpolation=method)
    assert found.item() == getattr(np, name)(values, q, method=method)


def test_numbers_are_changed_in_place():
    x = mx.np.array(1.0)
    same = x
    x += 2
    x[:] = x[:] * 2
    assert same.item() == 6
    with pytest.raises(IndexError):
        x[0:1]


def test_only_integers_without_axes_are_indices():
    assert operator.index(mx.np.array(3, dtype="int32")) == 3 and [5, 6][mx.np.array(1, dtype="int64")] == 6
    for other in (mx.np.array([1], dtype="int32"), mx.np.array(True), mx.np.array(1.0)):
        with pytest.raises(TypeError, match="only an integer without axes"):
            operator.index(other)


def test_the_array_api_has_a_namespace():
    x = mx.np.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__("2021.12") is mx.np
    with pytest.raises(ValueError, match="'2020.09' of the array API"):
        x.__array_namespace__("2020.09")


def test_dlpack_shares_memory():
    x = mx.np.zeros((2,))
    y = mx.npx.from_dlpack(mx.npx.to_dlpack_for_write(x))
    y += 1
    assert type(y) is mx.np.ndarray and x.tolist() == [1, 1]


@pytest.mark.parametrize("shape", [(), (2, 0), (2, 3)])
def test_an_array_becomes_a_file_of_numpy(tmp_path, shape):
    array = np.full(shape, 7, "int64")
    path = tmp_path / "array.npy"
    mx.npx.save(str(path), mx.np.array(array, dtype="int64"))
    for loaded in (np.load(path), mx.npx.load(str(path)).asnumpy()):
        assert loaded.dtype == array.dtype and np.array_equal(loaded, array)
    mx.npx.save(path, {"a": mx.np.array(array, dtype="int64")})
    assert list(mx.npx.load(path)) == ["a"]


def test_orders_that_mxnet_refuses():
    for make in (mx.np.zeros, mx.np.ones, mx.np.empty, lambda shape, order: mx.np.full(shape, 1, order=order)):
        assert make((2, 3), order="C").shape == (2, 3)
        with pytest.raises(NotImplementedError, match="arrays are row-major"):
            make((2, 3), order="F")


@pytest.mark.parametrize("hybridized", [False, True])
def test_losses_of_numpy_arrays_have_a_value_for_each_sample(hybridized):
    def run(kind, *arrays, module):
        loss = kind()
        loss.hybridize(hybridized)
        return loss(*map(module.array, arrays)).asnumpy()

    poisson, cosine = mx.gluon.loss.PoissonNLLLoss, mx.gluon.loss.CosineEmbeddingLoss
    pred, target = np.array([[0, 0], [1, 0]], "float32"), np.array([[1, 2], [0, 0]], "float32")
    expected = (np.exp(pred) - target * pred).mean(1)
    np.testing.assert_allclose(run(poisson, pred, target, module=mx.np), expected, rtol=1e-6)
    np.testing.assert_allclose(run(poisson, pred, target, module=mx.nd), [expected.mean()], rtol=1e-6)
    vectors, labels = np.array([[3, 0], [0, 1]], "float32"), np.array([1, -1], "float32")
    assert run(cosine, vectors, vectors, labels, module=mx.np).tolist() == [0, 1]
    assert run(cosine, vectors, vectors, labels, module=mx.nd).tolist() == [[0], [1]]


def test_files_say_what_they_refuse():
    with pytest.raises(amp.ArgumentError, match="expected a file name"):
        mx.npx.save(3, mx.np.ones(2))


def test_indices_that_numpy_finds_need_no_gradient():
    x = mx.np.array([0.0, 3.0, 0.0, 5.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2
        places = mx.np.flatnonzero(y)
        rows = mx.npx.nonzero(y)
        total = mx.np.take(y, places).sum()
        with pytest.raises(amp.UnsupportedError, match="unwrap has no gradient"):
            mx.np.unwrap(y)
    total.backward()
    assert places.tolist() == [1, 3] and rows.tolist() == [[1], [3]] and x.grad.tolist() == [0, 2, 0, 2]
