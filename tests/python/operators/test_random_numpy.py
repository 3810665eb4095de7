"""Random operators of files that MXNet exports in NumPy mode. Seeds are fixed."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx

MANY = (400, 500)
PI, EULER = np.pi, 0.5772156649015329

# {operator: (names of the parameters, their values, mean, standard deviation, least number, end)}
FAMILIES = {
    "normal": (("loc", "scale"), (2, 5), 2, 5, -np.inf, np.inf),
    "uniform": (("low", "high"), (-1, 3), 1, 4 / np.sqrt(12), -1, 3),
    "gamma": (("shape", "scale"), (2.5, 3), 7.5, 3 * np.sqrt(2.5), 0, np.inf),
    "gumbel": (("loc", "scale"), (2, 3), 2 + 3 * EULER, 3 * PI / np.sqrt(6), -np.inf, np.inf),
    "logistic": (("loc", "scale"), (2, 3), 2, 3 * PI / np.sqrt(3), -np.inf, np.inf),
    "exponential": (("scale",), (4,), 4, 4, 0, np.inf),
    "rayleigh": (("scale",), (4,), 4 * np.sqrt(PI / 2), 4 * np.sqrt(2 - PI / 2), 0, np.inf),
    "weibull": (("a",), (2,), np.sqrt(PI) / 2, np.sqrt(1 - PI / 4), 0, np.inf),
    "pareto": (("a",), (9,), 1 / 8, np.sqrt(9 / 7) / 8, 0, np.inf),
    "powerd": (("a",), (3,), 3 / 4, np.sqrt(3 / 80), 0, 1 + 1e-6),
}
LEADING = {"normal_n": FAMILIES["normal"], "uniform_n": FAMILIES["uniform"]}
each_family = pytest.mark.parametrize("name", FAMILIES)


def symbol_of(name, attrs, inputs=()):
    """The operator's node `drawn`, as a file of MXNet 1.9.1 has it."""
    nodes = [{"op": "null", "name": variable, "inputs": []} for variable in inputs]
    attrs = {key: str(value) for key, value in attrs.items()}
    entries = [[i, 0, 0] for i in range(len(nodes))]
    nodes.append({"op": f"_npi_{name}", "name": "drawn", "attrs": {"ctx": "cpu(0)", **attrs}, "inputs": entries})
    flags = {"is_np_shape": ["int", 1], "mxnet_version": ["int", 10901]}
    arguments = list(range(len(inputs)))
    rows = list(range(len(nodes) + 1))
    graph = {"nodes": nodes, "arg_nodes": arguments, "node_row_ptr": rows, "heads": [[len(inputs), 0, 0]]}
    return mx.sym.load_json(json.dumps({**graph, "attrs": flags}))


def executor(symbol, arrays=None, **options):
    shapes = {name: array.shape for name, array in (arrays or {}).items()}
    dtypes = {name: array.dtype for name, array in (arrays or {}).items()}
    return amp.Executor(symbol, {}, {}, shapes, input_dtypes=dtypes, **options)


def run(name, attrs, **arrays):
    return executor(symbol_of(name, attrs, arrays), arrays)(arrays)[0].asnumpy()


def check(numbers, mean, deviation, least, end):
    """Within five standard errors; the variance's grows with the kurtosis, which is at most 20 here."""
    wide = numbers.astype("f8")
    assert abs(wide.mean() - mean) < 5 * deviation / np.sqrt(wide.size)
    assert abs(wide.var() / deviation**2 - 1) < 5 * np.sqrt(20 / wide.size)
    assert wide.min() >= least and wide.max() < end


@each_family
@pytest.mark.parametrize("options", [{}, {"backend": "reference"}, {"num_threads": 2}])
def test_numbers_have_their_moments_and_ranges(name, options):
    parameters, values, *expected = FAMILIES[name]
    draws = executor(symbol_of(name, {**dict(zip(parameters, values)), "size": MANY}), **options)
    mx.random.seed(3)
    first, second = draws()[0].asnumpy(), draws()[0].asnumpy()
    assert first.shape == MANY and first.dtype == np.float32
    check(first, *expected)
    check(second, *expected)
    assert (first != second).mean() > 0.99
    mx.random.seed(3)
    assert (draws()[0].asnumpy() == first).all()


