#include "passes/precision/rounding_limits.h"

#include <algorithm>

#include "passes/op_facts.h"
#include "passes/precision/rounding_sensitivity.h"
#include "passes/precision/value_ranges.h"

namespace amp {
namespace {

struct TargetLimits {
  double whole;     // whole numbers up to here are told apart
  double largest;   // finite number
  double smallest;  // what is smaller becomes 0
  double normal;    // the smallest number that arithmetic does not take for 0
};
TargetLimits LimitsOf(DType target) {
  if (target == DType::kFloat16) return {0x1p11, 65504, 0x1p-24, 0x1p-24};
  return {0x1p8, 0x1.FEp127, 0x1p-133, 0x1p-126};
}

// Summands that differ by less than this factor may be rounded.
constexpr double kSimilar = 16;

class LimitFinder {
 public:
  LimitFinder(const Graph& graph, const Types& types, DType target, const std::vector<ValueRange>& ranges)
      : graph_(graph),
        types_(types),
        ranges_(ranges),
        target_(target),
        limits_(LimitsOf(target)),
        evaluator_(graph, types),
        poles_(graph, types, ranges, limits_.normal),
        counted_(graph.num_entries()),
        exponential_(graph.num_entries()) {
    RoundingSensitivities sensitivities = FindRoundingSensitivities(graph, types, target, ranges, &poles_);
    sensitivities_ = std::move(sensitivities.tensors);
    found_.nodes = std::move(sensitivities.nodes);
    found_.tensors.resize(graph.num_entries(), ReasonKind::kReadsLow);
    found_.written_exactly.resize(graph.num_entries());
  }

  RoundingLimits Run() {
    for (NodeId id = 0; id < graph_.num_nodes(); ++id) {
      const bool is_variable = graph_.node(id).is_variable();
      if (!is_variable) {
        if (IsCounted(id)) Mark(&counted_, id);
        if (IsExponential(id)) Mark(&exponential_, id);
      }
      for (const EntryId output : graph_.OutputsOf(id)) {
        found_.tensors[output] = LimitOf(id, output);
        found_.written_exactly[output] = !is_variable && IsWrittenExactly(id, output);
      }
      if (!is_variable) LimitNode(id);
    }
    for (const RoundingSensitivity& sensitivity : sensitivities_) found_.positions.push_back(sensitivity.is_position);
    return std::move(found_);
  }

 private:
  void Mark(std::vector<bool>* flags, NodeId id) {
    for (const EntryId output : graph_.OutputsOf(id)) (*flags)[output] = true;
  }

  // Floats that count as integers: what an operator counts (arange, shapes), what is used as a position, sums of whole
  // numbers, and what is computed from such numbers and other whole ones.
  bool IsCounted(NodeId id) const {
    const AmpFacts& facts = FactsOf(graph_.node(id));
    if (facts.counts) return true;
    bool any = false, all = true;
    const auto inputs = graph_.InputsOf(id);
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
      if (facts.RoleOf(slot) != SlotRole::kData) continue;
      const bool counts =
          counted_[inputs[slot]] || sensitivities_[inputs[slot]].is_position || !IsFloat(types_[inputs[slot]].dtype);
      any = any || counts;
      all = all && (counts || ranges_[inputs[slot]].is_integer);
    }
    const bool adds_up = facts.arithmetic == Arithmetic::kAccumulates || AlgebraOf(id) == Algebra::kTotal;
    if (adds_up) return ranges_[graph_.EntryOf(id, 0)].is_integer;
    return any && all && facts.arithmetic != Arithmetic::kNeedsFloat32;
  }

  Algebra AlgebraOf(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto* fact = node.is_variable() ? nullptr : node.op()->Find<AlgebraFact>();
    return fact != nullptr ? fact->of(node) : Algebra::kOther;
  }

  // Exponentials, as they are or moved or multiplied, unless they are known to be of similar size.
  bool IsExponential(NodeId id) const {
    const Node& node = graph_.node(id);
    const Algebra algebra = AlgebraOf(id);
    if (algebra == Algebra::kExponential) {
      const ValueRange& range = ranges_[graph_.EntryOf(id, 0)];
      return !(range.low > 0 && range.high <= kSimilar * range.low);
    }
    const Arithmetic arithmetic = FactsOf(node).arithmetic;
    const bool passes = arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts ||
                        algebra == Algebra::kMultiple || algebra == Algebra::kProduct;
    const auto inputs = graph_.InputsOf(id);
    return passes && std::any_of(inputs.begin(), inputs.end(), [&](EntryId input) { return exponential_[input]; });
  }

  ReasonKind LimitOf(NodeId id, EntryId entry) {
    if (!IsFloat(types_[entry].dtype)) return ReasonKind::kReadsLow;  // never rounded anyway
    const ValueRange& range = ranges_[entry];
    const RoundingSensitivity& sensitivity = sensitivities_[entry];
    if (sensitivity.is_position) return ReasonKind::kIntegers;
    if (counted_[entry] && (sensitivity.is_exact || !(range.Magnitude() <= limits_.whole)))
      return ReasonKind::kIntegers;
    if (Overflows(range) || ScalesBeyond(id, entry)) return ReasonKind::kOverflows;
    if (sensitivity.is_divisor && (Vanishes(range) || IsGuard(id, entry))) return ReasonKind::kVanishes;
    return ReasonKind::kReadsLow;
  }

