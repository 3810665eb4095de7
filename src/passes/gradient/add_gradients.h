// Differentiates a graph: adds the nodes that compute gradients of variables.
#pragma once

#include <optional>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

// The name of the forward node that a backward node belongs to, on each of them.
inline constexpr const char* kForwardNodeAttr = "__forward_node__";

// The gradients of sum(output * its gradient) over all outputs of the graph with respect to these variables, in their
// order; nullopt: zero everywhere. `output_gradients` go by output; nullopt is ones. Outputs beyond the list have none,
// and lead to operators with a gradient of their own (HasOwnGradient).
//
// Guarantees: the forward nodes stay as they are. New nodes are of the backward phase, have unique names and say which
// node they belong to. The gradients of several readers are summed once. No node computes what nothing asks for once
// the graph is made of its outputs, and none holds zeros where a gradient has not arrived, but beside others of the
// same node. Throws UnsupportedError for an operator without a gradient.
std::vector<std::optional<NodeEntry>> AddGradients(const Graph& graph,
                                                   const std::vector<std::optional<NodeEntry>>& output_gradients,
                                                   const std::vector<NodeId>& variables);

}  // namespace amp
