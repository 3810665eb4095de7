// Inference rules that many cards share.
#pragma once

#include <sstream>
#include <string>

#include "nnvm/op.h"
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

}  // namespace amp
