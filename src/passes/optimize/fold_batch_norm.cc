#include "passes/optimize/fold_batch_norm.h"

#include <algorithm>
#include <utility>

#include "passes/op_facts.h"
#include "passes/optimize/fold_into_producer.h"
#include "passes/optimize/fold_into_reader.h"

namespace amp {
namespace {

bool IsNorm(const Node& node) { return !node.is_variable() && node.op()->Find<BatchNormFact>() != nullptr; }

// The graph without the norms that are folded; products read their new biases.
RewriteResult Rewrite(const Graph& graph, const FoldNotes& notes) {
  Rewriter rewriter(graph);
  return rewriter.Run([&](NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph.node(id);
    if (notes.into().contains(id)) {
      const NodeEntry data = inputs[kData];
      return std::vector<NodeEntry>(graph.OutputsOf(id).size(), data);
    }
    const auto target = notes.targets().find(id);
    if (target == notes.targets().end()) return rewriter.KeepNode(id, std::move(inputs));
    const auto& [product, bias, adds_bias, last] = target->second;
    AttrMap attrs = node.attrs();
    if (adds_bias) {
      for (const auto& [key, value] : node.op()->Find<FoldTarget>()->with_bias) attrs[key] = value;
      inputs.push_back({rewriter.Make({nullptr, bias, {}, {}, {}}), 0});
    }
    const EntryId result = graph.EntryOf(last.value_or(id), 0);
    if (last && graph.IsOutput(result)) attrs[kOutputNameAttr] = graph.EntryName(result);
    const bool same = attrs == node.attrs() && inputs.size() == node.inputs().size();
    if (same) return rewriter.KeepNode(id, std::move(inputs));
    return rewriter.Replace(Node::Make({node.op(), node.name(), std::move(attrs), std::move(inputs), {}}));
  });
}

std::set<std::string> DroppedParameters(const Model& model, const Graph& after) {
  std::set<std::string> dropped;
  for (const NodeId id : model.graph().variables()) {
    const std::string& name = model.graph().node(id).name();
    const NDArray* array = FindArray(model.arrays(), name);
    if (array != nullptr && array->defined()) dropped.insert(name);
  }
  for (const NodeId id : after.variables()) dropped.erase(after.node(id).name());
  return dropped;
}

FoldedNames FoldedNamesOf(const Graph& graph, const FoldNotes& notes, const std::map<NodeId, std::string>& kept) {
  FoldedNames names;
  for (const auto& [norm, product] : notes.into()) {
    names.folded.push_back({graph.node(norm).name(), graph.node(product).name()});
  }
  for (const auto& [norm, reason] : kept) names.kept.push_back({graph.node(norm).name(), reason});
  return names;
}

}  // namespace

FoldResult FoldBatchNorm(const Model& model, const std::function<bool(const Node&)>& keeps, FoldDirection direction) {
  const Graph& graph = model.graph();
  const bool has_norm =
      std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const NodePtr& node) { return IsNorm(*node); });
  if (!has_norm) return {{graph, {}, false}, {}, {}, {}};
  FoldNotes notes(model, keeps);
  std::map<NodeId, std::string> kept;  // norm -> obstacle
  for (NodeId id = 0; id < graph.num_nodes(); ++id) {
    if (!IsNorm(graph.node(id))) continue;
    if (std::string obstacle = FoldIntoProducer(model, id, &notes); !obstacle.empty()) kept[id] = std::move(obstacle);
  }
  if (direction == FoldDirection::kBoth) {
    ReaderFolder folder(model, &notes);
    for (auto norm = kept.rbegin(); norm != kept.rend(); ++norm) folder.Fold(norm->first);
    for (const auto& [norm, product] : notes.into()) kept.erase(norm);
  }
  RewriteResult rewrite = Rewrite(graph, notes);
  std::set<std::string> dropped = DroppedParameters(model, rewrite.graph);
  return {std::move(rewrite), std::move(notes.arrays()), std::move(dropped), FoldedNamesOf(graph, notes, kept)};
}

}  // namespace amp