  bool IsWrittenExactly(NodeId id, EntryId output) {
    const RoundingSensitivity& sensitivity = sensitivities_[output];
    return found_.tensors[output] != ReasonKind::kReadsLow || sensitivity.is_exact ||
           (sensitivity.is_divisor && poles_.MayVanish(output)) || MayGrow(id, output);
  }

  // Whether the node may give more than float16's largest number where nothing that it reads is larger than that.
  bool MayGrow(NodeId id, EntryId output) {
    if (target_ != DType::kFloat16 || !IsFloat(types_[output].dtype)) return false;
    if (ranges_[output].Magnitude() <= limits_.largest) return false;
    const Arithmetic arithmetic = FactsOf(graph_.node(id)).arithmetic;
    if (arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts) return false;
    std::vector<ValueRange> in;
    for (const EntryId input : graph_.InputsOf(id)) {
      in.push_back(Meet(ranges_[input], {-limits_.largest, limits_.largest}));
    }
    constexpr double kRoundsDown = 1 + 0x1p-13;  // rounds to the largest number; ends of intervals are those of float32
    const ValueRange out = evaluator_.Output(id, static_cast<int>(graph_.IndexOf(output)), in);
    return !(out.Magnitude() <= kRoundsDown * limits_.largest);
  }

  // A known end lies beyond the largest number.
  bool Overflows(const ValueRange& range) const {
    const auto is_beyond = [&](double end) {
      return std::abs(end) > limits_.largest && std::abs(end) < ValueRange::kInfinity;
    };
    return is_beyond(range.low) || is_beyond(range.high);
  }
  // Not 0 itself, but perhaps after rounding.
  bool Vanishes(const ValueRange& range) const {
    const double smallest = range.SmallestMagnitude();
    return smallest > 0 && smallest < limits_.smallest;
  }

  // A multiple of numbers of which nothing is known, by a constant that would carry even 1 beyond the largest number.
  bool ScalesBeyond(NodeId id, EntryId entry) {
    if (!IsMultiple(id) || ranges_[entry].IsBounded()) return false;
    const ValueRange& input = ranges_[graph_.InputsOf(id)[0]];
    const double low = std::clamp(-1.0, input.low, input.high), high = std::clamp(1.0, input.low, input.high);
    return Overflows(Evaluate(id, {low, high}));
  }
  // A constant that is added to keep the sum from being 0, and would become 0 itself.
  bool IsGuard(NodeId id, EntryId entry) {
    return IsMultiple(id) && !ranges_[entry].IsBounded() && Vanishes(Evaluate(id, ValueRange::Of(0)));
  }
  bool IsMultiple(NodeId id) const { return AlgebraOf(id) == Algebra::kMultiple && graph_.InputsOf(id).size() == 1; }
  ValueRange Evaluate(NodeId id, const ValueRange& in) { return evaluator_.Output(id, 0, {&in, 1}); }

  void LimitNode(NodeId id) {
    const Arithmetic arithmetic = FactsOf(graph_.node(id)).arithmetic;
    Reason& reason = found_.nodes[id];
    if (reason.kind != ReasonKind::kReadsLow) return;
    if (arithmetic == Arithmetic::kAccumulates) return LimitOperands(id);
    for (const EntryId output : graph_.OutputsOf(id)) {
      const RoundingSensitivity& sensitivity = sensitivities_[output];
      if (found_.tensors[output] != ReasonKind::kReadsLow) {
        reason = {found_.tensors[output], output};
      } else if (sensitivity.is_exact) {
        reason = {ReasonKind::kExact, output};
      } else if (sensitivity.is_divisor && poles_.MayVanish(output)) {
        reason = {ReasonKind::kSingular, output};
      } else if (MayGrow(id, output)) {
        reason = {ReasonKind::kGrows, output};
      } else if (sensitivity.is_summed && exponential_[output]) {
        reason = {ReasonKind::kSummed, output};
      }
    }
  }

  // Products that are counted read whole numbers as they are.
  void LimitOperands(NodeId id) {
    if (!counted_[graph_.EntryOf(id, 0)]) return;
    for (const EntryId input : graph_.InputsOf(id)) {
      if (!(ranges_[input].Magnitude() <= limits_.whole)) found_.nodes[id] = {ReasonKind::kIntegers, input};
    }
  }

  const Graph& graph_;
  const Types& types_;
  const std::vector<ValueRange>& ranges_;
  const DType target_;
  const TargetLimits limits_;
  RangeEvaluator evaluator_;
  PoleRules poles_;
  std::vector<RoundingSensitivity> sensitivities_;  // by entry
  std::vector<bool> counted_, exponential_;         // by entry
  RoundingLimits found_;
};

}  // namespace

RoundingLimits FindRoundingLimits(const Graph& graph, const Types& types, DType target,
                                  const std::vector<ValueRange>& ranges) {
  return LimitFinder(graph, types, target, ranges).Run();
}

}  // namespace amp
