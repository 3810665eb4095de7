// Small choices that the rows of op_cases*.cc share.
#pragma once

#include <string>
#include <utility>

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

inline InputCase AnyInput(Random& random, Shape shape) {
  return {{random.Type(AllTypes()), std::move(shape)}, Values::kWide};
}

// What moves the elements of one array, whose rank is in [low_rank, high_rank].
inline OpCase AnyMove(Random& random, int low_rank = 1, int high_rank = 4) {
  const Shape shape = random.Sizes(static_cast<int>(random.Int(low_rank, high_rank)), 6);
  return {{}, {AnyInput(random, shape)}, {}, Truth::kSameBits};
}

// The slopes of prelu: one, one a channel, or a shape that is broadcast.
inline Shape SlopesOf(Random& random, const Shape& data) {
  if (random.Chance(0.5)) return Shape{random.Chance(0.4) ? 1 : data[data.rank() > 1 ? 1 : 0]};
  Shape slopes = data;
  for (int i = 0; i < data.rank(); ++i) slopes[i] = random.Chance(0.4) ? 1 : data[i];
  return slopes;
}

inline int Normal(std::int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

}  // namespace amp::testing
