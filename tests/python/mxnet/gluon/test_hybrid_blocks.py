"""amp.convert_hybrid_block: our blocks, and MXNet's, for which a made-up MXNet stands here.

tools/check_hybrid_blocks_with_mxnet.py does the same with the real ones.
"""

import contextlib
import sys
import types
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import SymbolBlock

pytestmark = pytest.mark.usefixtures("any_machine")  # what is converted runs so

RANDOM = np.random.default_rng(2)
FIRST, SECOND = RANDOM.standard_normal((2, 4)).astype("f4"), RANDOM.standard_normal((2, 6)).astype("f4")
PARAMS = {
    "a_weight": RANDOM.standard_normal((8, 4)).astype("f4"),
    "a_bias": RANDOM.standard_normal(8).astype("f4"),
    "b_weight": RANDOM.standard_normal((8, 6)).astype("f4"),
    "b_bias": RANDOM.standard_normal(8).astype("f4"),
}


def network(first="data0", second="data1"):
    """The graph's order of inputs is not that of the call."""
    right = amp.sym.FullyConnected(amp.sym.Variable(second), num_hidden=8, name="b")
    left = amp.sym.FullyConnected(amp.sym.Variable(first), num_hidden=8, name="a")
    return amp.sym.Group([amp.sym.elemwise_add(right, left, name="sum"), amp.sym.relu(left, name="relu")])


def expected():
    a = FIRST @ PARAMS["a_weight"].T + PARAMS["a_bias"]
    return [a + SECOND @ PARAMS["b_weight"].T + PARAMS["b_bias"], np.maximum(a, 0)]


def check_outputs(outputs):
    assert isinstance(outputs, list) and len(outputs) == 2
    for found, wanted in zip(outputs, expected()):
        assert found.dtype == np.float32
        error = np.sqrt(np.mean((found.asnumpy() - wanted) ** 2) / np.mean(wanted**2))
        assert 0 < error < 0.02


def casts(block):
    return block.symbol.tojson().count('"op": "amp_cast"')


# ---- our own ----


def own_block():
    return SymbolBlock(network(), [amp.sym.Variable("data0"), amp.sym.Variable("data1")], PARAMS)


@pytest.mark.parametrize("offline", [False, True])
def test_symbol_blocks(offline):
    block = own_block()
    text = block.symbol.tojson()
    converted = amp.convert_hybrid_block(block, [FIRST, SECOND], "bfloat16", cast_params_offline=offline, ctx="cpu")
    assert isinstance(converted, SymbolBlock) and converted.input_names == block.input_names
    assert casts(converted) > 0 and converted.conversion_report is not None
    check_outputs(converted(FIRST, SECOND))
    weight = converted.collect_params()["a_weight"].dtype
    assert weight == (ml_dtypes.bfloat16 if offline else np.float32)
    assert block.symbol.tojson() == text and block.conversion_report is None
    assert block.collect_params()["a_weight"].dtype == np.float32
    np.testing.assert_allclose(block(FIRST, SECOND)[1].asnumpy(), expected()[1], rtol=1e-5, atol=1e-5)


def test_hooks_are_installed_before_the_first_call():
    converted = amp.convert_hybrid_block(own_block(), (FIRST, SECOND), policy="mxnet")
    seen = []
    converted.register_op_hook(lambda name, op, array: seen.append((op, amp.dtype_name(array.dtype))))
    check_outputs(converted(FIRST, SECOND))
    assert ("amp_cast", "bfloat16") in seen and ("FullyConnected", "bfloat16") in seen
    assert sum(op == "amp_cast" for op, _ in seen) == casts(converted)


def test_examples_say_what_the_inputs_are():
    data = amp.sym.Variable("data")
    net = amp.sym.FullyConnected(amp.sym.Cast(data, dtype="float32", name="cast"), num_hidden=8, name="a")
    block = SymbolBlock(net, data, PARAMS)
    low = FIRST.astype(ml_dtypes.bfloat16)
    for example in (low, FIRST):
        converted = amp.convert_hybrid_block(block, example)
        assert isinstance(converted(example), amp.NDArray)
    weight = amp.sym.Variable("weight", shape=(8, 0))
    unknown = SymbolBlock(amp.sym.dot(data, weight, transpose_b=True), [data, weight])
    assert unknown(FIRST, PARAMS["a_weight"]).shape == (2, 8)
    assert (
        amp.convert_hybrid_block(unknown, [low, PARAMS["a_weight"].astype(low.dtype)])(
            low, PARAMS["a_weight"].astype(low.dtype)
        ).dtype
        == low.dtype
    )


