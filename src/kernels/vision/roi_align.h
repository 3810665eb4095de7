// Averages of samples in regions of feature maps.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amp::kernels {

struct RoiAlign {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;  // of the maps (N, C, H, W)
  std::int64_t regions = 0, bin_rows = 0, bin_columns = 0;       // the result is (regions, C, rows, columns)
  float spatial_scale = 0;                                       // from regions' units to those of maps
  std::int64_t sample_ratio = -1;                                // samples of a bin along an axis; below 1: by size
  bool position_sensitive = false;  // each bin has channels of its own: there are C / (rows * columns) in the result
  bool aligned = false;             // pixels are half a unit further left and up

  std::size_t ScratchBytes() const;
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
