// What is to become of a node, before anything spreads through the graph.
#pragma once

#include <cstdint>

namespace amp {

enum class PrecisionCategory : std::uint8_t {
  kLow,      // reads low-precision operands
  kKeep,     // keeps its dtypes
  kNeutral,  // follows its neighbours
  kWidest,   // low if all inputs are; never forces casts on its inputs
  kCast,     // its dtype is its purpose
};

}  // namespace amp
