"""Operators that draw random numbers: in symbols, on arrays and in hybridized blocks. Seeds are fixed."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx

F, X = amp.sym.random, amp.sym.Variable("x")
MANY = (400, 500)

# {function: (arguments, mean, standard deviation)}
FAMILIES = {
    "uniform": ((-1, 3), 1, 4 / np.sqrt(12)),
    "normal": ((2, 5), 2, 5),
    "gamma": ((2.5, 3), 7.5, 3 * np.sqrt(2.5)),
    "exponential": ((4,), 4, 4),
    "poisson": ((6,), 6, np.sqrt(6)),
    "negative_binomial": ((3, 0.4), 4.5, np.sqrt(4.5 / 0.4)),
    "generalized_negative_binomial": ((6, 0.5), 6, np.sqrt(6 + 0.5 * 36)),
}
COUNTS = ("poisson", "negative_binomial", "generalized_negative_binomial")
each_family = pytest.mark.parametrize("name", FAMILIES)


def executor(symbol, shapes=None, **options):
    return amp.Executor(symbol, {}, {}, shapes or {}, **options)


def run(symbol, **arrays):
    shapes = {name: array.shape for name, array in arrays.items()}
    dtypes = {name: array.dtype for name, array in arrays.items()}
    return executor(symbol, shapes, input_dtypes=dtypes)(arrays)[0].asnumpy()


def check(name, numbers, mean, deviation):
    """Within five standard errors. That of the variance is at most that of an exponential distribution's, sqrt(8)."""
    wide = numbers.astype("f8")
    assert abs(wide.mean() - mean) < 5 * deviation / np.sqrt(wide.size)
    assert abs(wide.var() / deviation**2 - 1) < 5 * np.sqrt(8 / wide.size)
    assert (numbers == np.floor(numbers)).all() == (name in COUNTS)


def operators_of(symbol):
    return {node["op"] for node in json.loads(symbol.tojson())["nodes"]}


# ---- distributions of numbers ----


@each_family
@pytest.mark.parametrize("options", [{}, {"backend": "reference"}, {"num_threads": 2}])
def test_numbers_have_their_moments(name, options):
    arguments, mean, deviation = FAMILIES[name]
    draws = executor(getattr(F, name)(*arguments, shape=MANY, name="noise"), **options)
    mx.random.seed(3)
    first, second = draws()[0].asnumpy(), draws()[0].asnumpy()
    assert first.shape == MANY and first.dtype == np.float32
    check(name, first, mean, deviation)
    check(name, second, mean, deviation)
    assert (first != second).any()
    mx.random.seed(3)
    assert (draws()[0].asnumpy() == first).all() and (draws()[0].asnumpy() == second).all()
    mx.random.seed(4)
    assert (draws()[0].asnumpy() != first).any()


@each_family
def test_backends_and_threads_draw_the_same_numbers(name):
    found = []
    for options in ({"num_threads": 1}, {"num_threads": 3}, {"backend": "reference"}, {"mode": "exact"}):
        mx.random.seed(5)
        noise = getattr(F, name)(*FAMILIES[name][0], shape=(70, 90), name="noise")
        found.append(executor(noise, **options)()[0].asnumpy())
    assert all((numbers == found[0]).all() for numbers in found)


@each_family
def test_parameters_may_be_arrays(name):
    arguments, mean, deviation = FAMILIES[name]
    inputs = {f"p{i}": np.array([[value, value]], "f4") for i, value in enumerate(arguments)}
    symbol = getattr(F, name)(*map(amp.sym.Variable, inputs), shape=MANY)
    mx.random.seed(6)
    numbers = run(symbol, **inputs)
    assert numbers.shape == (1, 2, *MANY) and (numbers[0, 0] != numbers[0, 1]).any()
    check(name, numbers, mean, deviation)
    assert run(getattr(F, name)(*map(amp.sym.Variable, inputs)), **inputs).shape == (1, 2)


@each_family
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_numbers_like_an_array(name, dtype):
    arguments, mean, deviation = FAMILIES[name]
    mx.random.seed(7)
    arguments = (1 / 4,) if name == "exponential" else arguments  # the operator takes the rate
    numbers = getattr(mx.nd.random, f"{name}_like")(mx.nd.zeros(MANY, dtype=dtype), *arguments).asnumpy()
    assert numbers.shape == MANY and numbers.dtype == dtype
    if dtype == "float64":
        check(name, numbers, mean, deviation)
    drawn = run(getattr(F, f"{name}_like")(X, *arguments), x=np.zeros((3, 4), "f4"))
    assert drawn.shape == (3, 4) and len(np.unique(drawn)) > 1


