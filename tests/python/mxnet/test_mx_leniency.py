"""What MXNet takes, `amp.mxnet` takes, too."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon

nd = mx.nd


def test_operators_without_attributes_ignore_them():
    x = nd.array([1.4, -2])
    for name, given in (("round", {"decimals": 0}), ("sqrt", {"axis": 1}), ("relu", {"unused": "x"})):
        plain = getattr(nd, name)(x).asnumpy()
        np.testing.assert_array_equal(getattr(nd, name)(x, **given).asnumpy(), plain)
        symbol = getattr(mx.sym, name)(mx.sym.var("x"), **given)
        np.testing.assert_array_equal(symbol.eval(x=x)[0].asnumpy(), plain)
    with pytest.raises(mx.MXNetError, match="bogus"):
        nd.FullyConnected(x.reshape((1, 2)), nd.ones((3, 2)), no_bias=True, num_hidden=3, bogus=1)


def test_attributes_of_nodes_may_be_objects():
    class Text:
        def __str__(self):
            return "an initializer"

    data = mx.sym.var("data")
    net = mx.sym.FullyConnected(data, num_hidden=2, name="fc", attr={"__init__": Text(), "__n__": 3})
    assert net.attr_dict()["fc_weight"]["__init__"] == "an initializer" and net.attr_dict()["fc"]["__n__"] == "3"
    block = gluon.SymbolBlock(net, data)  # where that is no initializer
    block.initialize(mx.init.One())
    assert block(nd.ones((1, 3))).asnumpy().tolist() == [[3.0, 3.0]]


def test_pads_and_strides_beyond_the_axes_are_not_read():
    x = nd.arange(16).reshape((1, 1, 4, 4))
    for pad in ((1, 1, 1, 1), (1, 1, 0), (1, 1, 7)):
        found = nd.Pooling(x, kernel=(3, 3), stride=(1, 1, 2), pad=pad, pool_type="max")
        assert found.asnumpy()[0, 0, 0].tolist() == [5, 6, 7, 7]
    assert nd.Pooling(x, kernel=(3, 3), pad=(0, 0, 0), pool_type="avg").shape == (1, 1, 2, 2)
    with pytest.raises(mx.MXNetError, match="pad"):
        nd.Convolution(x, nd.ones((1, 1, 3, 3)), no_bias=True, kernel=(3, 3), pad=(1, 1, 1), num_filter=1)


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 4, 2, 5)])
def test_slopes_of_each_sample(shape):
    rng = np.random.default_rng(0)
    x, slopes = rng.uniform(-1, 1, shape).astype("f"), rng.uniform(0, 1, (3, 4)).astype("f")
    full = slopes.reshape((3, 4) + (1,) * (len(shape) - 2))
    array, gamma = nd.array(x), nd.array(slopes)
    array.attach_grad()
    gamma.attach_grad()
    with mx.autograd.record():
        out = nd.LeakyReLU(array, gamma, act_type="prelu")
    out.backward()
    np.testing.assert_allclose(out.asnumpy(), np.where(x > 0, x, full * x), rtol=1e-6)
    np.testing.assert_allclose(array.grad.asnumpy(), np.where(x > 0, 1, np.broadcast_to(full, shape)), rtol=1e-6)
    of_slopes = np.where(x > 0, 0, x).sum(axis=tuple(range(2, len(shape))))
    np.testing.assert_allclose(gamma.grad.asnumpy(), of_slopes, rtol=1e-5, atol=1e-6)


def test_fewer_axes_and_ends_in_any_order():
    assert nd.arange(3).broadcast_like(nd.ones((2, 3))).asnumpy().tolist() == [[0, 1, 2]] * 2
    for drawn in (
        nd.random.uniform(3, 1, shape=(50,)),
        nd.random.uniform(nd.array([3.0]), nd.array([1.0]), shape=(50,)),
        mx.np.random.uniform(3, 1, size=(50,)),
    ):
        values = drawn.asnumpy()
        assert (values > 1).all() and (values <= 3).all() and values.std() > 0.3


@pytest.mark.parametrize("by_name", [False, True])
def test_steps_of_several_weights(by_name):
    def lists():
        return [[nd.array([[1.0, 2.0], [3.0, 4.0]]) * (k + 1)] for k in range(4)]

    weights, grads, mean, var = lists()
    single, grad, m, v = (arrays[0].copy() for arrays in (weights, grads, mean, var))
    scale = nd.array([0.5])
    nd.contrib.adamw_update(single, grad, m, v, scale, lr=0.1, eta=1.0, wd=0.01, out=single)
    if by_name:
        settings = {"rescale_grad": scale, "lrs": [0.1], "wds": [0.01], "etas": [1.0], "size": 1, "name": "step"}
        nd.contrib.multi_adamw_update(weights, grads, mean=mean, var=var, out=weights, **settings)
    else:
        nd.contrib.multi_adamw_update(weights, grads, mean, var, scale, [0.1], [0.01], [1.0], weights, "step", 1)
    np.testing.assert_array_equal(weights[0].asnumpy(), single.asnumpy())
    with pytest.raises(TypeError, match="missing required arguments: wds, etas"):
        nd.contrib.multi_adamw_update(weights, grads, mean, var, scale, [0.1])


def test_lamb_of_several_weights():
    weights, grads = [nd.array([[1.0, 2.0], [3.0, 4.0]])], [nd.ones((2, 2)) * 0.5]
    mean, var = [nd.zeros((2, 2))], [nd.zeros((2, 2))]
    nd.contrib.multi_lamb_update(weights, grads, mean, var, [1], [0.1], [0.01], out=weights)
    right = [[0.7301625, 1.7274909], [2.7248192, 3.7221475]]  # MXNet 1.9.1
    np.testing.assert_allclose(weights[0].asnumpy(), right, rtol=1e-6)


def test_a_module_ignores_parameters_of_other_layers():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    arrays = {"fc_weight": nd.ones((2, 3)), "fc_bias": nd.zeros(2), "other": nd.ones(2)}
    for fill in ("set_params", "init_params"):
        module = mx.mod.Module(net, label_names=None)
        module.bind([("data", (1, 3))], for_training=False)
        getattr(module, fill)(arg_params=arrays, aux_params={"state": nd.ones(2)})
        assert sorted(module.get_params()[0]) == ["fc_bias", "fc_weight"]
    with pytest.raises(ValueError, match="other"):
        module.set_params(arrays, {}, allow_missing=True)
    with pytest.raises(RuntimeError, match="fc_bias"):
        module.set_params({"fc_weight": nd.ones((2, 3))}, {})


def test_the_executors_of_a_module():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="softmax")
    module = mx.mod.Module(net)
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    group = module._exec_group
    assert group.batch_size == 4 and group.data_names == ["data"] and group.label_names == ["softmax_label"]
    for rows in (2, 5):
        module.forward(mx.io.DataBatch([nd.ones((rows, 3))], [nd.zeros(rows)]), is_train=False)
        assert group.batch_size == rows and group.slices == [slice(0, rows)]
        (name, found), *_ = group.execs[0].output_dict.items()
        assert name == "softmax_output" and found.asnumpy().tolist() == [[0.5, 0.5]] * rows


class Calls:
    def method(self, f, x, y):
        return f.exp(x) * y

    @classmethod
    def of_class(cls, f, x, y):
        return f.exp(x) * y

    def __call__(self, f, x, y):
        return f.exp(x) * y


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("function", [Calls().method, Calls.of_class, Calls(), lambda f, x, y: f.exp(x) * y])
def test_functions_of_every_kind_as_layers(function, hybridize):
    layer = gluon.nn.HybridLambda(function)
    layer.hybridize(hybridize)
    a, b = np.array([[0.5, -1.0]], "f"), np.array([[2.0, 3.0]], "f")
    for _ in range(2):
        np.testing.assert_allclose(layer(nd.array(a), nd.array(b)).asnumpy(), np.exp(a) * b, rtol=1e-6)


def test_a_function_without_f_as_a_layer():
    x = nd.array([-1.0, 2.0])
    for function in (lambda x: x * 2, nd.relu, "relu"):
        assert gluon.nn.HybridLambda(function)(x).shape == (2,)


# ---- one element of a legacy array ----


def test_an_element_has_an_axis():
    a = nd.array([1, 2, 3])
    assert [x.shape for x in a] == [(1,)] * 3 and nd.ones((2, 3))[1, 2].shape == (1,)
    assert a[0][0].asscalar() == 1 and float(a[1]) == 2 and int(a[2]) == 3 and len(a[0]) == 1
    assert nd.concat(*[a[i] for i in range(3)], dim=0).shape == (3,)
    assert nd.stack(*list(a)).shape == (3, 1) and nd.one_hot(a[0], 5).shape == (1, 5)
    a[0][:] = 9  # a view, as in MXNet
    assert a.asnumpy().tolist() == [9, 2, 3]
    a.attach_grad()
    with mx.autograd.record():
        y = a[1] * a[2]
    y.backward()
    assert y.shape == (1,) and a.grad.asnumpy().tolist() == [0, 3, 2]


def test_an_element_where_shapes_are_numpys():
    with mx.np_shape():
        a = nd.array([1, 2])
        assert a[0].shape == () and [x.shape for x in a] == [(), ()]
    assert mx.np.array([1, 2])[0].shape == ()


# ---- shapes with unknown sizes ----

var = mx.sym.var
PARTIAL = {
    "reshape, 0 and -1": (lambda x: mx.sym.reshape(x, shape=(0, -1)), (0, 3, 4), (0, 12)),
    "reshape, -1 in front": (lambda x: mx.sym.reshape(x, shape=(-1, 4)), (0, 3, 4), (0, 4)),
    "reshape, -2": (lambda x: mx.sym.reshape(x, shape=(-2,)), (0, 3, 4), (0, 3, 4)),
    "reshape, -3": (lambda x: mx.sym.reshape(x, shape=(0, -3)), (0, 3, 4), (0, 12)),
    "reshape, -4": (lambda x: mx.sym.reshape(x, shape=(-4, 2, -1, 0)), (0, 4), (2, 0, 4)),
    "slice": (lambda x: mx.sym.slice(x, begin=(None, 1), end=(None, 3)), (0, 5), (0, 2)),
    "slice_axis": (lambda x: mx.sym.slice_axis(x, axis=1, begin=1, end=3), (0, 5), (0, 2)),
    "slice of an unknown axis": (lambda x: mx.sym.slice_axis(x, axis=0, begin=1, end=3), (0, 5), (0, 5)),
    "expand_dims": (lambda x: mx.sym.expand_dims(x, axis=1), (0, 3), (0, 1, 3)),
    "squeeze": (lambda x: mx.sym.squeeze(x, axis=1), (0, 1, 3), (0, 3)),
    "repeat": (lambda x: mx.sym.repeat(x, repeats=2, axis=1), (0, 4), (0, 8)),
    "tile": (lambda x: mx.sym.tile(x, reps=(1, 2)), (0, 4), (0, 8)),
    "reverse": (lambda x: mx.sym.reverse(x, axis=0), (0, 7), (0, 7)),
    "broadcast_to": (lambda x: mx.sym.broadcast_to(x, shape=(0, 4)), (0, 1), (0, 4)),
    "UpSampling": (lambda x: mx.sym.UpSampling(x, scale=2, sample_type="nearest"), (0, 7, 4, 4), (0, 7, 8, 8)),
    "depth_to_space": (lambda x: mx.sym.depth_to_space(x, block_size=2), (0, 4, 3, 3), (0, 1, 6, 6)),
    "dot": (lambda x: mx.sym.dot(x, var("w", shape=(5, 3))), (0, 5), (0, 3)),
    "dense": (lambda x: mx.sym.FullyConnected(x, num_hidden=4), (0, 7), (0, 4)),
}


@pytest.mark.parametrize("name", PARTIAL)
def test_partial_shapes(name):
    function, given, right = PARTIAL[name]
    assert [tuple(s) for s in function(var("x")).infer_shape_partial(x=given)[1]] == [right]


def test_partial_shapes_meet_others():
    both = mx.sym.elemwise_add(mx.sym.reshape(var("x"), shape=(0, -1)), var("y"))
    assert both.infer_shape_partial(x=(0, 3, 4), y=(5, 12))[0] == [(5, 3, 4), (5, 12)]
    like = mx.sym.slice_like(var("x"), var("y"), axes=(1,))
    assert like.infer_shape_partial(x=(0, 4), y=(0, 2))[1] == [(0, 2)]


class Product(gluon.HybridBlock):
    def __init__(self, product, shape):
        super().__init__()
        self.product = product
        with self.name_scope():
            self.w = self.params.get("w", shape=shape, allow_deferred_init=True)

    def hybrid_forward(self, F, x, w):
        return self.product(F, x, w)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "product, of_numpy",
    [
        (lambda F, x, w: x.dot(w), np.dot),
        (lambda F, x, w: F.np.dot(x, w), np.dot),
        (lambda F, x, w: F.np.matmul(x, w), np.matmul),
        (lambda F, x, w: F.np.tensordot(x, w, axes=1), np.dot),
        (lambda F, x, w: F.np.tensordot(x, w, axes=((1,), (0,))), np.dot),
    ],
)
def test_weights_whose_size_follows_from_a_product(product, of_numpy, hybridize):
    with mx.util.np_array(), mx.util.np_shape():
        net = Product(product, (-1, 5))
        net.initialize()
        net.hybridize(hybridize)
        x = np.random.default_rng(0).uniform(-1, 1, (2, 7)).astype("f")
        found = net(mx.np.array(x))
        assert net.w.shape == (7, 5)
        np.testing.assert_allclose(found.asnumpy(), of_numpy(x, net.w.data().asnumpy()), atol=1e-5)


def test_products_with_more_axes_know_sizes_backwards():
    with mx.util.np_shape():
        product = amp.sym.np.matmul(var("x").as_np_ndarray(), var("w").as_np_ndarray())
        shapes = product.infer_shape_partial(x=(4, 2, 7), w=(-1, 5))
        assert shapes[0] == [(4, 2, 7), (7, 5)] and shapes[1] == [(4, 2, 5)]
        summed = amp.sym.np.tensordot(var("x").as_np_ndarray(), var("w").as_np_ndarray(), axes=((0, 2), (1, 0)))
        assert summed.infer_shape_partial(x=(4, 2, 7), w=(-1, -1, 3))[0] == [(4, 2, 7), (7, 4, 3)]


# ---- samples ----


def test_many_rows_of_probabilities():
    rows = np.tile([[0.2, 0.0, 0.5, 0.3], [0.0, 1.0, 0.0, 0.0]], (20000, 1)).astype("f")
    mx.random.seed(3)
    drawn = nd.random.multinomial(nd.array(rows)).asnumpy()
    assert drawn.shape == (40000,) and (drawn[1::2] == 1).all()
    shares = np.bincount(drawn[::2], minlength=4) / 20000
    np.testing.assert_allclose(shares, [0.2, 0, 0.5, 0.3], atol=0.02)
    assert nd.random.multinomial(nd.array(rows[:2]), shape=(3, 5)).shape == (2, 3, 5)


# ---- arrays with swapped bytes ----


def test_arrays_of_the_other_byte_order():
    swapped = np.arange(3).astype(">f4")
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
    module = mx.mod.Module(net, label_names=None)
    module.bind([("data", (1, 3))], for_training=False)
    module.set_params({"fc_weight": swapped.reshape(1, 3)}, {})
    module.forward(mx.io.DataBatch([swapped.reshape(1, 3)]))
    assert module.get_outputs()[0].asnumpy().tolist() == [[5.0]]
    parameter = gluon.Parameter("w", shape=(3,))
    parameter.initialize()
    parameter.set_data(swapped)
    found = [
        nd.array(swapped),
        nd.array(np.arange(3).astype(">i4"), dtype="int32"),
        mx.np.array(np.arange(3).astype(">f8")),
        mx.np.array(swapped) + swapped * 0,
        nd.zeros(3) + swapped,
        nd.relu(swapped),
        parameter.data(),
        next(mx.io.NDArrayIter(swapped.reshape(3, 1), batch_size=3)).data[0].reshape((3,)),
    ]
    for array in found:
        assert array.asnumpy().tolist() == [0, 1, 2]
    with pytest.raises(amp.ArgumentError, match="byte-swapped"):
        amp.NDArray(swapped)


# ---- dtypes ----


def test_dtypes_of_a_call_outweigh_stored_ones(tmp_path):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, in_units=4), gluon.nn.BatchNorm())
    net.initialize()
    net.hybridize()
    net(nd.ones((2, 4)))
    symbol = mx.sym.load(net.export(str(tmp_path / "net"))[0])
    bound = symbol.simple_bind(mx.cpu(), data=(2, 4), type_dict={"data": "float16"})
    dtypes = [np.dtype(array.dtype) for array in bound.arg_arrays]
    assert dtypes == [np.float16] * 3 + [np.float32] * 2 and bound.forward()[0].dtype == np.float16


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cast_of_a_net_with_a_symbol_block(dtype):
    data = mx.sym.var("data")
    node = mx.sym.Convolution(data, num_filter=4, kernel=(3, 3), name="conv")
    inner = gluon.SymbolBlock(mx.sym.BatchNorm(node, name="bn", fix_gamma=False), data)
    net = gluon.nn.HybridSequential()
    net.add(inner, gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.initialize(mx.init.Uniform(0.5))
    x = nd.array(np.random.default_rng(1).uniform(-1, 1, (2, 3, 6, 6)))
    right = net(x).asnumpy()
    net.cast(dtype)
    for hybridize in (False, True):
        net.hybridize(hybridize)
        found = net(x.astype(dtype))
        assert found.dtype == nd.array([0], dtype=dtype).dtype
        np.testing.assert_allclose(found.astype("float32").asnumpy(), right, atol=0.05)
    names = {name: np.dtype(parameter.dtype) for name, parameter in inner.collect_params().items()}
    assert names["bn_gamma"] == names["bn_moving_var"] == np.float32 and names["conv_weight"] == found.dtype


def test_amp_meets_operands_of_two_dtypes():
    mx.amp.init("bfloat16")
    try:
        out = nd.FullyConnected(nd.ones((2, 4)), nd.ones((3, 4)), no_bias=True, num_hidden=3)
        assert out.dtype == nd.bfloat16
        for label in (nd.ones((2, 3)), nd.ones((2, 3), dtype="int32")):
            assert (nd.elemwise_mul(out, label)).asnumpy().tolist() == [[4.0] * 3] * 2
        chosen = nd.where(nd.ones((2, 3)), out, nd.zeros((2, 3)))
        assert chosen.dtype == np.float32 and chosen.asnumpy().tolist() == [[4.0] * 3] * 2
        weight = gluon.Parameter("weight", shape=(1,), init="ones")
        weight.initialize()
        trainer = gluon.Trainer([weight], "sgd")
        assert trainer._amp_loss_scaler is None
        mx.amp.init_trainer(trainer)  # bfloat16 needs no scale
        assert trainer._amp_loss_scaler.loss_scale == trainer.amp_loss_scale == 1
    finally:
        amp._autocast.begin(None)


def test_conversions_in_the_form_of_the_2_0_beta():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    arrays = {"fc_weight": nd.ones((3, 4)), "fc_bias": nd.zeros(3)}
    symbols = [
        mx.amp.convert_symbol(net, "bfloat16"),
        mx.amp.convert_symbol(net, target_dtype="bfloat16", data_names=["data"]),
        mx.amp.convert_model(net, arrays, {}, target_dtype="bfloat16")[0],
        mx.amp.convert_symbol(net, {"data": "float32"}, dict.fromkeys(arrays, "float32"), "bfloat16"),
    ]
    assert len({symbol.tojson() for symbol in symbols}) == 1
    for symbol in symbols:
        assert symbol.eval(data=nd.ones((1, 4)), **arrays)[0].asnumpy().tolist() == [[4.0, 4.0, 4.0]]
