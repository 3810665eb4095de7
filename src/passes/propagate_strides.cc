#include "passes/propagate_strides.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "passes/amp_facts.h"
#include "passes/element_facts.h"
#include "passes/rewriting.h"

namespace amp {
namespace {

// Larger ones no card accepts.
constexpr std::int64_t kLargestStride = 1 << 20;

// By axis of a tensor: every so manieth position is needed. Empty: all of them.
using Steps = IntTuple;

bool AllOnes(const IntTuple& tuple) {
  return std::all_of(tuple.begin(), tuple.end(), [](std::int64_t value) { return value == 1; });
}

// How a pointwise operator reads an operand when its output is thinned out.
enum class Operand { kThinned, kWhole, kObstacle };

class Propagator {
 public:
  Propagator(const Graph& graph, const Types& types, const std::vector<bool>& constant)
      : graph_(graph),
        types_(types),
        constant_(constant),
        ordered_(OrderedNodes(graph)),
        wanted_(graph.num_nodes()),
        thinned_(graph.num_nodes()),
        rewriter_(graph) {}

  RewriteResult Run() {
    for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) wanted_[id] = WantedOf(id);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) thinned_[id] = !wanted_[id].empty() && Pays(id);
    return rewriter_.Run([this](NodeId id, std::vector<NodeEntry> inputs) { return Visit(id, std::move(inputs)); });
  }

 private:
  // ---- what readers want, from the heads backwards ----

  // The steps in which output 0 may be made: those of all readers, if the node can.
  Steps WantedOf(NodeId id) const {
    if (!MayChange(id)) return {};
    const auto readers = graph_.ConsumersOf(graph_.EntryOf(id, 0));
    if (readers.empty()) return {};
    const Steps steps = ReadSteps(readers[0]);
    const bool agreed =
        std::all_of(readers.begin(), readers.end(), [&](const Consumer& r) { return ReadSteps(r) == steps; });
    return agreed && !steps.empty() && CanMake(id, steps) ? steps : Steps();
  }

