// The casts that a decision asks for.
#pragma once

#include "nnvm/rewriter.h"
#include "passes/precision/decision.h"

namespace amp {

// Inserts what the decision asks for: at most one cast per (entry, dtype), named
// "<node>_<output index>_amp_cast_<dtype>". amp_multicast becomes casts of its single inputs; casts that change nothing
// disappear, and a cast of a lossless cast reads the original. Outputs of the graph have the decided dtypes; under
// policies but mxnet they keep their names.
RewriteResult ApplyDecision(const Graph& graph, const Decision& decision);

// The nodes amp_cast.
std::size_t CountCasts(const Graph& graph);

}  // namespace amp
