#include "kernels/vision/grid_sample.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 256;  // places

// What some places read of a plane: four neighbours each, of which those outside are not read.
class Taps {
 public:
  Taps(const GridSample& work, const float* grid, std::int64_t count) : count_(count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float across = (grid[i] + 1) * static_cast<float>(work.width - 1) / 2;
      const float down = (grid[i + work.places] + 1) * static_cast<float>(work.height - 1) / 2;
      const float left = std::floor(across), top = std::floor(down);
      for (int k = 0; k < 4; ++k) {
        const float column = left + static_cast<float>(k % 2), row = top + static_cast<float>(k / 2);
        inside_[k][i] =
            column >= 0 && column < static_cast<float>(work.width) && row >= 0 && row < static_cast<float>(work.height);
        at_[k][i] = inside_[k][i] ? static_cast<std::int32_t>(row) * work.width + static_cast<std::int32_t>(column) : 0;
        const float over = 1 - (across - left), beside = 1 - (down - top);
        weight_[k][i] = (k / 2 == 0 ? beside : 1 - beside) * (k % 2 == 0 ? over : 1 - over);
      }
    }
  }

  void Sample(const float* plane, float* y) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) {
        const float value = inside_[k][i] ? plane[at_[k][i]] : 0;
        sum += value * weight_[k][i];
      }
      y[i] = sum;
    }
  }

 private:
  std::int64_t count_;
  bool inside_[4][kTile];
  std::int64_t at_[4][kTile];
  float weight_[4][kTile];
};

// From -1 to 1.
float Along(std::int64_t position, std::int64_t size) {
  return -1 + static_cast<float>(position) * 2 / static_cast<float>(size - 1);
}

}  // namespace

void GridSample::Run(const float* x, const float* grid, float* y) const {
  const std::int64_t tiles = CeilDiv(places, kTile), plane = height * width;
  ParallelFor(images * tiles, 1, [&](std::int64_t item) {
    const std::int64_t image = item / tiles, first = item % tiles * kTile, count = std::min(kTile, places - first);
    const Taps taps(*this, grid + image * 2 * places + first, count);
    for (std::int64_t c = image * channels; c < (image + 1) * channels; ++c) {
      taps.Sample(x + c * plane, y + c * places + first);
    }
  });
}

void AffineGrid::Run(const float* matrices, float* grids) const {
  ParallelFor(images * 2 * height, 64, [&](std::int64_t item) {
    const float* row = matrices + item / height * 3;
    const float down = Along(item % height, height);
    for (std::int64_t j = 0; j < width; ++j) {
      grids[item * width + j] = row[0] * Along(j, width) + row[1] * down + row[2];
    }
  });
}

void WarpGrid::Run(const float* displacements, float* grids) const {
  ParallelFor(images * 2 * height, 64, [&](std::int64_t item) {
    const bool goes_down = item / height % 2 == 1;
    const float half = static_cast<float>((goes_down ? height : width) - 1) / 2;
    for (std::int64_t j = 0; j < width; ++j) {
      const auto from = static_cast<float>(goes_down ? item % height : j);
      grids[item * width + j] = (displacements[item * width + j] + from) / half - 1;
    }
  });
}

}  // namespace amp::kernels
