#include "passes/optimize/simplify_reshapes.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "passes/op_facts.h"

namespace amp {
namespace {

using Axes = std::vector<int>;

// Where the elements of a node of the new graph come from.
struct Source {
  NodeEntry entry;
  Shape shape;
  Axes axes;  // of a transposition; empty: in their order
};

bool IsIncreasing(const Axes& axes) { return std::is_sorted(axes.begin(), axes.end()); }

// The order of elements does not change where axes of size 1 alone change places.
bool KeepsOrder(const Axes& axes, const Shape& shape) {
  Axes longer;
  for (const int axis : axes) {
    if (shape[axis] != 1) longer.push_back(axis);
  }
  return IsIncreasing(longer);
}

class ReshapeSimplifier {
 public:
  explicit ReshapeSimplifier(const Model& model)
      : graph_(model.graph()),
        types_(model.types()),
        constant_(model.ConstantNodes()),
        kept_(model.graph()),
        rewriter_(model.graph()) {}

  RewriteResult Run() {
    const auto visit = [this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); };
    return rewriter_.Run(visit, [this](std::size_t i, NodeEntry mapped) { return kept_(i, std::move(mapped)); });
  }

 private:
  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const bool stays = node.is_variable() || constant_[id] || graph_.HasControlDeps(id) || !HasShapes(id);
    const auto* permutes = stays ? nullptr : node.op()->Find<PermutesAxes>();
    if (permutes != nullptr) return Permute(id, permutes->axes(node, ShapeIn(id).rank()), std::move(inputs));
    const bool is_view = !stays && node.op()->Find<IsView>() != nullptr;
    return is_view ? View(id, std::move(inputs), false) : rewriter_.KeepNode(id, std::move(inputs));
  }

  std::vector<NodeEntry> Permute(NodeId id, Axes axes, std::vector<NodeEntry> inputs) {
    if (KeepsOrder(axes, ShapeIn(id))) return View(id, std::move(inputs), true);
    const Source* inner = FindSource(inputs[0]);
    if (inner == nullptr || inner->axes.empty()) {
      std::vector<NodeEntry> outputs = rewriter_.KeepNode(id, inputs);
      sources_[outputs[0].node.get()] = {inputs[0], ShapeIn(id), std::move(axes)};
      return outputs;
    }
    for (int& axis : axes) axis = inner->axes[axis];
    const Source source{inner->entry, inner->shape, axes};
    if (IsIncreasing(axes)) return Bypass(id, std::move(inputs), source.entry);
    if (KeepsOrder(axes, source.shape)) return Reshape(id, {source.entry, source.shape, {}});
    const IntTuple order(axes.begin(), axes.end());
    return ReplaceBySource(id, "transpose", {{"axes", PrintAttr(order)}}, source);
  }

  // `needs_form`: the node itself is no view, though it is one for these shapes.
  std::vector<NodeEntry> View(NodeId id, std::vector<NodeEntry> inputs, bool needs_form) {
    const Source* inner = FindSource(inputs[0]);
    const bool composes = inner != nullptr && inner->axes.empty();
    const Source source = composes ? *inner : Source{inputs[0], ShapeIn(id), {}};
    if (source.shape == ShapeOut(id)) return Bypass(id, std::move(inputs), source.entry);
    const auto& dims = ShapeOut(id).dims();
    // In an attribute 0 is a code, and no size is no shape.
    const bool has_form = !dims.empty() && std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d > 0; });
    if (has_form && (composes || needs_form)) return Reshape(id, source);
    std::vector<NodeEntry> outputs = rewriter_.KeepNode(id, std::move(inputs));
    sources_[outputs[0].node.get()] = source;
    return outputs;
  }

  std::vector<NodeEntry> Reshape(NodeId id, const Source& source) {
    return ReplaceBySource(id, "Reshape", {{"shape", PrintAttr(IntTuple(ShapeOut(id).dims()))}}, source);
  }

  // `op` in place of the node, reading `source`.
  std::vector<NodeEntry> ReplaceBySource(NodeId id, const char* op, AttrMap attrs, const Source& source) {
    std::vector<NodeEntry> outputs = rewriter_.ReplaceByOp(id, op, std::move(attrs), {source.entry});
    sources_[outputs[0].node.get()] = source;
    return outputs;
  }

  // The node changes nothing; it remains only as an output of the graph.
  std::vector<NodeEntry> Bypass(NodeId id, std::vector<NodeEntry> inputs, const NodeEntry& same) {
    if (graph_.HasOutput(id)) kept_.Set(id, rewriter_.KeepNode(id, std::move(inputs)));
    return {same};
  }

  const Source* FindSource(const NodeEntry& entry) const {
    const auto found = sources_.find(entry.node.get());
    return found == sources_.end() ? nullptr : &found->second;
  }

  bool HasShapes(NodeId id) const {
    return !graph_.InputsOf(id).empty() && ShapeIn(id).fully_known() && ShapeOut(id).fully_known();
  }
  const Shape& ShapeIn(NodeId id) const { return types_[graph_.InputsOf(id)[0]].shape; }
  const Shape& ShapeOut(NodeId id) const { return types_[graph_.EntryOf(id, 0)].shape; }

  const Graph& graph_;
  const Types& types_;
  const std::vector<bool> constant_;
  KeptOutputs kept_;
  Rewriter rewriter_;
  std::unordered_map<const Node*, Source> sources_;  // of views and transpositions in the new graph
};

}  // namespace

RewriteResult SimplifyReshapes(const Model& model) { return ReshapeSimplifier(model).Run(); }

}  // namespace amp
