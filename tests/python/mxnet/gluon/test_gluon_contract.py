"""MXNet's contract of conversion and fusion through Gluon blocks: every number and list of its own tests.

Part 1 counts casts and low-precision tensors of converted blocks; part 2 compares graphs after fusion, conversion and
fusion again. Expected figures are MXNet's (tests/python/amp/common.py, dnnl/subgraphs/test_amp_subgraph.py).
"""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import HybridBlock, SymbolBlock, nn

LOW = "bfloat16"
anp, npx = mx.np, mx.npx
pytestmark = pytest.mark.usefixtures("mxnet_2", "machine")
disable_amp = HybridBlock.OptConstraint.disable_amp


def uniform(*shape):
    return anp.array(np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype("f4"))


def counts(block, *data):
    """(low-precision tensors, casts to low precision, other casts) of one run."""
    tensors, low_casts, other_casts = set(), set(), set()

    def note(name, op, array):
        is_low = amp.nd.get_dtype_name(array.dtype) == LOW
        if is_low:
            tensors.add(name)
        if op == "amp_cast":
            (low_casts if is_low else other_casts).add(name)

    block.register_op_hook(note)
    block(*data)
    return len(tensors), len(low_casts), len(other_casts)


def converted(net, data, **options):
    return amp.mxnet.amp.convert_hybrid_block(net, data, target_dtype=LOW, **options)


def initialized(net):
    net.initialize()
    return net


# ---- part 1 ----


class Basic(HybridBlock):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4)
        self.fc2 = nn.Dense(4)

    def forward(self, x):
        return self.fc2(self.fc1(x)).reshape((-1, 2, 2))


def test_basic_use():
    data = uniform(4, 4)
    assert counts(converted(initialized(Basic()), data), data) == (8, 5, 1)


class Offline(HybridBlock):
    def __init__(self):
        super().__init__()
        self.lp16_op1 = nn.Conv2D(4, 3)
        self.lp16_op2 = nn.Conv2DTranspose(4, 3)
        self.fp32_op = nn.Dense(4)

    def forward(self, x):
        x = self.lp16_op2(self.lp16_op1(x))
        x = x.reshape(x.shape[0], -1)
        with disable_amp():
            return self.fp32_op(x)


def check_parameters(block):
    for name, parameter in block.collect_params().items():
        assert parameter.dtype.name == ("float32" if "fp32_op" in name else LOW), name


def test_cast_params_offline():
    data = uniform(4, 3, 16, 16)
    block = converted(initialized(Offline()), data, cast_params_offline=True)
    assert counts(block, data) == (4, 1, 1)
    check_parameters(block)


class Shared(HybridBlock):
    def __init__(self):
        super().__init__()
        self.lp16_op1, self.lp16_op2, self.fp32_op = (nn.Dense(4) for _ in range(3))
        self.lp16_op2.share_parameters({"weight": self.lp16_op1.weight})
        self.fp32_op.share_parameters({"bias": self.lp16_op2.bias})

    def forward(self, x):
        a = self.lp16_op1(x)
        b = self.lp16_op2(a)
        with disable_amp():
            c = self.fp32_op(a)
        return anp.concat([b, c], axis=1)


def test_shared_parameters():
    data, net = uniform(4, 4), initialized(Shared())
    assert net.lp16_op2.weight is net.lp16_op1.weight and net.fp32_op.bias is net.lp16_op2.bias
    assert {"lp16_op1.weight", "lp16_op2.weight", "lp16_op2.bias", "fp32_op.bias"} < set(net.collect_params())
    block = converted(net, data, cast_params_offline=True)
    assert counts(block, data) == (4, 2, 2)
    check_parameters(block)
    assert set(block.collect_params()) == {"lp16_op1.bias", "lp16_op2.weight", "fp32_op.weight", "fp32_op.bias"}
    np.testing.assert_allclose(block(data).asnumpy(), net(data).asnumpy(), atol=0.02)


class Ordered(HybridBlock):
    def __init__(self, is_reversed):
        super().__init__()
        self.dense = nn.Dense(4)
        self.reversed = is_reversed

    def forward(self, x):
        x = 2**x
        branches = [npx.batch_flatten, self.dense]
        return tuple(branch(x) for branch in (branches[::-1] if self.reversed else branches))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_order_of_branches(is_reversed):
    data, net = uniform(4, 16), initialized(Ordered(is_reversed))
    block = converted(net, data, cast_params_offline=True)
    assert counts(block, data) == (3, 1, 2)
    for got, expected in zip(block(data), net(data)):
        np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=0.02, atol=0.02)


def test_exclusion():
    data, weights, bias = (amp.sym.var(name) for name in ("data", "weights", "bias"))
    flag = str(HybridBlock.OptConstraint.Flag.DisableAMP.value)
    fc1 = amp.sym.FullyConnected(data, weights, bias, num_hidden=4, name="fc1", attr={"__opt_constraint__": flag})
    fc2 = amp.sym.FullyConnected(data, weights, bias, num_hidden=4, name="fc2")
    net = SymbolBlock(amp.sym.Group([fc1, fc2]), [data], {"weights": uniform(4, 16), "bias": uniform(4)})
    example = uniform(4, 16)
    assert counts(converted(net, example), example) == (4, 3, 1)
    assert counts(converted(net, example, excluded_sym_names=["fc1", "fc2"]), example) == (0, 0, 0)


# ---- part 2 ----


def nodes(block):
    graph = json.loads(block.export(None, remove_amp_cast=False)[0].tojson())
    return [(node["op"], [list(entry) for entry in node["inputs"]]) for node in graph["nodes"]]


