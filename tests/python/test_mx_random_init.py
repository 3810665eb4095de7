"""Random arrays and initializers."""

import numpy as np
import pytest

import amp

N = 20000


@pytest.mark.parametrize(
    "draw, mean, deviation",
    [
        (lambda **k: amp.random.uniform(-1, 3, **k), 1, 4 / np.sqrt(12)),
        (lambda **k: amp.random.normal(2, 0.5, **k), 2, 0.5),
        (lambda **k: amp.random.exponential(3, **k), 3, 3),
        (lambda **k: amp.random.gamma(4, 0.5, **k), 2, 1),
        (lambda **k: amp.random.poisson(4, **k), 4, 2),
        (lambda **k: amp.random.negative_binomial(5, 0.5, **k), 5, np.sqrt(10)),
        (lambda **k: amp.random.generalized_negative_binomial(4, 0.25, **k), 4, np.sqrt(8)),
        (lambda **k: amp.random.randint(0, 9, **k), 4, np.sqrt(80 / 12)),
    ],
)
def test_distributions(draw, mean, deviation):
    amp.random.seed(1)
    array = draw(shape=(2, N), ctx=amp.cpu())
    assert isinstance(array, amp.nd.NDArray) and array.shape == (2, N)
    assert array.dtype in (np.float32, np.int32)
    values = array.asnumpy().astype("f8")
    assert abs(values.mean() - mean) < 5 * deviation / np.sqrt(2 * N)
    assert abs(values.std() - deviation) < 0.05 * deviation
    amp.random.seed(1)
    np.testing.assert_array_equal(draw(shape=(2, N)).asnumpy(), array.asnumpy())
    assert (draw(shape=(2, N)).asnumpy() != array.asnumpy()).any()


def test_shapes_dtypes_and_out():
    assert amp.random.uniform().shape == (1,) and amp.random.uniform(shape=3).shape == (3,)
    assert amp.random.randn(2, 3).shape == (2, 3) and amp.random.normal(shape=(0, 2)).shape == (0, 2)
    assert amp.random.uniform(dtype="float64", shape=2).dtype == np.float64
    assert amp.dtype_name(amp.random.uniform(shape=2, dtype="bfloat16").dtype) == "bfloat16"
    out = amp.nd.array(np.zeros((4, 5)))
    assert amp.random.uniform(2, 3, out=out) is out and (out.asnumpy() >= 2).all()
    with pytest.raises(amp.ArgumentError, match=r"out: expected shape \(2,\), got \(4, 5\)"):
        amp.random.uniform(shape=2, out=out)
    for shape in ("3", (2, -1), (1.5,)):
        with pytest.raises(amp.ArgumentError, match="uniform: expected a shape of integers"):
            amp.random.uniform(shape=shape)
    with pytest.raises(amp.ArgumentError, match="normal: scale < 0"):
        amp.random.normal(0, -1, shape=2)


def test_arrays_of_parameters():
    low, high = amp.nd.array([0, 10]), amp.nd.array([1, 20])
    array = amp.random.uniform(low, high, shape=3).asnumpy()
    assert array.shape == (2, 3) and (array[0] < 1).all() and (array[1] >= 10).all()
    assert amp.random.normal(low, 1).shape == (2,)


def test_multinomial():
    amp.random.seed(2)
    assert amp.random.multinomial(amp.nd.array([0, 0, 1])).asnumpy().tolist() == [2]
    drawn, logs = amp.random.multinomial(amp.nd.array([[0.25, 0.75], [1, 0]]), shape=N, get_prob=True)
    assert drawn.shape == logs.shape == (2, N) and drawn.dtype == np.int32
    values = drawn.asnumpy()
    assert abs(values[0].mean() - 0.75) < 0.02 and not values[1].any()
    np.testing.assert_allclose(logs.asnumpy()[0], np.log([0.25, 0.75])[values[0]], rtol=1e-6)
    assert amp.random.multinomial(np.zeros((0, 3)), shape=2).shape == (0, 2)
    for bad in ([0.5, 0.2], [1.5, -0.5], 1.0):
        with pytest.raises(amp.ArgumentError, match="expected probabilities that sum to 1"):
            amp.random.multinomial(np.array(bad))