  bool MayChange(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.is_variable() || constant_[id] || ordered_[id] || graph_.IsOutput(graph_.EntryOf(id, 0))) return false;
    for (int i = 1; i < node.num_outputs(); ++i) {
      const EntryId other = graph_.EntryOf(id, static_cast<std::uint32_t>(i));
      if (graph_.IsOutput(other) || !graph_.ConsumersOf(other).empty()) return false;
    }
    return ShapeOf(graph_.EntryOf(id, 0)).fully_known();
  }

  Steps ReadSteps(const Consumer& reader) const {
    if (const auto window = WindowOf(reader.node)) {
      return reader.slot == 0 && IsOnePosition(*window) ? StepsOf(reader.node, *window) : Steps();
    }
    const Steps& steps = wanted_[reader.node];
    const bool thinned = !steps.empty() && OperandAt(reader.node, reader.slot, steps) == Operand::kThinned;
    return thinned ? steps : Steps();
  }

  bool CanMake(NodeId id, const Steps& steps) const {
    if (const auto window = WindowOf(id)) return OnlySpatial(*window, steps) && IsLegalStride(*window, steps);
    if (graph_.node(id).op()->Find<IsPointwise>() == nullptr) return false;
    for (std::uint32_t slot = 0; slot < graph_.InputsOf(id).size(); ++slot) {
      if (OperandAt(id, slot, steps) == Operand::kObstacle) return false;
    }
    return true;
  }

  // ---- windows ----

  std::optional<SlidingWindow> WindowOf(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* fact = node.is_variable() ? nullptr : node.op()->Find<HasWindow>();
    return fact == nullptr || ordered_[id] ? std::nullopt : fact->window(node);
  }

  static bool IsOnePosition(const SlidingWindow& window) {
    const auto is_zero = [](std::int64_t pad) { return pad == 0; };
    return AllOnes(window.kernel) && std::all_of(window.pad.begin(), window.pad.end(), is_zero);
  }

  static bool OnlySpatial(const SlidingWindow& window, const Steps& steps) {
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      const std::size_t first = static_cast<std::size_t>(window.first_axis);
      const bool spatial = axis >= first && axis < first + window.stride.size();
      if (!spatial && steps[axis] != 1) return false;
    }
    return true;
  }

  static bool IsLegalStride(const SlidingWindow& window, const Steps& steps) {
    for (std::size_t i = 0; i < window.stride.size(); ++i) {
      const std::int64_t step = steps[static_cast<std::size_t>(window.first_axis) + i];
      if (window.stride[i] > kLargestStride / step) return false;
    }
    return true;
  }

  // The node's stride times the one that is wanted of it.
  IntTuple StrideOf(NodeId id, const SlidingWindow& window) const {
    IntTuple stride = window.stride;
    for (std::size_t i = 0; i < stride.size() && !wanted_[id].empty(); ++i) {
      stride[i] *= wanted_[id][static_cast<std::size_t>(window.first_axis) + i];
    }
    return stride;
  }

  // The steps in which the node, whose window is one position, reads its input.
  Steps StepsOf(NodeId id, const SlidingWindow& window) const {
    const IntTuple stride = StrideOf(id, window);
    if (AllOnes(stride)) return {};
    Steps steps(stride.size() + 2, 1);
    std::copy(stride.begin(), stride.end(), steps.begin() + window.first_axis);
    return steps;
  }

  // ---- operands of pointwise operators ----

  Operand OperandAt(NodeId id, std::uint32_t slot, const Steps& steps) const {
    const Node& node = graph_.node(id);
    const auto* fact = node.op()->Find<IsPointwise>();
    const EntryId entry = graph_.InputsOf(id)[slot];
    const Shape &out = ShapeOf(graph_.EntryOf(id, 0)), &shape = ShapeOf(entry);
    if (fact == nullptr || !shape.fully_known()) return Operand::kObstacle;
    if (FactsOf(node).RoleOf(slot) == SlotRole::kStatistic) {
      const int axis = fact->statistics_axis ? fact->statistics_axis(node, out.rank()) : 1;
      return axis < out.rank() && steps[static_cast<std::size_t>(axis)] == 1 ? Operand::kWhole : Operand::kObstacle;
    }
    // Plans of other shapes may need a parameter in full, after this one has let go of it.
    if (shape == out) return constant_[graph_.NodeOf(entry)] ? Operand::kObstacle : Operand::kThinned;
    return IsBroadcast(shape, out.rank(), steps) ? Operand::kWhole : Operand::kObstacle;
  }

  // Along every axis that is thinned out there is one position.
  static bool IsBroadcast(const Shape& shape, int rank, const Steps& steps) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int out_axis = axis + rank - shape.rank();
      if (out_axis < 0 || (steps[static_cast<std::size_t>(out_axis)] != 1 && shape[axis] != 1)) return false;
    }
    return true;
  }

  // ---- what is made thinner, from the inputs on ----

  // A window does less work. A pointwise operator has to read something that is thinned out where it is made: with
  // copies of all its operands nothing would be gained.
  bool Pays(NodeId id) const {
    if (WindowOf(id)) return true;
    const auto inputs = graph_.InputsOf(id);
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      if (OperandAt(id, slot, wanted_[id]) == Operand::kThinned && IsThinned(inputs[slot])) return true;
    }
    return false;
  }

  bool IsThinned(EntryId entry) const { return graph_.IndexOf(entry) == 0 && thinned_[graph_.NodeOf(entry)]; }

  // ---- the new graph ----

  std::vector<NodeEntry> Visit(NodeId id, std::vector<NodeEntry> inputs) {
    if (const auto window = WindowOf(id)) return Slide(id, *window, std::move(inputs));
    if (!thinned_[id]) return rewriter_.Keep(id, std::move(inputs));
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      const EntryId entry = graph_.InputsOf(id)[slot];
      if (OperandAt(id, slot, wanted_[id]) != Operand::kThinned || IsThinned(entry)) continue;
      inputs[slot] = Copy(entry, std::move(inputs[slot]), wanted_[id]);
    }
    return rewriter_.Keep(id, std::move(inputs));
  }

  std::vector<NodeEntry> Slide(NodeId id, const SlidingWindow& window, std::vector<NodeEntry> inputs) {
    const Node& node = graph_.node(id);
    IntTuple stride = StrideOf(id, window);
    if (IsThinned(graph_.InputsOf(id)[0])) std::fill(stride.begin(), stride.end(), 1);  // it read in these steps
    if (stride == window.stride) return rewriter_.Keep(id, std::move(inputs));
    AttrMap attrs = node.attrs();
    attrs["stride"] = PrintAttr(stride);
    return rewriter_.Replace(
        Node::Make({node.op(), node.name(), std::move(attrs), std::move(inputs), {}, node.phase()}));
  }

  // Every so manieth position of `mapped`, which stands for `entry`; one copy for all who want it.
  NodeEntry Copy(EntryId entry, NodeEntry mapped, const Steps& steps) {
    NodeEntry& copy = copies_[{entry, steps}];
    if (copy.node == nullptr) copy = {rewriter_.Make(Thinning(entry, std::move(mapped), steps)), 0};
    return copy;
  }

  // As pooling of single elements where that is possible, for which there are fast primitives in all layouts. Averages:
  // a maximum knows no negative infinity.
  Node::Spec Thinning(EntryId entry, NodeEntry source, const Steps& steps) const {
    const TensorType& type = types_[entry];
    const std::size_t n = steps.size() - 2;
    const bool last = type.shape.rank() > 2 && steps[1] != 1;
    const bool pools = IsFloat(type.dtype) && n >= 1 && n <= 3 && steps[0] == 1 && (!last || steps.back() == 1);
    const std::string name = graph_.node(graph_.NodeOf(entry)).name() + "_thinned";
    if (!pools) return Slice(name, std::move(source), steps);
    const auto first = steps.begin() + (last ? 1 : 2);
    AttrMap attrs{{"kernel", PrintAttr(IntTuple(n, 1))},
                  {"stride", PrintAttr(IntTuple(first, first + static_cast<std::ptrdiff_t>(n)))},
                  {"pool_type", "avg"}};
    static const char* const kChannelsLast[] = {"NWC", "NHWC", "NDHWC"};
    if (last) attrs["layout"] = kChannelsLast[n - 1];
    return {&OpRegistry::Get().Require(kMXNetDomain, "Pooling"), name, std::move(attrs), {std::move(source)}, {}};
  }

  static Node::Spec Slice(const std::string& name, NodeEntry source, const Steps& steps) {
    const OptionalIntTuple all(steps.size());
    AttrMap attrs{{"begin", PrintAttr(all)}, {"end", PrintAttr(all)}, {"step", PrintAttr(steps)}};
    return {&OpRegistry::Get().Require(kMXNetDomain, "slice"), name, std::move(attrs), {std::move(source)}, {}};
  }

  const Shape& ShapeOf(EntryId entry) const { return types_[entry].shape; }

  const Graph& graph_;
  const Types& types_;
  const std::vector<bool>& constant_;
  const std::vector<bool> ordered_;
  std::vector<Steps> wanted_;  // by node: the steps that its readers want of output 0; empty: all positions
  std::vector<bool> thinned_;  // by node: output 0 is made in these steps
  Rewriter rewriter_;
  std::map<std::pair<EntryId, Steps>, NodeEntry> copies_;
};

}  // namespace

RewriteResult PropagateStrides(const Graph& graph, const Types& types, const std::vector<bool>& constant) {
  return Propagator(graph, types, constant).Run();
}

}  // namespace amp
