"""NumPy's own functions on arrays of `mx.np`: both of NumPy's dispatch protocols. Kinds of results are MXNet 2's."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

X = np.array([[1.0, 4.0], [9.0, 2.0]], "float32")


@pytest.fixture
def x():
    return mx.np.array(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: np.concatenate([a, a]),
        lambda a: np.stack((a, a), axis=1),
        lambda a: np.where(a > 2, a, 0),
        lambda a: np.linalg.norm(a),
        lambda a: np.percentile(a, 50),
        lambda a: np.ones_like(a),
        lambda a: np.sort(a, axis=None),
        lambda a: np.exp(a),
        lambda a: np.arctan2(a, a),
        lambda a: np.add.reduce(a),
        lambda a: np.cumprod(a),
        lambda a: np.isclose(a, a),
        lambda a: np.linspace(a[0], a[1], 3),
    ],
)
def test_results_are_ours(x, call):
    result = call(x)
    assert type(result) is mx.np.ndarray
    np.testing.assert_allclose(result.asnumpy(), call(X), rtol=1e-5)


def test_lists_and_numbers_stay_what_they_are(x):
    assert [type(part) for part in np.array_split(x, 2)] == [mx.np.ndarray] * 2
    assert np.allclose(x, x) is True
    assert type(np.nanmax(x)) is np.float32  # computed by NumPy, as in MXNet
    assert (np.shape(x), np.ndim(x)) == ((2, 2), 2)


def test_arrays_of_numpy_beside_keep_their_dtype(x):
    for result in (np.concatenate([X.astype("float64"), x]), np.add(X.astype("float64"), x)):
        assert type(result) is mx.np.ndarray
        assert result.dtype == np.float64


def test_out(x):
    out = np.zeros_like(X)
    assert np.add(x, x, out=out) is out
    np.testing.assert_array_equal(out, 2 * X)
    assert np.square(X, out=x) is x
    np.testing.assert_array_equal(x.asnumpy(), X**2)
    joined = np.zeros((4, 2), "float32")
    np.concatenate([x, x], out=joined)
    np.testing.assert_array_equal(joined, np.concatenate([X**2, X**2]))


def test_gradients_pass_through_numpys_functions(x):
    x.attach_grad()
    with mx.autograd.record():
        y = np.sum(np.concatenate([x, np.square(x)]))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 1 + 2 * X)


def test_what_numpy_computes_has_no_gradient(x):
    x.attach_grad()
    with mx.autograd.record():
        for function in (np.nanmax, np.modf):
            with pytest.raises(amp.UnsupportedError, match="no gradient"):
                function(x)


def test_other_classes_decide_for_themselves(x):
    class Other:
        def __array_function__(self, function, types, args, kwargs):
            return "other"

    assert np.concatenate([x, Other()]) == "other"


@pytest.mark.parametrize(("name", "kind"), [("meshgrid", list), ("broadcast_arrays", list), ("atleast_2d", list)])
def test_several_results_are_a_list(x, name, kind):
    assert type(getattr(mx.np, name)(x[0], x[1])) is kind


def test_lists_of_functions():
    protocol = mx.numpy_dispatch_protocol
    assert {"concatenate", "linalg.norm"} <= set(protocol._NUMPY_ARRAY_FUNCTION_LIST)
    assert "add" in protocol._NUMPY_ARRAY_UFUNC_LIST
    assert {"nanmax", "isclose"} <= set(mx.np.fallback.__all__)
    assert all(hasattr(np, name) for name in mx.np.fallback.__all__)
    assert mx.np.fallback_linalg.cond is mx.np.linalg.cond


@pytest.mark.parametrize("decorator", ["with_array_function_protocol", "with_array_ufunc_protocol"])
def test_decorators_report(decorator):
    @getattr(mx.numpy_dispatch_protocol, decorator)
    def fails():
        raise KeyError("what")

    with pytest.raises(RuntimeError, match="fails .*what"):
        fails()