@each_family
@pytest.mark.parametrize("array", [0, 1, (0, 1)])
def test_parameters_may_be_arrays(name, array):
    parameters, values, *expected = FAMILIES[name]
    slots = [i for i in np.atleast_1d(array) if i < len(parameters)]
    attrs = {p: None if i in slots else v for i, (p, v) in enumerate(zip(parameters, values))}
    arrays = {parameters[i]: np.full((500,) if i else (400, 1), values[i], "f4") for i in slots}
    mx.random.seed(4)
    check(run(name, {**attrs, "size": MANY}, **arrays), *expected)
    shape = np.broadcast_shapes(*(a.shape for a in arrays.values())) if arrays else ()
    assert run(name, attrs, **arrays).shape == shape


@pytest.mark.parametrize("name", LEADING)
def test_sizes_may_lead(name):
    parameters, values, *expected = LEADING[name]
    first = np.full((500,), values[0], "f4")
    attrs = {parameters[0]: None, parameters[1]: values[1], "size": (400,)}
    mx.random.seed(5)
    numbers = run(name, attrs, first=first)
    assert numbers.shape == MANY
    check(numbers, *expected)
    numbers_only = dict(zip(parameters, values))
    for size, shape in ((None, ()), ((), ()), (3, (3,)), ((2, 3), (2, 3))):
        assert run(name, {**numbers_only, "size": size}).shape == shape


def test_rows_have_their_own_parameters():
    mean, deviation = np.array([[-50], [0], [70]], "i4"), np.array([[1], [5], [0.1]], "f8")
    mx.random.seed(6)
    numbers = run("normal", {"loc": None, "scale": None, "size": (3, 20000)}, m=mean, d=deviation)
    assert numbers.dtype == np.float32
    assert np.abs(numbers.mean(1) - mean[:, 0]).max() < 0.2
    assert np.abs(numbers.std(1) / deviation[:, 0] - 1).max() < 0.03


def test_sizes_and_dtypes_are_those_of_mxnet():
    numbers = {"loc": 1, "scale": 0}
    for size, shape in ((None, ()), ((), ()), (3, (3,)), ((0, 3), (0, 3))):
        assert (run("normal", {**numbers, "size": size}) == np.ones(shape)).all()
        assert run("normal", {**numbers, "size": size}).shape == shape
    for dtype in ("float16", "float64"):
        assert run("uniform", {"low": 0, "high": 1, "dtype": dtype, "size": (2,)}).dtype == dtype
    assert run("exponential", {}).shape == run("rayleigh", {}).shape == ()
    assert symbol_of("weibull", {}, ["a"]).list_arguments() == ["a"]
    assert symbol_of("normal", numbers).list_outputs() == ["drawn_output"]


# ---- zeros and ones ----


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "int32", "uint8"])
def test_ones_have_their_probability(dtype):
    mx.random.seed(7)
    attrs = {"prob": 0.3, "logit": None, "is_logit": False, "size": MANY, "dtype": dtype}
    numbers = run("bernoulli", attrs)
    assert numbers.dtype == dtype and set(np.unique(numbers)) == {0, 1}
    assert abs(numbers.astype("f8").mean() - 0.3) < 5 * np.sqrt(0.21 / numbers.size)


@pytest.mark.parametrize("is_logit", [False, True])
def test_probabilities_may_be_arrays(is_logit):
    probabilities = np.array([0, 0.2, 0.9, 1], "f4")
    with np.errstate(divide="ignore"):
        values = np.log(probabilities / (1 - probabilities)) if is_logit else probabilities
    attrs = {"prob": None, "logit": None, "is_logit": is_logit, "size": (50000, 4)}
    mx.random.seed(8)
    shares = run("bernoulli", attrs, x=values).mean(0)
    assert shares[0] == 0 and shares[3] == 1 and np.abs(shares - probabilities).max() < 5 * 0.5 / np.sqrt(50000)


# ---- indices ----


def test_indices_are_equally_likely():
    mx.random.seed(9)
    drawn = run("choice", {"a": 7, "size": MANY, "replace": True, "weighted": False})
    values, counts = np.unique(drawn, return_counts=True)
    assert drawn.dtype == np.int64 and drawn.shape == MANY and values.tolist() == list(range(7))
    expected = drawn.size / 7
    assert ((counts - expected) ** 2 / expected).sum() < 22.5  # of chi square with six degrees of freedom: 1 in 1000
    assert run("choice", {"a": 7}).shape == () and run("choice", {"a": None}, x=np.ones(1, "f4")) == 0