def test_plans_draw_by_kernels():
    each = F.gamma(amp.sym.Variable("a"), amp.sym.Variable("b"), shape=3)
    whole = amp.sym.Group([F.normal(shape=(2, 3)), F.normal_like(X), each])
    text = str(
        executor(whole, {"x": (4,), "a": (2,), "b": (2,)}).profile(*[np.ones(n, "f4") for n in (4, 2, 2)], runs=1)
    )
    assert text.count(" draw ") >= 3 and "on reference code: 0.0 %" in text


def test_rows_have_their_own_parameters():
    mx.random.seed(8)
    mean, deviation = np.array([-50, 0, 70], "f4"), np.array([1, 5, 0.1], "f4")
    numbers = run(F.normal(amp.sym.Variable("m"), amp.sym.Variable("d"), shape=20000), m=mean, d=deviation)
    assert np.abs(numbers.mean(1) - mean).max() < 0.2 and np.abs(numbers.std(1) / deviation - 1).max() < 0.03


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_uniform_numbers_stay_below_the_end_in_every_dtype(dtype):
    numbers = executor(F.uniform(0, 1, shape=MANY, dtype=dtype))()[0]
    assert str(numbers.dtype) == dtype
    wide = numbers.astype("float64").asnumpy()
    assert wide.min() >= 0 and wide.max() < 1 and abs(wide.mean() - 0.5) < 0.004


def test_shapes_follow_from_readers():
    ones = np.ones((3, 4), "f4")
    for shape in (None, (), (0, 4), (3, 0), (0, 0)):
        assert run(X + F.normal(0, 1, shape=shape), x=ones).std() > 0.1
    assert (X + F.normal(0, 1, shape=(0, 4))).infer_shape(x=(3, 4))[1] == [(3, 4)]
    assert executor(F.normal())()[0].shape == (1,)
    with pytest.raises(amp.GraphError, match="shape"):
        (X + F.normal(0, 1, shape=(2, 0))).infer_shape(x=(3, 4))


def test_arguments_are_those_of_mxnet():
    noise = mx.sym.random.normal(0, np.float32(2), shape=2, dtype=np.float16, ctx=mx.cpu(), name="noise")
    assert noise.attr_dict()["noise"] == {"loc": "0", "scale": "2.0", "shape": "2", "dtype": "float16"}
    assert noise.infer_type()[1] == [np.float16] and noise.infer_shape()[1] == [(2,)]
    assert executor(amp.sym.normal(shape=(2, 3)))()[0].shape == executor(F.randn(2, 3))()[0].shape == (2, 3)


def test_nodes_of_a_graph_draw_different_numbers():
    both = executor(amp.sym.Group([F.normal(shape=MANY, name="a"), F.normal(shape=MANY, name="b")]))
    a, b = (output.asnumpy() for output in both())
    assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.02


# ---- integers, classes, rows ----


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_equally_likely(dtype):
    mx.random.seed(9)
    numbers = executor(F.randint(-3, 4, shape=MANY, dtype=dtype))()[0].asnumpy()
    values, counts = np.unique(numbers, return_counts=True)
    assert numbers.dtype == dtype and values.tolist() == list(range(-3, 4))
    expected = numbers.size / 7
    assert ((counts - expected) ** 2 / expected).sum() < 22.5  # of chi square with six degrees of freedom: 1 in 1000
    wide = executor(F.randint(0, 2**62, shape=MANY, dtype="int64"))()[0].asnumpy()
    assert (
        abs(wide.astype("f8").mean() / 2**61 - 1) < 0.01 and executor(F.randint(0, 9, shape=1))()[0].dtype == np.int32
    )


def test_classes_have_their_probabilities():
    probabilities = np.array([[0.1, 0, 0.6, 0.3], [0, 1, 0, 0]], "f4")
    mx.random.seed(10)
    drawn = run(F.multinomial(X, shape=MANY, get_prob=False), x=probabilities)
    assert drawn.dtype == np.int32 and drawn.shape == (2, *MANY) and (drawn[1] == 1).all()
    shares = np.bincount(drawn[0].ravel(), minlength=4) / drawn[0].size
    assert np.abs(shares - probabilities[0]).max() < 5 * 0.5 / np.sqrt(drawn[0].size) and shares[1] == 0
    assert run(F.multinomial(X, get_prob=False), x=probabilities).shape == (2,)
    assert run(F.multinomial(X, get_prob=False), x=probabilities[0]).shape == (1,)


