#include "passes/precision/rounding_sensitivity.h"

#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/cancellation.h"
#include "passes/range_rule.h"
#include "passes/whose_cast.h"

namespace amp {
namespace {

// The largest error of an angle, in radians: about the error that the sine of an angle of one turn has in bfloat16.
constexpr double kMaxAngleError = 1.0 / 64;
// The largest error of what may not reach the end of a domain.
constexpr double kMaxDomainError = 1.0 / 64;

constexpr EntryId kNowhere = Reason::kNone;

// Keeps the first of several reasons, or that of integers, because nothing overrides it.
void Amplify(Reason* all, const Reason& one) {
  const bool is_integer = one.kind == ReasonKind::kIntegers && all->kind != ReasonKind::kIntegers;
  if (all->kind == ReasonKind::kReadsLow || is_integer) *all = one;
}

class SensitivityFinder {
 public:
  SensitivityFinder(const Graph& graph, DType target, const std::vector<ValueRange>& ranges, PoleRules* poles)
      : graph_(graph),
        ranges_(ranges),
        poles_(*poles),
        largest_angle_(kMaxAngleError * (target == DType::kFloat16 ? 0x1p12 : 0x1p9)) {
    found_.tensors.resize(graph.num_entries());
    found_.nodes.resize(graph.num_nodes(), {ReasonKind::kReadsLow});
  }

  RoundingSensitivities Run(const Types& types) {
    FindRounded(types);
    const std::vector<bool> cancels = FindCancellations(graph_);
    for (NodeId id = static_cast<NodeId>(graph_.num_nodes()); id-- > 0;) {
      if (graph_.node(id).is_variable()) continue;
      RoundingSensitivity of_outputs = Outputs(id);
      if (cancels[id]) of_outputs.amplified = {ReasonKind::kCancels, graph_.EntryOf(id, 0)};
      if (of_outputs.is_position && ComputesPosition(id)) {
        Amplify(&of_outputs.amplified, {ReasonKind::kIntegers, graph_.EntryOf(id, 0)});
      }
      Visit(id, of_outputs);
    }
    return std::move(found_);
  }

 private:
  // What is asked of any output.
  RoundingSensitivity Outputs(NodeId id) const {
    RoundingSensitivity all;
    for (const EntryId output : graph_.OutputsOf(id)) {
      const RoundingSensitivity& one = found_.tensors[output];
      all.is_position = all.is_position || one.is_position;
      all.is_exact = all.is_exact || one.is_exact;
      all.is_divisor = all.is_divisor || one.is_divisor;
      all.is_summed = all.is_summed || one.is_summed;
      Amplify(&all.amplified, one.amplified);
    }
    return all;
  }

  // Whether the position comes into being here, from other numbers: not where a comparison gives a truth value, and not
  // where something is counted.
  bool ComputesPosition(NodeId id) const {
    const Node& node = graph_.node(id);
    const ValueRange& range = ranges_[graph_.EntryOf(id, 0)];
    const bool is_truth = range.is_integer && range.low >= 0 && range.high <= 1;
    return !is_truth && !FactsOf(node).counts && FactsOf(node).arithmetic != Arithmetic::kMovesData;
  }

  void Visit(NodeId id, const RoundingSensitivity& of_outputs) {
    const Node& node = graph_.node(id);
    const AmpFacts& facts = FactsOf(node);
    const auto* algebra_fact = node.op()->Find<AlgebraFact>();
    const Algebra algebra = algebra_fact != nullptr ? algebra_fact->of(node) : Algebra::kOther;
    RoundingSensitivity passed = Passed(id, algebra, of_outputs);
    // A cast that cuts off makes numbers of its own.
    if (SensitivityOf(node, 0) == Sensitivity::kDiscontinuous) passed.is_position = passed.is_exact = false;
    if (of_outputs.amplified.kind != ReasonKind::kReadsLow && facts.arithmetic != Arithmetic::kNeedsFloat32) {
      Keep(id, of_outputs.amplified);
    }
    KeepDifferences(id);
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      const SlotRole role = facts.RoleOf(slot);
      // What counts (arange_like) reads shapes alone.
      if (role == SlotRole::kIndex && !facts.counts) found_.tensors[inputs[slot]].is_position = true;
      if (role != SlotRole::kData) continue;
      Ask(inputs[slot], passed);
      if (algebra == Algebra::kTotal) found_.tensors[inputs[slot]].is_summed = true;
      VisitSensitivity(id, slot);
    }
  }

