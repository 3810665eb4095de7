"""mx.rnn: cells that make symbols, and batches of sentences."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

X = np.random.default_rng(1).normal(size=(2, 3, 4)).astype("float32")  # batch, time, features


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights_of(symbol, seed=0, **shapes):
    draw = np.random.default_rng(seed)
    names = symbol.list_arguments()
    found = dict(zip(names, symbol.infer_shape(**shapes)[0]))
    return {n: draw.normal(size=s).astype("float32") * 0.5 for n, s in found.items() if n not in shapes}


def run(symbol, weights, **inputs):
    exe = symbol.simple_bind(mx.cpu(), grad_req="null", **{name: array.shape for name, array in inputs.items()})
    exe.copy_params_from({name: mx.nd.array(array) for name, array in weights.items()})
    return [out.asnumpy() for out in exe.forward(**{name: mx.nd.array(array) for name, array in inputs.items()})]


def naive(kind, weights, prefix, steps):
    """[outputs], last states"""
    i2h_w, i2h_b, h2h_w, h2h_b = (weights[f"{prefix}{n}"] for n in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias"))
    size = h2h_w.shape[1]
    h = c = np.zeros((steps[0].shape[0], size))
    outputs = []
    for x in steps:
        i2h, h2h = x @ i2h_w.T + i2h_b, h @ h2h_w.T + h2h_b
        parts = [np.split(each, each.shape[1] // size, axis=1) for each in (i2h, h2h)]
        if kind == "rnn":
            h = np.tanh(i2h + h2h)
        elif kind == "lstm":
            i, f, new, o = (a + b for a, b in zip(*parts))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
            h = sigmoid(o) * np.tanh(c)
        else:
            (ri, zi, ni), (rh, zh, nh) = parts
            z = sigmoid(zi + zh)
            h = (1 - z) * np.tanh(ni + sigmoid(ri + rh) * nh) + z * h
        outputs.append(h)
    return outputs, [h, c][: 2 if kind == "lstm" else 1]


CELLS = {"rnn": mx.rnn.RNNCell, "lstm": mx.rnn.LSTMCell, "gru": mx.rnn.GRUCell}


@pytest.mark.parametrize("kind", CELLS)
def test_cells(kind):
    cell = CELLS[kind](5, prefix="c_")
    outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    symbol = mx.sym.Group([outputs, *states])
    weights = weights_of(symbol, data=X.shape)
    expected, last = naive(kind, weights, "c_", X.swapaxes(0, 1))
    found = run(symbol, weights, data=X)
    np.testing.assert_allclose(found[0], np.stack(expected, axis=1), rtol=1e-4, atol=1e-5)
    for state, theirs in zip(found[1:], last):
        np.testing.assert_allclose(state, theirs, rtol=1e-4, atol=1e-5)
    steps, _ = cell.unroll(3, [mx.sym.Variable(f"t{i}") for i in range(3)])
    assert [step.name for step in steps] == ["c_t0_out", "c_t1_out", "c_t2_out"]
    assert symbol.list_arguments() == ["data", "c_i2h_weight", "c_i2h_bias", "c_h2h_weight", "c_h2h_bias"]


def test_states_may_be_given():
    cell = mx.rnn.LSTMCell(5)
    begin = cell.begin_state(func=mx.sym.Variable)
    assert [state.name for state in begin] == ["lstm_begin_state_0", "lstm_begin_state_1"]
    outputs, _ = cell.unroll(1, mx.sym.Variable("data"), begin, merge_outputs=True)
    assert set(begin[0].list_arguments()) <= set(outputs.list_arguments())


def test_names_of_nodes_are_mxnets():
    outputs, states = mx.rnn.LSTMCell(5, prefix="l_").unroll(2, mx.sym.Variable("data"))
    names = mx.sym.Group(outputs).get_internals().list_outputs()
    for name in "i2h_output h2h_output slice_output0 i_output f_output c_output o_output state_output".split():
        assert f"l_t1_{name}" in names
    assert "l_begin_state_0_output" in names and "lstmbias" in outputs[0].attr_dict()["l_i2h_bias"]["__init__"]


def test_cells_on_top_of_each_other():
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(4, prefix="a_"))
    stack.add(mx.rnn.DropoutCell(0.5))
    stack.add(mx.rnn.ResidualCell(mx.rnn.GRUCell(4, prefix="b_")))
    outputs, states = stack.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    weights = weights_of(outputs, data=X.shape)
    lower, _ = naive("lstm", weights, "a_", X.swapaxes(0, 1))
    upper, _ = naive("gru", weights, "b_", lower)
    (found,) = run(outputs, weights, data=X)
    np.testing.assert_allclose(found, np.stack(lower, 1) + np.stack(upper, 1), rtol=1e-4, atol=1e-5)
    assert len(states) == 3 and stack.state_shape == [(0, 4)] * 3
    stack.reset()
    step, following = stack(mx.sym.Variable("data"), stack.begin_state())
    assert step.infer_shape(data=(2, 4))[1] == [(2, 4)] and len(following) == 3


def test_both_directions():
    cell = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(5, prefix="l_"), mx.rnn.LSTMCell(3, prefix="r_"))
    outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    weights = weights_of(outputs, data=X.shape)
    steps = list(X.swapaxes(0, 1))
    ahead, _ = naive("gru", weights, "l_", steps)
    behind, _ = naive("lstm", weights, "r_", steps[::-1])
    expected = np.concatenate([np.stack(ahead, 1), np.stack(behind[::-1], 1)], axis=2)
    np.testing.assert_allclose(run(outputs, weights, data=X)[0], expected, rtol=1e-4, atol=1e-5)
    assert len(states) == 3
    both = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(2, prefix="l_"), mx.rnn.GRUCell(2, prefix="r_"))
    residual = mx.rnn.ResidualCell(both)
    outputs, _ = residual.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    assert outputs.infer_shape(data=X.shape)[1] == [X.shape]


def test_zoneout():
    cell = mx.rnn.ZoneoutCell(mx.rnn.RNNCell(5, prefix="c_"), 0.3, 0.3)
    outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    weights = weights_of(outputs, data=X.shape)
    expected, _ = naive("rnn", weights, "c_", X.swapaxes(0, 1))
    np.testing.assert_allclose(run(outputs, weights, data=X)[0], np.stack(expected, 1), rtol=1e-4, atol=1e-5)
    exe = outputs.simple_bind(mx.cpu(), data=X.shape)
    exe.copy_params_from({name: mx.nd.array(array) for name, array in weights.items()})
    first = exe.forward(is_train=True, data=mx.nd.array(X))[0].asnumpy()[:, 0]
    kept = first == 0
    assert kept.any() and not kept.all()
    np.testing.assert_allclose(first[~kept], expected[0][~kept], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["rnn_tanh", "rnn_relu", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_one_operator_computes_what_cells_do(mode, bidirectional):
    fused = mx.rnn.FusedRNNCell(5, 2, mode, bidirectional, prefix="f_", get_next_state=True)
    outputs, states = fused.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    weights = weights_of(outputs, data=X.shape)
    assert len(states) == len(fused.state_info)
    apart = fused.unpack_weights({name: mx.nd.array(array) for name, array in weights.items()})
    assert "f_l1_h2h_weight" in apart or f"f_l1_h2h{fused._gate_names[0]}_weight" in apart
    again = fused.pack_weights(apart)
    np.testing.assert_array_equal(again["f_parameters"].asnumpy(), weights["f_parameters"])
    stack = fused.unfuse()
    unfused, _ = stack.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    of_cells = {name: array.asnumpy() for name, array in stack.pack_weights(apart).items()}
    np.testing.assert_allclose(
        run(unfused, of_cells, data=X)[0], run(outputs, weights, data=X)[0], rtol=1e-4, atol=1e-5
    )


def test_weights_of_gates(tmp_path):
    cell = mx.rnn.LSTMCell(2, prefix="l_")
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    weights = {name: mx.nd.array(array) for name, array in weights_of(outputs, data=X[:, :2].shape).items()}
    apart = cell.unpack_weights(weights)
    assert apart["l_i2h_c_weight"].shape == (2, 4) and "l_i2h_weight" not in apart
    np.testing.assert_array_equal(apart["l_h2h_o_bias"].asnumpy(), weights["l_h2h_bias"].asnumpy()[6:])
    mx.rnn.do_rnn_checkpoint(cell, str(tmp_path / "net"))(3, outputs, weights, {})
    assert "l_i2h_c_weight" in mx.model.load_checkpoint(str(tmp_path / "net"), 4)[1]
    _, loaded, _ = mx.rnn.load_rnn_checkpoint([cell], str(tmp_path / "net"), 4)
    for name, array in weights.items():
        np.testing.assert_array_equal(loaded[name].asnumpy(), array.asnumpy())


# ---- cells of convolutions ----

FRAMES = np.random.default_rng(2).normal(size=(3, 2, 3, 6, 5)).astype("float32")  # time, batch, channels, height, width


def convolved(x, weight, bias, stride, pad, dilate):
    """(N, channels, height, width) behind a window."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    reach = [d * (k - 1) + 1 for k, d in zip(weight.shape[2:], dilate)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    windows = windows[:, :, :: stride[0], :: stride[1], :: dilate[0], :: dilate[1]]
    return np.einsum("nchwij,ocij->nohw", windows, weight) + bias[:, None, None]


