// Inference rules that many cards share.
#pragma once

#include <sstream>
#include <string>

#include "nnvm/op.h"
#include "passes/amp_facts.h"
#include "passes/infer.h"

namespace amp {

// Registers the aliases of a table's row, given as words.
template <class P>
void AddAliases(OpCard<P>& card, const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) card.Alias(word);
}

// `axis` of an array, counted from 0; negative ones count from behind. Throws GraphError for one that is not there.
inline int RequireAxis(const Node& node, std::int64_t axis, const Shape& data) {
  const auto normal = NormalizeAxis(axis, data.rank());
  if (!normal) FailAt(node, "axis {} does not exist in data of shape {}", axis, data.ToString());
  return *normal;
}

inline std::vector<std::string> DataWeightBias(bool no_bias) {
  if (no_bias) return {"data", "weight"};
  return {"data", "weight", "bias"};
}

inline ShapeRule SameShape() {
  return {[](ShapeRelation& r) { r.AllSame(); }};
}
inline DTypeRule SameDType() {
  return {[](DTypeRelation& r) { r.AllSame(); }};
}
inline DTypeRule SameFloatDType() {
  return {[](DTypeRelation& r) {
    r.AllSame();
    for (int i = 0; i < r.num_inputs(); ++i) r.InIsFloat(i);
  }};
}

// Of products of data with weights, the inputs DataWeightBias: all of one float dtype, except that a bias may stay
// float32 beside low-precision operands. It is added to the float32 sum before that is rounded.
inline DTypeRule DataWeightBiasDType() {
  return {[](DTypeRelation& r) {
    r.Same({0, 1}, {0});
    for (int i = 0; i < r.num_inputs(); ++i) r.InIsFloat(i);
    if (r.num_inputs() < 3) return;
    const bool is_wide = r.in(2) == DType::kFloat32 && IsLowPrecision(r.in(0));
    const bool may_be_wide = r.in(2) == DType::kFloat32 && !IsKnown(r.in(0));
    if (!is_wide && !may_be_wide) r.Same({0, 2}, {});
  }};
}
inline std::vector<SlotRole> DataWeightBiasRoles() { return {SlotRole::kData, SlotRole::kData, SlotRole::kStatistic}; }

}  // namespace amp