def test_shuffle():
    rows = np.arange(60).reshape(20, 3)
    shuffled = amp.random.shuffle(amp.nd.array(rows)).asnumpy()
    assert sorted(shuffled.tolist()) == rows.tolist() and (shuffled != rows).any()


# ---- initializers ----


def filled(initializer, name="fc_weight", shape=(40, 30, 3, 3), **desc):
    array = amp.nd.NDArray(np.full(shape, 9, "f4"))
    initializer(amp.init.InitDesc(name, **desc), array)
    return array.asnumpy()


@pytest.mark.parametrize(
    "initializer, deviation",
    [
        (amp.init.Uniform(0.5), 0.5 / np.sqrt(3)),
        (amp.init.Normal(0.3), 0.3),
        (amp.init.Xavier(), np.sqrt(3 / (35 * 9)) / np.sqrt(3)),
        (amp.init.Xavier(factor_type="in", magnitude=2.34), np.sqrt(2.34 / (30 * 9)) / np.sqrt(3)),
        (amp.init.Xavier("gaussian", "out", 2), np.sqrt(2 / (40 * 9))),
        (amp.init.MSRAPrelu(), np.sqrt(2 / (1 + 0.25**2) / (35 * 9))),
    ],
)
def test_random_weights(initializer, deviation):
    amp.random.seed(4)
    weight = filled(initializer)
    assert abs(weight.mean()) < 5 * deviation / np.sqrt(weight.size) and abs(weight.std() / deviation - 1) < 0.05
    again = amp.init.create(initializer.dumps())
    assert again == initializer and repr(again) == repr(initializer)
    amp.random.seed(4)
    np.testing.assert_array_equal(filled(again), weight)


def test_the_end_of_the_name_says_what_it_is_for():
    random = amp.init.Normal(1)
    for name in "bias beta moving_mean running_mean x_min moving_avg".split():
        assert (filled(random, f"bn_{name}") == 0).all(), name
    for name in "gamma moving_var running_var x_max".split():
        assert (filled(random, f"bn_{name}") == 1).all(), name
    assert filled(random, "weight").std() > 0.9
    with pytest.raises(amp.ArgumentError, match="'state': the name does not say what the array is for"):
        filled(random, "state")
    assert (filled(amp.init.Constant(3), "state") == 3).all() and (filled(amp.init.Zero(), "state") == 0).all()
    assert (filled(amp.init.Constant(3), "bias") == 0).all()
    assert (filled(random, "bias", attrs={"__init__": amp.init.One().dumps()}) == 1).all()


def test_orthogonal():
    for shape in ((8, 20), (20, 8)):
        weight = filled(amp.init.Orthogonal(scale=2), shape=shape)
        smaller = weight if shape[0] < shape[1] else weight.T
        np.testing.assert_allclose(smaller @ smaller.T, 4 * np.eye(8), atol=1e-5)


def test_bilinear_interpolates():
    """What MXNet 1.9.1 gives."""
    row = np.array([0.25, 0.75, 0.75, 0.25])
    np.testing.assert_allclose(
        filled(amp.init.Bilinear(), shape=(2, 1, 4, 4)), np.outer(row, row)[None, None] + np.zeros((2, 1, 1, 1))
    )


def test_lstm_bias_and_constants():
    assert filled(amp.init.LSTMBias(2.0), "lstm_bias", (8,)).tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    values = np.arange(6, dtype="f4").reshape(2, 3)
    assert (filled(amp.init.Constant(values), shape=(2, 3)) == values).all()
    assert amp.init.create(amp.init.Constant(values).dumps()).value == values.tolist()


def test_by_name():
    assert isinstance(amp.init.create("xavier", magnitude=2), amp.init.Xavier)
    assert isinstance(amp.init.create("zeros"), amp.init.Zero) and amp.init.create(None) is None
    with pytest.raises(amp.ArgumentError, match="unknown initializer 'xavir'; did you mean 'xavier'"):
        amp.init.create("xavir")
    assert amp.init is amp.initializer


