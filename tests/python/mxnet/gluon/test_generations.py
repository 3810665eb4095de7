"""Blocks of MXNet 1.x and 2.x: whose names, which method is called, what a recorded graph is valid for."""

import collections
import copy
import dataclasses
import json
import math
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import loss, nn, rnn

npx = mx.npx


def array(*shape, seed=0):
    return mx.np.array(np.random.default_rng(seed).uniform(-1, 1, shape), dtype="float32")


# ---- names ----


def without_numbers_of_nodes(names):
    return [re.sub(r"^node_\d+$", "node", name) for name in names]


@pytest.mark.parametrize(("version", "wheel"), [("1", "1.9.1"), ("2", "2.0.0b1")])
def test_names_are_those_of_the_wheels(version, wheel, shared_dir, tmp_path):
    folder = shared_dir / "cases" / "names"
    command = [
        sys.executable,
        "-B",
        "-W",
        "ignore",
        str(folder / "record.py"),
        "amp.mxnet",
        version,
        str(tmp_path / "names"),
    ]
    subprocess.run(command, check=True)
    found, expected = (
        json.loads((tmp_path / "names").read_text()),
        json.loads((folder / f"mxnet-{wheel}.json").read_text()),
    )
    assert len(expected) >= 25
    for net, names in expected.items():
        for kind, wanted in names.items():
            got = found[net].get(kind)
            if version == "2" and isinstance(wanted, list):
                got, wanted = without_numbers_of_nodes(got), without_numbers_of_nodes(wanted)
            assert got == wanted, (net, kind)


def test_the_table_says_when_a_block_is_of_which_generation():
    with mx.name.NameManager():
        assert list(nn.Dense(3).collect_params()) == ["dense0_weight", "dense0_bias"]
        with mx.util.np_array():
            second = nn.Dense(3)
            assert list(second.collect_params()) == ["weight", "bias"]
        assert list(second.collect_params()) == ["weight", "bias"]  # when it was made counts
        net = nn.HybridSequential()
        net.add(second)  # a child is of the generation of its parent
        assert list(net.collect_params()) == ["dense1_weight", "dense1_bias"]


def test_empty_prefixes_take_the_scope_around():
    with mx.name.NameManager():
        outer = nn.HybridSequential(prefix="net_")
        with outer.name_scope():
            inner = nn.HybridSequential(prefix="")
            with inner.name_scope():
                inner.add(nn.Dense(2), nn.Dense(2))
            outer.add(inner, nn.Dense(2))
        names = [name for name in outer.collect_params() if name.endswith("weight")]
        assert names == [f"net_dense{i}_weight" for i in range(3)]


def test_files_of_symbol_blocks_leave_out_the_common_prefix(tmp_path):
    base = nn.HybridSequential(prefix="base_")
    with base.name_scope():
        base.add(nn.Dense(3, in_units=4), nn.Dense(2, in_units=3))
    base.initialize()
    block = gluon.SymbolBlock(base(mx.sym.var("data")), mx.sym.var("data"), base.collect_params())
    net = nn.HybridSequential()
    net.add(block, nn.Dense(2, in_units=2))
    net.initialize()
    net.save_parameters(str(tmp_path / "net"))
    block.save_parameters(str(tmp_path / "block"))
    assert sorted(mx.nd.load(str(tmp_path / "net")))[:4] == ["0.0_bias", "0.0_weight", "0.1_bias", "0.1_weight"]
    assert sorted(mx.nd.load(str(tmp_path / "block"))) == ["0_bias", "0_weight", "1_bias", "1_weight"]
    x, expected = mx.nd.ones((1, 4)), net(mx.nd.ones((1, 4))).asnumpy()
    inner = block(x).asnumpy()
    for parameter in block.collect_params().values():
        parameter.set_data(mx.nd.zeros(parameter.shape))
    block.load_parameters(str(tmp_path / "block"))
    np.testing.assert_array_equal(block(x).asnumpy(), inner)
    block.load_parameters(str(tmp_path / "block"), ignore_extra=True)
    net.load_parameters(str(tmp_path / "net"))
    np.testing.assert_array_equal(net(x).asnumpy(), expected)


