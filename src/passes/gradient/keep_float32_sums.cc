#include "passes/gradient/keep_float32_sums.h"

#include <algorithm>
#include <vector>

#include "nnvm/rewriter.h"
#include "passes/infer.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

bool IsBackward(const Node& node) { return !node.is_variable() && node.phase() == Phase::kBackward; }

bool IsCast(const Node& node) { return !node.is_variable() && FactsOf(node).arithmetic == Arithmetic::kCasts; }

// The types as far as they are known. What is cast and of no known dtype is float32, unless whoever binds the graph
// says something else: casts behind the product then have to round.
Types PresumedTypes(const Graph& graph) {
  Types types = InferPartial(graph, {});
  TypeMap presumed;
  for (const NodeId id : graph.variables()) {
    const EntryId entry = graph.EntryOf(id, 0);
    const auto& readers = graph.ConsumersOf(entry);
    const bool is_cast = std::any_of(readers.begin(), readers.end(),
                                     [&](const Consumer& reader) { return IsCast(graph.node(reader.node)); });
    if (is_cast && !IsKnown(types[entry].dtype)) presumed[graph.node(id).name()].dtype = DType::kFloat32;
  }
  return presumed.empty() ? std::move(types) : InferPartial(graph, presumed);
}

class SumFinder {
 public:
  explicit SumFinder(const Graph& graph)
      : graph_(graph), types_(PresumedTypes(graph)), is_read_wide_(graph.num_entries()) {}

  // Says for each node whether it is a product that is to write float32.
  std::vector<bool> Run() {
    std::vector<bool> found(graph_.num_nodes());
    for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) {
      const Node& node = graph_.node(id);
      if (!IsBackward(node)) continue;
      const EntryId output = graph_.EntryOf(id, 0);
      is_read_wide_[output] = IsReadWide(output);
      found[id] = is_read_wide_[output] && FactsOf(node).arithmetic == Arithmetic::kAccumulates &&
                  IsLowPrecision(types_[output].dtype);
    }
    return found;
  }

 private:
  bool IsReadWide(EntryId entry) const {
    const auto& readers = graph_.ConsumersOf(entry);
    return !graph_.IsOutput(entry) && !readers.empty() &&
           std::all_of(readers.begin(), readers.end(), [&](const Consumer& reader) { return ReadsWide(reader); });
  }

  // A cast to float32, or a movement of the elements to such casts.
  bool ReadsWide(const Consumer& reader) const {
    const Node& node = graph_.node(reader.node);
    if (!IsBackward(node) || reader.slot != 0) return false;
    const EntryId output = graph_.EntryOf(reader.node, 0);
    if (node.IsOp("_cast_like")) return types_[output].dtype == DType::kFloat32;
    return FactsOf(node).arithmetic == Arithmetic::kMovesData && HasOneOperand(node) && is_read_wide_[output];
  }

  static bool HasOneOperand(const Node& node) {
    for (std::size_t slot = 1; slot < node.inputs().size(); ++slot) {
      if (FactsOf(node).RoleOf(slot) == SlotRole::kData) return false;
    }
    return node.num_outputs() == 1;
  }

  const Graph& graph_;
  const Types types_;
  std::vector<bool> is_read_wide_;  // by entry
};

bool HasBackwardCasts(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return node->IsOp("_cast_like") && IsBackward(*node); });
}

}  // namespace

Graph KeepFloat32Sums(const Graph& graph) {
  if (!HasBackwardCasts(graph)) return graph;
  const std::vector<bool> found = SumFinder(graph).Run();
  Rewriter rewriter(graph);
  return rewriter
      .Run([&](NodeId id, std::vector<NodeEntry> inputs) {
        std::vector<NodeEntry> kept = rewriter.KeepNode(id, std::move(inputs));
        if (!found[id]) return kept;
        AttrMap attrs = kept[0].node->attrs();
        attrs[kOutDTypeAttr] = NameOf(DType::kFloat32);
        return rewriter.Replace(kept[0].node->WithAttrs(std::move(attrs)));
      })
      .graph;
}

}  // namespace amp
