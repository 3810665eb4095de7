// Averages of samples in regions of feature maps.
#pragma once

#include "kernels/vision/roi_maps.h"

namespace amp::kernels {

struct RoiAlign : RoiMaps {
  std::int64_t sample_ratio = -1;   // samples of a bin along an axis; below 1: by size
  bool position_sensitive = false;  // each bin has channels of its own: there are C / (rows * columns) in the result
  bool aligned = false;             // pixels are half a unit further left and up

  // `rois`: image, left, top, right and bottom of each region. Images below 0 give zeros; all are below `images`.
  // Splits the work among the threads of the scope (ParallelFor); the result does not depend on their number.
  void Run(const float* x, const float* rois, float* y, void* scratch) const;
};

// Along one axis: where a region begins, how large a bin is and how many samples it takes.
struct RoiBins {
  float begin, size;
  std::int64_t samples;

  // A region from `first` to `last` in `count` bins on a map with so many positions.
  RoiBins(const RoiAlign& work, float first, float last, std::int64_t count, std::int64_t map);
  // Where a sample of a bin lies.
  float At(std::int64_t bin, std::int64_t sample) const {
    return begin + static_cast<float>(bin) * size +
           (static_cast<float>(sample) + 0.5f) * size / static_cast<float>(samples);
  }
};

}  // namespace amp::kernels
