"""Recurrent layers in graphs: initial states whose batch size follows from the data."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon, nd
from amp.mxnet.gluon import rnn

T, N, C, H = 4, 3, 2, 5


def gru(state):
    return amp.sym.RNN(
        amp.sym.Variable("data"), amp.sym.Variable("parameters"), state, mode="gru", state_size=H, num_layers=1
    )


@pytest.mark.parametrize("size", [0, -1])
def test_the_batch_size_of_initial_states_follows_from_the_data(size):
    symbol = gru(amp.sym._zeros(shape=(1, size, H)))
    shapes, (output,), _ = symbol.infer_shape(data=(T, N, C))
    assert shapes == [(T, N, C), (3 * H * (C + H + 2),)] and output == (T, N, H)
    rng = np.random.default_rng(1)
    arrays = {"data": rng.normal(size=(T, N, C)).astype("f4"), "parameters": rng.normal(size=shapes[1]).astype("f4")}
    (got,) = amp.Executor(symbol, {}, {}, {name: a.shape for name, a in arrays.items()})(arrays)
    given = {**arrays, "state": np.zeros((1, N, H), "f4")}
    explicit = amp.Executor(gru(amp.sym.Variable("state")), {}, {}, {name: a.shape for name, a in given.items()})
    np.testing.assert_array_equal(got.asnumpy(), explicit(given)[0].asnumpy())


def test_a_size_of_0_that_nobody_contradicts_is_0():
    assert amp.sym._zeros(shape=(2, 0)).infer_shape()[1] == [(2, 0)]
    with pytest.raises(amp.Error, match=r"nothing that reads the output says what -1 is in shape \[2,\?\]"):
        amp.sym._zeros(shape=(2, -1)).infer_shape()
    # while variables are unknown, somebody may still say
    assert gru(amp.sym._zeros(shape=(1, 0, H))).infer_shape_partial()[1] == [(0, 0, H)]


@pytest.mark.parametrize("mode, gates", [("rnn_relu", 1), ("rnn_tanh", 1), ("gru", 3), ("lstm", 4)])
def test_large_layers_agree_with_the_definition_on_any_number_of_threads(mode, gates):
    """More units than one thread takes at a time, and a last part that is smaller."""
    time, batch, inputs, size, layers = 7, 5, 33, 70, 2
    rng = np.random.default_rng(3)
    rows, count = gates * size, 0
    for read in (inputs, 2 * size):
        count += 2 * rows * (read + size + 2)
    arrays = {
        "data": rng.normal(size=(time, batch, inputs)),
        "parameters": rng.normal(size=count) * 0.1,
        **{
            name: rng.normal(size=(2 * layers, batch, size)) for name in ("state", "state_cell")[: 1 + (mode == "lstm")]
        },
        "sequence_length": np.array([7, 0, 3, 1, 6]),
    }
    arrays = {name: array.astype("f4") for name, array in arrays.items()}
    options = {"mode": mode, "state_size": size, "num_layers": layers, "bidirectional": True}
    variables = {name: amp.sym.Variable(name) for name in arrays}
    symbol = amp.sym.RNN(**variables, **options, state_outputs=True, use_sequence_length=True)
    shapes = {name: array.shape for name, array in arrays.items()}

    def run(**how):
        return [output.asnumpy() for output in amp.Executor(symbol, {}, {}, shapes, **how)(arrays)]

    expected, single, double = run(backend="reference"), run(num_threads=1), run(num_threads=2)
    for wanted, one, two in zip(expected, single, double):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(one, two)
    assert single[0][:3, 2].any() and not single[0][3:, 2].any()


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_dropout_between_layers_in_training(mode, bidirectional):
    """One that drops nothing is no dropout; one that drops changes what the second layer reads."""
    rng = np.random.default_rng(3)
    directions, gates, state, inputs = 1 + bidirectional, {"lstm": 4, "gru": 3, "rnn_tanh": 1}[mode], 3, 5
    first, later = gates * state * (inputs + state), gates * state * (directions * state + state)
    count = directions * (first + 2 * later + 3 * 2 * gates * state)
    shapes = {"data": (4, 2, inputs), "parameters": (count,), "state": (3 * directions, 2, state)}
    if mode == "lstm":
        shapes["state_cell"] = shapes["state"]
    arrays = {name: mx.nd.array(rng.normal(size=shape) * 0.3) for name, shape in shapes.items()}

    def run(p):
        rnn = amp.sym.RNN(
            **{name: amp.sym.Variable(name) for name in shapes},
            state_size=state, num_layers=3, mode=mode, bidirectional=bidirectional, p=p, state_outputs=True,
        )  # fmt: skip
        bound = rnn.bind(mx.cpu(), arrays, {name: mx.nd.zeros(shape) for name, shape in shapes.items()})
        outputs = [output.asnumpy() for output in bound.forward(is_train=True)]
        bound.backward([mx.nd.array(np.random.default_rng(4).normal(size=output.shape)) for output in outputs])
        return outputs, {name: gradient.asnumpy() for name, gradient in bound.grad_dict.items()}

    (outputs, gradients), (same_outputs, same_gradients) = run(0), run(1e-12)
    for expected, found in zip(outputs, same_outputs):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for name, expected in gradients.items():
        np.testing.assert_allclose(same_gradients[name], expected, rtol=1e-4, atol=1e-5, err_msg=name)
    dropped = run(0.5)[0]
    assert np.abs(dropped[0] - outputs[0]).max() > 1e-3
    np.testing.assert_allclose(dropped[1][:directions], outputs[1][:directions], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["rnn_relu", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_vector_of_all_parameters_is_split(mode, bidirectional):
    """What a layer of gluon.rnn computes with the parts is what the operator computes with the vector."""
    rng = np.random.default_rng(5)
    kind, options = {"rnn_relu": ("RNN", {"activation": "relu"}), "lstm": ("LSTM", {}), "gru": ("GRU", {})}[mode]
    layer = getattr(mx.gluon.rnn, kind)(H, 2, input_size=C, bidirectional=bidirectional, **options)
    layer.initialize()
    count = sum(parameter.data().size for parameter in layer.collect_params().values())
    vector = mx.nd.array(rng.normal(size=count))
    data, state = mx.nd.array(rng.normal(size=(T, N, C))), mx.nd.zeros((2 * (1 + bidirectional), N, H))
    parts = mx.gluon.utils.split_rnn_params(vector, mode, 2, C, H, bidirectional)
    assert set(parts) == {name[len(layer.prefix) :] for name in layer.collect_params()}
    for name, part in parts.items():
        getattr(layer, name).set_data(part)
    states = [state, state] if mode == "lstm" else [state]
    names = dict(zip(("state", "state_cell"), states))
    expected = mx.nd.RNN(data, vector, **names, mode=mode, state_size=H, num_layers=2, bidirectional=bidirectional)
    np.testing.assert_allclose(layer(data).asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_vector_of_parameters_with_projections_is_split():
    """Every element is in one part, in the order of the operator: weights by layers, then biases."""
    vector = mx.nd.arange(2 * (4 * H * (C + 3) + 3 * H) + 2 * (4 * H * (6 + 3) + 3 * H) + 4 * 8 * H)
    parts = mx.gluon.utils.split_rnn_params(vector, "lstm", 2, C, H, bidirectional=True, projection_size=3)
    assert [name for name in parts if name.startswith("r1")] == [
        "r1_i2h_weight",
        "r1_h2h_weight",
        "r1_h2r_weight",
        "r1_i2h_bias",
        "r1_h2h_bias",
    ]
    assert parts["l0_i2h_weight"].shape == (4 * H, C) and parts["l1_i2h_weight"].shape == (4 * H, 6)
    assert parts["l0_h2r_weight"].shape == (3, H) and parts["r1_h2h_weight"].shape == (4 * H, 3)
    joined = np.concatenate([part.asnumpy().ravel() for part in parts.values()])
    np.testing.assert_array_equal(joined, vector.asnumpy())


def test_what_is_no_vector_of_parameters():
    with pytest.raises(amp.ArgumentError, match=r"vector of 80 elements, got \(81,\)"):
        mx.gluon.utils.split_rnn_params(mx.nd.ones((81,)), "rnn_tanh", 1, 9, H)
    with pytest.raises(amp.ArgumentError, match="mode is one of rnn_relu.*'gated'"):
        mx.gluon.utils.split_rnn_params(mx.nd.ones((81,)), "gated", 1, 9, H)


def test_cells_have_the_names_of_mxnet_2():
    cells = mx.gluon.rnn
    assert {"Conv1DRNNCell", "Conv2DLSTMCell", "Conv3DGRUCell", "LSTMPCell", "VariationalDropoutCell"} < set(
        cells.__all__
    )
    for name in set(cells.__all__) & set(mx.gluon.contrib.rnn.__all__):
        assert getattr(cells, name) is getattr(mx.gluon.contrib.rnn, name)


def test_cells_learn_shapes_as_in_mxnet_2():
    rnn = mx.gluon.rnn
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.LSTMCell(5))
    stack.add(rnn.ResidualCell(rnn.GRUCell(5)))
    stack.infer_shape(0, mx.nd.ones((2, 4)), False)
    first, second = stack
    assert first.i2h_weight.shape == (20, 4) and second.base_cell.i2h_weight.shape == (15, 5)
    both = rnn.BidirectionalCell(rnn.RNNCell(3), rnn.RNNCell(3))
    both.infer_shape(1, mx.nd.ones((2, 4)), True)
    assert {name: p.shape for name, p in both.collect_params().items() if "i2h_weight" in name} == {
        name: (3, 6) for name in both.collect_params() if "i2h_weight" in name
    }
    stack.initialize()
    assert stack.unroll(3, mx.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape == (2, 3, 5)


# ---- dynamic_unroll ----


@pytest.mark.parametrize("layout", ["TNC", "NTC"])
@pytest.mark.parametrize("lengths", [None, [2, 4, 1]])
def test_dynamic_unroll_is_unroll(layout, lengths):
    cell = rnn.LSTMCell(5, input_size=4)
    cell.initialize(mx.init.Uniform(1))
    x = nd.array(np.random.default_rng(1).standard_normal((4, 3, 4) if layout == "TNC" else (3, 4, 4)))
    valid = None if lengths is None else nd.array(lengths)
    start = [nd.ones((3, 5)), nd.ones((3, 5)) / 2]
    expected, states = cell.unroll(4, x, start, layout, True, valid)
    found, last = gluon.contrib.rnn.dynamic_unroll(cell, x, start, layout=layout, valid_length=valid)
    for one, other in zip([found, *last], [expected, *states]):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
    symbols = [mx.sym.Variable(name) for name in ("x", "h", "c")]
    lengths_symbol = None if valid is None else mx.sym.Variable("valid")
    outputs, _ = gluon.contrib.rnn.dynamic_unroll(cell, symbols[0], symbols[1:], 0, 0, layout, lengths_symbol)
    values = {"x": x, "h": start[0], "c": start[1]} | ({} if valid is None else {"valid": valid})
    parameters = {name: p.data() for name, p in cell.collect_params().items()}
    (found,) = outputs.eval(**values, **{name: parameters[name] for name in {*outputs.list_arguments()} - {*values}})
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


def test_dynamic_unroll_of_other_lengths_in_one_graph():
    class Tagger(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self.cell = rnn.GRUCell(16, input_size=4)

        def forward(self, x):
            start = [nd.zeros((3, 16))]
            return gluon.contrib.rnn.dynamic_unroll(self.cell, x, start, drop_inputs=0.5, drop_outputs=0.5)[0]

    net = Tagger()
    net.initialize()
    net.hybridize()
    for length in (4, 7):
        x = nd.ones((length, 3, 4))
        assert net(x).shape == (length, 3, 16)
        with mx.autograd.record():
            dropped = net(x).asnumpy() == 0
        assert (dropped == dropped[:1]).all() and 0.2 < dropped.mean() < 0.8  # the same in all steps


@pytest.mark.parametrize("stack", [mx.gluon.rnn.SequentialRNNCell, mx.gluon.rnn.HybridSequentialRNNCell])
def test_shapes_of_stacked_bidirectional_cells_are_inferred(stack):
    cells = stack()
    for _ in range(3):
        cells.add(mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.GRUCell(5), mx.gluon.rnn.GRUCell(5)))
    cells.infer_shape(0, mx.nd.ones((2, 4)), False)
    places = cells._collect_params_with_prefix()
    for side in ("l_cell", "r_cell"):
        assert [places[f"{i}.{side}.i2h_weight"].shape for i in range(3)] == [(15, 4), (15, 10), (15, 10)]
    cells.initialize()
    assert cells.unroll(3, mx.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape == (2, 3, 10)