def fused_and_converted(net, data, excluded=()):
    """The block after fusion, conversion and fusion again, as MXNet's test makes it."""
    net.optimize_for(data, backend="ONEDNN")
    block = converted(net, data, excluded_sym_names=list(excluded), cast_params_offline=True)
    block.optimize_for(data, backend="ONEDNN_AMP")
    return block


def check_outputs(block, data, reference, rtol=0.05, atol=0.05):
    outputs = block(*data)
    for got, expected in zip(*(o if isinstance(o, (list, tuple)) else [o] for o in (outputs, reference))):
        assert got.shape == expected.shape and got.dtype == np.float32
        np.testing.assert_allclose(got.asnumpy(), expected.asnumpy(), rtol=rtol, atol=atol)


def chain(op):
    null = ("null", [])
    return [
        null,
        ("amp_cast", [[0, 0, 0]]),
        null,
        null,
        (op, [[1, 0, 0], [2, 0, 0], [3, 0, 0]]),
        null,
        null,
        (op, [[4, 0, 0], [5, 0, 0], [6, 0, 0]]),
    ]


CHAINS = {
    "fc": (lambda: nn.Dense(16), (1, 8), "_sg_onednn_fully_connected", "sg_onednn_fully_connected_1"),
    "conv": (lambda: nn.Conv2D(16, (3, 3)), (1, 3, 8, 8), "_sg_onednn_conv", "sg_onednn_conv_1"),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("excludes", [False, True])
def test_chains(name, excludes):
    make, shape, op, second = CHAINS[name]
    net = nn.HybridSequential()
    net.add(make(), make())
    net.initialize()
    data = uniform(*shape)
    net.hybridize()
    reference = net(data)
    block = fused_and_converted(net, data, [second] if excludes else [])
    assert nodes(block) == chain(op)
    check_outputs(block, [data], reference)


class Concat(HybridBlock):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(16), nn.Dense(16)

    def forward(self, x):
        return anp.concat([self.fc1(x), self.fc2(x)], axis=1)


@pytest.mark.parametrize("excludes", [False, True])
def test_concat(excludes):
    data, net = uniform(1, 16), initialized(Concat())
    net.hybridize()
    reference = net(data)
    block = fused_and_converted(net, data, ["sg_onednn_fully_connected_1"] if excludes else [])
    fc, null = "_sg_onednn_fully_connected", ("null", [])
    expected = [null, ("amp_cast", [[0, 0, 0]]), null, null, (fc, [[1, 0, 0], [2, 0, 0], [3, 0, 0]]), null, null]
    expected += [(fc, [[0 if excludes else 1, 0, 0], [5, 0, 0], [6, 0, 0]]), ("Concat", [[4, 0, 0], [7, 0, 0]])]
    if not excludes:
        expected.append(("amp_cast", [[8, 0, 0]]))
    assert nodes(block) == expected
    check_outputs(block, [data], reference)


class Branch(HybridBlock):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(16), nn.Dense(16)

    def forward(self, x):
        h = self.fc1(x)
        with disable_amp():
            second = npx.softmax(h)
        return nn.Activation("relu")(self.fc2(h)), second


def test_branch():
    data, net = anp.ones(10), initialized(Branch())
    net.hybridize()
    reference = net(data)
    assert isinstance(reference, list)
    block = fused_and_converted(net, data)
    expected = chain("_sg_onednn_fully_connected") + [("amp_cast", [[4, 0, 0]]), ("softmax", [[8, 0, 0]])]
    assert nodes(block) == expected
    check_outputs(block, [data], reference)


class SelfAttention(HybridBlock):
    def __init__(self, units=8, heads=8):
        super().__init__()
        self.fc = nn.Dense(3 * units, flatten=False)
        self.units, self.heads = units, heads

    def forward(self, x, mask):
        out = self.fc(x)
        query, key, value = anp.split(out, 3, axis=-1)
        query, key, value = (npx.reshape(part, (-2, -2, self.heads, -1)) for part in (query, key, value))
        query, key, value = (anp.swapaxes(part, 1, 2) for part in (query, key, value))
        scores = npx.batch_dot(query, key, transpose_b=True)
        mask = anp.expand_dims(mask, axis=1).astype(np.bool_)
        weights = npx.masked_softmax(scores, mask=mask, axis=-1, temperature=(self.units // self.heads) ** 0.5)
        weights = npx.dropout(weights, p=0.1)
        context = anp.transpose(npx.batch_dot(weights, value), axes=(0, 2, 1, 3))
        return npx.reshape(context, (-2, -2, -1))


@pytest.mark.parametrize("excluded", [[], ["sg_onednn_fully_connected_0"]])
def test_transformer(excluded):
    random = np.random.default_rng(5)
    data = [
        anp.array(random.uniform(0, 1, (16, 32, 8)).astype("f4")),
        anp.array(random.integers(0, 2, (16, 32, 32)), "int32"),
    ]
    net = initialized(SelfAttention())
    plain = net(*data)
    net.hybridize()
    reference = net(*data)
    np.testing.assert_allclose(reference.asnumpy(), plain.asnumpy(), rtol=1e-4, atol=1e-5)
    check_outputs(fused_and_converted(net, data, excluded), data, reference)


class HalfDisabled(HybridBlock):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(16), nn.Dense(16)

    def forward(self, x):
        x = self.fc1(x)
        with disable_amp():
            return self.fc2(x)


@pytest.mark.parametrize("fuses", [False, True])
def test_exclusion_after_a_graph_pass(fuses):
    data, net = uniform(1, 8), initialized(HalfDisabled())
    if fuses:
        net.optimize_for(data, backend="ONEDNN")
    assert counts(converted(net, data, cast_params_offline=True), data) == (2, 1, 1)
