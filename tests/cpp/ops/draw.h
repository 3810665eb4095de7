// Small choices that the rows of op_cases*.cc share.
#pragma once

#include <string>

#include "nnvm/attr_text.h"
#include "op_cases.h"

namespace amp::testing {

inline std::string Flag(Random& random) { return random.Of({"True", "False", "1", "0", "true"}); }

// An attribute that is left out, or given, now and then.
inline void Maybe(Random& random, AttrMap* attrs, const char* name, const std::string& text) {
  if (random.Chance(0.7)) (*attrs)[name] = text;
}

inline IntTuple Tuple(Random& random, int size, std::int64_t low, std::int64_t high) {
  IntTuple tuple;
  for (int i = 0; i < size; ++i) tuple.push_back(random.Int(low, high));
  return tuple;
}

inline std::int64_t AnyAxis(Random& random, int rank) { return random.Int(-rank, rank - 1); }

inline int Normal(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

}  // namespace amp::testing
