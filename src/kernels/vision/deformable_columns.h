// What deformable convolutions multiply with their weights: the samples that each position of the result reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace amp::kernels {

struct DeformableColumns {
  std::int64_t images = 0, channels = 0;
  std::array<std::int64_t, 2> size = {}, out_size = {};  // height and width of data and result
  std::array<std::int64_t, 2> kernel = {}, stride = {}, dilate = {}, pad = {};
  std::int64_t groups = 1;         // of channels that are convolved separately
  std::int64_t offset_groups = 1;  // of channels that have offsets of their own
  // Data are surrounded by zeros, to which samples within one position outside are interpolated; otherwise samples
  // outside are 0 and those between the last position and the edge equal to it.
  bool zeros_outside = false;

  std::size_t ScratchBytes() const;
  // x: (N, C, H, W); offsets: (N, offset groups, window, 2, out height, out width), down and right; mask, which samples
  // are multiplied with: (N, offset groups, window, out height, out width) or null; columns: (N, out height, out width,
  // groups, window, C / groups). Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* x, const float* offsets, const float* mask, float* columns, void* scratch) const;
};

}  // namespace amp::kernels
