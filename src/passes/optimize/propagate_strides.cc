#include "passes/optimize/propagate_strides.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "nnvm/rewriter.h"
#include "passes/op_facts.h"

namespace amp {
namespace {

// Larger ones no operator definition accepts.
constexpr std::int64_t kMaxStride = 1 << 20;

// Per axis: only every n-th position is needed. Empty: all of them.
using Strides = IntTuple;

bool AllOnes(const IntTuple& tuple) {
  return std::all_of(tuple.begin(), tuple.end(), [](std::int64_t value) { return value == 1; });
}

// How a elementwise operator reads an operand when its output is subsampled.
enum class Operand { kSubsampled, kWhole, kObstacle };

class Propagator {
 public:
  explicit Propagator(const Model& model)
      : graph_(model.graph()),
        types_(model.types()),
        constant_(model.ConstantNodes()),
        needed_(model.graph().num_nodes()),
        subsampled_(model.graph().num_nodes()),
        rewriter_(model.graph()) {}

  RewriteResult Run() {
    for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) needed_[id] = NeededOf(id);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) subsampled_[id] = !needed_[id].empty() && Pays(id);
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); });
  }

 private:
  // ---- what readers need, from the outputs backwards ----

  // The steps in which output 0 may be made: those of all readers, if the node can.
  Strides NeededOf(NodeId id) const {
    if (!MayChange(id)) return {};
    const auto readers = graph_.ConsumersOf(graph_.EntryOf(id, 0));
    if (readers.empty()) return {};
    const Strides steps = ReadStrides(readers[0]);
    const bool agreed =
        std::all_of(readers.begin(), readers.end(), [&](const Consumer& r) { return ReadStrides(r) == steps; });
    return agreed && !steps.empty() && CanMake(id, steps) ? steps : Strides();
  }

  bool MayChange(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.is_variable() || constant_[id] || graph_.HasControlDeps(id) || graph_.HasOutput(id)) return false;
    return graph_.OnlyFirstOutputUsed(id) && ShapeOf(graph_.EntryOf(id, 0)).fully_known();
  }

  Strides ReadStrides(const Consumer& reader) const {
    if (const auto window = WindowOf(reader.node)) {
      return reader.slot == 0 && IsOnePosition(*window) ? StridesOf(reader.node, *window) : Strides();
    }
    const Strides& steps = needed_[reader.node];
    const bool subsampled = !steps.empty() && OperandAt(reader.node, reader.slot, steps) == Operand::kSubsampled;
    return subsampled ? steps : Strides();
  }

  bool CanMake(NodeId id, const Strides& steps) const {
    if (const auto window = WindowOf(id)) return OnlySpatial(*window, steps) && IsLegalStride(*window, steps);
    if (graph_.node(id).op()->Find<IsElementwise>() == nullptr) return false;
    for (std::uint32_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      if (OperandAt(id, slot, steps) == Operand::kObstacle) return false;
    }
    return true;
  }

  // ---- windows ----

  std::optional<SlidingWindow> WindowOf(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* fact = node.is_variable() ? nullptr : node.op()->Find<HasWindow>();
    return fact == nullptr || graph_.HasControlDeps(id) ? std::nullopt : fact->window(node);
  }

  static bool IsOnePosition(const SlidingWindow& window) {
    const auto is_zero = [](std::int64_t pad) { return pad == 0; };
    return AllOnes(window.kernel) && std::all_of(window.pad.begin(), window.pad.end(), is_zero);
  }

  static bool OnlySpatial(const SlidingWindow& window, const Strides& steps) {
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      const std::size_t first = static_cast<std::size_t>(window.first_axis);
      const bool spatial = axis >= first && axis < first + window.stride.size();
      if (!spatial && steps[axis] != 1) return false;
    }
    return true;
  }

  static bool IsLegalStride(const SlidingWindow& window, const Strides& steps) {
    for (std::size_t i = 0; i < window.stride.size(); ++i) {
      const std::int64_t step = steps[static_cast<std::size_t>(window.first_axis) + i];
      if (window.stride[i] > kMaxStride / step) return false;
    }
    return true;
  }

  // The node's stride times the one that is wanted of it.
  IntTuple StrideOf(NodeId id, const SlidingWindow& window) const {
    IntTuple stride = window.stride;
    for (std::size_t i = 0; i < stride.size() && !needed_[id].empty(); ++i) {
      stride[i] *= needed_[id][static_cast<std::size_t>(window.first_axis) + i];
    }
    return stride;
  }

  // The steps in which the node, whose window is one position, reads its input.
  Strides StridesOf(NodeId id, const SlidingWindow& window) const {
    const IntTuple stride = StrideOf(id, window);
    if (AllOnes(stride)) return {};
    Strides steps(stride.size() + 2, 1);
    std::copy(stride.begin(), stride.end(), steps.begin() + window.first_axis);
    return steps;
  }

  // ---- operands of elementwise operators ----

  Operand OperandAt(NodeId id, std::uint32_t slot, const Strides& steps) const {
    const Node& node = graph_.node(id);
    const auto* fact = node.op()->Find<IsElementwise>();
    const EntryId entry = graph_.InputsOf(id)[slot];
    const Shape &out = ShapeOf(graph_.EntryOf(id, 0)), &shape = ShapeOf(entry);
    if (fact == nullptr || !shape.fully_known()) return Operand::kObstacle;
    if (FactsOf(node).RoleOf(slot) == SlotRole::kStatistic && shape.rank() <= 1) {
      const int axis = fact->statistics_axis ? fact->statistics_axis(node, out.rank()) : 1;
      return axis < out.rank() && steps[axis] == 1 ? Operand::kWhole : Operand::kObstacle;
    }
    // Plans of other shapes may need a parameter in full, after this one has let go of it.
    if (shape == out) return constant_[graph_.NodeOf(entry)] ? Operand::kObstacle : Operand::kSubsampled;
    return IsBroadcast(shape, out.rank(), steps) ? Operand::kWhole : Operand::kObstacle;
  }

  // Along every axis that is subsampled there is one position.
  static bool IsBroadcast(const Shape& shape, int rank, const Strides& steps) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int out_axis = axis + rank - shape.rank();
      if (out_axis < 0 || (steps[out_axis] != 1 && shape[axis] != 1)) return false;
    }
    return true;
  }

  // ---- what is subsampled, from the inputs on ----

  // A window does less work. A elementwise operator has to read something that is subsampled where it is made: with
  // copies of all its operands nothing would be gained.
  bool Pays(NodeId id) const {
    if (WindowOf(id)) return true;
    const auto inputs = graph_.InputsOf(id);
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      if (OperandAt(id, slot, needed_[id]) == Operand::kSubsampled && IsSubsampled(inputs[slot])) return true;
    }
    return false;
  }

  bool IsSubsampled(EntryId entry) const { return graph_.IndexOf(entry) == 0 && subsampled_[graph_.NodeOf(entry)]; }

  // ---- the new graph ----

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    if (const auto window = WindowOf(id)) return Slide(id, *window, std::move(inputs));
    if (!subsampled_[id]) return rewriter_.KeepNode(id, std::move(inputs));
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      const EntryId entry = graph_.InputsOf(id)[slot];
      if (OperandAt(id, slot, needed_[id]) != Operand::kSubsampled || IsSubsampled(entry)) continue;
      inputs[slot] = Copy(entry, std::move(inputs[slot]), needed_[id]);
    }
    return rewriter_.KeepNode(id, std::move(inputs));
  }

  std::vector<NodeEntry> Slide(NodeId id, const SlidingWindow& window, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    IntTuple stride = StrideOf(id, window);
    if (IsSubsampled(graph_.InputsOf(id)[0])) std::fill(stride.begin(), stride.end(), 1);  // it read in these steps
    if (stride == window.stride) return rewriter_.KeepNode(id, std::move(inputs));
    AttrMap attrs = node.attrs();
    attrs["stride"] = PrintAttr(stride);
    return rewriter_.Replace(
        Node::Make({node.op(), node.name(), std::move(attrs), std::move(inputs), {}, node.phase()}));
  }

  // Every n-th position of `mapped`, which stands for `entry`; one copy for all who want it.
  NodeEntry Copy(EntryId entry, NodeEntry mapped, const Strides& steps) {
    NodeEntry& copy = copies_[{entry, steps}];
    if (copy.node == nullptr) copy = {rewriter_.Make(Subsampling(entry, std::move(mapped), steps)), 0};
    return copy;
  }

  // Pools single elements where that is possible: there are fast primitives in all layouts. Else slices. The pooling
  // averages: a maximum knows no negative infinity.
  Node::Spec Subsampling(EntryId entry, NodeEntry source, const Strides& steps) const {
    const TensorType& type = types_[entry];
    const std::size_t n = steps.size() - 2;
    const bool last = type.shape.rank() > 2 && steps[1] != 1;
    const bool pools = IsFloat(type.dtype) && n >= 1 && n <= 3 && steps[0] == 1 && (!last || steps.back() == 1);
    const std::string name = graph_.node(graph_.NodeOf(entry)).name() + "_subsampled";
    if (!pools) return Slice(name, std::move(source), steps);
    const auto first = steps.begin() + (last ? 1 : 2);
    AttrMap attrs{{"kernel", PrintAttr(IntTuple(n, 1))},
                  {"stride", PrintAttr(IntTuple(first, first + static_cast<std::ptrdiff_t>(n)))},
                  {"pool_type", "avg"}};
    static const char* const kChannelsLast[] = {"NWC", "NHWC", "NDHWC"};
    if (last) attrs["layout"] = kChannelsLast[n - 1];
    return {&OpRegistry::Get().Require(kMXNetDomain, "Pooling"), name, std::move(attrs), {std::move(source)}, {}};
  }

  static Node::Spec Slice(const std::string& name, NodeEntry source, const Strides& steps) {
    const OptionalIntTuple all(steps.size());
    AttrMap attrs{{"begin", PrintAttr(all)}, {"end", PrintAttr(all)}, {"step", PrintAttr(steps)}};
    return {&OpRegistry::Get().Require(kMXNetDomain, "slice"), name, std::move(attrs), {std::move(source)}, {}};
  }

  const Shape& ShapeOf(EntryId entry) const { return types_[entry].shape; }

  const Graph& graph_;
  const Types& types_;
  const std::vector<bool> constant_;
  std::vector<Strides> needed_;   // by node: the steps that its readers want of output 0; empty: all positions
  std::vector<bool> subsampled_;  // by node: output 0 is made in these steps
  Rewriter rewriter_;
  std::map<std::pair<EntryId, Strides>, NodeEntry> copies_;
};

}  // namespace

RewriteResult PropagateStrides(const Model& model) { return Propagator(model).Run(); }

}  // namespace amp
