// Which numbers an attribute may have, where the least of them may be left out.
#pragma once

#include <cmath>
#include <limits>

#include "nnvm/error.h"

namespace amp {

struct NumberRange {
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool is_above_least = false;
};

inline constexpr NumberRange kNotNegative{0};
inline constexpr NumberRange kPositive{0, std::numeric_limits<double>::infinity(), true};

// Throws GraphError for infinities, NaN, and numbers out of the range.
inline void RequireWithin(const char* attribute, const NumberRange& range, double value) {
  const bool is_high_enough = range.is_above_least ? value > range.least : value >= range.least;
  if (std::isfinite(value) && is_high_enough && value <= range.most) return;
  Throw<GraphError>("attribute {}: expected a number in {}{}, {}], got {}", attribute, range.is_above_least ? "(" : "[",
                    range.least, range.most, value);
}

}  // namespace amp
