"""Attention as one step: what FuseAttention puts into a model computes what the model says."""

import sys
from pathlib import Path

import numpy as np
import pytest

import amp
from amp import sym

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.compare import bert  # noqa: E402

LAYERS = 2


def arguments(symbol, inputs):
    """Random parameters, small enough for the layers, by name."""
    rng = np.random.default_rng(1)
    shapes, _, _ = symbol.infer_shape(**{name: array.shape for name, array in inputs.items()})
    named = {name: shape for name, shape in zip(symbol.list_arguments(), shapes) if name not in inputs}
    return {
        name: np.ones(shape, "float32")
        if name.endswith("gamma")
        else rng.normal(0, 0.3 / np.sqrt(shape[-1]), shape).astype("float32")
        for name, shape in named.items()
    }


@pytest.fixture(scope="module")
def small_bert():
    symbol = bert.symbol(layers=LAYERS, units=96, heads=4, hidden=64, vocabulary=1000)
    inputs = bert.inputs(np.random.default_rng(0), 3)
    inputs["data0"] %= 1000
    return symbol, arguments(symbol, inputs), inputs


def bind(model, **options):
    symbol, args, inputs = model
    shapes = {name: array.shape for name, array in inputs.items()}
    return amp.Executor(symbol, args, {}, shapes, **options)


def run(model, **options):
    """The heads, as float64."""
    return [head.asnumpy().astype("float64") for head in bind(model, **options)(**model[2])]


def steps(model, **options):
    return [step.work for step in bind(model, **options).summary.steps]


def distance(actual, expected):
    """Relative rms, the largest of all heads."""
    return max(np.sqrt(np.mean((a - e) ** 2) / np.mean(e**2)) for a, e in zip(actual, expected))


@pytest.mark.parametrize("precision", [None, "bfloat16"])
def test_nothing_is_left_around_it(small_bert, precision):
    work = steps(small_bert, reduce_precision=precision)
    assert work.count("attention") == LAYERS
    assert "softmax" not in work and "matmul" not in work
    assert work.count("reorder") <= 3  # transposes and slices at both ends of the model


def test_exact_mode_and_the_switch_leave_the_graph_alone(small_bert, monkeypatch):
    assert "attention" not in steps(small_bert, mode="exact")
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FuseAttention")
    assert "attention" not in steps(small_bert)


def test_float32_is_what_the_reference_says(small_bert):
    assert distance(run(small_bert), run(small_bert, backend="reference")) < 1e-5


def test_bfloat16_is_no_worse_than_without(small_bert, monkeypatch):
    truth = run(small_bert)
    reduce = {"target_dtype": "bfloat16", "emulate": True}  # on CPUs without bfloat16, too
    fused = distance(run(small_bert, reduce_precision=reduce), truth)
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FuseAttention")
    apart = distance(run(small_bert, reduce_precision=reduce), truth)
    assert 0 < fused <= 1.1 * apart


@pytest.mark.parametrize("precision", [None, "bfloat16"])
def test_any_number_of_threads_gives_the_same_bits(small_bert, precision):
    alone, together = (run(small_bert, reduce_precision=precision, num_threads=n) for n in (1, 2))
    # Only the products before and after may depend on them: float32 inner products are cut by threads.
    if precision:
        assert all(np.array_equal(a, b) for a, b in zip(alone, together))
    else:
        assert distance(alone, together) < 1e-6


def separate(queries, keys, heads, batch, size):
    """batch_dot attention on projections (batch, length, heads * size), as GluonNLP 2 writes it."""

    def split(name):
        projections = sym.reshape(sym.Variable(name), shape=(batch, -1, heads, size))
        return sym.transpose(projections, axes=(0, 2, 1, 3))

    scores = sym.batch_dot(split("q"), split("k"), transpose_b=True) / np.sqrt(size)
    weights = sym.masked_softmax(scores, sym.Variable("mask"))
    context = sym.transpose(sym.batch_dot(weights, split("v")), axes=(0, 2, 1, 3))
    symbol = sym.reshape(context, shape=(0, 0, -1))
    rng = np.random.default_rng(2)
    lengths = {"q": queries, "k": keys, "v": keys}
    inputs = {name: rng.normal(size=(batch, n, heads * size)).astype("float32") for name, n in lengths.items()}
    inputs["mask"] = rng.random((batch, 1, queries, keys)) < 0.7
    return symbol, inputs


