"""Functions of floats with arrays of integers: what MXNet's `nd` cuts off and `np` makes floats of."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

INTEGERS = ("int8", "uint8", "int32", "int64")
FUNCTIONS = {
    "arctan": np.arctan,
    "arcsinh": np.arcsinh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "degrees": np.degrees,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "radians": np.radians,
    "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_nd_are_cut_off(name):
    values = np.array([1, 2, 3, 4])
    exact = FUNCTIONS[name](values.astype("float32"))
    for dtype in INTEGERS:
        result = getattr(mx.nd, name)(mx.nd.array(values, dtype=dtype))
        assert result.dtype == dtype
        # A float outside of the dtype wraps.
        assert result.asnumpy().tolist() == np.trunc(exact).astype("int64").astype(dtype).tolist(), dtype
    with pytest.raises(amp.GraphError, match="expected data of numbers, got bool"):
        getattr(mx.nd, name)(mx.nd.array(values, dtype="bool"))


def test_functions_of_symbols_are_cut_off():
    x = np.array([1, 4, 9], "int32")
    symbol = mx.sym.exp(mx.sym.sqrt(mx.sym.var("x", dtype="int32")))
    assert symbol.eval(x=mx.nd.array(x, dtype="int32"))[0].asnumpy().tolist() == [2, 7, 20]
    assert symbol.infer_type(x="int32")[1] == [np.int32]


def head_gradient(function, *operands, module=mx.nd):
    """Gradients of function(arrays), the heads 1, 2, 3, ..."""
    arrays = [module.array(values, dtype=dtype) for values, dtype in operands]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        result = function(*arrays)
    heads = np.arange(1, result.size + 1).reshape(result.shape)
    result.backward(module.array(heads, dtype=result.dtype))
    return [array.grad.asnumpy().tolist() for array in arrays]


def test_gradients_of_integers():
    values = ([3, -2, 5, 0], "int32")
    assert head_gradient(mx.nd.expm1, ([0, 1, 2, 0], "int32")) == [[1, 4, 21, 4]]  # exp is 1, 2, 7, 1
    assert head_gradient(mx.nd.tan, ([0, 1, 0], "int64")) == [[1, 4, 3]]  # 1 + tan(1)^2 = 2
    with mx.util.np_array(), mx.util.np_shape():
        assert head_gradient(lambda x: mx.np.clip(x, None, 1), values, module=mx.np) == [[0, 2, 0, 4]]
        assert head_gradient(lambda x: mx.np.clip(x, 1, None), values, module=mx.np) == [[1, 0, 3, 0]]
        assert head_gradient(mx.np.diff, values, module=mx.np) == [[-1, -1, -1, 3]]
        unsigned = ([3, 4, 5, 6], "uint8")
        assert head_gradient(mx.np.diff, unsigned, module=mx.np) == [[255, 255, 255, 3]]
        for function in (mx.np.gcd, mx.np.lcm):
            assert head_gradient(function, values, values, module=mx.np) == [[0] * 4, [0] * 4]


def test_divisors_with_a_number():
    x = mx.np.array([6, 9], dtype="int32")
    assert mx.np.gcd(x, 4).tolist() == [2, 1] and mx.np.lcm(4, x).tolist() == [12, 36]
    assert mx.np.gcd(x, 4).dtype == np.int32


def test_other_functions_of_integers():
    x = mx.nd.array([[1, 2, 3, 8]], dtype="int32")
    assert mx.nd.contrib.div_sqrt_dim(x).asnumpy().tolist() == [[0, 1, 1, 4]]
    assert [part.asnumpy().tolist() for part in mx.nd.moments(x, axes=(1,))] == [[3], [7]]  # 3.5 and 7.25
    assert mx.nd.make_loss(x).dtype == np.int32
    for function, expected in (("isfinite", 1), ("isinf", 0), ("isnan", 0)):
        found = getattr(mx.nd.contrib, function)(x)
        assert found.dtype == np.int32 and found.asnumpy().tolist() == [[expected] * 4]


def test_truths_have_a_mean():
    assert mx.nd.mean(mx.nd.array([0, 0, 1], dtype="bool")).asnumpy().tolist() in (True, [True])
    assert mx.nd.mean(mx.nd.array([0, 0, 0], dtype="bool")).asnumpy().tolist() in (False, [False])


def test_closeness_has_no_axis():
    x = mx.nd.array([1, 2])
    assert mx.nd.contrib.allclose(x, x).shape == ()


@pytest.mark.parametrize("version", ["1.9.1", "2.0.0"])
def test_functions_of_np_give_floats(version):
    mx.install(version)
    is_second = version == "2.0.0"
    for dtype in (*INTEGERS, "bool"):
        x = mx.np.array([1, 0], dtype=dtype)
        expected = "float16" if is_second and x.dtype.itemsize == 1 else "float32"
        assert mx.np.exp(x).dtype == mx.np.sqrt(x).dtype == expected
        kept = expected if dtype == "bool" else dtype
        assert mx.np.floor(x).dtype == mx.np.ceil(x).dtype == mx.np.trunc(x).dtype == kept
        assert mx.np.rint(x).dtype == mx.np.fix(x).dtype == (expected if is_second else kept)
        np.testing.assert_allclose(mx.np.exp(x).asnumpy(), np.exp([1, 0]), rtol=1e-3)
    assert mx.np.reciprocal(mx.np.array([1, 2, -1], dtype="int32")).tolist() == [1, 0, -1]
    assert mx.np.reciprocal(mx.np.array([1, 2, -1], dtype="int32")).dtype == np.int32


def test_arrays_of_numpy_keep_their_dtype_in_1():
    mx.install("1.9.1")
    assert mx.np.array(np.array([1, 2])).dtype == np.int64
    assert mx.np.array([1, 2]).dtype == mx.np.full((2,), 1).dtype == np.float32
    mx.install("2.0.0")
    assert mx.np.array(np.array([1, 2])).dtype == np.float32
    assert mx.np.full((2,), 1).dtype == np.int64


def test_bits_change_in_place():
    x = mx.np.array([6, 3], dtype="int32")
    same = x
    x &= 3
    assert same.tolist() == [2, 3] and x is same
    x <<= 1
    x |= 1
    x ^= mx.np.array([1, 0], dtype="int32")
    assert same.tolist() == [4, 7] and x is same


def test_methods_of_2():
    x = mx.nd.array([0.5, -1])
    np.testing.assert_allclose(x.log_sigmoid().asnumpy(), -np.log1p(np.exp([-0.5, 1])), rtol=1e-6)
    np.testing.assert_array_equal(x.mish().asnumpy(), mx.nd.mish(x).asnumpy())


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_phases_of_lamb_keep_the_dtype(dtype):
    weight, grad, mean, var = (mx.nd.array([value], dtype=dtype) for value in (1, 0.5, 0, 0))
    step = mx.nd.lamb_update_phase1(weight, grad, mean, var, t=1)
    assert step.dtype == dtype and step.asnumpy().round(2).tolist() == [1]
    norms = (mx.nd.array([value], dtype=dtype) for value in (1, 1))
    assert mx.nd.lamb_update_phase2(weight, step, *norms, lr=0.1).dtype == dtype


def momentum_of_nag(version, steps=1):
    mx.install(version)
    update = mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.1, momentum=0.9, wd=0.1))
    weight = mx.nd.array([1.0])
    for _ in range(steps):
        update(0, mx.nd.array([0.5]), weight)
    return weight.asnumpy()


def test_the_decay_of_nesterov():
    # Of the wheels 1.9.1 and 2.0.0b1.
    np.testing.assert_allclose(momentum_of_nag("1.9.1", 3), [0.52839255], rtol=1e-5)
    np.testing.assert_allclose(momentum_of_nag("2.0.0", 3), [0.5253636], rtol=1e-5)
    mx.install("1.9.1")
    for target, expected in ((None, 1.59), ("weight", 1.6 - 0.01 * 1.221)):
        weight, grad, momentum = mx.nd.array([1.0]), mx.nd.array([2.0]), mx.nd.array([2.0])
        out = weight if target else None
        mx.nd.nag_mom_update(weight, grad, momentum, lr=0.1, wd=0.1, momentum=0.9, out=out)
        np.testing.assert_allclose(momentum.asnumpy(), [expected], atol=2e-2)


def test_choices_keep_the_dtype():
    assert mx.np.random.choice(mx.np.array([1, 2], dtype="float64"), 3).dtype == np.float64
    assert mx.np.random.choice(mx.np.array([1, 2], dtype="float16"), 3).dtype == np.float16
