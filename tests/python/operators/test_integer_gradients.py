"""Floats that become integers, and gradients of arrays of integers, as the wheels MXNet 1.9.1 and 2.0.0b1 have them.

NaN is 0 here; with MXNet it is what the CPU makes of it.
"""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

INF, NAN = float("inf"), float("nan")
FLOATS = [300.0, -9.0, -300.0, 70000.0, -70000.0, 3e9, -3e9, 1e20, -1e20, INF, -INF, NAN, 127.5, 128.0, 255.9, -0.9]
LOW32, LOW64 = -(2**31), -(2**63)
WRAPPED = {
    "uint8": [44, 247, 212, 112, 144, *[0] * 7, 127, 128, 255, 0],
    "int8": [44, -9, -44, 112, -112, *[0] * 7, 127, -128, -1, 0],
    "int32": [300, -9, -300, 70000, -70000, *[LOW32] * 6, 0, 127, 128, 255, 0],
    "int64": [300, -9, -300, 70000, -70000, 3000000000, -3000000000, *[LOW64] * 4, 0, 127, 128, 255, 0],
}


@pytest.mark.parametrize("dtype", WRAPPED)
@pytest.mark.parametrize("source", ["float32", "float64"])
def test_floats_wrap(source, dtype):
    expected = [int(value) for value in WRAPPED[dtype]]
    array = mx.nd.array(FLOATS, dtype=source)
    assert array.astype(dtype).asnumpy().tolist() == expected
    assert mx.nd.cast(array, dtype=dtype).asnumpy().tolist() == expected
    assert mx.nd.array(FLOATS, dtype=dtype).asnumpy().tolist() == expected
    symbol = amp.sym.cast(amp.sym.Variable("x", dtype=source), dtype=dtype)
    assert amp.Executor(symbol, {}, {}, {"x": array.shape})(x=array)[0].asnumpy().tolist() == expected


def test_sums_of_narrow_integers_wrap():
    x = mx.np.array([[100, 102], [103, 104]], dtype="int32")
    assert mx.np.sum(x, dtype="int8").item() == -103
    assert mx.np.mean(x, dtype="int8").item() == -25
    assert mx.np.mean(x).item() == 102.25


def gradient(function, *operands):
    """[(gradient, its dtype)] of the sum of a function of mx.np arrays (values, dtype)."""
    arrays = [mx.np.array(values, dtype=dtype) for values, dtype in operands]
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        result = function(*arrays)
    result.backward()
    return [(array.grad.asnumpy().tolist(), array.grad.dtype.name) for array in arrays]


def test_casts_to_integers_pass_gradients_on():
    for dtype, factor, expected in (("int32", 2.5, 2), ("bool", 3, 1), ("uint8", 300, 44)):
        [(found, name)] = gradient(
            lambda x, d=dtype, f=factor: x.astype(d).astype("float32") * f, ([1.5, 2.5], "float32")
        )
        assert (found, name) == ([expected, expected], "float32"), dtype
    assert gradient(lambda x: x.astype("float32") * 2.5, ([1, 2], "int32")) == [([2, 2], "int32")]


@pytest.mark.parametrize(
    "function", [mx.np.add, mx.np.subtract, mx.np.multiply, mx.np.mod, mx.np.power, mx.np.true_divide]
)
@pytest.mark.parametrize("integer", ["int32", "int8", "bool"])
def test_integers_beside_floats_have_no_gradient(function, integer):
    left, right = ([1, 1], integer), ([2.0, 3.0], "float32")
    assert gradient(function, left, right)[0] == ([0, 0], integer)
    assert gradient(function, right, left)[1] == ([0, 0], integer)
    assert gradient(function, left, right)[1] == gradient(function, ([1.0, 1.0], "float32"), right)[1]


def test_gradients_of_integers_are_cut_off():
    a, b = ([7, 5, 3], "int32"), ([2, 3, 3], "int32")
    assert gradient(mx.np.add, a, b) == [([1, 1, 1], "int32")] * 2
    assert gradient(mx.np.multiply, a, b) == [([2, 3, 3], "int32"), ([7, 5, 3], "int32")]
    assert gradient(mx.np.power, a, b) == [([14, 75, 27], "int32"), ([95, 201, 29], "int32")]
    for remainder in (mx.np.mod, mx.np.fmod):
        assert gradient(remainder, a, b) == [([0, 0, 0], "int32")] * 2
    assert gradient(lambda x: x % 2, a) == gradient(lambda x: 7 % x, a) == [([0, 0, 0], "int32")]
    assert gradient(lambda x: x**2, a) == [([14, 10, 6], "int32")]
    assert gradient(lambda x: 2**x, ([1, 2], "int32")) == [([1, 2], "int32")]
    assert gradient(lambda x: x**2.5, ([1, 4], "int32")) == [([2, 20], "int32")]
    assert gradient(mx.np.trace, ([[1, 2], [3, 4]], "int32")) == [([[1, 0], [0, 1]], "int32")]


