#include "passes/fuse_mxnet.h"

#include <array>
#include <functional>

#include "passes/amp_facts.h"
#include "passes/fuse_mxnet_attention.h"
#include "passes/tidy_mxnet.h"
#include "passes/unfuse.h"

namespace amp {
namespace {

constexpr FusionDialect kOneDnn{"onednn", true}, kMklDnn{"mkldnn", false};

// Types are inferred for each pattern anew: fusing changes the graph.
Graph Fused(const Graph& graph, const TypeMap& known, FusionPattern pattern, const FusionDialect& dialect) {
  const Types types = InferPartial(graph, known);
  return FuseGroups(graph, FindGroups({graph, types}, pattern, dialect));
}

// In MXNet's order: what comes first takes what it can.
Graph FuseAll(Graph graph, const TypeMap& known, const FusionDialect& dialect) {
  const auto fuse = [&](FusionPattern pattern) { graph = Fused(graph, known, pattern, dialect); };
  // What does nothing at inference must not stand between nodes.
  graph = RemoveIdentities(ShareEqualNodes(graph));
  fuse(FusionPattern::kConvolution);
  fuse(FusionPattern::kFullyConnected);
  if (!dialect.is_2) return FuseGroups(graph, FindInterleaved({graph, {}}));
  fuse(FusionPattern::kBatchNormRelu);
  graph = RemoveRepeatedCasts(graph);
  // Attention before single products, and the split of all three projections before two of them.
  graph = FuseGroups(graph, FindScoresOfSplit(graph));
  graph = FuseGroups(graph, FindScores(graph));
  graph = FuseGroups(graph, FindWeightedValues(graph));
  fuse(FusionPattern::kBatchDot);
  fuse(FusionPattern::kPowerTimes);
  // Of fused layers.
  fuse(FusionPattern::kFullyConnectedSum);
  return graph;
}

const FusionDialect& DialectOf(const FusedOrigins& origins) {
  const bool is_1 = !origins.empty() && origins.begin()->second->op_name().starts_with("_sg_mkldnn");
  return is_1 ? kMklDnn : kOneDnn;
}

}  // namespace

Symbol OptimizeFor(const Symbol& symbol, std::string_view backend, const TypeMap& known) {
  const Graph graph = symbol.ToGraph();
  const auto made = [&](const Graph& optimized) { return Symbol(optimized.outputs(), symbol.np_shape()); };
  if (backend == "ONEDNN") return made(FuseAll(graph, known, kOneDnn));
  if (backend == "MKLDNN") return made(FuseAll(graph, known, kMklDnn));
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
  constexpr std::array kPatterns{FusionPattern::kConvolution, FusionPattern::kFullyConnected,
                                 FusionPattern::kBatchNormRelu, FusionPattern::kBatchDot};
  // Members of two patterns have two origins: one set of types serves them all.
  std::vector<FusionGroup> groups = FindInterleaved({graph, types, &origins});
  for (const FusionPattern pattern : kPatterns) {
    for (FusionGroup& group : FindGroups({graph, types, &origins}, pattern, DialectOf(origins))) {
      groups.push_back(std::move(group));
    }
  }
  const Graph fused = FuseGroups(graph, groups);
  const Types none(fused.num_entries());  // a layer with its sum was fused before, whatever its types
  return FuseGroups(fused, FindGroups({fused, none, &origins}, FusionPattern::kFullyConnectedSum, DialectOf(origins)));
}

}  // namespace amp
