// Maxima of the bins of regions of feature maps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

struct RoiPooling {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;  // of the maps (N, C, H, W)
  std::int64_t regions = 0, bin_rows = 0, bin_columns = 0;       // the result is (regions, C, rows, columns)
  float spatial_scale = 0;                                       // from regions' units to those of maps

  // Positions [begin, end) of a map with so many that a bin holds, along one axis, of `count` bins of a region.
  struct Span {
    std::int64_t begin, end;
  };
  Span SpanOf(float first, float last, std::int64_t bin, std::int64_t count, std::int64_t map) const;

  std::size_t ScratchBytes() const;
  // `rois`: image, left, top, right and bottom of each region. Images below 0 give zeros, as do bins without positions;
  // all are below `images`. Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* x, const float* rois, float* y, void* scratch) const;
};

}  // namespace amp::kernels
