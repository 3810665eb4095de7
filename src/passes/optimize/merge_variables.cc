#include "passes/optimize/merge_variables.h"

#include <string_view>
#include <unordered_map>

#include "nnvm/rewriter.h"

namespace amp {

Graph MergeVariables(Graph graph) {
  std::unordered_map<std::string_view, NodeId> first;
  for (const NodeId id : graph.variables()) first.emplace(graph.node(id).name(), id);
  if (first.size() == graph.variables().size()) return graph;
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) -> std::vector<NodeEntry> {
    if (!graph.node(id).is_variable()) return rewriter.KeepNode(id, std::move(inputs));
    return {{graph.nodes()[first.at(graph.node(id).name())], 0}};
  });
  return result.graph;
}

}  // namespace amp
