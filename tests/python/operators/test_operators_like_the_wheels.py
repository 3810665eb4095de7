"""Details of operators that MXNet's own tests ask for; the numbers are those of the wheels 1.9.1 and 2.0.0b1."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import autograd, gluon, nd
from amp.mxnet.gluon import nn

NAN = float("nan")


def values(array, dtype="float32"):
    return nd.array(np.array(array), dtype=dtype)


# ---- relu of NaN: the operator keeps it, layers give 0 ----


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bfloat16"])
def test_relu_keeps_nan(dtype):
    x = values([[NAN, -1, 2, 0]]).astype(dtype)
    for relu in (nd.relu, mx.npx.relu):
        np.testing.assert_array_equal(relu(x).astype("float32").asnumpy(), [[NAN, 0, 2, 0]])
    bound = mx.sym.relu(mx.sym.var("x")).bind(mx.cpu(), {"x": x})
    np.testing.assert_array_equal(bound.forward()[0].astype("float32").asnumpy(), [[NAN, 0, 2, 0]])
    if dtype == "float32":
        assert nd.Activation(x, act_type="relu").asnumpy()[0, 0] == 0


def test_relu_keeps_nan_in_hybridized_blocks():
    block = nn.HybridLambda(lambda F, x: F.relu(x) + 1)  # noqa: N803 - MXNet's name
    block.hybridize()
    x = values([NAN, -1, 2])
    x.attach_grad()
    with autograd.record():
        y = block(x)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [NAN, 1, 3])
    np.testing.assert_array_equal(x.grad.asnumpy()[1:], [0, 1])


# ---- shapes ----


def test_lrn_of_rank_2():
    x = nd.arange(12).reshape((3, 4))
    expected = [
        [0, 0.55995858, 1.01612496, 1.53982019],
        [1.60938478, 1.60055470, 1.63363659, 2.14740038],
        [1.89284718, 1.58073306, 1.54457676, 2.05448914],
    ]
    x.attach_grad()
    with autograd.record():
        y = nd.LRN(x, nsize=3, alpha=0.1)
    y.backward()
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)
    same = nd.LRN(x.reshape((3, 4, 1, 1)), nsize=3, alpha=0.1).reshape((3, 4))
    np.testing.assert_array_equal(y.asnumpy(), same.asnumpy())
    assert np.isfinite(x.grad.asnumpy()).all()


def test_adaptive_pooling_reads_no_attribute_of_pooling():
    x = nd.arange(16).reshape((1, 1, 4, 4))
    settings = {"kernel": (3, 3), "stride": (1, 1), "pad": (1, 1), "global_pool": False, "pool_type": "avg"}
    y = nd.contrib.AdaptiveAvgPooling2D(x, output_size=2, **settings)
    np.testing.assert_array_equal(y.asnumpy()[0, 0], [[2.5, 4.5], [10.5, 12.5]])


def test_axes_of_broadcast_like():
    with pytest.raises(amp.GraphError, match="name no axes"):
        nd.broadcast_like(nd.ones((1, 4)), nd.ones((3, 4)), lhs_axes=(), rhs_axes=())
    assert nd.broadcast_like(nd.ones((1, 4)), nd.ones((3, 4))).shape == (3, 4)


def test_no_repetitions_are_an_error_of_mxnet_1(monkeypatch):
    x = nd.ones((2, 3))
    assert nd.tile(x, (1, 0, 3)).shape == (1, 0, 9) and nd.tile(x, reps=(0,)).shape == (2, 0)
    monkeypatch.setattr("amp.mxnet._generation.chosen", lambda: 1)
    for call in (lambda: nd.tile(x, (1, 0, 3)), lambda: nd.tile(x, reps=(0,)), lambda: nd.tile(x, 0)):
        with pytest.raises(amp.ArgumentError, match="without elements"):
            call()
    assert nd.tile(x, (1, 2)).shape == (2, 6)
    with mx.np_shape():
        assert nd.tile(x, 0).shape == (2, 0)


def test_instance_norm_without_channels_takes_any_gamma():
    with mx.np_shape(), mx.np_array():
        x, gamma = mx.np.ones((1, 0, 1)), mx.np.ones(1)
        x.attach_grad()
        with autograd.record():
            y = mx.npx.instance_norm(x, gamma, gamma)
        y.backward()
        assert y.shape == x.grad.shape == (1, 0, 1)
        with pytest.raises(amp.GraphError, match="gamma of shape"):
            mx.npx.instance_norm(mx.np.ones((1, 3, 1)), gamma, gamma)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "make, shape",
    [
        (lambda: nn.LayerNorm(in_channels=10), (2, 11)),
        (lambda: nn.BatchNorm(in_channels=10), (2, 11)),
        (lambda: nn.GroupNorm(in_channels=10), (2, 11, 3)),
        (lambda: nn.Dense(3, in_units=10), (2, 11)),
    ],
)
def test_layers_of_mxnet_2_assert_the_shapes_of_parameters(hybridize, make, shape):
    with mx.np_shape(), mx.np_array():
        block = make()
        block.initialize()
        block.hybridize(hybridize)
        with pytest.raises(AssertionError, match=r"\(.*11.*\) contradicts its shape \(.*10.*\)"):
            block(mx.np.ones(shape))
    first = nn.LayerNorm(in_channels=10)
    first.initialize()
    with pytest.raises(amp.GraphError, match="expected gamma of shape"):
        first(nd.ones((2, 11)))


# ---- new operators, as programs call them ----


def hawkes_arrays():
    rates = nd.array([[1.5, 2.0, 3.0]] * 2)
    lags = nd.array([[6, 7, 8, 9], [1, 2, 3, 4]])
    marks = nd.array([[0, 0, 2, 1], [1, 2, 0, 0]], dtype="int32")
    shared = [nd.array([0.2, 0.3, 0.4]), nd.array([2.0, 1.0, 0.5]), nd.ones((2, 3))]
    return [rates, *shared, lags, marks, nd.array([4, 3]), nd.array([40.0, 12.0])]


def test_hawkes_processes_in_graphs_and_with_gradients():
    arrays = hawkes_arrays()
    for array in arrays[:3]:
        array.attach_grad()
    with autograd.record():
        likelihood, states = nd.contrib.hawkesll(*arrays)
    likelihood.backward()
    names = ["lda", "alpha", "beta", "state", "lags", "marks", "valid_length", "max_time"]
    symbol = mx.sym.contrib.hawkesll(*map(mx.sym.var, names), name="h")
    assert symbol.list_outputs() == ["h_output", "h_out_state"]
    gradients = {name: nd.zeros(array.shape) for name, array in zip(names[:3], arrays)}
    bound = symbol.bind(mx.cpu(), dict(zip(names, arrays)), gradients)
    outputs = bound.forward(is_train=True)
    bound.backward([nd.ones((2,)), nd.zeros((2, 3))])
    for got, expected in zip([*outputs, *gradients.values()], [likelihood, states, *(a.grad for a in arrays[:3])]):
        np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=1e-6)
    step, exact = 1e-4, [a if a.dtype == np.int32 else a.astype("float64") for a in hawkes_arrays()]
    for place in range(3):
        ends = []
        for sign in (-1, 1):
            moved = [a + sign * step if i == place else a for i, a in enumerate(exact)]
            ends.append(nd.contrib.hawkesll(*moved)[0].asnumpy().sum())
        slope = (ends[1] - ends[0]) / (2 * step)
        assert arrays[place].grad.asnumpy().sum() == pytest.approx(slope, rel=1e-3)
    with pytest.raises(amp.Error, match="index [78] is out of range"):
        nd.contrib.hawkesll(*arrays[:5], arrays[5] + 7, *arrays[6:])


def test_sliding_window_attention_in_a_hybridized_block(tmp_path):
    class Attention(gluon.HybridBlock):
        def forward(self, query, key, value, dilation, length):
            score = mx.npx.sldwin_atten_score(query, key, dilation, w=2, symmetric=True)
            score = score * mx.npx.sldwin_atten_mask_like(score, dilation, length, w=2, symmetric=True)
            return mx.npx.sldwin_atten_context(score, value, dilation, w=2, symmetric=True)

    with mx.np_shape(), mx.np_array():
        random = np.random.default_rng(0)
        arrays = [mx.np.array(random.normal(size=(2, 7, 2, 3)), dtype="float32") for _ in range(3)]
        dilation, length = mx.np.array([1, 2], dtype="int32"), mx.np.array([7, 4], dtype="int32")
        block = Attention()
        block.hybridize()
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            y = block(*arrays, dilation, length)
        y.backward()
        query, key, value = (np.swapaxes(array.asnumpy(), 1, 2) for array in arrays)
        i, j = np.indices((7, 7))
        seen = np.stack([(abs(i - j) <= 2 * d) & ((i - j) % d == 0) for d in (1, 2)])[None]
        within = np.arange(7)[None] < np.array([[7], [4]])
        seen = seen & within[:, None, :, None] & within[:, None, None]
        score = np.einsum("bhic,bhjc->bhij", query, key) * seen
        np.testing.assert_allclose(np.swapaxes(y.asnumpy(), 1, 2), score @ value, rtol=1e-4, atol=1e-5)
        slope = np.einsum("bhic,bhjc->bhij", np.ones_like(value), value) * seen
        expected = [slope @ key, np.swapaxes(slope, 2, 3) @ query, np.swapaxes(score, 2, 3) @ np.ones_like(value)]
        for array, gradient in zip(arrays, expected):
            np.testing.assert_allclose(np.swapaxes(array.grad.asnumpy(), 1, 2), gradient, rtol=1e-4, atol=1e-5)
        files = block.export(str(tmp_path / "net"))
        again = gluon.SymbolBlock.imports(files[0], [f"data{n}" for n in range(5)], files[1])
        np.testing.assert_allclose(again(*arrays, dilation, length).asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-6)
    with pytest.raises(amp.Error, match="expected a dilation"):
        nd.contrib.sldwin_atten_score(*[nd.ones((1, 2, 1, 1))] * 2, nd.zeros((1,)), w=1, symmetric=False)


def test_steps_of_lans():
    weight = values([[0.27392337, -0.46042657, -0.91805297], [-0.96694475, 0.62654048, 0.82551116]])
    grad = values([[0.21327156, 0.45899311, 0.08724998], [0.87014484, 0.63170713, -0.99452299]])
    mean = values([[0.71480852, -0.93282884, 0.45931089], [-0.64868873, 0.72635782, 0.08292244]])
    var = values([[0.29971188, 0.42268723, 0.02831967], [0.1242835, 0.67062443, 0.6471895]])
    settings = {"rescale_grad": 0.5, "lower_bound": 0.1, "upper_bound": 10, "clip_gradient": 0.3}
    settings.update(beta1=0.9, beta2=0.99, epsilon=1e-6)
    lists = [[weight], [grad], [mean], [var]]
    exact = weight.copy()
    low, states = weight.astype("float16"), [[array.copy()] for array in (mean, var)]
    nd.contrib.multi_lans_update(*lists, [3], [0.1], [0.01], out=[weight], num_tensors=1, **settings)
    expected = [[0.21503037, -0.4104777, -1.03478694], [-0.907911, 0.58181149, 0.82760632]]
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)
    moved = [[0.65706837, -0.80997384, 0.41900116], [-0.55381984, 0.68372208, 0.04463019]]
    np.testing.assert_allclose(mean.asnumpy(), moved, rtol=1e-5)
    lists = [[low], [grad], *states, [exact]]
    nd.contrib.multi_mp_lans_update(*lists, [3], [0.1], [0.01], out=[low], **settings)
    np.testing.assert_allclose(exact.asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(low.asnumpy(), expected, rtol=1e-3)


def test_names_of_the_registry_are_functions_of_arrays():
    x = nd.zeros((2, 3))
    assert nd._internal._set_value(5.0, out=x) is x and x.asnumpy().min() == 5
    assert nd._internal._zeros_without_dtype(shape=(2,), dtype=4).dtype == np.int32
    assert nd._internal._onehot_encode(nd.array([1, 0]), x).asnumpy().tolist() == [[0, 1, 0], [1, 0, 0]]
    assert nd._internal._npi_kron(nd.ones((2, 1)), nd.ones((1, 3))).shape == (2, 3)
    assert mx.contrib.nd.dynamic_reshape(x, nd.array([-1])).shape == (6,)
    assert nd._internal._sparse_sum(x).asnumpy() == 30
    out = nd.zeros((2, 2))
    assert nd._internal._npi_rollaxis(nd.ones((2, 2)), axis=1, out=out) is not None and out.asnumpy().sum() == 4
    with pytest.raises(amp.ArgumentError, match=r"expected \['a', 'b'\] as NDArrays, got \['a'\]"):
        nd._internal._npi_kron(x)
    with pytest.raises(amp.ArgumentError, match="unexpected argument 'whirl'"):
        nd._internal._npi_kron(x, x, whirl=1)


def test_attributes_of_operators_in_python_by_position_and_by_name():
    x, mask = mx.sym.var("x"), mx.sym.var("mask")
    for symbol in (mx.sym.contrib.boolean_mask(x, mask, 1), mx.sym.contrib.boolean_mask(x, axis=1, name="b")):
        assert symbol.list_attr()["axis"] == "1"
    assert symbol.list_arguments() == ["x", "b_index"]
    checked = mx.sym.npx.constraint_check(x, "no")
    assert checked.list_attr()["msg"] == "no" and type(checked) is type(x.as_np_ndarray())
    regularized = mx.sym.IdentityAttachKLSparseReg(x, penalty=0.5, name="kl")
    assert regularized.list_auxiliary_states() == ["kl_moving_avg"] and regularized.list_attr() == {"penalty": "0.5"}
    data, average = nd.array([[0.2, 0.4]]), nd.full((2,), 0.5)
    data.attach_grad()
    with autograd.record():
        y = nd.IdentityAttachKLSparseReg(data, average, penalty=0.5)
    y.backward()
    moved = 0.45 + 0.1 * data.asnumpy()
    np.testing.assert_allclose(data.grad.asnumpy(), 1 + 0.5 * (0.9 / (1 - moved) - 0.1 / moved), rtol=1e-5)


def gradient_of(function, values, dtype="float32"):
    x = nd.array(values, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_relu_of_nan_has_no_gradient_that_is_a_number(dtype):
    values = [np.nan, -np.inf, -2, -0.0, 0, 2.0**-14, 0.5, 1, 3, np.inf]
    right = [np.nan, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    np.testing.assert_array_equal(gradient_of(nd.relu, values, dtype), right)
    x = mx.np.array(values, dtype=dtype)
    x.attach_grad()
    with autograd.record():
        y = 3 * mx.npx.relu(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), np.multiply(3, right))
    bound = mx.sym.relu(mx.sym.var("x")).bind(mx.cpu(), {"x": nd.array(values)}, args_grad={"x": nd.zeros((10,))})
    bound.forward(is_train=True)
    bound.backward()
    np.testing.assert_array_equal(bound.grad_dict["x"].asnumpy(), right)
    assert gradient_of(nd.relu, [-1, 0, 2], "int32").tolist() == [0, 0, 1]


def test_exponential_rectifiers_far_out():
    values, scale, alpha = np.array([-np.inf, -1, 0, 2, np.inf]), 1.0507009873554805, 1.6732632423543772
    found = gradient_of(lambda x: nd.LeakyReLU(x, act_type="elu"), values)
    np.testing.assert_allclose(found, [0, 0.25 * np.exp(-1), 0.25, 1, 1], rtol=1e-6, atol=1e-7)
    found = gradient_of(lambda x: nd.LeakyReLU(x, act_type="selu"), values)
    below = scale * (alpha + scale * alpha * np.expm1(values[:3]))  # MXNet's formula, by the scaled output
    np.testing.assert_allclose(found, [*below, scale, scale], rtol=1e-6)


@pytest.mark.parametrize("function", [nd.depth_to_space, nd.space_to_depth])
def test_pictures_have_elements(function):
    for shape in ((1, 0, 2, 2), (1, 4, 0, 2), (1, 4, 2, 0)):
        with mx.np_shape(), pytest.raises(amp.Error, match="expected pictures with elements"):
            function(nd.array(np.zeros(shape)), 2)
    assert function(nd.array(np.zeros((0, 4, 2, 2))), 2).size == 0


def test_nothing_is_known_of_a_dense_layer_without_data():
    layer = mx.sym.FullyConnected(mx.sym.var("a"), num_hidden=128, name="fc")
    assert layer.infer_shape_partial() == ([(), (), ()], [()], [])
    assert layer.infer_shape_partial(a=(0, 0)) == ([(0, 0), (128, 0), (128,)], [(0, 128)], [])
    assert layer.infer_shape_partial(a=(2, 0))[1] == [(2, 128)]
    with mx.np_shape():
        assert layer.infer_shape_partial()[1] == [None]
