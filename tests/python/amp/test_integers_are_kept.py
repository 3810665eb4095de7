"""Integers in floats, and positions that are computed, are what they are in float32."""

import numpy as np
import pytest

import amp

COUNT = 600
NUMBERS = np.arange(COUNT, dtype="float32")[:, None]
TABLE = np.concatenate([NUMBERS // 32, NUMBERS % 32], 1)  # rows that low precision tells apart
IDS = np.array([3, 257, 301, 511, 599], "float32")
POLICIES = [{"policy": "default"}, {"policy": "optimal", "minimize": "casts"}, {"policy": "mxnet"}]
POLICIES += [{"policy": "graphamp", "preset": preset} for preset in ("mp1", "mp3", "mp4")]


def run_converted(net, args, inputs, target="bfloat16", mode="fast", machine="any", **options):
    shapes = {name: array.shape for name, array in inputs.items()}
    low, args, aux = amp.convert_model(net, args, {}, "float32", target, **options)
    executor = amp.Executor(low, args, aux, shapes, mode=mode, machine=machine)
    return executor(inputs)[0].asnumpy()


def one_hot_product(ids):
    chosen = amp.sym.one_hot(ids, depth=COUNT)
    return amp.sym.dot(chosen, amp.sym.Variable("numbers"))


def positions(kind):
    """A symbol of `ids` that gives them back, by arithmetic in floats."""
    ids = amp.sym.Variable("ids")
    if kind == "product":
        return amp.sym.reshape(one_hot_product(ids), shape=(-1,))
    if kind == "product, rounded, as integers":
        return amp.sym.cast(amp.sym.round(amp.sym.reshape(one_hot_product(ids), shape=(-1,)) * 1.0), dtype="int32")
    if kind == "arithmetic":
        return (ids + 1) * 2 / 2 - 1
    if kind == "two products":
        twice = amp.sym.dot(one_hot_product(ids), amp.sym.Variable("one"))
        return amp.sym.reshape(twice, shape=(-1,))
    return amp.sym.clip(amp.sym.floor(ids * 1.0 + 0.5), 0, COUNT - 1)


KINDS = ["product", "product, rounded, as integers", "arithmetic", "two products", "steps"]


@pytest.mark.parametrize("mode", ["fast", "exact"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_rows_of_tables(options, kind, mode):
    net = amp.sym.take(amp.sym.Variable("table"), positions(kind))
    known = {"table": TABLE, "numbers": NUMBERS, "one": np.ones((1, 1), "float32")}
    args = {name: known[name] for name in net.list_arguments() if name in known}
    found = run_converted(net, args, {"ids": IDS}, mode=mode, output_dtypes={}, **options)
    table = TABLE.astype(amp.nd.array([0.0]).dtype)
    assert np.array_equal(found.ravel(), table[IDS.astype(int)].ravel()), found.ravel()


@pytest.mark.parametrize(
    "option", [{"force": {"*": "bfloat16"}}, {"target_dtype_ops": ["_plus_scalar", "_mul_scalar"]}]
)
def test_arithmetic_in_front_of_a_table_is_not_forced(option):
    ids = (amp.sym.Variable("ids") + 1) * 1.0
    net = amp.sym.Embedding(ids - 1, amp.sym.Variable("table"), input_dim=COUNT, output_dim=2)
    found = run_converted(net, {"table": TABLE}, {"ids": IDS}, **option)
    assert np.array_equal(found.astype("float32"), TABLE[IDS.astype(int)])


def test_force_by_name_of_such_arithmetic_is_an_error():
    shifted = amp.sym.broadcast_add(amp.sym.Variable("ids"), amp.sym.Variable("one"), name="shifted")
    net = amp.sym.take(amp.sym.Variable("table"), shifted)
    with pytest.raises(amp.ArgumentError, match="shifted.*integers"):
        amp.convert_model(net, {"table": TABLE}, {}, force={"shifted": "bfloat16"})


def counts(kind):
    """A symbol of whole numbers up to 600 of `x`, 600 numbers of which none is 0."""
    x = amp.sym.Variable("x")
    if kind == "cumsum of a mask":
        return amp.sym.np.cumsum(amp.sym.cast(x > 0, dtype="int32"), axis=1, dtype="float32")
    if kind == "cumsum of integers, cast":
        return amp.sym.cast(amp.sym.np.cumsum(amp.sym.cast(x > 0, dtype="int32"), axis=1), dtype="float32")
    if kind == "sum of comparisons":
        return amp.sym.broadcast_mul(amp.sym.sum(x > 0, axis=1, keepdims=True), amp.sym.ones((1, COUNT)))
    if kind == "product of comparisons":
        return amp.sym.dot(x > 0, amp.sym.Variable("ones"))
    return amp.sym.where(x > 0, amp.sym.reshape(amp.sym.arange(0, COUNT), shape=(1, -1)), amp.sym.zeros((1, COUNT)))


@pytest.mark.parametrize(
    "kind", ["cumsum of a mask", "cumsum of integers, cast", "sum of comparisons", "product of comparisons", "where"]
)
@pytest.mark.parametrize("options", [POLICIES[0], POLICIES[1], POLICIES[4]], ids=str)
def test_counted_numbers_reach_a_dense_layer(options, kind):
    x = np.ones((1, COUNT), "float32")
    net = amp.sym.FullyConnected(counts(kind), num_hidden=4, no_bias=True, name="fc")
    weight = np.zeros((4, COUNT), "float32")
    weight[[0, 1, 2, 3], [256, 300, 510, 599]] = 1
    known = {"fc_weight": weight, "ones": np.ones((COUNT, COUNT), "float32")}
    args = {name: known[name] for name in net.list_arguments() if name in known}
    exact = amp.Executor(net, args, {}, {"x": x.shape}, machine="any")(x)[0].asnumpy()
    assert np.array_equal(run_converted(net, args, {"x": x}, **options), exact)
