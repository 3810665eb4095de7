#include "passes/precision/pole_sensitivity.h"

#include <algorithm>
#include <cmath>

#include "passes/op_facts.h"

namespace amp {
namespace {

// A sum of terms that cancel survives their rounding where it is at least this part of the largest term.
constexpr double kFarFromZero = 0x1p-5;
// Ends of intervals are those of float32 arithmetic.
constexpr double kRangeSlack = 0x1p-10;

Algebra MeaningOf(const Node& node) {
  const auto* fact = node.op()->Find<AlgebraFact>();
  return fact != nullptr ? fact->of(node) : Algebra::kOther;
}

bool IsPositive(const ValueRange& range) { return range.low >= 0; }
bool IsNegative(const ValueRange& range) { return range.high <= 0; }

// The dividend passes on what is asked of the quotient; the divisor has a pole of its own.
bool IsQuotient(const Node& node) {
  const auto* fact = node.op()->Find<InputSensitivity>();
  return fact != nullptr && node.inputs().size() == 2 && fact->of(node, 0) == Sensitivity::kSmooth &&
         fact->of(node, 1) == Sensitivity::kPole;
}

// Small errors stay small: no steps, no waves.
bool IsSmooth(const Node& node) {
  const auto* fact = node.op()->Find<InputSensitivity>();
  const Sensitivity sensitivity = fact != nullptr ? fact->of(node, 0) : Sensitivity::kSmooth;
  return sensitivity == Sensitivity::kSmooth || sensitivity == Sensitivity::kPole;
}

}  // namespace

ValueRange PoleRules::AtZero(NodeId id) {
  const std::vector<ValueRange> zeros(graph_.InputsOf(id).size(), ValueRange::Of(0));
  return evaluator_.Output(id, 0, zeros);
}

PoleSensitivity PoleRules::Of(NodeId id) {
  const Node& node = graph_.node(id);
  const EntryId output = graph_.EntryOf(id, 0);
  const Arithmetic arithmetic = FactsOf(node).arithmetic;
  const Algebra algebra = MeaningOf(node);
  const bool adds = algebra == Algebra::kSum || algebra == Algebra::kDifference || algebra == Algebra::kTotal ||
                    arithmetic == Arithmetic::kAccumulates;
  if (adds) return OfSum(id, 0);
  if (algebra == Algebra::kMultiple) {
    const ValueRange offset = AtZero(id);
    if (offset.low != 0 || offset.high != 0) return OfSum(id, offset.low);
  }
  if (!MayVanish(output)) return PoleSensitivity::kNone;
  if (arithmetic == Arithmetic::kNeedsFloat32 || algebra == Algebra::kExponential) return PoleSensitivity::kWrite;
  const bool multiplies = algebra == Algebra::kProduct || algebra == Algebra::kSquare ||
                          algebra == Algebra::kMultiple || algebra == Algebra::kNorm;
  const bool moves = arithmetic == Arithmetic::kMovesData || arithmetic == Arithmetic::kCasts;
  if (moves || multiplies || IsQuotient(node)) return PoleSensitivity::kPass;
  const ValueRange at_zero = AtZero(id);
  const bool keeps_zero = IsSmooth(node) && at_zero.low == 0 && at_zero.high == 0;
  return keeps_zero ? PoleSensitivity::kPass : PoleSensitivity::kCompute;
}

PoleSensitivity PoleRules::OfSum(NodeId id, double offset) {
  if (!TermsHaveOneSign(id, offset))
    return IsFarFromZero(id, offset) ? PoleSensitivity::kNone : PoleSensitivity::kCompute;
  if (!MayVanish(graph_.EntryOf(id, 0))) return PoleSensitivity::kNone;
  return FactsOf(graph_.node(id)).arithmetic == Arithmetic::kAccumulates ? PoleSensitivity::kWrite
                                                                         : PoleSensitivity::kPass;
}

bool PoleRules::TermsHaveOneSign(NodeId id, double offset) const {
  const Node& node = graph_.node(id);
  const auto inputs = graph_.InputsOf(id);
  const ValueRange& result = ranges_[graph_.EntryOf(id, 0)];
  if (offset > 0) return result.low >= offset * (1 - kRangeSlack);
  if (offset < 0) return result.high <= offset * (1 - kRangeSlack);
  std::vector<ValueRange> terms;
  for (const EntryId input : inputs) terms.push_back(ranges_[input]);
  if (FactsOf(node).arithmetic == Arithmetic::kAccumulates) {
    if (terms.size() < 2) return false;
    terms[0] = Product(terms[0], terms[1]);
    terms.erase(terms.begin() + 1);
  }
  if (MeaningOf(node) == Algebra::kDifference) terms[1] = Negative(terms[1]);
  return std::all_of(terms.begin(), terms.end(), IsPositive) || std::all_of(terms.begin(), terms.end(), IsNegative);
}

bool PoleRules::IsFarFromZero(NodeId id, double offset) const {
  const ValueRange& result = ranges_[graph_.EntryOf(id, 0)];
  const Algebra algebra = MeaningOf(graph_.node(id));
  const bool adds_few = algebra == Algebra::kSum || algebra == Algebra::kDifference || algebra == Algebra::kMultiple;
  double largest = std::abs(offset) > 0 ? result.Magnitude() + std::abs(offset) : 0;
  for (const EntryId input : graph_.InputsOf(id)) {
    if (offset == 0) largest = std::max(largest, ranges_[input].Magnitude());
  }
  return adds_few && result.SmallestMagnitude() >= kFarFromZero * largest;
}

}  // namespace amp