def test_the_report_is_a_further_element():
    converted, report = amp.convert_hybrid_block(own_block(), [FIRST, SECOND], return_report=True)
    assert report is converted.conversion_report


@pytest.mark.parametrize(
    "block, example, text",
    [
        (3, FIRST, "expected an mx.gluon.HybridBlock or a HybridBlock of MXNet, got builtins.int"),
        (network(), FIRST, "got amp.sym.symbol.Symbol"),
        (own_block(), [FIRST] * 3, "3 arrays, but the block has 2 inputs: data0, data1"),
        (own_block(), [FIRST, "x"], "data_example for 'data1': expected an array, got str"),
    ],
)
def test_mistakes(block, example, text):
    with pytest.raises(amp.ArgumentError, match=text):
        amp.convert_hybrid_block(block, example)


def test_two_names_of_one_argument():
    with pytest.raises(amp.ArgumentError, match="two names"):
        amp.convert_hybrid_block(own_block(), [FIRST, SECOND], device="cpu", ctx="cpu")


# ---- MXNet's ----


class Array:
    """mxnet.nd.NDArray"""

    def __init__(self, array, dtype=None):
        self.array = np.array(array, dtype)

    def asnumpy(self):
        return self.array

    def wait_to_read(self):
        pass


Array.__module__ = "mxnet.ndarray.ndarray"


class HybridBlock:
    """What the blocks of MXNet 1.9.1 do when they are hybridized, called and exported."""

    def __init__(self, *children):
        self._children = dict(enumerate(children))
        self._active, self._flags, self._cached_graph, self._cached_op, self._cached_op_args = False, [], (), None, []
        self.calls = []

    def hybridize(self, active=True):
        self._active, self._flags = active, [("inline_limit", 2)]
        self._cached_graph, self._cached_op = (), None
        for child in self._children.values():
            (child if hasattr(child, "hybridize") else child()).hybridize(active)

    def __call__(self, *args):
        assert all(isinstance(value, Array) for value in args)
        self.calls.append([value.array.dtype for value in args])
        if self._active:
            self._cached_graph = self.inputs(), network()
            self._cached_op = object()
            self._cached_op_args.append("changed in place")
        return [Array(value) for value in expected()]

    def inputs(self):
        return [amp.sym.Variable("data0"), amp.sym.Variable("data1")]

    def export(self, path, epoch=0):
        assert self._cached_graph
        self._cached_graph[1].save(f"{path}-symbol.json")
        amp.nd.save(f"{path}-{epoch:04d}.params", {f"arg:{name}": array for name, array in PARAMS.items()})
        self.exported = Path(path).parent


HybridBlock.__module__ = "mxnet.gluon.block"


class MyBlock(HybridBlock):
    """A user's own class, from a module of the user's."""


class BlockOfMXNet2(HybridBlock):
    """Holds its children by weak references, keeps casts on demand, writes no file without parameters."""

    def __init__(self, *children):
        super().__init__(*map(weakref.ref, children))
        self._first_forward = True

    def __call__(self, *args):
        self._first_forward = False
        return super().__call__(*args)

    def export(self, path, epoch=0, remove_amp_cast=True):
        assert not remove_amp_cast
        super().export(path, epoch)


@pytest.fixture
def mxnet(monkeypatch):
    """A made-up module mxnet, as far as tracing needs it."""
    paused = []

    @contextlib.contextmanager
    def pause():
        paused.append(1)
        yield

    module = types.ModuleType("mxnet")
    module.nd = types.SimpleNamespace(array=Array)
    module.np = None
    module.util = types.SimpleNamespace(is_np_array=lambda: False)
    module.autograd = types.SimpleNamespace(pause=pause)
    module.paused = paused
    monkeypatch.setitem(sys.modules, "mxnet", module)
    return module


def state_of(block):
    return {name: list(value) if isinstance(value, list) else value for name, value in vars(block).items()}


