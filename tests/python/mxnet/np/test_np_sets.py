"""Order and sets of elements: mx.np.sort and argsort in both directions, and the array API's unique_* functions."""

import numpy as np
import pytest
from test_np_functions import Call

import amp.mxnet as mx


def different(shape, dtype):
    return np.random.default_rng(0).permutation(int(np.prod(shape))).reshape(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("axis", [None, -1, 0])
def test_descending_elements(axis, dtype):
    x = different((4, 5), dtype)
    a = mx.np.array(x, dtype=dtype)
    for name, numpys in (("sort", np.sort), ("argsort", np.argsort)):
        expected = numpys(x, axis=axis)
        expected = np.flip(expected, 0 if axis is None else axis)
        block = Call(lambda m, v, name=name: getattr(m, name)(v, axis, descending=True))
        block.hybridize()
        for found in (block(a), getattr(mx.np, name)(a, axis, True, False)):
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found.asnumpy(), expected)


def test_equal_elements_keep_their_order():
    a = mx.np.array([1, 2, 1, 2, 1])
    np.testing.assert_array_equal(mx.np.argsort(a, descending=True, stable=True), [1, 3, 0, 2, 4])
    np.testing.assert_array_equal(mx.np.argsort(a, stable=False), [0, 2, 4, 1, 3])
    assert mx.np.sort(mx.np.zeros((0, 3)), 0, descending=True).shape == (0, 3)


def test_numpys_arguments_of_sort():
    a = mx.np.array([3, 1, 2])
    for given in ((-1, "mergesort"), (-1, None), (-1, None, None), (-1, False)):
        np.testing.assert_array_equal(mx.np.sort(a, *given), [1, 2, 3])
        np.testing.assert_array_equal(a.argsort(*given), [1, 2, 0])
    np.testing.assert_array_equal(mx.np.sort(a, kind="stable", descending=True), [3, 2, 1])
    for options in ({"order": "field"}, {"kind": None, "order": ["field"]}):
        with pytest.raises(ValueError, match="order"):
            mx.np.sort(a, **options)
    with pytest.raises(ValueError, match="order"):
        mx.np.argsort(a, -1, None, "field")


def test_descending_elements_have_gradients():
    a = mx.np.array([3, 1, 2])
    a.attach_grad()
    with mx.autograd.record():
        total = (mx.np.sort(a, descending=True) * mx.np.array([1, 10, 100])).sum()
    total.backward()
    np.testing.assert_array_equal(a.grad, [1, 100, 10])


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_unique_elements(shape, dtype):
    x = (different(shape, dtype) % 3).astype(dtype)
    values, indices, inverse, counts = np.unique(x.ravel(), True, True, True)
    a = mx.np.array(x, dtype=dtype)
    everything = mx.np.unique_all(a)
    assert everything._fields == ("values", "indices", "inverse_indices", "counts")
    for found, expected in (
        (everything.values, values),
        (everything.indices, indices),
        (everything.inverse_indices, inverse),
        (everything.counts, counts),
        (mx.np.unique_counts(a).values, values),
        (mx.np.unique_counts(a).counts, counts),
        (mx.np.unique_inverse(a).values, values),
        (mx.np.unique_inverse(a).inverse_indices, inverse),
        (mx.np.unique_values(a), values),
    ):
        assert type(found) is mx.np.ndarray and found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("mxnet_2")
def test_unique_elements_are_no_parts_of_graphs():
    block = Call(lambda m, x: m.unique_values(x))
    block.hybridize()
    for size in (2, 3):
        with pytest.warns(RuntimeWarning, match="unique cannot become part") if size == 2 else mx.autograd.pause():
            assert block(mx.np.arange(size)).shape == (size,)