def test_indices_have_their_weights():
    weights = np.array([1, 0, 6, 3], "f4")
    mx.random.seed(10)
    drawn = run("choice", {"a": 4, "size": MANY, "weighted": True}, w=weights)
    shares = np.bincount(drawn.ravel(), minlength=4) / drawn.size
    assert np.abs(shares - weights / 10).max() < 5 * 0.5 / np.sqrt(drawn.size) and shares[1] == 0
    both = {"x": np.ones((2, 2), "f4"), "w": weights}
    assert set(np.unique(run("choice", {"a": None, "size": MANY, "weighted": True}, **both))) == {0, 2, 3}


@pytest.mark.parametrize("weights", [None, [1, 1, 1], [6, 3, 1]])
def test_indices_may_differ(weights):
    """Pairs have the probabilities of drawing one after the other."""
    arrays = {} if weights is None else {"w": np.array(weights, "f4")}
    attrs = {"a": 3, "size": (2,), "replace": False, "weighted": bool(weights)}
    draws = executor(symbol_of("choice", attrs, arrays), arrays)
    mx.random.seed(11)
    pairs = [tuple(draws(arrays)[0].asnumpy().tolist()) for _ in range(3000)]
    shares = np.array(weights or [1, 1, 1]) / sum(weights or [1, 1, 1])
    for first, second in np.ndindex(3, 3):
        expected = 0 if first == second else shares[first] * shares[second] / (1 - shares[first])
        error = 5 * np.sqrt(expected * (1 - expected) / 3000)
        assert abs(pairs.count((first, second)) / 3000 - expected) <= error
    everything = run("choice", {**attrs, "size": (3,)}, **arrays)
    assert sorted(everything) == [0, 1, 2]


def test_different_indices_take_no_memory_of_their_range():
    drawn = run("choice", {"a": 2**60, "size": (1000,), "replace": False})
    assert len(set(drawn.tolist())) == 1000 and drawn.min() >= 0 and drawn.max() < 2**60


# ---- gradients ----


def with_gradients(name, attrs, heads=None, **arrays):
    """Numbers and the gradients of their sum, or of the sum of what `heads` makes of them."""
    bound = symbol_of(name, attrs, arrays).simple_bind(**{key: array.shape for key, array in arrays.items()})
    for key, array in arrays.items():
        bound.arg_dict[key][:] = array
    numbers = bound.forward(is_train=True)[0].asnumpy()
    heads = np.ones(numbers.shape, "f4") if heads is None else heads
    bound.backward(mx.nd.array(heads))
    return numbers, {key: bound.grad_dict[key].asnumpy() for key in arrays}


@pytest.mark.parametrize("name", ["normal", "gumbel", "logistic", "normal_n"])
def test_gradients_reach_locations_and_scales(name):
    attrs = {"loc": None, "scale": None, "size": (5,) if name == "normal_n" else (5, 2)}
    heads = np.arange(10, dtype="f4").reshape(5, 2)
    loc, scale = np.array([1, 2], "f4"), np.array([3, 4], "f4")
    numbers, found = with_gradients(name, attrs, heads, loc=loc, scale=scale)
    assert np.allclose(found["loc"], heads.sum(0))
    assert np.allclose(found["scale"], (heads * (numbers - loc) / scale).sum(0), rtol=1e-4)
    numbers, found = with_gradients(name, {**attrs, "loc": 1}, heads, scale=scale)
    assert np.allclose(found["scale"], (heads * (numbers - 1) / scale).sum(0), rtol=1e-4)
    _, found = with_gradients(name, {**attrs, "loc": 1}, heads, scale=np.zeros(2, "f4"))
    assert np.isfinite(found["scale"]).all() and found["scale"].all()