@pytest.mark.parametrize("kind", [MyBlock, BlockOfMXNet2])
@pytest.mark.parametrize("wrap", [np.asarray, Array, amp.NDArray])
def test_blocks_of_mxnet(mxnet, kind, wrap):
    child = kind()
    block = kind(child)
    before = state_of(block), state_of(child)
    converted = amp.convert_hybrid_block(block, [wrap(FIRST), wrap(SECOND)], cast_params_offline=True)
    assert converted.input_names == ["data0", "data1"] and casts(converted) > 0
    assert converted.collect_params()["b_weight"].dtype == ml_dtypes.bfloat16
    check_outputs(converted(Array(FIRST), Array(SECOND)))
    assert len(block.calls) == 1 and mxnet.paused == [1]
    assert not block.exported.exists()  # the files are gone
    del block.exported, block.calls[:]
    assert (state_of(block), state_of(child)) == before


def test_a_graph_that_is_there_is_used_and_kept(mxnet):
    block = MyBlock()
    block.hybridize()
    block(Array(FIRST), Array(SECOND))
    graph, operator, flags = block._cached_graph, block._cached_op, list(block._cached_op_args)
    block.hybridize = lambda: pytest.fail("that would drop a graph that MXNet has optimized")
    amp.convert_hybrid_block(block, [FIRST, SECOND])
    assert block._active and block._cached_graph is graph and block._cached_op is operator
    assert block._cached_op_args == flags


def test_the_state_comes_back_after_errors(mxnet):
    class Broken(MyBlock):
        def export(self, path, epoch=0):
            raise OSError("disk full")

    block = Broken()
    with pytest.raises(OSError, match="disk full"):
        amp.convert_hybrid_block(block, [FIRST, SECOND])
    assert not block._active and block._cached_graph == () and block._cached_op_args == []


def test_inputs_that_the_graph_lacks(mxnet):
    class Three(MyBlock):
        def inputs(self):
            return [amp.sym.Variable("unused"), *super().inputs()]

    converted = amp.convert_hybrid_block(Three(), [np.zeros(3, "f4"), FIRST, SECOND])
    check_outputs(converted(np.zeros(3, "f4"), FIRST, SECOND))


class Plain(MyBlock):
    def inputs(self):
        return [amp.sym.Variable("data")]

    def export(self, path, epoch=0):
        amp.sym.relu(amp.sym.Variable("data")).save(f"{path}-symbol.json")


def test_blocks_without_parameters(mxnet):
    converted = amp.convert_hybrid_block(Plain(), FIRST)
    np.testing.assert_array_equal(converted(FIRST).asnumpy(), np.maximum(FIRST, 0))


def test_operators_that_are_not_there(mxnet):
    class Strange(Plain):
        def export(self, path, epoch=0):
            super().export(path)
            file = Path(f"{path}-symbol.json")
            file.write_text(file.read_text().replace('"op": "relu"', '"op": "strange_relu"'))

    with pytest.raises(amp.UnsupportedError, match="^the block's graph: .*strange_relu"):
        amp.convert_hybrid_block(Strange(), FIRST)


def test_bfloat16_examples(mxnet):
    casts_made = []

    class Low(Array):
        def astype(self, dtype):
            casts_made.append(dtype)
            return self

    mxnet.nd.array = Low
    block, example = Plain(), FIRST.astype(ml_dtypes.bfloat16)
    converted = amp.convert_hybrid_block(block, example)
    assert casts_made == ["bfloat16"] and block.calls == [[np.float32]]
    assert converted(example).dtype == example.dtype


def test_mxnet_is_never_imported():
    found = sys.modules.get("mxnet")  # that of `install`, which other tests call
    assert found is None or found is sys.modules.get("amp.mxnet")


def test_contrib_takes_blocks_that_have_run(mxnet):
    block = MyBlock()
    with pytest.raises(RuntimeError, match="hybridize") as caught:
        mx.contrib.amp.convert_hybrid_block(block, "bfloat16")
    assert isinstance(caught.value, amp.ArgumentError)
    block.hybridize()
    block(Array(FIRST), Array(SECOND))
    converted = mx.contrib.amp.convert_hybrid_block(block, "bfloat16", ctx="cpu", cast_optional_params=True)
    assert len(block.calls) == 1
    check_outputs(converted.forward(FIRST, SECOND))
    check_outputs(mx.contrib.amp.convert_hybrid_block(own_block(), target_dtype="bfloat16")(FIRST, SECOND))
    check_outputs(amp.mxnet.amp.convert_hybrid_block(block, [FIRST, SECOND], "bfloat16", device="cpu")(FIRST, SECOND))
