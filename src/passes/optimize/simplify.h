// Simplify: what changes no bit of any result and needs no shapes.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/infer.h"
#include "passes/optimize/eliminate_identities.h"

namespace amp {

// Copies (identity, Dropout at inference, a cast to the dtype that its input has), and casts that can read what a
// lossless cast made their input from. `types` may be partly unknown.
Identities FindIdentities(const Graph& graph, const Types& types);

// EliminateIdentities, then EliminateCommonSubexpressions; there is nothing left for a second run. Outputs of the graph
// stay what they are.
RewriteResult Simplify(const Graph& graph, const Types& types);

}  // namespace amp