def test_own_initializers():
    @amp.init.register
    class Halves(amp.init.Initializer):
        def __init__(self, mean=0, bounded=True):
            super().__init__(mean=mean, bounded=bounded)

        def _init_weight(self, name, arr):
            arr[:] = 0.5

    assert (filled(Halves()) == 0.5).all() and Halves().dumps() == '["halves", {"mean": 0, "bounded": true}]'
    assert isinstance(amp.init.create("halves"), Halves)
    variable = amp.sym.Variable("w", init=Halves())
    assert (filled(amp.init.Zero(), "w", attrs=variable.attr_dict()["w"]) == 0.5).all()


def test_mixed_and_load(tmp_path):
    mixed = amp.init.Mixed(["fc.*", ".*"], [amp.init.One(), "zeros"])
    assert (filled(mixed, "fc_weight") == 1).all() and (filled(mixed, "conv_weight") == 0).all()
    with pytest.raises(amp.ArgumentError, match="fits no pattern"):
        amp.init.Mixed(["fc"], [amp.init.One()])("conv_weight", np.zeros(3))
    path = str(tmp_path / "x.params")
    amp.nd.save(path, {"arg:w": np.full((2,), 7, "f4")})
    load = amp.init.Load(path, default_init=amp.init.One())
    assert (filled(load, "w", (2,)) == 7).all() and (filled(load, "v_weight", (2,)) == 1).all()
    with pytest.raises(amp.ArgumentError, match=r"'w': expected shape \(3,\), got \(2,\)"):
        filled(load, "w", (3,))
    with pytest.raises(amp.ArgumentError, match="'v' is not among the arrays"):
        filled(amp.init.Load(path), "v")


def test_other_arrays():
    weight = np.zeros((4, 4), "f8")
    amp.init.Xavier()("weight", weight)
    assert weight.any()
    low = amp.nd.array(np.zeros((4, 4)), dtype="bfloat16")
    amp.init.Normal(1)("weight", low)
    assert low.asnumpy().astype("f4").any() and amp.dtype_name(low.dtype) == "bfloat16"


@pytest.mark.parametrize(
    "mistake, message",
    [
        (
            lambda: filled(amp.init.Xavier(), shape=(3,)),
            r"expected a weight with two axes or more, 'fc_weight' has \(3,\)",
        ),
        (lambda: amp.init.Xavier("normal"), "rnd_type: expected 'uniform' or 'gaussian', got 'normal'"),
        (lambda: amp.init.Xavier(factor_type="all"), "factor_type: expected 'in', 'out' or 'avg', got 'all'"),
        (lambda: amp.random.seed("a"), "seed: expected an integer, got 'a'"),
        (lambda: amp.random.shuffle(np.float32(1)), "expected an array with rows"),
        (lambda: amp.random.uniform(np.zeros(2), np.ones(3)), r"shapes of parameters differ: \[\(2,\), \(3,\)\]"),
        (lambda: amp.init.create("xavier", size=3), "initializer 'xavier': .*unexpected keyword argument 'size'"),
        (lambda: amp.init.create('["xavier"'), "initializer .*Expecting"),
        (lambda: filled(amp.init.Bilinear(), shape=(3,)), "expected a weight with four axes"),
        (lambda: filled(amp.init.Orthogonal(), shape=(3,)), "expected a weight with two axes or more"),
        (lambda: amp.init.Mixed(["("], ["zeros"]), "a pattern is no regular expression"),
        (lambda: amp.init.Load(5), "expected a dict {name: array} or a file of one, got int"),
        (lambda: amp.init.Mixed(["a"], []), "got 1 patterns and 0 initializers"),
        (lambda: amp.init.One()(3, np.zeros(3)), "expected a name or an InitDesc, got int"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.ArgumentError, match=message):
        mistake()


def test_a_class_that_does_not_say_how():
    with pytest.raises(NotImplementedError, match="Initializer does not say what weights begin with"):
        filled(amp.init.Initializer())
