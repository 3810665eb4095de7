// MXNet's Symbol.optimize_for: operators that its oneDNN backend runs as one become one node.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "nnvm/symbol.h"
#include "passes/fusion_mxnet/chain_patterns.h"

namespace amp {

// Backends: "ONEDNN" fuses what MXNet 2.x fuses, under its names; "ONEDNN_AMP" lets fused nodes of a converted symbol
// write float32 where a cast to it is their only reader; "MKLDNN" is 1.9.1's ONEDNN. `known` as for InferPartial: sums
// are fused whatever their shapes, as MXNet does, but not where they mix dtypes. Unlike MXNet's, nothing is fused
// across an output of the graph. Throws ArgumentError for other backends.
Symbol OptimizeFor(const Symbol& symbol, std::string_view backend, const TypeMap& known);

// What Unfuse opened (`opened.graph`, by provenance).
FusedOrigins OriginsOf(const RewriteResult& opened);

// What came inside of layers (a convolution, a fully connected layer) beside their products; see
// ConvertOptions::followers.
std::set<std::string> FollowersIn(const Graph& graph, const FusedOrigins& origins);

// `graph`, which was made of an opened one, with groups of nodes of one origin fused again under the old names. What a
// cast keeps apart stays apart.
Graph FuseAgain(const Graph& graph, const Types& types, const FusedOrigins& origins);

}  // namespace amp