def leaky(x):
    return np.where(x > 0, x, 0.2 * x)


def naive_convolutional(kind, weights, prefix, frames, window, h2h_dilate, activation):
    """[outputs], last states"""
    i2h_w, i2h_b, h2h_w, h2h_b = (weights[f"{prefix}{n}"] for n in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias"))
    keeping = (1, 1), [d * (k - 1) // 2 for k, d in zip(h2h_w.shape[2:], h2h_dilate)], h2h_dilate
    h = c = np.zeros((1, h2h_w.shape[1], 1, 1))
    outputs = []
    for frame in frames:
        i2h = convolved(frame, i2h_w, i2h_b, *window)
        h, c = (np.broadcast_to(state, (len(i2h), h2h_w.shape[1], *i2h.shape[2:])) for state in (h, c))
        h2h = convolved(h, h2h_w, h2h_b, *keeping)
        parts = [np.split(each, each.shape[1] // h2h_w.shape[1], axis=1) for each in (i2h, h2h)]
        if kind == "rnn":
            h = activation(i2h + h2h)
        elif kind == "lstm":
            i, f, new, o = (a + b for a, b in zip(*parts))
            c = sigmoid(f) * c + sigmoid(i) * activation(new)
            h = sigmoid(o) * activation(c)
        else:
            (ri, zi, ni), (rh, zh, nh) = parts
            z = sigmoid(zi + zh)
            h = (1 - z) * activation(ni + sigmoid(ri + rh) * nh) + z * h
        outputs.append(h)
    return outputs, [h, c][: 2 if kind == "lstm" else 1]


CONVOLUTIONAL = {"rnn": mx.rnn.ConvRNNCell, "lstm": mx.rnn.ConvLSTMCell, "gru": mx.rnn.ConvGRUCell}
STRIDED = {
    "h2h_kernel": (3, 1),
    "h2h_dilate": (2, 1),
    "i2h_kernel": (2, 3),
    "i2h_stride": (2, 1),
    "i2h_pad": (1, 2),
    "i2h_dilate": (1, 2),
    "activation": "tanh",
}


@pytest.mark.parametrize("kind", CONVOLUTIONAL)
@pytest.mark.parametrize("options", [{}, STRIDED], ids=["default", "strided"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_cells_of_convolutions(kind, options, layout):
    axes = [layout.index(axis) for axis in "NCHW"]  # from the layout to NCHW
    back = ["NCHW".index(axis) for axis in layout]
    frames = [np.ascontiguousarray(frame.transpose(back)) for frame in FRAMES]
    cell = CONVOLUTIONAL[kind](frames[0].shape, 4, prefix="c_", conv_layout=layout, **options)
    outputs, states = cell.unroll(3, [mx.sym.Variable(f"t{i}") for i in range(3)])
    symbol = mx.sym.Group([*outputs, *states])
    inputs = {f"t{i}": frame for i, frame in enumerate(frames)}
    weights = weights_of(symbol, **{name: frame.shape for name, frame in inputs.items()})
    assert set(weights) == {f"c_{which}_{part}" for which in ("i2h", "h2h") for part in ("weight", "bias")}
    found = run(symbol, weights, **inputs)
    ours = {name: array.transpose(axes) if array.ndim == 4 else array for name, array in weights.items()}
    window = [options.get(f"i2h_{key}", (1, 1)) for key in ("stride", "pad", "dilate")]
    activation = np.tanh if options else leaky
    expected = naive_convolutional(kind, ours, "c_", FRAMES, window, options.get("h2h_dilate", (1, 1)), activation)
    for array, wanted in zip(found, [*expected[0], *expected[1]]):
        np.testing.assert_allclose(array.transpose(axes), wanted, rtol=1e-4, atol=1e-5)
    assert cell.state_shape == [(0, *found[0].shape[1:])] * len(states)
    assert [info["__layout__"] for info in cell.state_info] == [layout] * len(states)


def test_names_of_cells_of_convolutions_are_mxnets():
    frame = mx.sym.Variable("data")
    names = {}
    for kind, cell_type in CONVOLUTIONAL.items():
        cell = cell_type((1, 3, 6, 5), 4)
        output, _ = cell(frame, cell.begin_state())
        names[kind] = output.get_internals().list_outputs()
        assert output.name.endswith("t0_out")
    assert {"ConvRNN_i2h_weight", "ConvRNN_t0_h2h_output", "ConvRNN_begin_state_0_output"} < set(names["rnn"])
    for name in "i2h_output slice_output3 i_output f_output c_output o_output state_output out_output".split():
        assert f"ConvLSTM_t0_{name}" in names["lstm"]
    for name in "i2h_output _i2h_slice_output0 _r_act_output _z_act_output _h_act_output out_output".split():
        assert f"ConvGRU_t0_{name}" in names["gru"]


def test_weights_of_gates_of_convolutions():
    cell = mx.rnn.ConvLSTMCell((1, 3, 6, 5), 2, prefix="l_")
    outputs, _ = cell.unroll(1, [mx.sym.Variable("data")])
    arrays = weights_of(outputs[0], data=(1, 3, 6, 5))
    weights = {name: mx.nd.array(array) for name, array in arrays.items()}
    apart = cell.unpack_weights(weights)
    np.testing.assert_array_equal(apart["l_i2h_c_weight"].asnumpy(), arrays["l_i2h_weight"][4:6])
    again = cell.pack_weights(apart)
    for name, array in arrays.items():
        np.testing.assert_array_equal(again[name].asnumpy(), array)


def test_initializers_of_cells_of_convolutions():
    cell = mx.rnn.ConvGRUCell((1, 3, 6, 5), 2, h2h_weight_initializer=mx.init.Constant(3), i2h_bias_initializer="ones")
    outputs, _ = cell.unroll(2, [mx.sym.Variable("t0"), mx.sym.Variable("t1")])
    mod = mx.mod.Module(mx.sym.Group(outputs), data_names=("t0", "t1"), label_names=None)
    mod.bind([("t0", (1, 3, 6, 5)), ("t1", (1, 3, 6, 5))])
    mod.init_params(mx.init.Constant(5))
    found = {name: set(array.asnumpy().ravel().tolist()) for name, array in mod.get_params()[0].items()}
    assert found == {
        "ConvGRU_i2h_weight": {5},
        "ConvGRU_h2h_weight": {3},
        "ConvGRU_i2h_bias": {1},
        "ConvGRU_h2h_bias": {0},
    }


def test_cells_of_convolutions_check_their_windows():
    with pytest.raises(amp.ArgumentError, match="h2h_kernel: expected odd sizes"):
        mx.rnn.ConvRNNCell((1, 3, 6, 5), 2, h2h_kernel=(3, 2))
    with pytest.raises(amp.Error, match="Convolution"):
        mx.rnn.ConvRNNCell((1, 3, 6, 5), 2, i2h_kernel=(9, 9))


# ---- sentences ----


def test_words_become_numbers():
    encoded, vocab = mx.rnn.encode_sentences([["a", "b"], ["b", "c"]], invalid_label=0)
    assert encoded == [[1, 2], [2, 3]] and vocab == {"\n": 0, "a": 1, "b": 2, "c": 3}
    encoded, vocab = mx.rnn.encode_sentences([["b", "x", "y"]], {"a": 1, "b": 2}, unknown_token="?")
    assert encoded == [[2, 0, 0]] and vocab == {"a": 1, "b": 2, "?": 0}
    with pytest.raises(amp.ArgumentError, match="the word 'x' is not in the vocabulary"):
        mx.rnn.encode_sentences([["x"]], {"a": 1})


def test_sentences_of_like_lengths():
    sentences = [[1, 2, 3], [1, 2], [4, 5, 6], [3, 4, 5, 6, 7], [9] * 9] * 3
    batches = mx.rnn.BucketSentenceIter(sentences, 2, buckets=[5, 3], layout="TN")
    assert batches.default_bucket_key == 5 and batches.provide_data[0].shape == (5, 2)
    for _ in range(2):
        seen = list(batches)
        assert sorted(batch.bucket_key for batch in seen) == [3, 3, 3, 3, 5]
        for batch in seen:
            words, following = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            assert words.shape == (batch.bucket_key, 2) == batch.provide_data[0].shape
            assert (following[:-1] == words[1:]).all() and (following[-1] == -1).all()
        batches.reset()
    assert mx.rnn.BucketSentenceIter(sentences, 3).buckets == [2, 3, 5, 9]


def test_a_language_model_of_several_lengths():
    rng = np.random.default_rng(0)
    sentences = [[(start + i) % 7 for i in range(length)] for start, length in rng.integers(2, 9, (300, 2))]
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.LSTMCell(16, prefix="l0_"))

    def network(length):
        embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=7, output_dim=8, name="embed")
        outputs, _ = stack.unroll(length, embedded, merge_outputs=True)
        scores = mx.sym.FullyConnected(mx.sym.Reshape(outputs, shape=(-1, 16)), num_hidden=7, name="pred")
        label = mx.sym.Reshape(mx.sym.Variable("softmax_label"), shape=(-1,))
        loss = mx.sym.SoftmaxOutput(scores, label, use_ignore=True, ignore_label=-1, name="softmax")
        return loss, ("data",), ("softmax_label",)

    batches = mx.rnn.BucketSentenceIter(sentences, 10, buckets=[4, 6, 8])
    mod = mx.mod.BucketingModule(network, batches.default_bucket_key)
    metric = mx.metric.Perplexity(-1)
    mx.random.seed(1)
    mod.fit(
        batches,
        eval_metric=metric,
        num_epoch=12,
        optimizer="adam",
        optimizer_params={"learning_rate": 0.03},
        initializer=mx.init.Xavier(),
    )
    assert metric.get()[1] < 1.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.rnn.GRUCell(3).unroll(2, [mx.sym.Variable("x")]), "1 inputs do not fit 2 steps"),
        (lambda: mx.rnn.FusedRNNCell(3, mode="gated"), "mode: expected one of rnn_relu"),
        (lambda: mx.rnn.FusedRNNCell(3)(mx.sym.Variable("x"), []), "use unroll, or unfuse"),
        (lambda: mx.rnn.BidirectionalCell(mx.rnn.GRUCell(3), mx.rnn.GRUCell(3))(1, []), "use unroll"),
        (lambda: mx.rnn.ResidualCell(mx.rnn.GRUCell(3)).base_cell.begin_state(), "part of another one"),
        (lambda: mx.rnn.BucketSentenceIter([[1]], 2), "no length has 2 sentences"),
        (lambda: mx.rnn.BucketSentenceIter([[1]], 1, layout="T"), "expected 'NT' or 'TN'"),
    ],
)
def test_errors(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


@pytest.mark.parametrize("mode", ["lstm", "gru"])
def test_fused_weights_start_as_their_parts(mode):
    cell = mx.rnn.FusedRNNCell(3, num_layers=2, mode=mode, prefix="", forget_bias=2.0)
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    mod = mx.mod.Module(outputs, label_names=None)
    mod.bind([("data", (1, 2, 4))])
    mod.init_params(mx.init.One())
    for name, array in cell.unpack_weights(mod.get_params()[0]).items():
        expected = 2 if name.endswith("_f_bias") else 0 if name.endswith("bias") else 1
        assert (array.asnumpy() == expected).all(), name


def test_inputs_without_gradients_have_none():
    mod = mx.mod.Module(mx.sym.Variable("data") * 2, label_names=None)
    mod.bind([("data", (1, 2))], inputs_need_grad=True, grad_req="null")
    mod.init_params()
    mod.forward(mx.io.DataBatch([amp.nd.ones((1, 2))]), is_train=True)
    mod.backward([amp.nd.ones((1, 2))])
    assert mod.get_input_grads() == [None]
