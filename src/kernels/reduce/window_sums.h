// Sums over windows of channels.
#pragma once

#include <cstdint>

namespace amp::kernels {

struct WindowSums {
  std::int64_t images = 0, channels = 0, places = 0;  // of data (images, channels, places)
  std::int64_t reach = 0;                             // channels on either side
  bool of_squares = false;                            // else of the elements themselves

  // Splits the work among the threads of the scope (ParallelFor); the result does not depend on their number.
  void Run(const float* x, float* y) const;
};

}  // namespace amp::kernels