def test_two_parameters_of_one_name_are_an_error():
    net = nn.HybridSequential(prefix="")
    net.add(nn.Dense(2, prefix="same_"), nn.Dense(2, prefix="same_"))
    with pytest.raises(amp.ArgumentError, match="two parameters 'same_weight'"):
        net.collect_params()


# ---- which method is called ----

X, PICTURE, SEQUENCE = (2, 6), (2, 4, 6, 6), (3, 2, 6)
LAYERS = {
    nn.Dense: ((4,), [X]),
    nn.Conv1D: ((4, 3), [(2, 4, 6)]),
    nn.Conv2D: ((4, 3), [PICTURE]),
    nn.Conv3D: ((4, 3), [(1, 2, 4, 4, 4)]),
    nn.Conv1DTranspose: ((4, 3), [(2, 4, 6)]),
    nn.Conv2DTranspose: ((4, 3), [PICTURE]),
    nn.Conv3DTranspose: ((4, 3), [(1, 2, 4, 4, 4)]),
    nn.DeformableConvolution: ((4, 3), [PICTURE]),
    nn.ModulatedDeformableConvolution: ((4, 3), [PICTURE]),
    nn.MaxPool1D: ((), [(2, 4, 6)]),
    nn.AvgPool2D: ((), [PICTURE]),
    nn.GlobalAvgPool2D: ((), [PICTURE]),
    nn.GlobalMaxPool3D: ((), [(1, 2, 4, 4, 4)]),
    nn.ReflectionPad2D: ((1,), [PICTURE]),
    nn.BatchNorm: ((), [PICTURE]),
    nn.BatchNormReLU: ((), [PICTURE]),
    nn.SyncBatchNorm: ((), [PICTURE]),
    nn.LayerNorm: ((), [X]),
    nn.InstanceNorm: ((), [PICTURE]),
    nn.GroupNorm: ((2,), [PICTURE]),
    nn.Embedding: ((5, 3), [X]),
    nn.Flatten: ((), [PICTURE]),
    nn.Dropout: ((0.5,), [X]),
    nn.Identity: ((), [X]),
    nn.Activation: (("relu",), [X]),
    nn.LeakyReLU: ((0.1,), [X]),
    nn.PReLU: ((), [X]),
    nn.ELU: ((), [X]),
    nn.SELU: ((), [X]),
    nn.GELU: ((), [X]),
    nn.Swish: ((), [X]),
    nn.SiLU: ((), [X]),
    nn.PixelShuffle1D: ((2,), [(2, 4, 6)]),
    nn.PixelShuffle2D: ((2,), [PICTURE]),
    nn.HybridSequential: ((), [X]),
    nn.HybridLambda: ((lambda F, x: F.relu(x),), [X]),
    rnn.LSTM: ((4,), [SEQUENCE]),
    rnn.GRU: ((4,), [SEQUENCE]),
    rnn.RNN: ((4,), [SEQUENCE]),
    loss.L1Loss: ((), [X, X]),
    loss.L2Loss: ((), [X, X]),
    loss.SigmoidBCELoss: ((), [X, X]),
    loss.SoftmaxCELoss: ((), [X, (2,)]),
    loss.KLDivLoss: ((), [X, X]),
    loss.HuberLoss: ((), [X, X]),
    loss.HingeLoss: ((), [X, X]),
    loss.SquaredHingeLoss: ((), [X, X]),
    loss.LogisticLoss: ((), [X, X]),
    loss.TripletLoss: ((), [X, X, X]),
    loss.PoissonNLLLoss: ((), [X, X]),
    loss.CosineEmbeddingLoss: ((), [X, X, (2,)]),
    loss.SDMLLoss: ((), [X, X]),
    loss.CTCLoss: ((), [(2, 5, 4), (2, 2)]),
}  # fmt: skip