def test_remainders_and_powers_of_floats_keep_their_gradients():
    a, b = ([7.5, 5.0], "float32"), ([2.0, 3.0], "float32")
    assert gradient(mx.np.mod, a, b) == [([1, 1], "float32"), ([-3, -1], "float32")]
    assert gradient(lambda x: 7 % x, b) == [([-3, -2], "float32")]
    (first, _), (second, _) = gradient(mx.np.power, a, b)
    np.testing.assert_allclose(first, [2 * 7.5, 3 * 25], rtol=1e-6)
    np.testing.assert_allclose(second, [7.5**2 * np.log(7.5), 5**3 * np.log(5)], rtol=1e-6)
    [(base, _)] = gradient(lambda x: 2.5**x, b)
    np.testing.assert_allclose(base, np.log(2.5) * 2.5 ** np.array([2, 3]), rtol=1e-6)


def test_second_derivatives_of_powers():
    x = mx.nd.array([1.5, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        [first] = mx.autograd.grad(mx.nd.broadcast_power(mx.nd.array([3.0, 2.0]), x), x, create_graph=True)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.log([3, 2]) ** 2 * np.power([3, 2], [1.5, 2]), rtol=1e-5)


def bound_gradients(symbol, arguments, gradients, heads):
    bound = symbol.bind(mx.cpu(), arguments, args_grad=gradients)
    bound.forward(is_train=True)
    bound.backward(heads)
    return {name: gradient.asnumpy().tolist() for name, gradient in gradients.items()}


def test_executors_write_gradients_of_integers():
    data, index = mx.sym.Variable("data"), mx.sym.Variable("index")
    arguments = {"data": mx.nd.ones((2, 2)), "index": mx.nd.array([0, 1], dtype="int32")}
    gradients = {"data": mx.nd.full((2, 2), 7), "index": mx.nd.full((2,), 7, dtype="int32")}
    found = bound_gradients(mx.sym.take(data, index), arguments, gradients, [mx.nd.ones((2, 2))])
    assert found == {"data": [[1, 1], [1, 1]], "index": [0, 0]}
    whole = {"data": mx.nd.array([1, 2], dtype="int32")}
    sevens = {"data": mx.nd.full((2,), 7, dtype="int32")}
    heads = [mx.nd.array([2.7, -1.2])]
    assert bound_gradients(mx.sym.Cast(data, dtype="float32"), whole, sevens, heads) == {"data": [2, -1]}
    mask = {"data": mx.nd.ones((1, 2)), "mask": mx.nd.array([[1, 0]], dtype="bool")}
    grads = {"data": mx.nd.full((1, 2), 7), "mask": mx.nd.array([[1, 1]], dtype="bool")}
    masked = mx.sym.masked_softmax(data, mx.sym.Variable("mask"))
    assert bound_gradients(masked, mask, grads, [mx.nd.ones((1, 2))])["mask"] == [[False, False]]


def test_attributes_of_an_operator_are_those_of_its_new_variables():
    with mx.AttrScope(__lr_mult__="2"):
        layer = mx.sym.Convolution(mx.sym.Variable("data"), kernel=(2, 2), num_filter=2, name="c")
    for name in ("c_weight", "c_bias"):
        assert layer.attr_dict()[name] == {
            "kernel": "(2, 2)",
            "num_filter": "2",
            "__lr_mult__": "2",
            "lr_mult": "2",
        }
    assert "data" not in layer.attr_dict() or not layer.attr_dict()["data"].get("kernel")
    slopes = mx.sym.LeakyReLU(mx.sym.Variable("data"), act_type="prelu", name="p")
    assert slopes.attr_dict()["p_gamma"] == {"__init__": '["Constant", {"value": 0.25}]', "act_type": "prelu"}
    variable = mx.gluon.Parameter("w", shape=(2, 0), lr_mult=2.0, wd_mult=0, allow_deferred_init=True).var()
    expected = {"__shape__": "(2, 0)", "__dtype__": "0", "__lr_mult__": "2.0", "__wd_mult__": "0"}
    assert expected.items() <= variable.list_attr().items() and variable.list_attr()["__storage_type__"] == "0"
