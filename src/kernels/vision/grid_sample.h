// Samples of images at positions that a grid names, and the grids of affine maps and of displacements.
#pragma once

#include <cstdint>

namespace amp::kernels {

struct GridSample {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;  // of x (N, C, H, W)
  std::int64_t places = 0;                                       // of a plane of the result

  // grid: (N, 2, places), across and down; -1 is the first position and 1 the last one. Samples between four positions
  // are interpolated, those outside are 0. Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* x, const float* grid, float* y) const;
};

struct AffineGrid {
  std::int64_t images = 0, height = 0, width = 0;

  // Where matrices (N, 2, 3) map the positions of an image: grids (N, 2, H, W).
  void Run(const float* matrices, float* grids) const;
};

struct WarpGrid {
  std::int64_t images = 0, height = 0, width = 0;

  // Where displacements in positions (N, 2, H, W) lead: grids of the same shape.
  void Run(const float* displacements, float* grids) const;
};

}  // namespace amp::kernels
