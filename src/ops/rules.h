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
