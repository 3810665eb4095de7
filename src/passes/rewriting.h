// What several rewrites need.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "nnvm/graph.h"

namespace amp {

// Heads of a graph keep nodes of their own where a rewrite makes readers look elsewhere: a head has a name, and no two
// of them become one.
class OwnHeads {
 public:
  explicit OwnHeads(const Graph& graph) : graph_(graph) {}

  // Some output of the node is a head.
  bool Has(NodeId id) const {
    for (int i = 0; i < graph_.node(id).num_outputs(); ++i) {
      if (graph_.IsOutput(graph_.EntryOf(id, static_cast<std::uint32_t>(i)))) return true;
    }
    return false;
  }

  // The outputs of the node as heads, whatever other readers get.
  void Set(NodeId id, std::vector<NodeEntry> outputs) { own_[id] = std::move(outputs); }

  // For Rewriter::Run.
  NodeEntry operator()(std::size_t index, NodeEntry mapped) const {
    const NodeEntry& head = graph_.outputs()[index];
    const auto found = own_.find(graph_.IdOf(head.node.get()));
    return found == own_.end() ? mapped : found->second[head.index];
  }

 private:
  const Graph& graph_;
  std::unordered_map<NodeId, std::vector<NodeEntry>> own_;
};

// Which nodes stand at either end of a control dependency.
inline std::vector<bool> OrderedNodes(const Graph& graph) {
  std::vector<bool> ordered(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    for (const NodePtr& dep : graph.node(id).control_deps()) ordered[id] = ordered[graph.IdOf(dep.get())] = true;
  }
  return ordered;
}

}  // namespace amp
