"""BERT-base's encoder as GluonNLP exports it for MXNet 1.x: time-major, QKV in one product, lengths for the mask."""

import numpy as np

LAYERS, UNITS, HEADS, HIDDEN, TOKENS, VOCABULARY = 12, 768, 12, 3072, 128, 30522
DROPOUT = 0.1


def inputs(random, batch):
    """Token ids, token types and valid lengths, all float32 as MXNet passes them."""
    lengths = np.maximum(TOKENS - 8 * np.arange(batch), TOKENS // 2)
    return {
        "data0": random.integers(0, VOCABULARY, (batch, TOKENS)).astype(np.float32),
        "data1": random.integers(0, 2, (batch, TOKENS)).astype(np.float32),
        "data2": lengths.astype(np.float32),
    }


def symbol(layers=LAYERS, units=UNITS, heads=HEADS, hidden=HIDDEN, vocabulary=VOCABULARY):
    """Two heads: the sequence (batch, tokens, units), 0 behind each length, and the pooled first token."""
    import amp
    from amp import sym

    with amp.name.NameManager():
        ids, types, lengths = (sym.Variable(f"data{i}") for i in range(3))
        words = sym.Embedding(ids, input_dim=vocabulary, output_dim=units, name="word_embed")
        kinds = sym.Embedding(types, input_dim=2, output_dim=units, name="token_type_embed")
        x = sym.transpose(words + kinds, axes=(1, 0, 2))
        steps = sym._contrib_arange_like(x, axis=0)
        positions = sym.Embedding(steps, sym.Variable("position_weight"), input_dim=512, output_dim=units)
        x = sym.broadcast_add(x, sym.expand_dims(positions, axis=1))
        x = _norm(sym, sym.Dropout(x, p=DROPOUT), "embed_layernorm")
        row_lengths = sym.broadcast_add(
            sym.reshape(lengths, shape=(-1, 1)), sym.reshape(sym.zeros_like(steps), shape=(1, -1))
        )
        row_lengths = sym.cast(row_lengths, dtype="int32")
        for i in range(layers):
            x = _layer(sym, x, row_lengths, f"layer{i}_", units, heads, hidden)
        sequence = sym.transpose(sym.SequenceMask(x, lengths, use_sequence_length=True, axis=0), axes=(1, 0, 2))
        first = sym.reshape(sym.slice(sequence, begin=(0, 0, 0), end=(None, 1, None)), shape=(-1, units))
        pooled = sym.FullyConnected(first, num_hidden=units, flatten=False, name="pooler")
        return sym.Group([sequence, sym.Activation(pooled, act_type="tanh", name="pooled")])


def _layer(sym, x, row_lengths, name, units, heads, hidden):
    qkv = sym.FullyConnected(x, *_qkv(sym, name, units, heads), num_hidden=3 * units, flatten=False, name=f"{name}qkv")
    scores = sym._contrib_interleaved_matmul_selfatt_qk(qkv, heads=heads, name=f"{name}qk")
    lengths = sym.broadcast_axis(sym.expand_dims(row_lengths, axis=1), axis=1, size=heads)
    lengths = sym.reshape(lengths, shape=(-1, 0), reverse=True)
    attention = sym.Dropout(sym.softmax(scores, lengths, use_length=True, axis=-1), p=DROPOUT)
    context = sym._contrib_interleaved_matmul_selfatt_valatt(qkv, attention, heads=heads, name=f"{name}valatt")
    x = _norm(sym, sym.Dropout(_dense(sym, context, units, f"{name}proj"), p=DROPOUT) + x, f"{name}layernorm0")
    inner = sym.LeakyReLU(_dense(sym, x, hidden, f"{name}ffn1"), act_type="gelu")
    outer = sym.Dropout(_dense(sym, inner, units, f"{name}ffn2"), p=DROPOUT)
    return _norm(sym, outer + x, f"{name}layernorm1")


def _qkv(sym, name, units, heads):
    """The weights of three projections, interleaved by head, and their biases: assembled in the graph."""
    weights = [sym.Variable(f"{name}{part}_weight", shape=(units, units)) for part in ("query", "key", "value")]
    biases = [sym.Variable(f"{name}{part}_bias", shape=(units,)) for part in ("query", "key", "value")]
    split = [sym.reshape(weight, shape=(heads, -1, 0), reverse=True) for weight in weights]
    weight = sym.reshape(sym.concat(*split, dim=-2), shape=(-1, 0), reverse=True)
    rows = [sym.reshape(bias, shape=(heads, -1), reverse=True) for bias in biases]
    return weight, sym.reshape(sym.stack(*rows, axis=1), shape=(-1,))


def _dense(sym, x, units, name):
    return sym.FullyConnected(x, num_hidden=units, flatten=False, name=name)


def _norm(sym, x, name):
    return sym.LayerNorm(x, axis=-1, eps=1e-12, name=name)
