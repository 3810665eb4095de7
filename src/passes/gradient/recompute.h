// Forward tensors that the backward pass computes again instead of keeping them.
#pragma once

#include <cstdint>
#include <vector>

#include "nnvm/graph.h"
#include "passes/infer.h"

namespace amp {

// Nodes with this attribute, a true value, are computed again, as MXNet does it. Dropout is not.
inline constexpr const char* kForceMirroringAttr = "__force_mirroring__";

// A fact of an operator that exchanges messages with other ranks. All ranks have to compute it equally often, while a
// budget counts the bytes of one rank: what it gives is kept.
struct ExchangesMessages {};

// Says for each node of a graph whether it is computed again for the backward pass.
using Recomputed = std::vector<bool>;

// Backward nodes read copies of the recomputed forward nodes. A copy reads copies of what is recomputed, and otherwise
// what the forward pass kept.
//
// Guarantees: forward nodes stay the same objects, and each has one copy at most. Copies are of the backward phase,
// have unique names and say which node they belong to. They wait for what comes before their first reader where
// gradients go from layer to layer: they are not computed earlier than they are needed. What only shapes are read of is
// not computed.
Graph Recompute(const Graph& graph, const Recomputed& recomputed);

// Recomputes all nodes that ask for it by attribute, except dropout.
Graph RecomputeMarked(const Graph& graph);

// The most bytes of forward tensors, kept or computed again, that are alive at one time of the backward pass. Variables
// are not counted.
std::int64_t PeakOfKept(const Graph& graph, const Types& types, const Recomputed& recomputed);

// Recomputes so much that PeakOfKept is at most `budget`: what takes the least time per byte first, and products only
// where nothing else suffices. Throws ArgumentError with the smallest budget that can be kept.
Graph RecomputeToFit(const Graph& graph, const Types& types, std::int64_t budget);

}  // namespace amp
