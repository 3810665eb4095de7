// Inference rules that many operator definitions share.
#pragma once

#include <sstream>
#include <string>

#include "nnvm/op.h"
#include "passes/infer.h"
#include "passes/op_facts.h"

namespace amp {

// Registers the aliases of a table's row, given as words.
template <class P>
void AddAliases(OpDefinition<P>& op, const std::string& words) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) op.Alias(word);
}

// `axis` of an array, counted from 0; negative ones count from behind. Throws GraphError for one that is not supported.
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

// A few numbers per channel beside the data (a bias, a slope): of the data's dtype, or float32 beside low-precision
// data. The arithmetic is in float32 before it is rounded.
inline void SameOrFloat32(DTypeRelation& r, int input) {
  r.InIsFloat(input);
  const bool may_differ = IsLowPrecision(r.in(0)) || !IsKnown(r.in(0));
  if (r.in(input) != DType::kFloat32 || !may_differ) r.Same({0, input}, {});
}

// The dtypes of products of data with weights, whose inputs are DataWeightBias.
inline DTypeRule DataWeightBiasDType() {
  return {[](DTypeRelation& r) {
    r.Same({0, 1}, {0});
    r.InIsFloat(0);
    if (r.num_inputs() > 2) SameOrFloat32(r, 2);
  }};
}
inline std::vector<SlotRole> DataWeightBiasRoles() { return {SlotRole::kData, SlotRole::kData, SlotRole::kStatistic}; }

}  // namespace amp