def test_classes_have_logarithms_with_a_gradient():
    probabilities = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], "f4")
    symbol = F.multinomial(X, shape=5, name="drawn")
    assert symbol.list_outputs() == ["drawn_output0", "drawn_output1"]
    bound = symbol.simple_bind(x=probabilities.shape)
    bound.arg_dict["x"][:] = probabilities
    classes, logs = (output.asnumpy() for output in bound.forward(is_train=True))
    assert np.allclose(logs, np.log(np.take_along_axis(probabilities, classes, 1)))
    heads = np.arange(10, dtype="f4").reshape(2, 5)
    bound.backward([mx.nd.zeros((2, 5), dtype="int32"), mx.nd.array(heads)])
    expected = np.zeros_like(probabilities)
    for row in range(2):
        np.add.at(expected[row], classes[row], heads[row] / probabilities[row, classes[row]])
    assert np.allclose(bound.grad_dict["x"].asnumpy(), expected)


def test_rows_come_in_every_order():
    shuffled = executor(F.shuffle(X), {"x": (3, 2)})
    rows = np.array([[0, 10], [1, 11], [2, 12]], "f4")
    mx.random.seed(11)
    found = [shuffled(rows)[0].asnumpy() for _ in range(1200)]
    assert all((order[:, 1] == order[:, 0] + 10).all() for order in found)
    orders, counts = np.unique([order[:, 0] for order in found], axis=0, return_counts=True)
    assert len(orders) == 6 and np.abs(counts - 200).max() < 60
    many = run(F.shuffle(X), x=np.arange(1000, dtype="int64"))
    assert sorted(many) == list(range(1000)) and (many != np.arange(1000)).any()


# ---- gradients ----


def test_drawn_numbers_have_no_gradient():
    mx.random.seed(12)
    mean, deviation = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    for array in (mean, deviation):
        array.attach_grad()
    with mx.autograd.record():
        noise = mx.nd.op._sample_normal(mean, deviation, shape=3)
        loss = (noise * mean.reshape((2, 1))).sum()
    loss.backward()
    assert np.allclose(mean.grad.asnumpy(), noise.asnumpy().sum(1)) and not deviation.grad.asnumpy().any()


def test_gradients_see_the_numbers_of_the_run():
    bound = (X * F.normal(0, 1, name="noise")).simple_bind(x=(3, 4))
    bound.arg_dict["x"][:] = 1
    for _ in range(2):
        noise = bound.forward(is_train=True)[0].asnumpy()
        bound.backward(mx.nd.ones((3, 4)))
        assert (bound.grad_dict["x"].asnumpy() == noise).all() and noise.std() > 0.1


def test_rows_in_random_order_have_no_gradient():
    x = mx.nd.arange(3)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.op._shuffle(x)
    with pytest.raises(amp.UnsupportedError, match="_draw_shuffled|_shuffle"):
        y.backward()


# ---- where graphs come from ----


def test_files_of_mxnet_run():
    node = {"op": "_random_uniform", "name": "u", "attrs": {"high": "2", "low": "1", "shape": "(2, 3)"}, "inputs": []}
    text = json.dumps({"nodes": [node], "arg_nodes": [], "node_row_ptr": [0, 1], "heads": [[0, 0, 0]]})
    symbol = mx.sym.load_json(text)
    drawn = executor(symbol)()[0].asnumpy()
    assert drawn.shape == (2, 3) and drawn.min() >= 1 and drawn.max() < 2
    assert symbol.list_arguments() == [] and mx.sym.load_json(symbol.tojson()).tojson() == symbol.tojson()


