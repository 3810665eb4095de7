#include "passes/compose_views.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "passes/element_facts.h"
#include "passes/rewriting.h"

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

class Composer {
 public:
  Composer(const Graph& graph, const Types& types, const std::vector<bool>& constant)
      : graph_(graph),
        types_(types),
        constant_(constant),
        ordered_(OrderedNodes(graph)),
        heads_(graph),
        rewriter_(graph) {}

  RewriteResult Run() {
    const auto visit = [this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); };
    return rewriter_.Run(visit, [this](std::size_t i, NodeEntry mapped) { return heads_(i, std::move(mapped)); });
  }

 private:
  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    const bool stays = node.is_variable() || constant_[id] || ordered_[id] || !HasShapes(id);
    const auto* permutes = stays ? nullptr : node.op()->Find<PermutesAxes>();
    if (permutes != nullptr) return Permute(id, permutes->axes(node, ShapeIn(id).rank()), std::move(inputs));
    const bool is_view = !stays && node.op()->Find<IsView>() != nullptr;
    return is_view ? View(id, std::move(inputs), false) : rewriter_.Keep(id, std::move(inputs));
  }

  std::vector<NodeEntry> Permute(NodeId id, Axes axes, std::vector<NodeEntry> inputs) {
    if (KeepsOrder(axes, ShapeIn(id))) return View(id, std::move(inputs), true);
    const Source* inner = FindSource(inputs[0]);
    if (inner == nullptr || inner->axes.empty()) {
      std::vector<NodeEntry> outputs = rewriter_.Keep(id, inputs);
      sources_[outputs[0].node.get()] = {inputs[0], ShapeIn(id), std::move(axes)};
      return outputs;
    }
    for (int& axis : axes) axis = inner->axes[static_cast<std::size_t>(axis)];
    const Source source{inner->entry, inner->shape, axes};
    if (IsIncreasing(axes)) return Nothing(id, std::move(inputs), source.entry);
    if (KeepsOrder(axes, source.shape)) return Reshape(id, {source.entry, source.shape, {}});
    const IntTuple order(axes.begin(), axes.end());
    return Made(id, "transpose", {{"axes", PrintAttr(order)}}, source);
  }

  // `needs_form`: the node itself is no view, though it is one for these shapes.
  std::vector<NodeEntry> View(NodeId id, std::vector<NodeEntry> inputs, bool needs_form) {
    const Source* inner = FindSource(inputs[0]);
    const bool composes = inner != nullptr && inner->axes.empty();
    const Source source = composes ? *inner : Source{inputs[0], ShapeIn(id), {}};
    if (source.shape == ShapeOut(id)) return Nothing(id, std::move(inputs), source.entry);
    const auto& dims = ShapeOut(id).dims();
    // In an attribute 0 is a code, and no size is no shape.
    const bool has_form = !dims.empty() && std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d > 0; });
    if (has_form && (composes || needs_form)) return Reshape(id, source);
    std::vector<NodeEntry> outputs = rewriter_.Keep(id, std::move(inputs));
    sources_[outputs[0].node.get()] = source;
    return outputs;
  }

  std::vector<NodeEntry> Reshape(NodeId id, const Source& source) {
    return Made(id, "Reshape", {{"shape", PrintAttr(IntTuple(ShapeOut(id).dims()))}}, source);
  }

  // Under the name of the node.
  std::vector<NodeEntry> Made(NodeId id, const char* op, AttrMap attrs, const Source& source) {
    const Node& node = graph_.node(id);
    for (const auto& [key, value] : node.attrs()) {
      if (IsHiddenKey(key)) attrs[key] = value;
    }
    std::vector<NodeEntry> outputs = rewriter_.Replace(Node::Make({&OpRegistry::Get().Require(kMXNetDomain, op),
                                                                   node.name(),
                                                                   std::move(attrs),
                                                                   {source.entry},
                                                                   {},
                                                                   node.phase()}));
    sources_[outputs[0].node.get()] = source;
    return outputs;
  }

  // The node changes nothing; only as a head it remains.
  std::vector<NodeEntry> Nothing(NodeId id, std::vector<NodeEntry> inputs, const NodeEntry& same) {
    if (heads_.Has(id)) heads_.Set(id, rewriter_.Keep(id, std::move(inputs)));
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
  const std::vector<bool>& constant_;
  const std::vector<bool> ordered_;
  OwnHeads heads_;
  Rewriter rewriter_;
  std::unordered_map<const Node*, Source> sources_;  // of views and transpositions in the new graph
};

}  // namespace

RewriteResult ComposeViews(const Graph& graph, const Types& types, const std::vector<bool>& constant) {
  return Composer(graph, types, constant).Run();
}

}  // namespace amp
