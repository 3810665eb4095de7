"""Random arrays and initializers."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

N = 20000


@pytest.mark.parametrize(
    "draw, mean, deviation",
    [
        (lambda **k: mx.random.uniform(-1, 3, **k), 1, 4 / np.sqrt(12)),
        (lambda **k: mx.random.normal(2, 0.5, **k), 2, 0.5),
        (lambda **k: mx.random.exponential(3, **k), 3, 3),
        (lambda **k: mx.random.gamma(4, 0.5, **k), 2, 1),
        (lambda **k: mx.random.poisson(4, **k), 4, 2),
        (lambda **k: mx.random.negative_binomial(5, 0.5, **k), 5, np.sqrt(10)),
        (lambda **k: mx.random.generalized_negative_binomial(4, 0.25, **k), 4, np.sqrt(8)),
        (lambda **k: mx.random.randint(0, 9, **k), 4, np.sqrt(80 / 12)),
    ],
)
def test_distributions(draw, mean, deviation):
    mx.random.seed(1)
    array = draw(shape=(2, N), ctx=mx.cpu())
    assert isinstance(array, amp.nd.NDArray) and array.shape == (2, N)
    assert array.dtype in (np.float32, np.int32)
    values = array.asnumpy().astype("f8")
    assert abs(values.mean() - mean) < 5 * deviation / np.sqrt(2 * N)
    assert abs(values.std() - deviation) < 0.05 * deviation
    mx.random.seed(1)
    np.testing.assert_array_equal(draw(shape=(2, N)).asnumpy(), array.asnumpy())
    assert (draw(shape=(2, N)).asnumpy() != array.asnumpy()).any()


def test_shapes_dtypes_and_out():
    assert mx.random.uniform().shape == (1,) and mx.random.uniform(shape=3).shape == (3,)
    assert mx.random.randn(2, 3).shape == (2, 3) and mx.random.normal(shape=(0, 2)).shape == (0, 2)
    assert mx.random.uniform(dtype="float64", shape=2).dtype == np.float64
    assert amp.dtype_name(mx.random.uniform(shape=2, dtype="bfloat16").dtype) == "bfloat16"
    out = amp.nd.array(np.zeros((4, 5)))
    assert mx.random.uniform(2, 3, out=out) is out and (out.asnumpy() >= 2).all()
    with pytest.raises(amp.ArgumentError, match=r"out: expected shape \(2,\), got \(4, 5\)"):
        mx.random.uniform(shape=2, out=out)
    for shape in ("3", (2, -1), (1.5,)):
        with pytest.raises(amp.ArgumentError, match="uniform: expected a shape of integers"):
            mx.random.uniform(shape=shape)
    with pytest.raises(amp.ArgumentError, match="normal: scale < 0"):
        mx.random.normal(0, -1, shape=2)


def test_arrays_of_parameters():
    low, high = amp.nd.array([0, 10]), amp.nd.array([1, 20])
    array = mx.random.uniform(low, high, shape=3).asnumpy()
    assert array.shape == (2, 3) and (array[0] < 1).all() and (array[1] >= 10).all()
    assert mx.random.normal(low, 1).shape == (2,)


def test_multinomial():
    mx.random.seed(2)
    assert mx.random.multinomial(amp.nd.array([0, 0, 1])).asnumpy().tolist() == [2]
    drawn, logs = mx.random.multinomial(amp.nd.array([[0.25, 0.75], [1, 0]]), shape=N, get_prob=True)
    assert drawn.shape == logs.shape == (2, N) and drawn.dtype == np.int32
    values = drawn.asnumpy()
    assert abs(values[0].mean() - 0.75) < 0.02 and not values[1].any()
    np.testing.assert_allclose(logs.asnumpy()[0], np.log([0.25, 0.75])[values[0]], rtol=1e-6)
    assert mx.random.multinomial(np.zeros((0, 3)), shape=2).shape == (0, 2)
    weights = mx.random.multinomial(amp.nd.array([3, 1, 0]), shape=N).asnumpy()  # in proportion
    assert abs(weights.mean() - 0.25) < 0.02 and weights.max() == 1
    for bad in ([1.5, -0.5], [0.5, np.nan], [np.inf, 1], [[1, 0], [0, 0]], [1e308, 1e308], np.zeros((2, 0)), 1.0):
        with pytest.raises(amp.ArgumentError, match="expected rows of probabilities, got"):
            mx.random.multinomial(np.array(bad))


def test_names_of_mxnet_2():
    mx.random.seed(3)
    drawn = mx.nd.random.binomial(10, 0.25, shape=(2000,)).asnumpy()
    assert drawn.min() >= 0 and drawn.max() <= 10 and abs(drawn.mean() - 2.5) < 0.15
    rows = mx.nd.random.binomial(mx.nd.array([0, 5]), mx.nd.array([0.5, 1]), shape=3)
    assert rows.asnumpy().tolist() == [[0] * 3, [5] * 3]
    indices, logs = mx.nd.random.categorical(mx.nd.array([[0, 1], [1, 0]]), shape=2, get_prob=True)
    assert indices.asnumpy().tolist() == [[1, 1], [0, 0]] and logs.asnumpy().tolist() == [[0, 0], [0, 0]]
    symbol = mx.sym.random.categorical(mx.sym.Variable("p"), shape=2)
    assert symbol.bind(mx.cpu(), {"p": mx.nd.array([0, 1])}).forward()[0].asnumpy().tolist() == [1, 1]
    with pytest.raises(amp.ArgumentError, match="binomial: .*p > 1"):
        mx.nd.random.binomial(3, 2)


def test_shuffle():
    rows = np.arange(60).reshape(20, 3)
    shuffled = mx.random.shuffle(amp.nd.array(rows)).asnumpy()
    assert sorted(shuffled.tolist()) == rows.tolist() and (shuffled != rows).any()


# ---- initializers ----


def filled(initializer, name="fc_weight", shape=(40, 30, 3, 3), **desc):
    array = amp.nd.NDArray(np.full(shape, 9, "f4"))
    initializer(mx.init.InitDesc(name, **desc), array)
    return array.asnumpy()


@pytest.mark.parametrize(
    "initializer, deviation",
    [
        (mx.init.Uniform(0.5), 0.5 / np.sqrt(3)),
        (mx.init.Normal(0.3), 0.3),
        (mx.init.Xavier(), np.sqrt(3 / (35 * 9)) / np.sqrt(3)),
        (mx.init.Xavier(factor_type="in", magnitude=2.34), np.sqrt(2.34 / (30 * 9)) / np.sqrt(3)),
        (mx.init.Xavier("gaussian", "out", 2), np.sqrt(2 / (40 * 9))),
        (mx.init.MSRAPrelu(), np.sqrt(2 / (1 + 0.25**2) / (35 * 9))),
    ],
)
def test_random_weights(initializer, deviation):
    mx.random.seed(4)
    weight = filled(initializer)
    assert abs(weight.mean()) < 5 * deviation / np.sqrt(weight.size) and abs(weight.std() / deviation - 1) < 0.05
    again = mx.init.create(initializer.dumps())
    assert again == initializer and repr(again) == repr(initializer)
    mx.random.seed(4)
    np.testing.assert_array_equal(filled(again), weight)


def test_the_end_of_the_name_says_what_it_is_for():
    random = mx.init.Normal(1)
    for name in "bias beta moving_mean running_mean x_min moving_avg".split():
        assert (filled(random, f"bn_{name}") == 0).all(), name
    for name in "gamma moving_var running_var x_max".split():
        assert (filled(random, f"bn_{name}") == 1).all(), name
    assert filled(random, "weight").std() > 0.9
    with pytest.raises(amp.ArgumentError, match="'state': the name does not say what the array is for"):
        filled(random, "state")
    assert (filled(mx.init.Constant(3), "state") == 3).all() and (filled(mx.init.Zero(), "state") == 0).all()
    assert (filled(mx.init.Constant(3), "bias") == 0).all()
    assert (filled(random, "bias", attrs={"__init__": mx.init.One().dumps()}) == 1).all()


def test_orthogonal():
    for shape in ((8, 20), (20, 8)):
        weight = filled(mx.init.Orthogonal(scale=2), shape=shape)
        smaller = weight if shape[0] < shape[1] else weight.T
        np.testing.assert_allclose(smaller @ smaller.T, 4 * np.eye(8), atol=1e-5)


def test_bilinear_interpolates():
    """What MXNet 1.9.1 gives."""
    row = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(
        filled(mx.init.Bilinear(), shape=(2, 1, 4, 4)), np.outer(row, row)[None, None] + np.zeros((2, 1, 1, 1))
    )


def test_lstm_bias_and_constants():
    assert filled(mx.init.LSTMBias(2.0), "lstm_bias", (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    values = np.arange(6, dtype="f4").reshape(2, 3)
    assert (filled(mx.init.Constant(values), shape=(2, 3)) == values).all()
    assert mx.init.create(mx.init.Constant(values).dumps()).value == values.tolist()


def test_by_name():
    assert isinstance(mx.init.create("xavier", magnitude=2), mx.init.Xavier)
    assert isinstance(mx.init.create("zeros"), mx.init.Zero) and mx.init.create(None) is None
    with pytest.raises(amp.ArgumentError, match="unknown initializer 'xavir'; did you mean 'xavier'"):
        mx.init.create("xavir")
    assert mx.init is mx.initializer


def test_own_initializers():
    @mx.init.register
    class Halves(mx.init.Initializer):
        def __init__(self, mean=0, bounded=True):
            super().__init__(mean=mean, bounded=bounded)

        def _init_weight(self, name, arr):
            arr[:] = 0.5

    assert (filled(Halves()) == 0.5).all() and Halves().dumps() == '["halves", {"mean": 0, "bounded": true}]'
    assert isinstance(mx.init.create("halves"), Halves)
    variable = amp.sym.Variable("w", init=Halves())
    assert (filled(mx.init.Zero(), "w", attrs=variable.attr_dict()["w"]) == 0.5).all()


def test_mixed_and_load(tmp_path):
    mixed = mx.init.Mixed(["fc.*", ".*"], [mx.init.One(), "zeros"])
    assert (filled(mixed, "fc_weight") == 1).all() and (filled(mixed, "conv_weight") == 0).all()
    with pytest.raises(amp.ArgumentError, match="fits no pattern"):
        mx.init.Mixed(["fc"], [mx.init.One()])("conv_weight", np.zeros(3))
    path = str(tmp_path / "x.params")
    amp.nd.save(path, {"arg:w": np.full((2,), 7, "f4")})
    load = mx.init.Load(path, default_init=mx.init.One())
    assert (filled(load, "w", (2,)) == 7).all() and (filled(load, "v_weight", (2,)) == 1).all()
    with pytest.raises(amp.ArgumentError, match=r"'w': expected shape \(3,\), got \(2,\)"):
        filled(load, "w", (3,))
    with pytest.raises(amp.ArgumentError, match="'v' is not among the arrays"):
        filled(mx.init.Load(path), "v")


def test_other_arrays():
    weight = np.zeros((4, 4), "f8")
    mx.init.Xavier()("weight", weight)
    assert weight.any()
    low = amp.nd.array(np.zeros((4, 4)), dtype="bfloat16")
    mx.init.Normal(1)("weight", low)
    assert low.asnumpy().astype("f4").any() and amp.dtype_name(low.dtype) == "bfloat16"


@pytest.mark.parametrize(
    "mistake, message",
    [
        (
            lambda: filled(mx.init.Xavier(), shape=(3,)),
            r"expected a weight with two axes or more, 'fc_weight' has \(3,\)",
        ),
        (lambda: mx.init.Xavier("normal"), "rnd_type: expected 'uniform' or 'gaussian', got 'normal'"),
        (lambda: mx.init.Xavier(factor_type="all"), "factor_type: expected 'in', 'out' or 'avg', got 'all'"),
        (lambda: mx.random.seed("a"), "seed: expected an integer, got 'a'"),
        (lambda: mx.random.shuffle(np.float32(1)), "expected an array with rows"),
        (lambda: mx.random.uniform(np.zeros(2), np.ones(3)), r"shapes of parameters differ: \[\(2,\), \(3,\)\]"),
        (lambda: mx.init.create("xavier", size=3), "initializer 'xavier': .*unexpected keyword argument 'size'"),
        (lambda: mx.init.create('["xavier"'), "initializer .*Expecting"),
        (lambda: filled(mx.init.Bilinear(), shape=(3,)), "expected a weight with four axes"),
        (lambda: filled(mx.init.Orthogonal(), shape=(3,)), "expected a weight with two axes or more"),
        (lambda: mx.init.Mixed(["("], ["zeros"]), "a pattern is no regular expression"),
        (lambda: mx.init.Load(5), "expected a dict {name: array} or a file of one, got int"),
        (lambda: mx.init.Mixed(["a"], []), "got 1 patterns and 0 initializers"),
        (lambda: mx.init.One()(3, np.zeros(3)), "expected a name or an InitDesc, got int"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.ArgumentError, match=message):
        mistake()


def test_a_class_that_does_not_say_how():
    with pytest.raises(NotImplementedError, match="Initializer does not say what weights begin with"):
        filled(mx.init.Initializer())


def test_prelu_starts_with_a_quarter():
    net = amp.sym.LeakyReLU(amp.sym.Variable("data"), act_type="prelu", name="act")
    mod = mx.mod.Module(net, label_names=None)
    mod.bind([("data", (1, 3))])
    mod.init_params(mx.init.Zero())
    assert mod.get_params()[0]["act_gamma"].asnumpy().tolist() == [0.25] * 3


@pytest.mark.parametrize(("shape", "size"), [(None, ()), (4, (4,)), ((4, 5), (4, 5))])
def test_multinomial_counts_of_mxnet_2(shape, size):
    mx.random.seed(3)
    n, p = mx.nd.array([1000, 10]), mx.nd.array([[0.5, 0.25, 0.25], [0, 0, 1]])
    for counts in (mx.nd.random.multinomial(n=n, p=p, shape=shape), mx.nd.random.multinomial(n, p, shape)):
        assert counts.shape == (2, *size, 3) and counts.dtype == np.float32
        values = counts.asnumpy().reshape(2, -1, 3)
        assert (values.sum(-1) == [[1000], [10]]).all() and (values[1] == [0, 0, 10]).all()
        np.testing.assert_allclose(values[0].mean(0), [500, 250, 250], atol=60)
    assert mx.nd.random.multinomial(n=n, p=p, dtype="int32").dtype == np.int32
    with pytest.raises(amp.ArgumentError, match="p of shape"):
        mx.nd.random.multinomial(n=n, p=p[0])


def test_multinomial_takes_a_device():
    drawn = mx.nd.random.multinomial(n=mx.nd.array([9]), p=mx.nd.array([[0, 1]]), ctx=mx.cpu(1))
    assert drawn.asnumpy().tolist() == [[0, 9]] and drawn.context == mx.cpu(1)
    assert mx.nd.random.multinomial(mx.nd.array([0, 1]), ctx=mx.cpu()).asscalar() == 1


@pytest.mark.parametrize("name", ["normal", "uniform", "randn", "poisson"])
def test_draws_of_symbols_ignore_data_as_mxnet_does(name):
    drawn = getattr(mx.sym.random, name)(data=mx.sym.ones((2, 2)), dtype="float32") + mx.sym.zeros((2, 2))
    assert drawn.list_arguments() == [] and drawn.eval()[0].shape == (2, 2)
