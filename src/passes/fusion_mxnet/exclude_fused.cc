#include "passes/fusion_mxnet/exclude_fused.h"

#include <set>

#include "passes/fusion_mxnet/unfuse.h"
#include "passes/precision/precision_categories.h"

namespace amp {
namespace {

// The names of fused nodes, and of all other operators: those inside of fused ones included.
void CollectNames(const Graph& graph, std::set<std::string>* fused, std::set<std::string>* others) {
  for (const NodePtr& node : graph.nodes()) {
    if (node->is_variable()) continue;
    (IsFused(*node) ? fused : others)->insert(node->name());
    if (!IsFused(*node)) continue;
    for (const std::vector<NodeEntry>& outputs : node->subgraphs()) CollectNames(Graph(outputs), fused, others);
  }
}

// The names that `pattern` means: its own if there is such a node, otherwise all that it describes.
std::set<std::string> Meant(const std::string& pattern, const std::set<std::string>& names, bool is_name) {
  std::set<std::string> meant;
  for (const std::string& name : names) {
    if (is_name ? name == pattern : MatchesGlob(pattern, name)) meant.insert(name);
  }
  return meant;
}

Graph Marked(const Graph& graph, const std::set<std::string>& names) {
  Rewriter rewriter(graph);
  const RewriteResult result = rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
    std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
    const Node& node = graph.node(id);
    if (!IsFused(node) || !names.contains(node.name())) return kept;
    AttrMap attrs = node.attrs();
    attrs[kOptConstraintAttr] = std::to_string(OptConstraints(node) | kDisableAmpBit);
    return rewriter.Replace(kept[0].node->WithAttrs(std::move(attrs)));
  });
  return result.graph;
}

}  // namespace

Graph ExcludeFused(Graph graph, ConvertOptions* options) {
  if (options->excluded.empty()) return graph;
  std::set<std::string> fused, others, marked;
  CollectNames(graph, &fused, &others);
  if (fused.empty()) return graph;
  std::vector<std::string> rest;
  for (const std::string& pattern : options->excluded) {
    const bool is_name = fused.contains(pattern) || others.contains(pattern);
    const std::set<std::string> meant = Meant(pattern, fused, is_name);
    marked.insert(meant.begin(), meant.end());
    if (meant.empty() || !Meant(pattern, others, is_name).empty()) rest.push_back(pattern);
  }
  options->excluded = std::move(rest);
  return marked.empty() ? graph : Marked(graph, marked);
}

}  // namespace amp
