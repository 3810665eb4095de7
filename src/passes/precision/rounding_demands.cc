#include "passes/precision/rounding_demands.h"

#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/cancellation.h"
#include "passes/range_rule.h"

namespace amp {
namespace {

// Of an angle, in radians: about the error that the sine of an angle of one turn has in bfloat16.
constexpr double kMaxAngleError = 1.0 / 64;

class DemandFinder {
 public:
  DemandFinder(const Graph& graph, DType target, const std::vector<ValueRange>& ranges)
      : graph_(graph), ranges_(ranges), largest_angle_(kMaxAngleError * (target == DType::kFloat16 ? 0x1p12 : 0x1p9)) {
    found_.tensors.resize(graph.num_entries());
    found_.nodes.resize(graph.num_nodes(), {ReasonKind::kReadsLow});
  }

  RoundingDemands Run() {
    const std::vector<bool> cancels = FindCancellations(graph_);
    for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) {
      if (graph_.node(id).is_variable()) continue;
      RoundingDemand of_outputs = Outputs(id);
      if (cancels[id]) of_outputs.amplified = {ReasonKind::kCancels, graph_.EntryOf(id, 0)};
      Visit(id, of_outputs);
    }
    return std::move(found_);
  }

 private:
  // What is asked of any output.
  RoundingDemand Outputs(NodeId id) const {
    RoundingDemand all;
    for (const EntryId output : graph_.OutputsOf(id)) {
      const RoundingDemand& one = found_.tensors[output];
      all.is_position = all.is_position || one.is_position;
      all.is_exact = all.is_exact || one.is_exact;
      all.is_divisor = all.is_divisor || one.is_divisor;
      all.is_totalled = all.is_totalled || one.is_totalled;
      if (all.amplified.kind == ReasonKind::kReadsLow) all.amplified = one.amplified;
    }
    return all;
  }

  void Visit(NodeId id, const RoundingDemand& of_outputs) {
    const Node& node = graph_.node(id);
    const AmpFacts& facts = FactsOf(node);
    const auto* algebra_fact = node.op()->Find<AlgebraFact>();
    const Algebra algebra = algebra_fact != nullptr ? algebra_fact->of(node) : Algebra::kOther;
    RoundingDemand passed = Passed(facts.arithmetic, algebra, of_outputs);
    // A cast that cuts off makes numbers of its own.
    if (SensitivityOf(node, 0) == Sensitivity::kDiscontinuous) passed.is_position = passed.is_exact = false;
    if (of_outputs.amplified.kind != ReasonKind::kReadsLow && facts.arithmetic != Arithmetic::kNeedsFloat32) {
      found_.nodes[id] = of_outputs.amplified;
    }
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const SlotRole role = facts.RoleOf(slot);
      // What counts (arange_like) reads shapes alone.
      if (role == SlotRole::kIndex && !facts.counts) found_.tensors[inputs[slot]].is_position = true;
      if (role != SlotRole::kData) continue;
      Ask(inputs[slot], passed);
      if (algebra == Algebra::kTotal) found_.tensors[inputs[slot]].is_totalled = true;
      VisitSensitivity(id, slot);
    }
  }

  // What a node asks of its data because something is asked of its outputs.
  static RoundingDemand Passed(Arithmetic arithmetic, Algebra algebra, const RoundingDemand& of_outputs) {
    const bool moves = arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts;
    const bool computes = moves || arithmetic == Arithmetic::kElementwise;
    const bool scales = moves || algebra == Algebra::kMultiple || algebra == Algebra::kProduct;
    RoundingDemand passed;
    passed.is_position = moves && of_outputs.is_position;
    passed.is_exact = moves && of_outputs.is_exact;
    passed.is_divisor = computes && of_outputs.is_divisor;
    passed.is_totalled = scales && of_outputs.is_totalled;
    if (computes || algebra == Algebra::kTotal) passed.amplified = of_outputs.amplified;
    return passed;
  }

  void Ask(EntryId entry, const RoundingDemand& demand) {
    RoundingDemand& all = found_.tensors[entry];
    all.is_position = all.is_position || demand.is_position;
    all.is_exact = all.is_exact || demand.is_exact;
    all.is_divisor = all.is_divisor || demand.is_divisor;
    all.is_totalled = all.is_totalled || demand.is_totalled;
    if (all.amplified.kind == ReasonKind::kReadsLow) all.amplified = demand.amplified;
  }

  static Sensitivity SensitivityOf(const Node& node, std::size_t slot) {
    const auto* fact = node.op()->Find<InputSensitivity>();
    return fact != nullptr ? fact->of(node, slot) : Sensitivity::kSmooth;
  }

  void VisitSensitivity(NodeId id, std::size_t slot) {
    const EntryId input = graph_.InputsOf(id)[slot];
    switch (SensitivityOf(graph_.node(id), slot)) {
      case Sensitivity::kSmooth:
        return;
      case Sensitivity::kDiscontinuous:
        found_.tensors[input].is_exact = true;
        found_.nodes[id] = {ReasonKind::kExact, input};
        return;
      case Sensitivity::kPeriodic:
        if (!(ranges_[input].Magnitude() > largest_angle_)) return;
        found_.tensors[input].amplified = found_.nodes[id] = {ReasonKind::kAmplified, input};
        return;
      case Sensitivity::kPole:
        found_.tensors[input].is_divisor = true;
        return;
    }
  }

  const Graph& graph_;
  const std::vector<ValueRange>& ranges_;
  const double largest_angle_;
  RoundingDemands found_;
};

}  // namespace

RoundingDemands FindRoundingDemands(const Graph& graph, DType target, const std::vector<ValueRange>& ranges) {
  return DemandFinder(graph, target, ranges).Run();
}

}  // namespace amp