@pytest.mark.parametrize("queries, keys", [(7, 7), (5, 700)])
def test_separate_heads_are_read_where_they_lie(queries, keys):
    symbol, inputs = separate(queries, keys, heads=3, batch=2, size=20)
    executor = amp.Executor(
        symbol, {}, {}, {name: array.shape for name, array in inputs.items()}, input_dtypes={"mask": "bool"}
    )
    assert [step.work for step in executor.summary.steps] == ["attention"]
    q, k, v = (inputs[name].astype("float64").reshape(2, -1, 3, 20).transpose(0, 2, 1, 3) for name in "qkv")
    scores = np.where(inputs["mask"], q @ k.swapaxes(-1, -2) / np.sqrt(20), -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    truth = (powers / powers.sum(axis=-1, keepdims=True)) @ v
    actual = executor(**inputs)[0].asnumpy()
    np.testing.assert_allclose(actual, truth.transpose(0, 2, 1, 3).reshape(actual.shape), rtol=2e-5, atol=2e-6)


def trainer(model, **options):
    symbol, inputs = model
    arrays = {name: amp.nd.array(x, dtype=str(x.dtype)) for name, x in inputs.items()}
    return amp.TrainingExecutor(symbol, arrays, {}, {}, grad_req="write", **options)


def gradients(model, **options):
    """{variable: array} of a forward and a backward run."""
    executor = trainer(model, **options)
    executor.forward(is_train=True)
    executor.backward()
    return {name: gradient.asnumpy() for name, gradient in executor.gradients.items()}


def interleaved(heads, size, batch, length, dropout, use_length):
    projections = sym.Variable("qkv")
    scores = sym.contrib.interleaved_matmul_selfatt_qk(projections, heads=heads)
    lengths = [sym.Variable("lengths")] if use_length else []
    weights = sym.Dropout(sym.softmax(scores, *lengths, axis=-1, use_length=use_length), p=dropout)
    symbol = sym.contrib.interleaved_matmul_selfatt_valatt(projections, weights, heads=heads)
    rng = np.random.default_rng(3)
    inputs = {"qkv": rng.normal(size=(length, batch, heads * 3 * size)).astype("float32")}
    if use_length:
        inputs["lengths"] = rng.integers(0, length + 1, (batch * heads, length)).astype("int32")
    return symbol, inputs


TRAINED = {
    "interleaved": lambda: interleaved(3, 16, 2, 20, dropout=0.0, use_length=False),
    "interleaved, lengths": lambda: interleaved(2, 16, 2, 20, dropout=0.0, use_length=True),
    "separate, masked": lambda: separate(20, 30, heads=3, batch=2, size=16),
}


@pytest.mark.parametrize("name", TRAINED)
def test_training_has_the_gradients_of_the_reference(name):
    model = TRAINED[name]()
    found, expected = gradients(model), gradients(model, backend="reference")
    for variable, gradient in expected.items():
        np.testing.assert_allclose(found[variable], gradient, rtol=1e-4, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("name", TRAINED)
def test_training_keeps_no_matrix_of_attention(name):
    work = [step.work for step in trainer(TRAINED[name]()).training_summary.steps]
    assert work.count("attention") == 1 and work.count("attention_gradient") == 1
    assert not {"softmax", "masked_softmax", "matmul"} & set(work)


def test_memory_of_training_is_linear_in_the_length():
    def arena(length):
        return trainer(interleaved(2, 16, 1, length, dropout=0.0, use_length=False)).training_summary.arena_bytes

    assert arena(2048) <= 2.2 * arena(1024)


def test_attention_with_dropout_is_left_alone_in_training():
    model = interleaved(2, 16, 2, 20, dropout=0.3, use_length=False)
    work = [step.work for step in trainer(model).training_summary.steps]
    assert "attention" not in work and "softmax" in work


def test_exact_mode_and_the_switch_leave_training_alone(monkeypatch):
    model = TRAINED["interleaved"]()

    def work(**options):
        return [step.work for step in trainer(model, **options).training_summary.steps]

    assert "attention" not in work(mode="exact")
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FuseAttention")
    assert "attention" not in work()


# ---- causal masks that a graph makes by itself ----


def causal_mask(data):
    """(length, length), 1 where query i sees key j; from the shape of `data` (batch, length, units)."""
    positions = sym.contrib.arange_like(data, axis=1)
    queries, keys = sym.reshape(positions, shape=(-1, 1)), sym.reshape(positions, shape=(1, -1))
    return sym.broadcast_greater_equal(queries, keys)


def hidden_by_where(scores, mask):
    mask = sym.broadcast_like(mask, scores)
    return sym.softmax(sym.where(mask, scores, -1e18 * sym.ones_like(scores))) * mask


MASKED_BY = {
    "masked_softmax": lambda scores, mask: sym.masked_softmax(scores, sym.cast(mask, dtype="bool")),
    "where": hidden_by_where,
    "added": lambda scores, mask: sym.softmax(sym.broadcast_add(scores, (mask - 1) * 1e9)),
}


def causal_block(form, batch=2, length=37, heads=3, size=16):
    """Self-attention of a decoder: projections, causal weights, projection; with random parameters."""
    data, units = sym.Variable("data"), heads * size

    def heads_of(name):
        projected = sym.FullyConnected(data, num_hidden=units, flatten=False, name=name)
        return sym.transpose(sym.reshape(projected, shape=(0, 0, heads, size)), axes=(0, 2, 1, 3))

    scores = sym.batch_dot(heads_of("query"), heads_of("key"), transpose_b=True) / np.sqrt(size)
    mask = sym.expand_dims(sym.expand_dims(causal_mask(data), axis=0), axis=0)
    context = sym.transpose(sym.batch_dot(MASKED_BY[form](scores, mask), heads_of("value")), axes=(0, 2, 1, 3))
    symbol = sym.FullyConnected(
        sym.reshape(context, shape=(0, 0, -1)), num_hidden=units, flatten=False, name="projection"
    )
    inputs = {"data": np.random.default_rng(5).normal(size=(batch, length, units)).astype("float32")}
    return symbol, arguments(symbol, inputs), inputs


@pytest.mark.parametrize("form", MASKED_BY)
def test_a_causal_mask_is_part_of_attention(form, monkeypatch):
    model = causal_block(form)
    fused = run(model)
    work = steps(model)
    assert work.count("attention") == 1
    assert not {"softmax", "masked_softmax", "matmul", "map"} & set(work)
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FuseAttention")
    assert "attention" not in steps(model)
    assert distance(fused, run(model)) < 1e-6
    assert distance(fused, run(model, backend="reference")) < 1e-6


@pytest.mark.parametrize("form", MASKED_BY)
def test_no_later_token_changes_an_earlier_one(form):
    symbol, args, inputs = causal_block(form)
    changed = {"data": inputs["data"].copy()}
    changed["data"][:, 20:] *= -3
    before, after = (run((symbol, args, data))[0] for data in (inputs, changed))
    np.testing.assert_array_equal(before[:, :20], after[:, :20])
    assert np.abs(before[:, 20:] - after[:, 20:]).max() > 1e-3


@pytest.mark.parametrize("form", MASKED_BY)
def test_causal_attention_is_one_operator_in_training(form, monkeypatch):
    symbol, args, inputs = causal_block(form)
    model = symbol, {**args, **inputs}
    work = [step.work for step in trainer(model).training_summary.steps]
    assert work.count("attention") == 1 and work.count("attention_gradient") == 1
    assert not {"softmax", "softmax_gradient", "masked_softmax"} & set(work)
    fused = gradients(model)
    reference = gradients(model, backend="reference")
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FuseAttention")
    apart = gradients(model)
    atol = 1e-6 * max(np.abs(gradient).max() for gradient in reference.values())
    for variable, gradient in reference.items():
        np.testing.assert_allclose(fused[variable], gradient, rtol=1e-4, atol=atol)
        np.testing.assert_allclose(apart[variable], gradient, rtol=1e-4, atol=atol)


def test_other_lengths_have_masks_of_their_own():
    symbol, args, inputs = causal_block("where", length=8)
    data = {"data": np.random.default_rng(6).normal(size=(3, 21, inputs["data"].shape[2])).astype("float32")}
    executor = bind((symbol, args, inputs)).reshape(data=data["data"].shape)
    assert [step.work for step in executor.summary.steps].count("attention") == 1
    expected = run((symbol, args, data), backend="reference")
    assert distance([executor(**data)[0].asnumpy().astype("float64")], expected) < 1e-6


@pytest.mark.parametrize("precision", [None, "bfloat16"])
@pytest.mark.parametrize("form", MASKED_BY)
def test_no_causal_mask_is_kept(form, precision):
    reduce = precision and {"target_dtype": precision, "emulate": True}
    model = causal_block(form, length=300)
    executor = bind(model, reduce_precision=reduce)
    assert [step.work for step in executor.summary.steps].count("attention") == 1
    parameters = sum(array.nbytes for array in model[1].values())
    assert executor.summary.constant_bytes < parameters + 300 * 300  # a mask has a byte for each score
