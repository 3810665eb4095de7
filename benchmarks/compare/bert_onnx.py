"""BERT-base as an ONNX model in its usual form, from the parameters of `bert.symbol`.

Batch-major, separate products for query, key and value, an additive mask, GELU by Erf: what optimisers of other engines
look for. It takes the same inputs as the symbol.
"""

import numpy as np

from .bert import DROPOUT, HEADS, LAYERS, TOKENS
from .onnx_export import Writer

MASKED = -1e9


def export(params, layers=LAYERS, heads=HEADS, tokens=TOKENS):
    """The fp32 model; `params` is {name: float32 array}."""
    graph = _Bert(params, heads)
    lengths = graph.node("Unsqueeze", ["data2", graph.ints("axis_1", [1])])
    steps = graph.const("steps", np.arange(tokens, dtype=np.float32)[None])
    valid = graph.node("Less", [steps, lengths])  # (N, tokens)
    x = graph.embeddings(tokens)
    mask = graph.node("Where", [valid, graph.const("zero", np.float32(0)), graph.const("far", np.float32(MASKED))])
    mask = graph.node("Unsqueeze", [mask, graph.ints("axes_1_2", [1, 2])])
    for i in range(layers):
        x = graph.layer(x, mask, f"layer{i}_")
    kept = graph.node("Unsqueeze", [graph.node("Cast", [valid], to=1), graph.ints("axis_2", [2])])
    sequence = graph.node("Mul", [x, kept], "sequence")
    first = graph.node("Gather", [sequence, graph.const("first", np.int64(0))], axis=1)
    graph.node("Tanh", [graph.dense(first, "pooler")], "pooled")
    inputs = {"data0": ["N", tokens], "data1": ["N", tokens], "data2": ["N"]}
    return graph.writer.model(inputs, {"sequence": 3, "pooled": 2})


class _Bert:
    def __init__(self, params, heads):
        self.writer, self.params, self.heads = Writer(), params, heads
        self.node, self.const = self.writer.add, self.writer.constant
        self.units = params["embed_layernorm_gamma"].size

    def ints(self, name, values):
        return self.const(name, np.array(values, np.int64))

    def embeddings(self, tokens):
        words, kinds = (
            self.node("Gather", [self.const(name, self.params[name]), self.node("Cast", [ids], to=7)])
            for name, ids in (("word_embed_weight", "data0"), ("token_type_embed_weight", "data1"))
        )
        positions = self.const("positions", self.params["position_weight"][None, :tokens])
        summed = self.node("Add", [self.node("Add", [words, kinds]), positions])
        return self.norm(self.dropout(summed), "embed_layernorm")

    def dropout(self, x):
        """Nothing but in training."""
        return self.node("Dropout", [x, self.const("ratio", np.float32(DROPOUT))])

    def dense(self, x, name):
        weight = self.const(f"{name}_weight", self.params[f"{name}_weight"].T)
        product = self.node("MatMul", [x, weight])
        return self.node("Add", [product, self.const(f"{name}_bias", self.params[f"{name}_bias"])])

    def norm(self, x, name):
        scale, shift = (self.const(f"{name}_{part}", self.params[f"{name}_{part}"]) for part in ("gamma", "beta"))
        return self.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=1e-12)

    def by_head(self, x, permutation):
        split = self.node("Reshape", [x, self.ints("split", [0, 0, self.heads, self.units // self.heads])])
        return self.node("Transpose", [split], perm=permutation)

    def attention(self, x, mask, name):
        query = self.by_head(self.dense(x, f"{name}query"), [0, 2, 1, 3])
        key = self.by_head(self.dense(x, f"{name}key"), [0, 2, 3, 1])
        value = self.by_head(self.dense(x, f"{name}value"), [0, 2, 1, 3])
        root = self.const("root", np.float32(np.sqrt(self.units // self.heads)))
        scores = self.node("Div", [self.node("MatMul", [query, key]), root])
        weights = self.node("Softmax", [self.node("Add", [scores, mask])], axis=-1)
        product = self.node("MatMul", [self.dropout(weights), value])
        context = self.node("Transpose", [product], perm=[0, 2, 1, 3])
        return self.node("Reshape", [context, self.ints("merge", [0, 0, self.units])])

    def gelu(self, x):
        scaled = self.node("Div", [x, self.const("sqrt_2", np.float32(np.sqrt(2)))])
        shifted = self.node("Add", [self.node("Erf", [scaled]), self.const("one", np.float32(1))])
        return self.node("Mul", [self.node("Mul", [x, shifted]), self.const("half", np.float32(0.5))])

    def layer(self, x, mask, name):
        attended = self.dense(self.attention(x, mask, name), f"{name}proj")
        x = self.norm(self.node("Add", [self.dropout(attended), x]), f"{name}layernorm0")
        inner = self.gelu(self.dense(x, f"{name}ffn1"))
        outer = self.dropout(self.dense(inner, f"{name}ffn2"))
        return self.norm(self.node("Add", [outer, x]), f"{name}layernorm1")