@pytest.mark.parametrize("base", LAYERS, ids=lambda base: base.__name__)
def test_an_overridden_hybrid_forward_counts(base):
    args, shapes = LAYERS[base]
    modules = []

    class Doubled(base):
        def hybrid_forward(self, F, *inputs, **parameters):  # noqa: N803 - MXNet's name
            modules.append(F)
            result = super().hybrid_forward(F, *inputs, **parameters)
            return 2 * result if F is mx.nd else result * 2

    plain, doubled = base(*args), Doubled(*args)
    inputs = [
        mx.nd.ones(shape) * (0.25 * (i + 1)) if len(shape) > 1 else mx.nd.ones(shape) for i, shape in enumerate(shapes)
    ]
    for block in (plain, doubled):
        block.initialize(mx.init.Constant(0.1))
    expected = 2 * plain(*inputs).asnumpy()
    np.testing.assert_allclose(doubled(*inputs).asnumpy(), expected, rtol=1e-5)
    assert modules == [mx.nd]
    doubled.hybridize()
    np.testing.assert_allclose(doubled(*inputs).asnumpy(), expected, rtol=1e-5)
    assert (mx.sym if base is not loss.SDMLLoss else mx.nd) in modules  # whose graph depends on a size


@pytest.mark.parametrize("base", [rnn.RNNCell, rnn.LSTMCell, rnn.GRUCell, rnn.ResidualCell, rnn.ZoneoutCell])
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_overridden_hybrid_forward_of_cells_counts(base, hybridize):
    class Doubled(base):
        def hybrid_forward(self, F, inputs, states, **parameters):  # noqa: N803 - MXNet's name
            output, states = super().hybrid_forward(F, inputs, states, **parameters)
            return output * 2, states

    is_modifier = issubclass(base, rnn.ModifierCell)
    plain, doubled = (cls(rnn.GRUCell(4, prefix="in_")) if is_modifier else cls(4) for cls in (base, Doubled))
    x = mx.nd.ones((2, 4)) * 0.5
    for cell in (plain, doubled):
        cell.initialize(mx.init.Constant(0.1))
    if hybridize:
        doubled.hybridize()
    expected = plain(x, plain.begin_state(2))[0].asnumpy() * 2
    np.testing.assert_allclose(doubled(x, doubled.begin_state(2))[0].asnumpy(), expected, rtol=1e-5)


def test_a_subclass_that_overrides_forward_in_mxnet_2():
    with mx.util.np_array(), mx.util.np_shape():

        class Doubled(nn.Dense):
            def forward(self, x):
                return 2 * super().forward(x)

        net = Doubled(3, in_units=4)
        net.initialize("ones")
        for _ in range(2):
            assert net(mx.np.ones((1, 4))).asnumpy().tolist() == [[8, 8, 8]]
            net.hybridize()


def test_forward_of_mxnet_1_is_python_in_every_call():
    class Counted(nn.HybridBlock):
        calls = 0

        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2)

        def forward(self, x):
            Counted.calls += 1
            return self.dense(x)

    net = Counted()
    net.initialize()
    net.hybridize()
    for _ in range(3):
        net(mx.nd.ones((1, 3)))
    assert Counted.calls == 3 and net.dense._graphs.kept
    with pytest.raises(RuntimeError, match="Counted overrides forward, which MXNet 1.x does not record"):
        net.export("counted")


def test_scale_is_fixed_in_graphs_of_symbols_too():
    net = nn.BatchNorm(scale=False, gamma_initializer=mx.init.Constant(3))
    assert net(mx.sym.var("data")).list_arguments()[0] == "data"  # before initialize
    net.initialize()
    net.hybridize()
    x = mx.nd.array([[1, 2], [3, 5]])
    np.testing.assert_allclose(net(x).asnumpy(), x.asnumpy(), rtol=1e-4)


# ---- what a recorded graph is valid for ----


