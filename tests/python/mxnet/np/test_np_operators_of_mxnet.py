"""`from mxnet.ndarray.numpy import _internal as _npi`: operators that exist for arrays alone. Values by NumPy."""

import numpy as np
import pytest
from amp.mxnet.ndarray.numpy import _internal as _npi

import amp
import amp.mxnet as mx

X = np.arange(6, dtype="float32").reshape(2, 3)
MASK = np.array([[True, False, True], [False, True, False]])


def array(values, dtype=None):
    return mx.np.array(values, dtype=dtype or np.asarray(values).dtype)


def test_boolean_mask_takes_slices_and_gives_them_gradients():
    x = array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = _npi.boolean_mask(x, array([1, 0, 1]), axis=1)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), X[:, [0, 2]])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 0, 1]] * 2)
    with pytest.raises(amp.ArgumentError, match="index for axis 0"):
        _npi.boolean_mask(x, array(MASK))


@pytest.mark.filterwarnings("ignore:.*without a graph")
def test_a_hybridized_block_with_a_mask_runs():
    class Masked(mx.gluon.HybridBlock):
        def forward(self, x, index):
            return _npi.boolean_mask(x, index)

    with mx.util.np_array(), mx.util.np_shape():
        block = Masked()
        block.hybridize()
        np.testing.assert_array_equal(block(array(X), array([0, 1])).asnumpy(), X[1:])
        np.testing.assert_array_equal(block(array(X), array([1, 1])).asnumpy(), X)


@pytest.mark.parametrize("mask", [MASK, MASK[:, 0], np.array(True)])
def test_assignment_at_the_places_of_a_mask(mask):
    x, expected = array(X), X.copy()
    if mask.ndim == 0:
        x, expected = x[0, 1], np.array(expected[0, 1])
    expected[mask] = 9
    before = x.asnumpy().copy()
    np.testing.assert_array_equal(_npi.boolean_mask_assign_scalar(x, array(mask), 9.0).asnumpy(), expected)
    np.testing.assert_array_equal(x.asnumpy(), before)
    assert _npi.boolean_mask_assign_scalar(x, array(mask), 9.0, out=x) is x
    np.testing.assert_array_equal(x.asnumpy(), expected)


def test_assignment_of_values_behind_other_axes():
    mask = np.array([True, False, True])
    for values in (np.array([[7.0, 8.0], [5.0, 6.0]]), np.array([[3.0], [4.0]]), np.array(2.0)):
        expected = X.copy()
        expected[:, mask] = values
        result = _npi.boolean_mask_assign_tensor(array(X), array(mask), array(values, "float32"), start_axis=1)
        np.testing.assert_array_equal(result.asnumpy(), expected)
    with pytest.raises(amp.ArgumentError, match=r"mask of shape \(3,\)"):
        _npi.boolean_mask_assign_scalar(array(X), array(mask), 1.0)


A = np.array([[2.0, 1.0], [1.0, 3.0]], "float32")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: _npi.svd(array(A))[1], np.linalg.svd(A)[1]),
        (lambda: _npi.det(array(A)), 5),
        (lambda: _npi.eigvalsh(array(A)), np.linalg.eigvalsh(A)),
        (lambda: _npi.tensorsolve(array(A), array(A[0])), np.linalg.solve(A, A[0])),
        (lambda: _npi.pinv_scalar_rcond(array(A), rcond=1e-6), np.linalg.inv(A)),
        (lambda: _npi.matrix_rank(array(np.diag([1.0, 1e-3]).astype("float32")), tol=0.1), 1),
        (lambda: _npi.kron(array(A), array(A)), np.kron(A, A)),
        (lambda: _npi.lcm_scalar(array([4, 6]), scalar=10.0), [20, 30]),
        (lambda: _npi.gcd(array([4, 6]), array([6, 9])), [2, 3]),
        (lambda: _npi.cross(array([1.0, 0, 0]), array([0, 1.0, 0])), [0, 0, 1]),
        (lambda: _npi.bincount(array([0, 2, 2]), minlength=4), [1, 0, 2, 0]),
        (lambda: _npi.unique(array([3.0, 1, 3])), [1, 3]),
        (lambda: _npi.nonzero(array([[0, 5], [6, 0]])), [[0, 1], [1, 0]]),
        (lambda: _npi.tri(2), [[1, 0], [1, 1]]),
        (lambda: _npi.add(array(A), array(A)), 2 * A),
        (lambda: _npi.share_memory(array(A), array(A)), [False]),
    ],
)
def test_values(call, expected):
    result = call()
    assert type(result) is mx.np.ndarray
    np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_names():
    assert {"boolean_mask", "svd", "add", "kron"} <= set(dir(_npi))
    assert not hasattr(_npi, "no_such_operator")
