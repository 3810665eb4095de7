// The first position of the largest or smallest element of each line along an axis.
#pragma once

#include <cstdint>

#include "kernels/elementwise/cast.h"

namespace amp::kernels {

struct ExtremePositions {
  static constexpr std::int64_t kMaxSize = (std::int64_t{1} << 31) - 1;

  ElementType type = ElementType::kFloat32;     // no 16-bit float
  std::int64_t outer = 1, size = 1, inner = 1;  // lines are along the middle axis of (outer, size, inner)
  bool largest = true;

  static bool IsType(ElementType type);
  // y: (outer, inner). The first NaN of a line is its extreme. Splits the work among the threads of
  // the scope (ParallelFor).
  void Run(const void* x, std::int64_t* y) const;
};

}  // namespace amp::kernels
