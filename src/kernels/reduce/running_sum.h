// Sums of the elements up to each one along an axis.
#pragma once

#include <cstdint>

namespace amp::kernels {

struct RunningSum {
  bool is_integer = false;                      // elements are int64 and wrap; else they are float64
  std::int64_t outer = 1, size = 1, inner = 1;  // along the middle axis of (outer, size, inner)

  // Splits the work among the threads of the scope (ParallelFor); each sum is taken in order.
  void Run(const void* x, void* y) const;
};

}  // namespace amp::kernels
