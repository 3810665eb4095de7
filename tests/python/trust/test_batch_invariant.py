"""batch_invariant=True: a row has the same bits in every batch."""

import numpy as np
import pytest

import amp

BATCHES = (1, 3, 8, 16)


def image_net():
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), pad=(1, 1), num_filter=24, name="conv")
    net = amp.sym.BatchNorm(net, fix_gamma=False, name="bn")
    net = amp.sym.Pooling(amp.sym.relu(net), kernel=(2, 2), stride=(2, 2), pool_type="avg")
    return amp.sym.softmax(amp.sym.FullyConnected(net, num_hidden=10, name="fc")), (3, 8, 10)


def token_net():
    net = amp.sym.Embedding(amp.sym.Variable("data"), input_dim=11, output_dim=32, name="embedding")
    net = amp.sym.FullyConnected(net, num_hidden=48, flatten=False, name="dense")
    scores = amp.sym.batch_dot(net, net, transpose_b=True)
    return amp.sym.batch_dot(amp.sym.softmax(scores), net, name="out"), (7,)


NETWORKS = {"image": image_net, "tokens": token_net}


def numbers(name, shape):
    random = np.random.default_rng(0)
    return random.integers(0, 11, shape).astype("f") if name == "tokens" else random.normal(size=shape).astype("f")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NETWORKS)
def test_rows_have_the_same_bits_in_every_batch(name, dtype):
    net, row = NETWORKS[name]()
    model = (net, *amp.model_zoo.seeded_params(net, {"data": (1, *row)}))
    if dtype == "bfloat16":
        model = amp.convert_model(*model, cast_params_offline=True)
    data = numbers(name, (max(BATCHES), *row))
    alone = amp.Executor(*model, {"data": (1, *row)}, mode="exact", machine="any")
    expected = [alone(data[i : i + 1])[0].asnumpy() for i in range(len(data))]
    for batch in BATCHES:
        run = amp.Executor(*model, {"data": (batch, *row)}, mode="exact", machine="any", batch_invariant=True)
        (result,) = run(data[:batch])
        assert result.shape == (batch, *expected[0].shape[1:]) and run.output_shapes == [result.shape]
        assert result.asnumpy().tobytes() == np.concatenate(expected[:batch]).tobytes()


def test_a_plain_executor_has_other_bits():
    """What the option is for: sums of a dense layer are cut by rows and threads."""
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=64, no_bias=True, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 3000)})
    data = numbers("image", (64, 3000))
    rows = {
        batch: amp.Executor(net, args, aux, {"data": (batch, 3000)}, num_threads=2)(data[:batch])[0].asnumpy()[0]
        for batch in (1, 3, 64)
    }
    same = [
        amp.Executor(net, args, aux, {"data": (batch, 3000)}, mode="exact", batch_invariant=True)(data[:batch])[0]
        for batch in (1, 3, 64)
    ]
    assert len({row.tobytes() for row in rows.values()}) > 1
    assert len({result.asnumpy()[0].tobytes() for result in same}) == 1


def test_arrays_of_the_caller_and_other_shapes():
    net, row = image_net()
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, *row)})
    run = amp.Executor(net, args, aux, {"data": (4, *row)}, mode="exact", batch_invariant=True)
    data = numbers("image", (6, *row))
    out = [np.empty((4, 10), "f")]
    assert run(data[:4], out=out)[0] is out[0]
    larger = run.reshape(data=(6, *row))
    assert larger.input_shapes == {"data": (6, *row)}
    assert larger(data)[0].asnumpy()[:4].tobytes() == out[0].tobytes()
    with pytest.raises(amp.ArgumentError):
        run(data)  # six rows
    for wrong in (np.empty((2, 10), "f"), np.empty((4, 10), "f", order="F"), np.empty((4, 10))):
        with pytest.raises(amp.ArgumentError):
            run(data[:4], out=[wrong])
    array = amp.nd.zeros((4, 10))
    assert run(data[:4], out=[array])[0] is array and array.asnumpy().tobytes() == out[0].tobytes()


def test_another_batch_binds_nothing():
    net, row = image_net()
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, *row)})
    run = amp.Executor(net, args, aux, {"data": (4, *row)}, mode="exact", batch_invariant=True)
    assert run.reshape(data=(6, *row))._handle._one is run._handle._one


def test_the_batch_may_be_another_axis():
    x = amp.sym.Variable("data", __layout__="TNC")
    net = amp.sym.FullyConnected(x, num_hidden=5, flatten=False, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (7, 1, 6)})
    data = numbers("image", (7, 4, 6))
    run = amp.Executor(net, args, aux, {"data": data.shape}, mode="exact", batch_invariant=True)
    alone = amp.Executor(net, args, aux, {"data": (7, 1, 6)}, mode="exact")
    result = run(data)[0].asnumpy()
    assert result.shape == (7, 4, 5)
    for row in range(4):
        expected = alone(np.ascontiguousarray(data[:, row : row + 1]))[0].asnumpy()
        assert result[:, row : row + 1].tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "net",
    [
        pytest.param(lambda x: amp.sym.softmax(x, axis=0), id="softmax over the batch"),
        pytest.param(lambda x: amp.sym.broadcast_sub(x, amp.sym.mean(x, axis=0, keepdims=True)), id="mean"),
        pytest.param(lambda x: x + x * (amp.sym.max(x, axis=0, keepdims=True) > 10), id="a large one alone"),
        pytest.param(lambda x: x + (amp.sym.min(x, axis=0, keepdims=True) < 0), id="a negative one alone"),
        pytest.param(lambda x: amp.sym.sum(x), id="no rows"),
        pytest.param(lambda x: amp.sym.reverse(x, axis=0), id="order"),
        pytest.param(lambda x: amp.sym.random_normal(shape=(4, 3)) + x, id="shape of the batch inside"),
    ],
)
def test_rows_that_depend_on_each_other_are_refused(net):
    with pytest.raises(amp.Error):
        amp.Executor(net(amp.sym.Variable("x")), {}, {}, {"x": (4, 3)}, mode="exact", batch_invariant=True)


def test_what_it_needs():
    x = amp.sym.Variable("x")
    with pytest.raises(amp.ArgumentError):
        amp.Executor(amp.sym.relu(x), {}, {}, {"x": (4, 3)}, batch_invariant=True)
    with pytest.raises(amp.ArgumentError):
        amp.Executor(amp.sym.relu(x), {}, {}, {"x": (4, 3)}, mode="exact", batch_invariant="yes")
    both = amp.sym.broadcast_add(x, amp.sym.Variable("y"))
    with pytest.raises(amp.ArgumentError):
        amp.Executor(both, {}, {}, {"x": (4, 3), "y": (1, 3)}, mode="exact", batch_invariant=True)
