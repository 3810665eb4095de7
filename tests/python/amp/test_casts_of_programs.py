"""Whose a cast is: those of a program round exactly there, those of a conversion are storage."""

import json

import ml_dtypes
import numpy as np
import pytest

import amp
import amp.mxnet as mx

DRAW = np.random.default_rng(3)
X = (3 * DRAW.standard_normal((16, 32))).astype("float32")
W = DRAW.standard_normal((32, 32)).astype("float32")
LOW = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}
MACHINES = ["any", "avx2", "avx512_core", "avx512_bf16_fast"]
CASTS = {"Cast": amp.sym.cast, "amp_cast": amp.sym.amp_cast}


def rounded(x, dtype):
    return x.astype(LOW[dtype]).astype("float32")


def trip(cast, x, dtype):
    return cast(cast(x, dtype=dtype), dtype="float32")


def dense(x, name="fc"):
    return amp.sym.FullyConnected(x, num_hidden=32, no_bias=True, name=name)


def ran(net, mode="fast", machine="any", params=None, **options):
    params = {"fc_weight": W} if params is None else params
    return amp.Executor(net, params, {}, {"x": X.shape}, mode=mode, machine=machine, **options)(X)[0].asnumpy()


@pytest.mark.filterwarnings("ignore:float16 is stored")
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("mode", ["fast", "exact"])
@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
@pytest.mark.parametrize("dtype", LOW)
def test_programs_round_where_they_say(dtype, cast, mode, machine):
    x = amp.sym.Variable("x")
    layer = dense(x)
    low, product = rounded(X, dtype), ran(layer, mode, machine)
    low_product = rounded(product, dtype)
    behind = trip(cast, layer, dtype)
    flat = cast(amp.sym.reshape(layer, shape=(-1,)), dtype=dtype)
    cases = [
        (trip(cast, x, dtype), low),
        (x - trip(cast, x, dtype), X - low),
        (amp.sym.relu(trip(cast, x, dtype)) * 3, np.maximum(low, 0) * 3),
        (layer - behind, product - low_product),
        (amp.sym.relu(behind) * 1.7, np.maximum(low_product, 0) * np.float32(1.7)),
        (amp.sym.reshape(cast(flat, dtype="float32"), shape=X.shape) * 1.7, low_product * np.float32(1.7)),
        (trip(cast, trip(cast, x, dtype) + 1, dtype) * 2, rounded(low + 1, dtype) * 2),
    ]
    for net, right in cases:
        np.testing.assert_allclose(ran(net, mode, machine), right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["fast", "exact"])
def test_convolutions_do_not_fuse_beyond_the_programs_rounding(mode):
    x = amp.sym.Variable("x")
    shape = (1, 16, 14, 14)
    values = DRAW.standard_normal(shape).astype("float32")
    args = {
        "a_weight": DRAW.standard_normal((16, 16, 1, 1)).astype("float32"),
        "b_weight": DRAW.standard_normal((16, 1, 3, 3)).astype("float32"),
    }

    def convolutions(between):
        a = between(amp.sym.Convolution(x, kernel=(1, 1), num_filter=16, no_bias=True, name="a"))
        b = amp.sym.Convolution(a, kernel=(3, 3), pad=(1, 1), num_filter=16, num_group=16, no_bias=True, name="b")
        return amp.sym.relu(b) + 1

    def run(net, data, names):
        chosen = {name: args[name] for name in names}
        return amp.Executor(net, chosen, {}, {"x": data.shape}, mode=mode)(data)[0].asnumpy()

    first = run(amp.sym.Convolution(x, kernel=(1, 1), num_filter=16, no_bias=True, name="a"), values, ["a_weight"])
    b = amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=16, num_group=16, no_bias=True, name="b")
    right = run(amp.sym.relu(b) + 1, rounded(first, "bfloat16"), ["b_weight"])
    found = run(convolutions(lambda a: trip(amp.sym.cast, a, "bfloat16")), values, ["a_weight", "b_weight"])
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"policy": "mxnet"}, {"policy": "optimal", "minimize": "casts"}])
@pytest.mark.parametrize("machine", MACHINES)
def test_conversions_and_machines_leave_the_programs_casts(options, machine):
    x = amp.sym.Variable("x")
    own = trip(amp.sym.amp_cast, dense(x), "bfloat16")
    net = amp.sym.FullyConnected(own * 2, num_hidden=32, no_bias=True, name="last")
    params = {"fc_weight": W, "last_weight": np.eye(32, dtype="float32")}
    low, args, aux = amp.convert_model(net, params, {}, **options)
    own_names = {node["name"] for node in json.loads(net.tojson())["nodes"] if node["op"] == "amp_cast"}
    names = {node["name"] for node in json.loads(low.tojson())["nodes"] if node["op"] == "amp_cast"}
    assert len(own_names) == 2 and own_names <= names
    found = amp.Executor(amp.sym.load_json(low.tojson()), args, aux, {"x": X.shape}, machine=machine)(X)[0].asnumpy()
    assert np.array_equal(found, rounded(found, "bfloat16"))  # a value in bfloat16, doubled, times one


def test_the_lost_part_of_a_product_survives_a_conversion():
    x = amp.sym.Variable("x")
    product = dense(x)
    lost = product - trip(amp.sym.cast, product, "bfloat16")
    net = amp.sym.FullyConnected(lost * 256, num_hidden=32, no_bias=True, name="last")
    params = {"fc_weight": W, "last_weight": np.eye(32, dtype="float32")}
    low, args, aux = amp.convert_model(net, params, {})
    found = amp.Executor(low, args, aux, {"x": X.shape}, machine="any")(X)[0].asnumpy()
    assert np.abs(found).max() > 0.1


def test_casts_of_training_in_low_precision_belong_to_it():
    with pytest.warns(UserWarning) if not amp.cpu_info()["native_bfloat16"] else _nothing():
        mx.amp.init("bfloat16")
    try:
        net = mx.gluon.nn.Dense(3, in_units=4)
        net.initialize()
        net.hybridize()
        net(mx.nd.ones((2, 4)))
        symbol, _ = net.export(None)
    finally:
        amp._autocast.begin(None)
    casts = [node for node in json.loads(symbol.tojson())["nodes"] if node["op"] == "amp_cast"]
    assert all(node["attrs"].get("__amp_cast__") == "1" for node in casts)


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None
