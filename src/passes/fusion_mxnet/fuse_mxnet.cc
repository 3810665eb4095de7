#include "passes/fusion_mxnet/fuse_mxnet.h"

#include <utility>

#include "passes/fusion_mxnet/attention_patterns.h"
#include "passes/fusion_mxnet/cleanup.h"
#include "passes/fusion_mxnet/unfuse.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

// Types are inferred for each pattern anew: fusing changes the graph.
Graph FuseChains(Graph graph, const TypeMap& known, FusionDialect dialect, FusionOrder order) {
  for (const FusionChain& chain : FusionChains(dialect)) {
    if (chain.order != order) continue;
    const Types types = InferPartial(graph, known);
    graph = FuseGroups(graph, FindGroups({graph, types}, chain));
  }
  return graph;
}

// In MXNet's order: what comes first takes what it can.
Graph FuseAll(Graph graph, const TypeMap& known, FusionDialect dialect) {
  // What does nothing at inference must not stand between nodes.
  graph = EliminateIdentitiesAsMXNet(MergeEqualAsMXNet(graph));
  graph = FuseChains(std::move(graph), known, dialect, FusionOrder::kLayers);
  if (dialect == FusionDialect::kMklDnn) return FuseGroups(graph, FindInterleaved({graph, {}}));
  graph = RemoveRepeatedCasts(graph);
  // Attention before single products, and the split of all three projections before two of them.
  graph = FuseGroups(graph, FindScoresOfSplit(graph));
  graph = FuseGroups(graph, FindScores(graph));
  graph = FuseGroups(graph, FindWeightedValues(graph));
  graph = FuseChains(std::move(graph), known, dialect, FusionOrder::kAfterAttention);
  return FuseChains(std::move(graph), known, dialect, FusionOrder::kOfFused);
}

FusionDialect DialectOf(const FusedOrigins& origins) {
  const bool is_1 = !origins.empty() && origins.begin()->second->op_name().starts_with("_sg_mkldnn");
  return is_1 ? FusionDialect::kMklDnn : FusionDialect::kOneDnn;
}

}  // namespace

Symbol OptimizeFor(const Symbol& symbol, std::string_view backend, const TypeMap& known) {
  const Graph graph = symbol.ToGraph();
  const auto made = [&](const Graph& optimized) { return Symbol(optimized.outputs(), symbol.np_shape()); };
  if (backend == "ONEDNN") return made(FuseAll(graph, known, FusionDialect::kOneDnn));
  if (backend == "MKLDNN") return made(FuseAll(graph, known, FusionDialect::kMklDnn));
  if (backend == "ONEDNN_AMP") return made(AbsorbFloatCasts(graph));
  const std::vector<std::string> names{"MKLDNN", "ONEDNN", "ONEDNN_AMP"};
  Throw<ArgumentError>("unknown backend '{}': expected one of {}{}", Quotable(std::string(backend)),
                       JoinSome(names, names.size()), NearMatches(std::string(backend), names));
}

FusedOrigins OriginsOf(const RewriteResult& opened) {
  FusedOrigins origins;
  if (!opened.changed) return origins;
  for (const NodePtr& node : opened.graph.nodes()) {
    for (const NodePtr& origin : opened.provenance.Of(node)) {
      if (node->is_variable() || !IsFused(*origin)) continue;
      origins[node->name()] = origin;
      origins[origin->name()] = origin;
    }
  }
  return origins;
}

std::set<std::string> FollowersIn(const Graph& graph, const FusedOrigins& origins) {
  std::set<std::string> followers;
  for (const NodePtr& node : graph.nodes()) {
    const auto origin = node->is_variable() ? origins.end() : origins.find(node->name());
    if (origin == origins.end() || FactsOf(*node).arithmetic == Arithmetic::kAccumulates) continue;
    const std::string& op = origin->second->op_name();
    if (op.ends_with("_conv") || op.ends_with("_fully_connected")) followers.insert(node->name());
  }
  return followers;
}

Graph FuseAgain(const Graph& graph, const Types& types, const FusedOrigins& origins) {
  if (origins.empty()) return graph;
  const std::vector<FusionChain>& chains = FusionChains(DialectOf(origins));
  // Members of two patterns have two origins: one set of types serves them all.
  std::vector<FusionGroup> groups = FindInterleaved({graph, types, &origins});
  for (const FusionChain& chain : chains) {
    if (chain.order == FusionOrder::kOfFused || !chain.keeps_subgraph) continue;
    for (FusionGroup& group : FindGroups({graph, types, &origins}, chain)) groups.push_back(std::move(group));
  }
  Graph fused = FuseGroups(graph, groups);
  for (const FusionChain& chain : chains) {
    if (chain.order != FusionOrder::kOfFused) continue;
    const Types none(fused.num_entries());  // such a layer was fused before, whatever its types
    fused = FuseGroups(fused, FindGroups({fused, none, &origins}, chain));
  }
  return fused;
}

}  // namespace amp
