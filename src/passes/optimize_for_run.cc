// The story of a graph between model and plan, one call per stage.
#include "passes/optimize_for_run.h"

#include <algorithm>
#include <utility>

#include "nnvm/dump.h"
#include "passes/compose_views.h"
#include "passes/fold_batch_norm.h"
#include "passes/fuse_attention.h"
#include "passes/propagate_strides.h"
#include "passes/simplify.h"
#include "passes/verify.h"

namespace amp {
namespace {

// A stage's result takes the place of what it worked on, and types are inferred anew.
struct Corridor {
  Graph graph;
  TypeMap variable_types;
  Types types;

  Corridor(const Graph& given, const TypeMap& known)
      : graph(given), variable_types(known), types(InferPartial(given, known)) {}

  void Take(const char* stage, const char* dump, RewriteResult rewrite) {
    VerifyAfter(stage, rewrite.graph);
    DumpGraph(dump, rewrite.graph, rewrite.changed);
    if (!rewrite.changed) return;
    graph = std::move(rewrite.graph);
    InferAgain();
  }

  void InferAgain() {
    TypeMap known;
    for (const NodeId id : graph.variables()) {
      const auto found = variable_types.find(graph.node(id).name());
      if (found != variable_types.end()) known.insert(*found);
    }
    variable_types = std::move(known);
    types = InferPartial(graph, variable_types);
  }
};

// Whoever reads the heads sees no difference.
void RequireSameHeads(const Graph& before, const Types& types_before, const Graph& after, const Types& types_after) {
  for (std::size_t i = 0; i < before.outputs().size(); ++i) {
    const TensorType& type = types_before[before.EntryOf(before.outputs()[i])];
    const TensorType& now = types_after[after.EntryOf(after.outputs()[i])];
    if (type != now) {
      Throw<InternalError>("optimising changed output {} from {} to {}", i, type.ToString(), now.ToString());
    }
  }
}

// By node: it reads no input, at whatever distance.
std::vector<bool> AreConstant(const Graph& graph, const std::set<std::string>& parameters) {
  std::vector<bool> constant(graph.num_nodes());
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    const auto inputs = graph.InputsOf(id);
    constant[id] = graph.node(id).is_variable() ? parameters.contains(graph.node(id).name())
                                                : std::all_of(inputs.begin(), inputs.end(),
                                                              [&](EntryId e) { return constant[graph.NodeOf(e)]; });
  }
  return constant;
}

void TakeArrays(const FoldResult& folded, ModelParams* params, TypeMap* variable_types) {
  for (const std::string& name : folded.dropped) {
    params->args.erase(name);
    params->aux.erase(name);
  }
  for (const auto& [name, array] : folded.arrays) {
    params->args[name] = array;
    (*variable_types)[name] = array.type();
  }
}

}  // namespace

PreparedModel PrepareModel(const Graph& graph, const ModelParams& params, const TypeMap& variable_types,
                           NumericMode mode) {
  Corridor c(graph, variable_types);
  const Types given_types = c.types;
  ModelParams arrays = params;
  bool assumes_ranks = false;

  // Simplify: first, so that the others meet neither copies nor doubles. Once for all shapes: equal nodes share what is
  // computed from their parameters.
  if (PassEnabled("Simplify")) c.Take("Simplify", "simplify", Simplify(c.graph, c.types));

  // FoldBatchNorm: last, because it changes weights and wants them to be nobody else's. float32 only: low-precision
  // weights would be rounded a second time.
  if (mode == NumericMode::kFast && PassEnabled("FoldBatchNorm")) {
    FoldResult folded = FoldBatchNorm(c.graph, c.types, arrays, nullptr, FoldDirection::kBoth);
    TakeArrays(folded, &arrays, &c.variable_types);
    assumes_ranks = !folded.folded.empty();
    c.Take("FoldBatchNorm", "fold_batch_norm", std::move(folded.rewrite));
  }
  RequireSameHeads(graph, given_types, c.graph, c.types);
  return {std::move(c.graph), std::move(arrays), std::move(c.variable_types), assumes_ranks};
}

Graph OptimizeForRun(const Graph& graph, const TypeMap& variable_types, const std::set<std::string>& parameters,
                     NumericMode mode) {
  Corridor c(graph, variable_types);
  const Types given_types = c.types;

  // ComposeViews: the half of Simplify that goes by shapes.
  if (PassEnabled("Simplify")) {
    c.Take("ComposeViews", "compose_views", ComposeViews(c.graph, c.types, AreConstant(c.graph, parameters)));
  }

  // FuseAttention: after casts have met and views have gone, so that the two products and the softmax are neighbours.
  if (mode == NumericMode::kFast && PassEnabled("FuseAttention")) {
    c.Take("FuseAttention", "fuse_attention", FuseAttention(c.graph, c.types));
  }

  // PropagateStrides: after everything that lets readers of a tensor meet without nodes in between.
  if (mode == NumericMode::kFast && PassEnabled("PropagateStrides")) {
    c.Take("PropagateStrides", "propagate_strides",
           PropagateStrides(c.graph, c.types, AreConstant(c.graph, parameters)));
  }
  RequireSameHeads(graph, given_types, c.graph, c.types);
  return std::move(c.graph);
}

}  // namespace amp
