// FuseAttention: two products and the softmax between them become one operator.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/optimize/constant_values.h"

namespace amp {

// values(qkv, softmax(scores(qkv))), where both are _contrib_interleaved_matmul_selfatt_* of one tensor, becomes
// _amp_interleaved_attention, and batch_dot(softmax(batch_dot(q, k, transpose_b=True)), v) becomes _amp_attention; with
// the softmax's lengths or mask. Between them may stand casts to float32 and bfloat16, copies, and multiplications of
// the scores by a number. All that is left out has one reader and is no output. What is left out is not rounded: only
// for mode fast. In a graph in training form (use_training_forms.h) dropout that drops stands in the way. The new node
// has the name of the last product.
//
// A causal mask that `runner` can compute becomes attributes. It may be the softmax's mask or lengths, a selection
// between scores and numbers of about -1e4 or less, or such numbers that are added to scores; zeros may multiply what
// it hides. With such numbers a model hides what it never sees: that holds while scores that are seen do not differ by
// thousands.
RewriteResult FuseAttention(const Graph& graph, const Types& types, const NodeRunner& runner = {});

}  // namespace amp