class Block2(gluon.HybridBlock):
    """`forward` is a function."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def forward(self, *args):
        return self._function(*args)


def recorded(function, *args):
    with mx.util.np_array(), mx.util.np_shape():
        net = Block2(function)
        net.hybridize()
        net(*args)
    return net


READS = {
    "range": lambda n: sum(1 for _ in range(n)),
    "index": lambda n: list(range(10))[n],
    "slice": lambda n: len("abcdefghij"[:n]),
    "repetition": lambda n: len([0] * n),
    "prod": lambda n: int(np.prod((n, 2))),
    "zeros": lambda n: np.zeros(n).size,
    "numpy array": lambda n: float((np.arange(3, dtype="f4") * n).sum()),
    "ufunc": lambda n: float(np.multiply(2.5, n)),
    "ceil": lambda n: math.ceil(n / 2),
    "ceil of it": lambda n: math.ceil(n),
    "sqrt": lambda n: math.sqrt(n),
    "format": lambda n: len(f"{n:05d}") + int(f"{n}"),
    "percent": lambda n: int("%d" % n),  # noqa: UP031
    "text": lambda n: int(str(n)),
    "branch": lambda n: 3 if n > 3 else 4,
    "truth": lambda n: 5 if n else 6,
    "comparison": lambda n: float(n == 4),
    "arithmetic": lambda n: -n + 2 * n - n // 2 + n % 3 + n**2,
    "number": lambda n: int(n) + float(n),
    "divmod": lambda n: divmod(n, 2)[0],
    "pickle": lambda n: pickle.loads(pickle.dumps(n)),
    "hash": lambda n: {4: 1, 6: 2}[n],
    "max": lambda n: max(n, 5),
    "method": lambda n: n.bit_length(),
    "bytes": lambda n: len(bytes(n)),
}


@pytest.mark.parametrize("kind", READS)
def test_a_size_that_python_uses_is_read(kind):
    use = READS[kind]
    net = recorded(lambda x: x * use(x.shape[1]), array(2, 4))
    for shape in ((2, 4), (2, 6), (5, 4)):
        x = array(*shape, seed=1)
        np.testing.assert_allclose(net(x).asnumpy(), x.asnumpy() * use(shape[1]), rtol=1e-6)
    assert len(net._graphs.kept) == 2  # the batch is open


def test_sizes_are_integers_for_programs():
    seen = []

    def function(x):
        batch, *_ = x.shape
        seen.append((isinstance(batch, int), isinstance(x.shape, tuple), len(x.shape), x.ndim))
        return x * 2

    net = recorded(function, array(2, 4))
    assert seen == [(True, True, 2, 2)]
    net(array(7, 9))
    assert len(net._graphs.kept) == 1 and not net._graphs.kept[0].fixed_sizes


OPEN = {
    "first half": lambda x: x[:, : 2],
    "last": lambda x: x[:, -1],
    "new axis": lambda x: x[:, None, 1:],
    "flatten": lambda x: x.reshape(-1),
    "mean": lambda x: x.mean(axis=1),
    "softmax": lambda x: npx.softmax(x),
    "product": lambda x: mx.np.dot(x, x.T),
    "like": lambda x: mx.np.ones_like(x) + x,
    "stack": lambda x: mx.np.stack([x, x]),
}  # fmt: skip


def test_sizes_meet_floats_and_numbers_of_numpy(mxnet_2):
    found = {}

    class Net(mx.gluon.HybridBlock):
        def forward(self, x):
            n = x.shape[1]
            found["floats"] = [n * 0.5, 0.5 * n, n / 4.0, 2.0 / n, n**-0.5, 2.0**n, n + 0.5, 1.5 - n, n // 2.5, 4.5 % n]
            found["ints"] = [n * True, 7 // n, n % 2, n << 1, 1 << n, n & 2, 6 | n, n ^ 1, pow(n, 2, 5), -n, abs(n)]
            found["pairs"] = [divmod(n, 2.0), divmod(7, n), (n * np.float32(0.5), np.int64(2) * n)]
            found["own"] = [n * n, n**n, n - x.shape[0], divmod(n, x.shape[0]), (n * mx.np.ones(2)).shape]
            found["complex"] = n * 1j
            with pytest.raises(TypeError, match="unsupported operand"):
                n * None
            return x * n**-0.5

    net = Net()
    net.hybridize()
    np.testing.assert_allclose(net(mx.np.ones((2, 3))).asnumpy(), np.full((2, 3), 3**-0.5), rtol=1e-6)
    assert net._graphs.kept
    assert found["floats"] == [1.5, 1.5, 0.75, 2 / 3, 3**-0.5, 8.0, 3.5, -1.5, 1.0, 1.5]
    assert found["ints"] == [3, 2, 1, 6, 8, 2, 7, 2, 4, -3, 3]
    assert found["pairs"] == [(1.0, 1.0), (2, 1), (1.5, 6)]
    assert found["own"] == [9, 27, 1, (1, 1), (2,)] and found["complex"] == 3j


@pytest.mark.parametrize("kind", OPEN)
def test_graphs_without_reads_hold_for_all_sizes(kind):
    net = recorded(OPEN[kind], array(3, 4))
    for shape in ((3, 4), (1, 5), (6, 3)):
        x = array(*shape, seed=2)
        np.testing.assert_allclose(net(x).asnumpy(), OPEN[kind](x).asnumpy(), rtol=1e-5, atol=1e-6)
    assert len(net._graphs.kept) == 1


def test_sizes_of_results_are_followed_to_the_inputs():
    def function(x):
        half = x[:, ::2]
        return half.sum() * half.shape[1]

    net = recorded(function, array(2, 4))
    for width, graphs in ((4, 1), (3, 1), (6, 2), (5, 2)):  # halves of 2, 2, 3, 3
        x = array(2, width)
        np.testing.assert_allclose(net(x).item(), function(x).item(), rtol=1e-5)
        assert len(net._graphs.kept) == graphs


def test_many_recordings_are_bounded_and_said_once():
    with mx.util.np_array(), mx.util.np_shape():
        net = Block2(lambda x: x * x.shape[1])
    net.hybridize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for width in range(1, 13):
            assert net(mx.np.ones((1, width))).asnumpy().tolist() == [[width] * width]
    assert len(net._graphs.kept) == 8
    (message,) = [str(w.message) for w in caught]
    assert re.search(r"Block2 was recorded more than 8 times.*axis 1 of 'data'.*test_generations.py:\d+", message)


def test_modes_that_python_reads_are_part_of_the_key():
    net = recorded(lambda x: x * 2 if mx.autograd.is_training() else x, array(2, 2))
    x = mx.np.ones((1, 1))
    for _ in range(2):
        assert net(x).item() == 1
        with mx.autograd.train_mode():
            assert net(x).item() == 2
    both = recorded(lambda x: x * 3 if mx.autograd.is_recording() else x, array(2, 2))
    for _ in range(2):
        assert both(x).item() == 1
        with mx.autograd.record():
            assert both(x).item() == 3


@pytest.mark.parametrize("read", [float, bool, lambda total: total.item() > 0, lambda total: total.asnumpy().sum()])
def test_blocks_that_read_values_have_no_graph(read):
    with mx.util.np_array(), mx.util.np_shape():
        net = Block2(lambda x: x * 2 if read(x.sum()) > 0 else x - 1)
    net.hybridize()
    with pytest.warns(RuntimeWarning, match="runs without a graph, slower: what Python computes from values"):
        net(mx.np.ones((2,)))
    for value, expected in ((3, 6), (0, -1)):
        assert net(mx.np.full((2,), value)).asnumpy().tolist() == [expected] * 2


def test_an_export_says_which_sizes_are_fixed(tmp_path):
    net = recorded(lambda x: x * x.shape[1], array(2, 4))
    with pytest.warns(UserWarning, match=r"valid for these sizes alone: axis 1 of 'data' is 4 \(read at test_gener"):
        net.export(str(tmp_path / "net"))
    is_open = recorded(lambda x: x + 1 if mx.autograd.is_training() else x - 1, array(2, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        is_open.export(str(tmp_path / "open"))


COPIES = {
    "array": lambda x: mx.np.array(x),
    "constructor": lambda x: type(x)(x),
    "another class": lambda x: mx.nd.NDArray(x).as_np_ndarray(),
    "copy": lambda x: copy.copy(x) + copy.deepcopy(x) - x.copy(),
    "from_numpy": lambda x: npx.from_numpy(x),
    "detach": lambda x: x.detach(),
    "bytes": lambda x: x * x.nbytes,
    "indices": lambda x: npx.index_array(x).astype("float32"),
    "rows": lambda x: mx.np.stack([row * 2 for row in x]),
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_are_no_constants(kind):
    make = COPIES[kind]
    net = recorded(make, array(3, 4))
    for shape, seed in (((3, 4), 1), ((2, 4), 2), ((3, 5), 3)):
        x = array(*shape, seed=seed)
        np.testing.assert_allclose(net(x).asnumpy(), make(x).asnumpy(), rtol=1e-6)


PARTS = {
    "row": lambda F, x: x[1] * 2,
    "rows": lambda F, x: x[0:1] * 2,
    "loop": lambda F, x: F.stack(*[row * 2 for row in x]),
    "part of one": lambda F, x: F.SliceChannel(x, num_outputs=2, axis=1)[1],
    "size": lambda F, x: x * len(x) if F is mx.nd else x.no_such_method(),
}


@pytest.mark.parametrize("kind", PARTS)
def test_parts_of_arrays_are_no_outputs_of_symbols(kind):
    class Parts(gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
            return PARTS[kind](F, x)

    plain, net = Parts(), Parts()
    net.hybridize()
    for rows in (3, 2):
        x = mx.nd.array(np.random.default_rng(rows).uniform(size=(rows, 4)))
        np.testing.assert_allclose(net(x).asnumpy(), plain(x).asnumpy(), rtol=1e-6)


# ---- arguments ----

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass(frozen=True)
class Frozen:
    left: object
    right: object
    factor: int = 3


FORMS = {
    "dict": lambda x, y: {"left": x, "right": y, "factor": 3},
    "ordered dict": lambda x, y: collections.OrderedDict(right=y, left=x, factor=3),
    "namedtuple": lambda x, y: Pair(x, y),
    "dataclass": lambda x, y: Frozen(x, y),
    "list of a dict": lambda x, y: [{"left": x, "right": y}],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_2", [False, True])
def test_arrays_in_containers_are_inputs(form, is_2):
    def combined(values):
        values = values[0] if isinstance(values, list) else values
        get = values.get if isinstance(values, dict) else lambda key, default=None: getattr(values, key, default)
        return {"sum": get("left") * get("factor", 3) + get("right")}

    class One(gluon.HybridBlock):
        def hybrid_forward(self, F, values):  # noqa: N803 - MXNet's name
            return combined(values)

    with mx.util.np_array(is_2), mx.util.np_shape(is_2):
        net = Block2(combined) if is_2 else One()
        net.hybridize()
        module = mx.np if is_2 else mx.nd
        for left, right in ((1, 2), (5, 7)):
            x, y = module.ones((2, 2)) * left, module.ones((2, 2)) * right
            for a in (x, y):
                a.attach_grad()
            with mx.autograd.record():
                result = net(FORMS[form](x, y))["sum"]
            result.backward()
            assert (result.asnumpy() == 3 * left + right).all()
            assert (x.grad.asnumpy() == 3).all() and (y.grad.asnumpy() == 1).all()
    assert len(net._graphs.kept) == 1


def test_other_objects_run_without_a_graph():
    class Holder:
        def __init__(self, value):
            self.value = value

    with mx.util.np_array(), mx.util.np_shape():
        net = Block2(lambda x, holder: x + holder.value)
    net.hybridize()
    x = mx.np.ones((2,))
    with pytest.warns(RuntimeWarning, match="an argument of Block2 is a Holder"):
        assert net(x, Holder(x)).asnumpy().tolist() == [2, 2]
    assert net(x, Holder(x * 5)).asnumpy().tolist() == [6, 6]


def test_an_array_that_takes_the_place_of_another_is_seen():
    class Shifted(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.shift = mx.np.ones((2,))

        def forward(self, x):
            return x + self.shift

    with mx.util.np_array(), mx.util.np_shape():
        net = Shifted()
    net.hybridize()
    assert net(mx.np.ones((2,))).asnumpy().tolist() == [2, 2]
    net.shift = mx.np.full((2,), 5)
    assert net(mx.np.ones((2,))).asnumpy().tolist() == [6, 6]


# ---- optimizers ----


@pytest.mark.parametrize("is_2", [False, True])
def test_adadelta(is_2):
    with mx.util.np_array(is_2), mx.util.np_shape(is_2):
        optimizer = mx.optimizer.AdaDelta(0.5, 0.8, wd=0.1) if is_2 else mx.optimizer.AdaDelta(0.8, wd=0.1)
    update, weight = mx.optimizer.get_updater(optimizer), mx.nd.array([1.0, -2.0])
    expected, of_grads, of_steps = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    epsilon, rate = (1e-6, 0.5) if is_2 else (1e-5, 1)
    for grad in ([0.5, 1], [-1, 0.25], [2, 2]):
        update(0, mx.nd.array(grad), weight)
        grad = np.array(grad) + (0.1 * expected if is_2 else 0)
        of_grads = 0.8 * of_grads + 0.2 * grad**2
        step = np.sqrt(of_steps + epsilon) / np.sqrt(of_grads + epsilon) * grad
        of_steps = 0.8 * of_steps + 0.2 * step**2
        expected = expected - rate * step - (0 if is_2 else 0.1 * expected)
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)


def test_a_call_of_ones_own_runs_once_for_a_call():
    class Doubling(gluon.HybridBlock):
        def __call__(self, x):
            return super().__call__(2 * x)

        def forward(self, x):
            return x + 1

    net = Doubling()
    net.hybridize()
    assert [net(mx.np.ones(2)).tolist() for _ in range(2)] == [[3, 3], [3, 3]]


@pytest.mark.parametrize("layer", [rnn.RNN, rnn.LSTM, rnn.GRU])
def test_recorded_layers_give_states_where_they_get_them(layer):
    with mx.util.np_shape(True), mx.util.np_array(True):
        net = layer(2)
        net.initialize()
        x = mx.np.ones((3, 2, 2))
        output, states = net(x, net.begin_state(2))
        net.hybridize()
        for _ in range(2):
            np.testing.assert_allclose(net(x).asnumpy(), output.asnumpy(), rtol=1e-5)
            again = net(x, net.begin_state(2))
            np.testing.assert_allclose(again[0].asnumpy(), output.asnumpy(), rtol=1e-5)
            assert [state.shape for state in again[1]] == [state.shape for state in states]


def test_gradients_of_computed_arrays_with_mxnet_2(monkeypatch):
    from amp import _backward
    from amp.mxnet import _generation

    monkeypatch.setattr(_generation, "_default", _generation.ONE)
    monkeypatch.setattr(_backward, "_all_stay", False)
    _generation.set_default("2.0.0")
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        z = y * x
    y.attach_grad()
    z.attach_grad()
    z.backward(mx.nd.array([1, 10]), retain_graph=True)
    assert [each.grad.asnumpy().tolist() for each in (z, y, x)] == [[1, 10], [1, 20], [3, 120]]
    y.drop_grad(), z.drop_grad()
    z.backward()
    assert y.grad is None and z.grad is None and x.grad.asnumpy().tolist() == [3, 12]


def test_children_of_mxnet_2_are_called_for_themselves():
    class Rows(gluon.Block):
        def forward(self, x):
            for child in self._children.values():
                x = child()(x)
            return x

    class Numbers(gluon.HybridBlock):
        def forward(self):
            return mx.np.ones(2)

    with mx.util.np_shape(True), mx.util.np_array(True):
        rows = Rows()
        for layer in (nn.Dense(3, use_bias=False), nn.Flatten(), nn.Activation("relu")):
            rows.register_child(layer)
            assert layer() is layer
        rows.initialize("ones")
        assert rows(mx.np.ones((2, 5))).tolist() == [[5, 5, 5]] * 2
        assert Numbers()().tolist() == [1, 1]
        rows.part = gluon.Block()
        assert list(rows._children.values())[-1]() is rows.part