@pytest.mark.parametrize("name", ["exponential", "rayleigh", "weibull", "pareto"])
def test_gradients_reach_the_only_parameter(name):
    values = np.array([3, 2], "f4")
    key = FAMILIES[name][0][0]
    y, found = with_gradients(name, {key: None, "size": (4, 2)}, x=values)
    expected = {
        "exponential": lambda: y / values,
        "rayleigh": lambda: y / values,
        "weibull": lambda: -y * np.log(y) / values,
        "pareto": lambda: -(y + 1) * np.log1p(y) / values,
    }[name]()
    assert np.allclose(found["x"], expected.sum(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["uniform", "uniform_n", "gamma", "powerd"])
def test_other_parameters_have_a_gradient_of_zero(name):
    parameters = {**FAMILIES, **LEADING}[name][0]
    arrays = {parameter: np.array([2, 3], "f4") for parameter in parameters}
    _, found = with_gradients(name, dict.fromkeys(parameters), **arrays)
    assert not any(gradient.any() for gradient in found.values())


def test_probabilities_have_a_gradient_of_zero():
    attrs = {"prob": None, "logit": None, "is_logit": False}
    _, found = with_gradients("bernoulli", attrs, x=np.array([0.2, 0.7], "f4"))
    assert not found["x"].any()


# ---- plans and refusals ----


def test_plans_draw_by_kernels():
    arrays = {"loc": np.ones((4, 1), "f4"), "scale": np.ones((3,), "f4")}
    symbol = symbol_of("normal", {"loc": None, "scale": None, "size": (2, 4, 3)}, arrays)
    text = str(executor(symbol, arrays).profile(*arrays.values(), runs=1))
    assert " draw " in text and "on reference code: 0.0 %" in text


def test_what_fits_no_distribution_is_refused():
    with pytest.raises(amp.GraphError, match=r"attribute scale: expected a number in \[0, inf\], got -1"):
        symbol_of("normal", {"loc": 0, "scale": -1})
    with pytest.raises(amp.GraphError, match="'drawn'.*is_logit"):
        symbol_of("bernoulli", {"prob": 0.5, "logit": None, "is_logit": True})
    with pytest.raises(amp.GraphError, match="cannot be broadcast"):
        run("weibull", {"a": None, "size": (2, 4)}, a=np.ones(3, "f4"))
    with pytest.raises(amp.GraphError, match="cannot be broadcast to size"):
        run("weibull", {"a": None, "size": (3,)}, a=np.ones((2, 3), "f4"))


# ---- mx.np.random in graphs ----


class Drawing(mx.gluon.HybridBlock):
    """x multiplied by what `draw` gives of a parameter."""

    def __init__(self, draw):
        super().__init__()
        self.draw = draw
        self.level = mx.gluon.Parameter("level", shape=(1,), init=mx.init.Constant(2.0))

    def forward(self, x):
        return x * self.draw(self.level.data())


def hybridized(draw):
    net = Drawing(draw)
    net.initialize()
    net.hybridize()
    return net


@each_family
def test_hybridized_blocks_draw_in_each_run(name):
    parameters, values, mean, deviation, least, end = FAMILIES[name]
    function = getattr(mx.np.random, "power" if name == "powerd" else name)
    net = hybridized(lambda level: function(*values, size=MANY))
    ones = mx.np.ones(MANY)
    first, second = net(ones).asnumpy(), net(ones).asnumpy()
    assert (first != second).mean() > 0.99
    for drawn in (first, second):
        assert (drawn >= least).all() and (drawn < end).all()
        assert abs(drawn.mean() - mean) < 5 * deviation / np.sqrt(drawn.size)


@pytest.mark.parametrize("name", ["normal", "uniform", "logistic", "gumbel"])
def test_gradients_reach_parameters_of_draws_in_graphs(name):
    """y = a + b z: the gradient of b is z, whatever was drawn."""
    function = getattr(mx.np.random, name)

    def draw(level):
        return function(level, 3 * level, size=(4, 5)) if name == "uniform" else function(0.0, level, size=(4, 5))

    net = hybridized(draw)
    ones = mx.np.ones((4, 5))
    with mx.autograd.record():
        y = net(ones)
    y.backward()
    np.testing.assert_allclose(net.level.grad().asnumpy(), [y.asnumpy().sum() / 2], rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("mxnet_2")
def test_draws_in_graphs_take_forms_of_sizes_and_dtypes():
    for size, shape in ((3, (3,)), ((2, 3), (2, 3)), ([2, 3], (2, 3)), (None, (1,))):
        net = hybridized(lambda level, size=size: mx.np.random.normal(0, level, size=size))
        assert net(mx.np.ones((1,))).shape == shape
    net = hybridized(lambda level: mx.np.random.uniform(level, 3, dtype="float16").astype("float32"))
    drawn = net(mx.np.ones((50,))).asnumpy()
    assert ((2 <= drawn) & (drawn < 3)).all()
    net = hybridized(lambda level: mx.np.random.choice(3, size=(200,), p=mx.np.array([0.5, 0, 0.5])).astype("float32"))
    assert set(net(mx.np.ones((200,))).asnumpy().tolist()) == {0, 2}
    with pytest.raises(TypeError, match="gamma.. missing the argument 'shape'"):
        hybridized(lambda level: mx.np.random.gamma(scale=level, size=(2,)))(mx.np.ones((2,)))


@pytest.mark.usefixtures("mxnet_2")
def test_a_hybridized_block_that_draws_is_exported(tmp_path):
    net = hybridized(lambda level: mx.np.random.normal(0, level, size=(2, 3)))
    x = mx.np.ones((2, 3))
    net(x)
    net.export(str(tmp_path / "net"))
    nodes = json.loads((tmp_path / "net-symbol.json").read_text())["nodes"]
    assert "_npi_normal" in [node["op"] for node in nodes]
    loaded = mx.gluon.SymbolBlock.imports(
        str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
    )
    assert (loaded(x).asnumpy() != loaded(x).asnumpy()).any()


@pytest.mark.usefixtures("mxnet_2")
@pytest.mark.parametrize(
    "draw",
    [
        lambda level: mx.np.random.beta(1, 2, size=(2,)),
        lambda level: mx.np.random.permutation(2).astype("float32"),
        lambda level: mx.np.random.multinomial(3, [0.5, 0.5]).astype("float32"),
        lambda level: 1 if mx.np.random.shuffle(level) is None else 0,
        lambda level: mx.np.random.randint(5, size=(2,)).astype("float32"),
    ],
)
def test_blocks_with_draws_that_have_no_operator_have_no_graph(draw):
    with pytest.warns(RuntimeWarning, match="mx.np.random, which would draw once and for all"):
        hybridized(draw)(mx.np.ones((2,)))


@pytest.mark.parametrize(
    "name, derivative",
    [
        ("weibull", lambda y, a: -y * np.log(y) / a),
        ("pareto", lambda y, a: -(1 + y) * np.log1p(y) / a),
        ("power", lambda y, a: -y * np.log(y) / a),
    ],
)
def test_gradients_reach_shapes_of_distributions(name, derivative):
    a = mx.np.array([0.5, 2.0])
    a.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.np.random, name)(a, size=(1000, 2))
    y.backward()
    expected = derivative(y.asnumpy().astype("f8"), a.asnumpy()).sum(0)
    np.testing.assert_allclose(a.grad.asnumpy(), expected, rtol=1e-3)


def test_gradients_reach_lognormal_numbers():
    mean, sigma = mx.np.array([0.5]), mx.np.array([0.25])
    for x in (mean, sigma):
        x.attach_grad()
    with mx.autograd.record():
        y = mx.np.random.lognormal(mean, sigma, size=(100, 1))
    y.backward()
    drawn = y.asnumpy().astype("f8")
    np.testing.assert_allclose(mean.grad.asnumpy(), [drawn.sum()], rtol=1e-4)
    expected = (drawn * (np.log(drawn) - 0.5) / 0.25).sum()
    np.testing.assert_allclose(sigma.grad.asnumpy(), [expected], rtol=1e-3)


def test_several_normal_vectors():
    mx.random.seed(3)
    mean = np.float32([[1, 2], [3, 4], [5, 6]])
    covariance = np.float32([[2, 1], [1, 3]])
    drawn = mx.np.random.multivariate_normal(mx.np.array(mean), mx.np.array(covariance), size=20000).asnumpy()
    assert drawn.shape == (20000, 3, 2)
    np.testing.assert_allclose(drawn.mean(0), mean, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn[:, 1].T), covariance, atol=0.15)


@pytest.mark.parametrize(
    "name, parameters", [("gamma", (1, 0)), ("gamma", (0, 1)), ("weibull", (0,)), ("pareto", (-1,))]
)
def test_shapes_and_scales_are_positive(name, parameters):
    with pytest.raises(ValueError, match=f"{name}: .* has to be positive"):
        getattr(mx.np.random, name)(*parameters)
