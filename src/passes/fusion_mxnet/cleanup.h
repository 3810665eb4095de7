// What MXNet's oneDNN backends do to a graph beside fusing nodes.
#pragma once

#include "nnvm/graph.h"

namespace amp {

// Nodes of one operator with the same attributes and inputs become one. Outputs of the graph and operators that change
// their inputs stay.
Graph MergeEqualAsMXNet(const Graph& graph);

// Without Dropout and copies, where an operator stands before them.
Graph EliminateIdentitiesAsMXNet(const Graph& graph);

// Without the two last casts of cast -> expand_dims -> cast -> cast, all to one dtype.
Graph RemoveRepeatedCasts(const Graph& graph);

// A cast to float32 that is the only reader of a fused node disappears: the node writes float32
// (enabled_float_output).
Graph AbsorbFloatCasts(const Graph& graph);

}  // namespace amp
