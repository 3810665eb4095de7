// What a card states about an operator for the choice of precision. Facts, not list membership: policies are computed
// from them.
#pragma once

#include <functional>
#include <vector>

#include "nnvm/node.h"

namespace amp {

enum class Arithmetic {
  kAccumulates,   // sums of many products: gains from low-precision operands, accumulates in float32
  kElementwise,   // little arithmetic per element: follows its neighbours
  kMovesData,     // values come out as they went in
  kNeedsFloat32,  // exponentials with reduction, norms, losses: computed in float32
  kCasts,         // its output dtype is its purpose
};

enum class SlotRole {
  kData,
  kStatistic,  // scales, shifts and statistics: stay float32
  kIndex,      // indices, lengths, axes, masks: never rounded
  kIgnored,    // labels: not read at inference
};

struct AmpFacts {
  Arithmetic arithmetic = Arithmetic::kElementwise;
  // Role of each input; slots beyond the end are kData.
  std::vector<SlotRole> roles = {};
  // Does rounding to `target` before the operator give the same bits as after it? Absent: no.
  std::function<bool(const Node&, DType target)> commutes = nullptr;
  // Are its results counted (positions, sizes, ranks)? Such numbers are never rounded, whatever their dtype.
  bool counts = false;

  SlotRole RoleOf(std::size_t slot) const { return slot < roles.size() ? roles[slot] : SlotRole::kData; }
};

// The card's facts; neutral ones for an operator that states none.
inline const AmpFacts& FactsOf(const Node& node) {
  static const AmpFacts kNone{};
  const auto* facts = node.op()->Find<AmpFacts>();
  return facts != nullptr ? *facts : kNone;
}

inline bool AlwaysCommutes(const Node&, DType) { return true; }

}  // namespace amp