class Noise(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        noise = F.random.normal(0, 1, shape=(2, 3)) + F.random.uniform_like(x)
        noise = noise + F.random.exponential(2, shape=(2, 3)) + F.random_exponential(lam=3, shape=(2, 3))
        noise = noise + F.cast(F.random.randint(0, 9, shape=(2, 3)), "float32")
        chosen = F.random.multinomial(F.softmax(x), get_prob=False)
        return F.random.shuffle(x) + noise + F.reshape(F.cast(chosen, "float32"), (2, 1))


OPERATORS = {
    "_random_normal",
    "_random_uniform_like",
    "_random_exponential",
    "_random_randint",
    "_sample_multinomial",
    "_shuffle",
}


@pytest.mark.usefixtures("mxnet_2")
def test_hybridized_blocks_draw_anew():
    net, x = Noise(), mx.nd.zeros((2, 3))
    assert net(x).shape == (2, 3)
    net.hybridize()
    mx.random.seed(13)
    first, second = net(x).asnumpy(), net(x).asnumpy()
    assert (first != second).all()
    mx.random.seed(13)
    assert (net(x).asnumpy() == first).all()
    symbol, _ = net.export(None)
    assert OPERATORS <= operators_of(symbol)
    assert OPERATORS <= operators_of(net(X))
    assert (run(symbol, data=np.zeros((2, 3), "f4")) != run(symbol, data=np.zeros((2, 3), "f4"))).any()


class SampleOfRows(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, mean, rate):  # noqa: N803 - MXNet's name
        return F.random.normal(mean, mean * 0, shape=4), F.random_exponential(rate, shape=50000)


def test_parameters_of_blocks_may_be_arrays():
    net = SampleOfRows()
    net.hybridize()
    for mean, rate in (([1, 2], [0.1, 1]), ([5, 6], [10, 100])):
        normal, exponential = net(mx.nd.array(mean), mx.nd.array(rate))
        assert (normal.asnumpy() == np.array(mean)[:, None]).all()
        assert np.abs(exponential.asnumpy().mean(1) * np.array(rate) - 1).max() < 0.03


@pytest.mark.usefixtures("mxnet_2")
def test_blocks_with_classes_of_unequal_frequency_have_no_graph():
    class Words(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return F.contrib.rand_zipfian(x, 4, 5)[0]

    net = Words()
    net.hybridize()
    with pytest.warns(RuntimeWarning, match="once and for all"):
        assert net(mx.nd.array([3])).shape == (4,)


def test_converted_models_draw():
    noisy = amp.sym.FullyConnected(X + F.normal(0, 1), num_hidden=4, no_bias=True, weight=amp.sym.ones((4, 64)))
    draws = executor(noisy, {"x": (8, 64)}, reduce_precision={"target_dtype": "bfloat16", "emulate": True})
    ones = np.ones((8, 64), "f4")
    assert (draws(ones)[0].asnumpy() != draws(ones)[0].asnumpy()).any()
    converted = amp.convert_symbol(noisy, {"x": "float32"}, {})
    assert {"_random_normal", "amp_cast"} <= operators_of(converted)


def test_monitors_see_numbers():
    seen = []
    run = executor(X + F.normal(0, 1, name="noise"), {"x": (2, 3)}, monitor=True)
    (output,) = run.run_monitored(lambda name, op, array: seen.append((name, array.asnumpy())), np.zeros((2, 3), "f4"))
    assert seen[0][0] == "noise_output" and (seen[0][1] == output.asnumpy()).all()


# ---- refusals ----


def test_wrong_parameters_are_refused():
    for draw, words in (
        (lambda: F.uniform(2, 1), "low 2 is above high 1"),
        (lambda: F.normal(0, 0), "attribute scale"),
        (lambda: F.exponential(-1), "attribute lam"),
        (lambda: F.randint(3, 3), "no integer"),
    ):
        with pytest.raises(amp.GraphError, match=words):
            draw()
    with pytest.raises(amp.ArgumentError, match="all Symbols or all numbers"):
        F.normal(X, 1)
    with pytest.raises(amp.ArgumentError, match="expected numbers"):
        F.randint(X, 3)


def test_steps_of_loops_draw_numbers_of_their_own():
    noisy = lambda x, state: (x + F.normal(0, 1, shape=(4,)), state)  # noqa: E731 - a body
    outputs, _ = mx.sym.contrib.foreach(noisy, X, [amp.sym.Variable("s")])
    run = executor(outputs, {"x": (300, 4), "s": (1,)})
    noise = run(np.zeros((300, 4), "f4"), np.zeros(1, "f4"))
    noise = (noise[0] if isinstance(noise, (list, tuple)) else noise).asnumpy()
    assert len(np.unique(noise)) > 1190 and abs(noise.mean()) < 0.15 and abs(noise.std() - 1) < 0.1
