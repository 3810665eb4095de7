// EliminateCommonSubexpressions: of nodes that compute the same one remains.
#pragma once

#include <string>

#include "nnvm/rewriter.h"

namespace amp {

// Which nodes count as equal. Operator, inputs, phase and the compared attributes decide; variables and nodes with
// control dependencies or subgraphs are no other's equals.
struct MergePolicy {
  bool (*may_merge)(const Graph& graph, NodeId id);
  bool (*compares)(const std::string& attr);
  // Whether the first of equal nodes in the graph remains; otherwise an output of the graph, if there is one, then the
  // first in the alphabet, whatever their order.
  bool keeps_first = false;
};

// Compares what operators compute: hidden attributes are notes, but for those that make a dtype or say how to round.
extern const MergePolicy kMergeEqual;

// Outputs of the graph all remain, but nothing else reads the others.
RewriteResult EliminateCommonSubexpressions(const Graph& graph, const MergePolicy& policy = kMergeEqual);

}  // namespace amp
