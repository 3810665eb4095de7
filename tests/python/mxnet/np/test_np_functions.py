"""Functions of mx.np that run operators: NumPy's results, in graphs as well, and gradients by central differences."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

# Name: the call, and the shapes of its arrays. Those of the first table have gradients of the first array.
DIFFERENTIABLE = {
    "append": (lambda m, x, y: m.append(x, y), [(2, 3), (4,)]),
    "append-axis": (lambda m, x, y: m.append(x, y, axis=-1), [(2, 3), (2, 1)]),
    "arctan2": (lambda m, x, y: m.arctan2(x, y), [(2, 3), (3,)]),
    "arctan2-number": (lambda m, x: m.arctan2(x, 2), [(2, 3)]),
    "arctan2-of-number": (lambda m, x: m.arctan2(2.5, x), [(2, 3)]),
    "atleast_1d": (lambda m, x, y: m.atleast_1d(x, y)[0], [(2, 3), ()]),
    "atleast_2d": (lambda m, x, y: m.atleast_2d(x, y)[0], [(3,), (2,)]),
    "atleast_3d": (lambda m, x, y: m.atleast_3d(y, x)[1], [(2, 3), (2,)]),
    "average": (lambda m, x: m.average(x, axis=(0, -1)), [(2, 3, 4)]),
    "average-weights": (lambda m, x, y: m.average(x, 1, y), [(2, 3), (3,)]),
    "average-full": (lambda m, x, y: m.average(x, weights=y), [(2, 3), (2, 3)]),
    "average-returned": (lambda m, x, y: m.average(x, -1, y, returned=True)[0], [(2, 3), (2, 3)]),
    "broadcast_arrays": (lambda m, x, y: m.broadcast_arrays(x, y)[0], [(2, 1), (3,)]),
    "column_stack": (lambda m, x, y: m.column_stack([x, y]), [(3,), (3, 2)]),
    "copysign": (lambda m, x, y: m.copysign(x, y), [(2, 3), (2, 1)]),
    "cross": (lambda m, x, y: m.cross(x, y), [(2, 3), (3,)]),
    "cross-axes": (lambda m, x, y: m.cross(x, y, axisa=0, axisb=1, axisc=0), [(3, 2), (2, 3)]),
    "cross-two": (lambda m, x, y: m.cross(x, y, axis=0), [(2, 3), (3, 1)]),
    "cross-of-two": (lambda m, x, y: m.cross(x, y, axisa=1, axisc=0), [(1, 3, 4), (4, 2)]),
    "cumsum": (lambda m, x: m.cumsum(x, -2), [(2, 3)]),
    "delete": (lambda m, x: m.delete(x, 1, axis=-1), [(2, 3)]),
    "delete-several": (lambda m, x: m.delete(x, [0, -1]), [(2, 3)]),
    "delete-slice": (lambda m, x: m.delete(x, slice(1, None, 2), 0), [(5, 2)]),
    "det": (lambda m, x: m.linalg.det(x), [(2, 3, 3)]),
    "det-one": (lambda m, x: m.linalg.det(x), [(3, 3)]),
    "diag": (lambda m, x: m.diag(x, -1), [(3,)]),
    "diag-matrix": (lambda m, x: m.diag(x, 1), [(3, 4)]),
    "diagflat": (lambda m, x: m.diagflat(x), [(2, 2)]),
    "diagonal": (lambda m, x: m.diagonal(x, 1, -1, 0), [(2, 3, 4)]),
    "diff": (lambda m, x: m.diff(x, 2, axis=-2), [(4, 3)]),
    "diff-ends": (lambda m, x, y: m.diff(x, prepend=y, append=y), [(2, 3), (2, 1)]),
    "dsplit": (lambda m, x: m.dsplit(x, 2)[1], [(2, 3, 4)]),
    "dstack": (lambda m, x, y: m.dstack([x, y]), [(3,), (1, 3)]),
    "ediff1d": (lambda m, x: m.ediff1d(x), [(2, 3)]),
    "ediff1d-ends": (lambda m, x, y: m.ediff1d(x, y, 1.5), [(2, 3), (2,)]),
    "eigvalsh": (lambda m, x: m.linalg.eigvalsh(x + x.T), [(3, 3)]),
    "eigvalsh-upper": (lambda m, x: m.linalg.eigvalsh(x + x.T, "U"), [(3, 3)]),
    "fliplr": (lambda m, x: m.fliplr(x), [(2, 3)]),
    "flipud": (lambda m, x: m.flipud(x), [(2, 3)]),
    "fmax": (lambda m, x, y: m.fmax(x, y), [(2, 3), (3,)]),
    "fmin-number": (lambda m, x: m.fmin(1, x), [(2, 3)]),
    "fmod": (lambda m, x, y: m.fmod(x, y), [(2, 3), (3,)]),
    "hsplit": (lambda m, x: m.hsplit(x, [1, 2])[1], [(2, 3)]),
    "hsplit-line": (lambda m, x: m.hsplit(x, 2)[1], [(4,)]),
    "hypot": (lambda m, x, y: m.hypot(x, y), [(2, 1), (3,)]),
    "inner": (lambda m, x, y: m.inner(x, y), [(2, 3), (4, 3)]),
    "inner-number": (lambda m, x, y: m.inner(x, y), [(2, 3), ()]),
    "inv": (lambda m, x: m.linalg.inv(x), [(2, 3, 3)]),
    "kron": (lambda m, x, y: m.kron(x, y), [(2, 3), (2,)]),
    "logaddexp": (lambda m, x, y: m.logaddexp(x, y), [(2, 3), (3,)]),
    "meshgrid": (lambda m, x, y: m.meshgrid(x, y)[0], [(2,), (3,)]),
    "meshgrid-ij": (lambda m, x, y: m.meshgrid(y, x, indexing="ij", sparse=True)[1], [(2,), (3,)]),
    "nan_to_num": (lambda m, x: m.nan_to_num(x / x - 1 + x, nan=2), [(2, 3)]),
    "norm": (lambda m, x: m.linalg.norm(x), [(2, 3)]),
    "norm-of-axis": (lambda m, x: m.linalg.norm(x, 3, axis=-1, keepdims=True), [(2, 3)]),
    "norm-of-matrices": (lambda m, x: m.linalg.norm(x, "fro", axis=(0, 2)), [(2, 3, 4)]),
    "norm-1": (lambda m, x: m.linalg.norm(x, 1), [(3, 4)]),
    "norm-inf": (lambda m, x: m.linalg.norm(x, np.inf, axis=0), [(3, 4)]),
    "outer": (lambda m, x, y: m.outer(x, y), [(2, 2), (3,)]),
    "pad": (lambda m, x: m.pad(x, ((1, 2), (0, 3)), constant_values=2), [(2, 3)]),
    "pad-one": (lambda m, x: m.pad(x, 1, mode="reflect"), [(2, 3)]),
    "pad-edge": (lambda m, x: m.pad(x, (2, 0), "edge"), [(2, 3)]),
    "polyval": (lambda m, x, y: m.polyval(x, y), [(4,), (2, 3)]),
    "ptp": (lambda m, x: m.ptp(x, axis=0), [(3, 4)]),
    "repeat": (lambda m, x: m.repeat(x, 2), [(2, 3)]),
    "roll": (lambda m, x: m.roll(x, 2), [(2, 3)]),
    "roll-axis": (lambda m, x: m.roll(x, -1, axis=-1), [(2, 3)]),
    "roll-axes": (lambda m, x: m.roll(x, (1, 2), axis=(0, 1)), [(2, 3)]),
    "rollaxis": (lambda m, x: m.rollaxis(x, 2, 1), [(2, 3, 4)]),
    "rollaxis-back": (lambda m, x: m.rollaxis(x, 0, -1), [(2, 3, 4)]),
    "rot90": (lambda m, x: m.rot90(x, -1, (0, -1)), [(2, 3, 4)]),
    "slogdet": (lambda m, x: m.linalg.slogdet(x)[1], [(3, 3)]),
    "solve": (lambda m, x, y: m.linalg.solve(x, y), [(2, 3, 3), (2, 3, 2)]),
    "solve-vector": (lambda m, x, y: m.linalg.solve(x, y), [(3, 3), (3,)]),
    "sort": (lambda m, x: m.sort(x, axis=0), [(3, 4)]),
    "sort-flat": (lambda m, x: m.sort(x, axis=None), [(3, 4)]),
    "trace": (lambda m, x: m.trace(x, 1, 0, -1), [(2, 3, 4)]),
    "tensorinv": (lambda m, x: m.linalg.tensorinv(x, ind=1), [(4, 2, 2)]),
    "tril": (lambda m, x: m.tril(x, 1), [(2, 3, 4)]),
    "triu": (lambda m, x: m.triu(x), [(3, 3)]),
    "triu-line": (lambda m, x: m.triu(x), [(3,)]),
    "vdot": (lambda m, x, y: m.vdot(x, y), [(2, 3), (3, 2)]),
    "vsplit": (lambda m, x: m.vsplit(x, 2)[0], [(4, 3)]),
}
OTHERS = {
    "argsort": (lambda m, x: m.argsort(x, axis=0), [(3, 4)]),
    "argsort-flat": (lambda m, x: m.argsort(x, axis=None), [(3, 4)]),
    "average-sum": (lambda m, x, y: m.average(x, 0, y, returned=True)[1], [(2, 3), (2,)]),
    "count_nonzero": (lambda m, x: m.count_nonzero(x > 1, axis=0), [(3, 4)]),
    "isposinf": (lambda m, x: m.isposinf(1 / (x - x)), [(2,)]),
    "logical_and": (lambda m, x, y: m.logical_and(x > 1, y), [(2, 3), (3,)]),
    "logical_xor-number": (lambda m, x: m.logical_xor(x > 1, 1), [(2, 3)]),
    "median": (lambda m, x: m.median(x, axis=-1), [(2, 5)]),
    "percentile": (lambda m, x: m.percentile(x, 30, axis=(0, 2), keepdims=True), [(2, 3, 4)]),
    "percentile-lower": (lambda m, x: m.percentile(x, 40.0, method="lower"), [(3, 4)]),
    "quantile": (lambda m, x: m.quantile(x, 0.3, axis=1), [(2, 5)]),
    "sign-of-det": (lambda m, x: m.linalg.slogdet(x)[0], [(2, 3, 3)]),
    "repeat-list": (lambda m, x: m.repeat(x, [1, 0, 2], axis=1), [(2, 3)]),
    "repeat-each": (lambda m, x: m.repeat(x, (2,)), [(2, 3)]),
    "repeat-none": (lambda m, x: m.repeat(x, 0), [(2, 3)]),
    "repeat-none-of-axis": (lambda m, x: m.repeat(x, 0, axis=-1), [(2, 3)]),
    "shape": (lambda m, x: x * m.shape(x)[1] + m.ndim(x) - m.size(x, 0), [(2, 3)]),
}
ALL = {**DIFFERENTIABLE, **OTHERS}


def drawn(shapes, dtype, seed=0):
    """Numbers from 0.5 to 3, no two alike."""
    rng = np.random.default_rng(seed)
    count = sum(int(np.prod(shape)) for shape in shapes)
    values = iter(rng.permutation(count) * (2.5 / count) + 0.5 + rng.uniform(0, 1 / count, count))
    return [np.array([next(values) for _ in range(int(np.prod(shape)))], dtype).reshape(shape) for shape in shapes]


def ours(arrays):
    return [mx.np.array(a, dtype=a.dtype) for a in arrays]


def close(found, expected, dtype):
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    assert type(found) is mx.np.ndarray and found.shape == np.shape(expected)
    assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=tolerance, atol=tolerance)


class Call(mx.gluon.HybridBlock):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def forward(self, *arrays):
        return self.call(mx.np, *arrays)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:Arrays of 2-dimensional vectors")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ALL)
def test_results_are_numpys_in_graphs_too(name, dtype):
    call, shapes = ALL[name]
    block = Call(call)
    block.hybridize()
    for seed in range(2):  # a graph has the numbers of its first call nowhere
        arrays = drawn(shapes, dtype, seed)
        expected = call(np, *arrays)
        close(call(mx.np, *ours(arrays)), expected, dtype)
        close(block(*ours(arrays)), expected, dtype)


EMPTY = {
    "append": lambda m, x: m.append(x, x, axis=1),
    "argsort": lambda m, x: m.argsort(x),
    "broadcast_arrays": lambda m, x: m.broadcast_arrays(x, x[:, :1])[1],
    "det": lambda m, x: m.linalg.det(m.append(x, x[:, :0], axis=1).reshape((0, 3, 3))),
    "diag": lambda m, x: m.diag(x, 1),
    "diff": lambda m, x: m.diff(x, n=0),
    "hypot": lambda m, x: m.hypot(x, 2),
    "inv": lambda m, x: m.linalg.inv(x.reshape((0, 3, 3))),
    "norm": lambda m, x: m.linalg.norm(x),
    "outer": lambda m, x: m.outer(x, m.ones_like(x)),
    "pad": lambda m, x: m.pad(x, 1),
    "roll": lambda m, x: m.roll(x, 1),
    "sort": lambda m, x: m.sort(x, axis=0),
    "trace": lambda m, x: m.trace(x),
}


@pytest.mark.parametrize("name", EMPTY)
def test_arrays_without_elements(name):
    x = np.zeros((0, 3), "float32")
    close(EMPTY[name](mx.np, mx.np.array(x)), EMPTY[name](np, x), "float32")


def check_gradient(call, expected_call, arrays):
    """The gradient of the sum of all squares by the first array, against central differences of another call."""
    x, *others = ours(arrays)
    x.attach_grad()
    with mx.autograd.record():
        result = call(mx.np, x, *others)
        total = (result * result).sum()
    total.backward()
    expected, step = np.zeros_like(arrays[0]), 1e-6
    for index in np.ndindex(arrays[0].shape):
        sums = []
        for sign in (1, -1):
            moved = arrays[0].copy()
            moved[index] += sign * step
            sums.append((expected_call(np, moved, *arrays[1:]) ** 2).sum())
        expected[index] = (sums[0] - sums[1]) / (2 * step)
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_central_differences(name):
    call, shapes = DIFFERENTIABLE[name]
    check_gradient(call, call, drawn(shapes, "float64"))


INTEGERS = {
    "append": lambda m, x: m.append(x, x),
    "argsort": lambda m, x: m.argsort(x, axis=None, kind="stable"),
    "average": lambda m, x: m.average(x),
    "bitwise_and": lambda m, x: m.bitwise_and(x, 6),
    "bitwise_left_shift": lambda m, x: m.left_shift(x, 1),
    "bitwise_xor": lambda m, x: m.bitwise_xor(x, x[::-1]),
    "copysign": lambda m, x: m.copysign(x, -1),
    "count_nonzero": lambda m, x: m.count_nonzero(x),
    "diag": lambda m, x: m.diag(x),
    "diff": lambda m, x: m.diff(x, append=1),
    "fmax": lambda m, x: m.fmax(x, 3),
    "hypot": lambda m, x: m.hypot(x, x),
    "inner": lambda m, x: m.inner(x, x),
    "invert": lambda m, x: m.invert(x),
    "ldexp": lambda m, x: m.ldexp(x, x),
    "logical_or": lambda m, x: m.logical_or(x, 0),
    "median": lambda m, x: m.median(x),
    "norm": lambda m, x: m.linalg.norm(x),
    "outer": lambda m, x: m.outer(x, x),
    "pad": lambda m, x: m.pad(x, 1, constant_values=5),
    "percentile": lambda m, x: m.percentile(x, 50),
    "roll": lambda m, x: m.roll(x, -1, 0),
    "sort": lambda m, x: m.sort(x, axis=0),
    "trace": lambda m, x: m.trace(x),
    "tril": lambda m, x: m.tril(x),
    "vdot": lambda m, x: m.vdot(x, x),
}


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_numpys_results_and_dtypes(name, dtype):
    x = np.array([[3, 1, 0], [1, 5, 2], [4, 0, 3]], dtype)
    close(INTEGERS[name](mx.np, mx.np.array(x, dtype=dtype)), INTEGERS[name](np, x), "float64")


REFUSED = {
    "average": lambda m, x: m.average(x, keepdims=True),
    "pad": lambda m, x: m.pad(x, 1, mode="wrap"),
    "percentile": lambda m, x: m.percentile(x, 50, method="hazen"),
    "roll": lambda m, x: m.roll(x, (1, 2), axis=(0, 0)),
}


@pytest.mark.usefixtures("mxnet_2")
@pytest.mark.parametrize("name", REFUSED)
def test_what_operators_do_not_express_is_numpys_and_no_part_of_graphs(name):
    x = drawn([(3, 3)], "float32")[0]
    close(REFUSED[name](mx.np, mx.np.array(x)), REFUSED[name](np, x), "float32")
    block = Call(REFUSED[name])
    block.hybridize()
    with pytest.warns(RuntimeWarning, match=f"Call runs without a graph, slower: .*{name} cannot become part"):
        close(block(mx.np.array(x)), REFUSED[name](np, x), "float32")
    close(block(mx.np.array(2 * x)), REFUSED[name](np, 2 * x), "float32")


def test_numbers_that_are_none():
    x = np.array([[np.nan, 3, -np.inf], [1, np.inf, 0]], "float32")
    a = mx.np.array(x)
    for call in (
        lambda m, v: m.nan_to_num(v),
        lambda m, v: m.nan_to_num(v, nan=1, posinf=2, neginf=-3),
        lambda m, v: m.isneginf(v),
        lambda m, v: m.isposinf(v),
        lambda m, v: m.sort(v),
        lambda m, v: m.argsort(v),
        lambda m, v: m.median(v, axis=1),
        lambda m, v: m.fmax(v, v[::-1]),
        lambda m, v: m.hypot(v, 1),
    ):
        close(call(mx.np, a), call(np, x), "float32")


def test_differences_need_an_axis():
    for ends in ({}, {"prepend": 1}):
        with pytest.raises(ValueError, match="at least one dimensional"):
            mx.np.diff(mx.np.array(2.0), **ends)


def test_singular_matrices_are_refused():
    with pytest.raises(np.linalg.LinAlgError):
        mx.np.linalg.inv(mx.np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        mx.np.linalg.det(mx.np.ones((2, 3)))
    assert mx.np.linalg.det(mx.np.ones((2, 2))) == 0


def test_averages_need_weights():
    with pytest.raises(ZeroDivisionError):
        mx.np.average(mx.np.ones(2), weights=mx.np.array([1, -1]))


def test_out_without_axes():
    out = mx.np.array(0.0)
    assert mx.np.exp(mx.np.array(0.0), out=out) is not None and out == 1
    assert mx.np.median(mx.np.array([3, 1, 2]), out=out) is not None and out == 2


def test_numbers_that_a_dtype_does_not_hold():
    x = mx.np.array([1, 2], dtype="int8")
    assert mx.np.fmax(x, 1.5).dtype == np.float64
    with pytest.raises(OverflowError):
        mx.np.bitwise_or(x, 300)


def test_what_has_no_array_is_a_constant_of_a_graph():
    block = Call(lambda m, x: x * m.tri(2) + m.bartlett(2).astype(np.float32) + m.logspace(0, 1, 2))
    block.hybridize()
    for x in (np.ones((2, 2), "float32"), np.full((2, 2), 3, "float32")):
        close(block(mx.np.array(x)), x * np.tri(2, dtype="f4") + np.array([1, 10], "f4"), "float32")


@pytest.mark.parametrize("name", ["hanning", "hamming", "blackman"])
def test_windows(name):
    assert getattr(mx.np, name)(5, dtype="float64").dtype == np.float64
    close(getattr(mx.np, name)(5), getattr(np, name)(5).astype("float32"), "float32")


def test_copies_are_row_major():
    x = mx.np.array([[1, 2], [3, 4]])
    assert x.copy(order="C").tolist() == x.tolist() and not np.shares_memory(np.asarray(x.copy("K")), np.asarray(x))
    with pytest.raises(amp.UnsupportedError, match="row-major"):
        x.copy("F")


def test_loops_and_branches():
    class Powers(mx.gluon.HybridBlock):
        def forward(self, x):
            step = lambda i, power: (power, [i + 1, power * 2])  # noqa: E731
            return mx.npx.while_loop(lambda i, _: i < 2, step, [mx.np.zeros(1), x], max_iterations=3)

    block = Powers()
    block.hybridize()
    for x in (1, 5):
        outputs, (count, last) = block(mx.np.array([x]))
        assert outputs.tolist() == [[x], [2 * x], [0]] and count.tolist() == [2] and last.tolist() == [4 * x]
    assert mx.npx.cond(mx.np.array(0), lambda: 1, lambda: 2) == 2
    assert mx.npx.cond(lambda x: x > 1, lambda x: x + 1, lambda x: x - 1, mx.np.array(2)) == 3
    outputs, _ = mx.npx.foreach(lambda x, s: (x + s[0], s), mx.np.array([1, 2]), [mx.np.array(1)])
    assert outputs.tolist() == [2, 3] and type(outputs) is mx.np.ndarray


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: mx.npx.cond(x > 1, lambda: x, lambda: -x),
        lambda m, x: mx.npx.while_loop(lambda i: i < 9, lambda i: (i, [i * 2]), [x], max_iterations=5)[0],
    ],
)
def test_a_graph_does_not_keep_the_branch_of_its_first_input(call):
    block = Call(call)
    block.hybridize()
    for value in (2, -2, 3):
        x = mx.np.array([value])
        assert block(x).tolist() == call(mx.np, x).tolist()


def test_random_numbers_of_npx():
    mx.np.random.seed(seed=3)
    first = mx.npx.random.bernoulli(prob=mx.np.array([0.0, 0.5, 1.0]), size=(100, 3))
    mx.np.random.seed(3)
    assert np.array_equal(mx.npx.random.bernoulli(prob=[0.0, 0.5, 1.0], size=(100, 3)).asnumpy(), first.asnumpy())
    low, middle, high = first.asnumpy().mean(0)
    assert low == 0 and 0.3 < middle < 0.7 and high == 1
    assert mx.npx.random.bernoulli(logit=mx.np.full((2,), 50.0), dtype="int32").tolist() == [1, 1]
    assert mx.npx.random.normal_n(mx.np.zeros((2, 1)), mx.np.ones(3), batch_shape=(4,)).shape == (4, 2, 3)
    assert mx.npx.random.uniform_n(5, 6, batch_shape=2).asnumpy().min() >= 5
    probability = mx.np.array(0.5)
    probability.attach_grad()
    with mx.autograd.record(), pytest.raises(amp.UnsupportedError, match="has no gradient"):
        mx.npx.random.bernoulli(prob=probability)
    for wrong in ({}, {"prob": 0.5, "logit": 0.0}, {"prob": 1.5}):
        with pytest.raises(ValueError, match="bernoulli"):
            mx.npx.random.bernoulli(**wrong)


def test_files_and_indices_of_npx(tmp_path):
    x = mx.np.array([[0, 2], [3, 0]])
    mx.npx.savez(str(tmp_path / "arrays.npz"), x, name=x + 1)
    loaded = mx.npx.load(str(tmp_path / "arrays.npz"))
    assert loaded["arr_0"].tolist() == x.tolist() and loaded["name"].tolist() == (x + 1).tolist()
    with pytest.raises(amp.ArgumentError, match="arr_0"):
        mx.npx.savez(str(tmp_path / "arrays.npz"), x, arr_0=x)
    assert mx.npx.nonzero(x).tolist() == [[0, 1], [1, 0]]
    source = np.zeros(2, "float32")
    assert np.shares_memory(np.asarray(mx.npx.from_numpy(source)), source)
    assert not np.shares_memory(np.asarray(mx.npx.from_numpy(source, zero_copy=False)), source)
    with mx.engine.bulk(10):
        assert mx.engine.set_bulk_size(0) == 10


# ---- moves and numbers that became operators ----


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(
    "place, values, axis",
    [
        (1, 5, None),
        ([0, 2], [7, 8], None),
        (slice(0, 2), 9, 0),
        (1, [[1, 2, 3]], 0),
        ([1], [[5], [6]], 1),
        (-1, [1, 2], 1),
        (np.array([0, 1, 1]), 4, 1),
    ],
)
def test_insert_is_numpys_and_has_gradients(dtype, place, values, axis):
    source = np.arange(6).reshape(2, 3).astype(dtype)
    array = mx.np.array(source, dtype=dtype)
    array.attach_grad()
    with mx.autograd.record():
        found = mx.np.insert(array, place, values, axis=axis)
    expected = np.insert(source, place, values, axis=axis)
    assert found.dtype == dtype and found.tolist() == expected.tolist()
    found.backward()
    assert (array.grad.asnumpy() == 1).all()


def test_places_that_are_arrays():
    array, places = mx.np.array([5.0, 6, 7]), mx.np.array([0, 2], dtype="int64")
    array.attach_grad()
    with mx.autograd.record():
        kept, longer = mx.np.delete(array, places), mx.np.insert(array, places, 1)
        total = kept.sum() + longer.sum()
    assert kept.tolist() == [6] and longer.tolist() == [1, 5, 6, 1, 7]
    total.backward()
    assert array.grad.tolist() == [1, 2, 1]
    with pytest.raises(IndexError):
        mx.np.insert(array, 9, 1)


def test_numbers_have_the_axes_that_numpy_gives_them():
    number = mx.np.array(3.0)
    assert mx.np.squeeze(number, axis=-1).shape == () and mx.np.argmax(number, axis=0).item() == 0
    assert mx.np.broadcast_to(mx.np.array([[1], [2]]), (3, -2, 2)).shape == (3, 2, 2)
    assert mx.np.linspace(-1, 0, 4, dtype="int32").tolist() == np.linspace(-1, 0, 4, dtype="int32").tolist()
    assert mx.np.trace(mx.np.array([[100, 1], [1, 100]], dtype="int8")).item() == 200
    x = mx.np.array([float("nan"), 1])
    assert mx.np.nan_to_num(x, copy=False, nan=5) is x and x.tolist() == [5, 1]
    with pytest.raises(amp.ArgumentError, match="negative sizes"):
        mx.np.eye(-1)


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"where": False}, NotImplementedError, "where=False is not supported"),
        ({"dtype": "int8"}, NotImplementedError, "dtype='int8' is not supported"),
        ({"dtype": "abcdefg"}, TypeError, "abcdefg"),
        ({"casting": "safe"}, NotImplementedError, "casting='safe' is not supported"),
        ({"casting": "mxnet"}, TypeError, "casting is one of"),
        ({"order": "C"}, NotImplementedError, "order='C' is not supported"),
        ({"axis": 1}, TypeError, "unexpected keyword argument 'axis'"),
    ],
)
@pytest.mark.parametrize("name", ["exp", "add", "maximum"])
def test_options_of_numpy_have_their_defaults_alone(name, options, error, message):
    arrays = [mx.np.ones(2)] * (1 if name == "exp" else 2)
    defaults = {"where": True, "dtype": None, "casting": "same_kind", "order": "K", "subok": True}
    assert getattr(mx.np, name)(*arrays, **defaults).shape == (2,)
    with pytest.raises(error, match=message):
        getattr(mx.np, name)(*arrays, **options)


def test_a_file_of_numpy_is_one_array(tmp_path):
    source = np.asfortranarray(np.arange(6, dtype="float32").reshape(2, 3))
    np.save(tmp_path / "one.npy", source)
    loaded = mx.npx.load(str(tmp_path / "one.npy"))
    assert type(loaded) is mx.np.ndarray and loaded.tolist() == source.tolist()
    mx.npx.save(str(tmp_path / "list"), [mx.np.ones(2)])
    assert [array.tolist() for array in mx.npx.load(str(tmp_path / "list"))] == [[1, 1]]


class OldNumber(float):
    """A number as NumPy before 2 makes it: with methods that dtypes have, too."""

    newbyteorder, itemsize, dtype = None, 8, np.dtype("float64")


def test_numbers_of_old_numpy_are_no_dtypes():
    scaled = mx.sym.Variable("x") * OldNumber(0.5)
    assert scaled.eval(x=mx.nd.array([4]))[0].asscalar() == 2
    assert (mx.nd.array([4]) * OldNumber(0.5)).asscalar() == 2


@pytest.mark.parametrize("name", ["lcm", "gcd", "add", "fmod"])
def test_elements_left_out_are_refused_and_never_arbitrary(name):
    a = mx.np.array([4, 6], dtype="int32")
    with pytest.raises(NotImplementedError, match="where"):
        getattr(mx.np, name)(a, a, where=False)
    assert getattr(mx.np, name)(a, a, where=True).shape == (2,)


def test_arrays_that_are_like_others_take_the_options_of_mxnet():
    a = mx.np.ones((2, 3))
    assert mx.np.empty_like(a, None, "C", False).shape == np.empty_like(a, subok=False).shape == (2, 3)
    with pytest.raises(NotImplementedError, match="subok"):
        mx.np.empty_like(a, subok=True)


def test_the_class_of_numpys_symbols_has_mxnets_name():
    assert type(mx.sym.np.exp(mx.sym.var("x").as_np_ndarray())) is mx.sym.np._Symbol


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift", "add", "maximum", "invert"])
def test_options_that_mxnet_lacks_are_errors_of_both_classes(name):
    operands = [mx.np.ones(2, dtype="int32")] * (1 if name == "invert" else 2)
    for option in ({"where": False}, {"subok": False}, {"order": "C"}, {"casting": "safe"}, {"dtype": "int8"}):
        for kind in (TypeError, NotImplementedError, amp.UnsupportedError):
            with pytest.raises(kind, match=f"{name}: {next(iter(option))}="):
                getattr(mx.np, name)(*operands, **option)


def test_taking_by_indices_that_there_are_not():
    x = mx.np.array([[1.0, 2, 3], [4, 5, 6]])
    for index in (7, -1):
        places = mx.np.array([0, index], dtype="int32")
        for call in (lambda i: mx.np.take(x, i), lambda i: x.take(i), lambda i: mx.np.take(x, i, axis=1)):
            with pytest.raises(amp.Error, match=f"index {index} is out of range"):
                call(places)
        clipped, wrapped = (mx.np.take(x, places, mode=mode).asnumpy() for mode in ("clip", "wrap"))
        assert clipped.tolist() == [1, 6 if index > 0 else 1] and wrapped.tolist() == [1, 2 if index > 0 else 6]
    x.attach_grad()
    with mx.autograd.record():
        y = x.take(mx.np.array([5, 5, 0], dtype="int32"))
    y.backward()
    assert y.asnumpy().tolist() == [6, 6, 1] and x.grad.asnumpy().tolist() == [[1, 0, 0], [0, 0, 2]]


SYMBOLIC = {
    "take": (lambda f, x, i: f.take(x, i), np.take),
    "take along": (lambda f, x, i: f.take(x, i, axis=1), lambda x, i: np.take(x, i, axis=1)),
    "flip": (lambda f, x, i: f.flip(x), lambda x, i: np.flip(x)),
    "flip along": (lambda f, x, i: f.flip(x, 1), lambda x, i: np.flip(x, 1)),
    "flip both": (lambda f, x, i: f.flip(x, (0, 1)), lambda x, i: np.flip(x, (0, 1))),
    "rot90": (lambda f, x, i: f.rot90(x), lambda x, i: np.rot90(x)),
    "rot90 twice": (lambda f, x, i: f.rot90(x, 2, (1, 0)), lambda x, i: np.rot90(x, 2, (1, 0))),
    "argsort": (lambda f, x, i: f.argsort(x), lambda x, i: np.argsort(x)),
    "argsort along": (lambda f, x, i: f.argsort(x, 0), lambda x, i: np.argsort(x, 0)),
    "method take": (lambda f, x, i: x.take(i), np.take),
    "method argsort": (lambda f, x, i: x.argsort(), lambda x, i: np.argsort(x)),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_functions_of_symbols_have_numpys_defaults(name):
    function, right = SYMBOLIC[name]
    x, i = np.array([[3, 1, 2], [0, 5, 4]], "float32"), np.array([2, 0], "int32")
    symbol = function(mx.sym.np, *(mx.sym.var(n).as_np_ndarray() for n in "xi"))
    known = {n: mx.np.array(v, dtype=v.dtype) for n, v in (("x", x), ("i", i)) if n in symbol.list_arguments()}
    (found,) = symbol.eval(**known)
    np.testing.assert_array_equal(found.asnumpy(), right(x, i))
    assert found.dtype == ("int64" if "argsort" in name else "float32")
    np.testing.assert_array_equal(function(mx.np, *map(mx.np.array, (x, i))).asnumpy(), right(x, i))


def test_corrections_of_deviations():
    values = np.array([[1.0, 2, 4], [0, 5, 7]], "float32")
    for name in ("std", "var"):
        for axis in (None, 1):
            right = getattr(np, name)(values, axis=axis, ddof=1)
            for options in ({"ddof": 1}, {"correction": 1}):
                found = getattr(mx.np, name)(mx.np.array(values), axis=axis, **options)
                np.testing.assert_allclose(found.asnumpy(), right, rtol=1e-6)