  // What a node asks of its data because something is asked of its outputs.
  RoundingSensitivity Passed(NodeId id, Algebra algebra, const RoundingSensitivity& of_outputs) {
    const Arithmetic arithmetic = FactsOf(graph_.node(id)).arithmetic;
    const bool moves = arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts;
    const bool computes = moves || arithmetic == Arithmetic::kElementwise;
    const bool scales = moves || algebra == Algebra::kMultiple || algebra == Algebra::kProduct;
    RoundingSensitivity passed;
    passed.is_position = moves && of_outputs.is_position;
    passed.is_exact = moves && of_outputs.is_exact;
    passed.is_summed = scales && of_outputs.is_summed;
    const PoleSensitivity pole = of_outputs.is_divisor ? poles_.Of(id) : PoleSensitivity::kNone;
    passed.is_divisor = pole == PoleSensitivity::kPass;
    Reason amplified = of_outputs.amplified;
    if (pole == PoleSensitivity::kCompute) Amplify(&amplified, {ReasonKind::kSingular, graph_.EntryOf(id, 0)});
    const bool counts_products = arithmetic == Arithmetic::kAccumulates && amplified.kind == ReasonKind::kIntegers &&
                                 ranges_[graph_.EntryOf(id, 0)].is_integer;
    if (computes || algebra == Algebra::kTotal || counts_products) passed.amplified = amplified;
    if (pole == PoleSensitivity::kCompute && arithmetic != Arithmetic::kNeedsFloat32) Keep(id, amplified);
    return passed;
  }

  // Where what the program has rounded meets what it was rounded from, the lost part comes into being.
  void KeepDifferences(NodeId id) {
    const auto inputs = graph_.InputsOf(id);
    if (inputs.size() < 2 || rounded_from_.empty()) return;
    for (const EntryId rounded : inputs) {
      const EntryId source = rounded_from_[rounded];
      const bool meets = source != kNowhere && std::find(inputs.begin(), inputs.end(), source) != inputs.end();
      if (meets) Keep(id, {ReasonKind::kExact, source});
    }
  }

  // Finds for each entry the tensor that the program's casts rounded to it, directly or through other casts and moves.
  void FindRounded(const Types& types) {
    const auto is_cast = [](const NodePtr& node) { return IsCastOfProgram(*node); };
    if (std::none_of(graph_.nodes().begin(), graph_.nodes().end(), is_cast)) return;
    rounded_from_.assign(graph_.num_entries(), kNowhere);
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const Node& node = graph_.node(id);
      if (node.is_variable() || graph_.InputsOf(id).empty()) continue;
      const Arithmetic arithmetic = FactsOf(node).arithmetic;
      const EntryId input = graph_.InputsOf(id)[0], output = graph_.EntryOf(id, 0);
      if (IsCastOfProgram(node) && !IsLossless(types[input].dtype, types[output].dtype)) {
        rounded_from_[output] = input;
        found_.tensors[input].is_exact = true;
      } else if (arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts) {
        rounded_from_[output] = rounded_from_[input];
      }
    }
  }

  void Ask(EntryId entry, const RoundingSensitivity& sensitivity) {
    RoundingSensitivity& all = found_.tensors[entry];
    all.is_position = all.is_position || sensitivity.is_position;
    all.is_exact = all.is_exact || sensitivity.is_exact;
    all.is_divisor = all.is_divisor || sensitivity.is_divisor;
    all.is_summed = all.is_summed || sensitivity.is_summed;
    Amplify(&all.amplified, sensitivity.amplified);
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
        Keep(id, {ReasonKind::kExact, input});
        return;
      case Sensitivity::kPeriodic:
        if (!(ranges_[input].Magnitude() > largest_angle_)) return;
        AmplifyInput(id, {ReasonKind::kAmplified, input});
        return;
      case Sensitivity::kPole:
        found_.tensors[input].is_divisor = true;
        if (poles_.MayVanish(input)) Keep(id, {ReasonKind::kSingular, input});
        return;
      case Sensitivity::kBounded:
        if (IsInside(*graph_.node(id).op()->Find<ValueDomain>(), ranges_[input])) return;
        AmplifyInput(id, {ReasonKind::kSingular, input});
        return;
    }
  }

  void Keep(NodeId id, const Reason& reason) { Amplify(&found_.nodes[id], reason); }
  void AmplifyInput(NodeId id, const Reason& reason) {
    Amplify(&found_.tensors[reason.cause].amplified, reason);
    Keep(id, reason);
  }

  static bool IsInside(const ValueDomain& domain, const ValueRange& range) {
    return range.low >= domain.low + kMaxDomainError && range.high <= domain.high - kMaxDomainError;
  }

  const Graph& graph_;
  const std::vector<ValueRange>& ranges_;
  PoleRules& poles_;
  const double largest_angle_;
  std::vector<EntryId> rounded_from_;  // see FindRounded; empty where the program rounds nothing
  RoundingSensitivities found_;
};

}  // namespace

RoundingSensitivities FindRoundingSensitivities(const Graph& graph, const Types& types, DType target,
                                                const std::vector<ValueRange>& ranges, PoleRules* poles) {
  return SensitivityFinder(graph, target, ranges, poles).Run(types);
}

}  // namespace amp
