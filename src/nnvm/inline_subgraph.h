// Copies of a node's subgraph inside of another graph.
#pragma once

#include <functional>
#include <vector>

#include "nnvm/node.h"

namespace amp {

// Makes the copy of one operator of the subgraph that reads `inputs`; it has as many outputs.
using CopyNode = std::function<NodePtr(const Node& node, std::vector<NodeEntry> inputs)>;

// Copies the operators that `outputs` reach, in graph order. `inputs` stand for the subgraph's variables, in graph
// order. Returns what stands for `outputs`.
std::vector<NodeEntry> InlineSubgraph(const std::vector<NodeEntry>& outputs, const std::vector<NodeEntry>& inputs,
                                      const CopyNode& copy);

}  // namespace amp
