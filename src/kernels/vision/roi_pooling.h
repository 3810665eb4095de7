// Maxima of the bins of regions of feature maps.
#pragma once

#include "kernels/vision/roi_maps.h"

namespace amp::kernels {

struct RoiPooling : RoiMaps {
  // Positions [begin, end) of a map with so many that a bin holds, along one axis, of `count` bins of a region.
  struct Span {
    std::int64_t begin, end;
  };
  Span SpanOf(float first, float last, std::int64_t bin, std::int64_t count, std::int64_t map) const;

  // `rois`: image, left, top, right and bottom of each region. Images below 0 give zeros, as do bins without positions;
  // all are below `images`. Splits the work among the threads of the scope (ParallelFor).
  void Run(const float* x, const float* rois, float* y, void* scratch) const;
};

}  // namespace amp::kernels
