// Intersection over union of each box of one array with each box of another.
#pragma once

#include <cstdint>

namespace amp::kernels {

struct BoxIou {
  std::int64_t rows = 0, columns = 0;
  bool from_center = false;  // boxes are middle, width and height, not left, top, right and bottom

  float Of(const float* a, const float* b) const;
  // y: (rows, columns). Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* a, const float* b, float* y) const;
};

}  // namespace amp::kernels
