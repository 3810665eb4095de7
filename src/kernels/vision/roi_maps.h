// Regions of feature maps, each in bins, and the loop over them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/round_up.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {

struct RoiMaps {
  std::int64_t images = 0, channels = 0, height = 0, width = 0;  // of the maps (N, C, H, W)
  std::int64_t regions = 0, bin_rows = 0, bin_columns = 0;       // the result is (regions, C, rows, columns)
  float spatial_scale = 0;                                       // from regions' units to those of maps

  std::int64_t bins() const { return bin_rows * bin_columns; }
  std::int64_t positions() const { return height * width; }
  std::size_t ScratchBytes() const { return static_cast<std::size_t>(images * channels * positions()) * sizeof(float); }
};

// Reads maps with channels last; the result has them first. region_of(roi, map) makes a function that computes `count`
// channels from `first` on of a bin: (bin, first, count, numbers). Of an image below 0 the result is zeros. Threads get
// up to kTileChannels channels of a region at a time.
template <std::int64_t kTileChannels, class RegionOf>
void ForRegions(const RoiMaps& work, std::int64_t channels, const float* maps, const float* rois, float* y,
                const RegionOf& region_of) {
  constexpr std::int64_t kTileBins = 16;
  const std::int64_t bins = work.bins(), parts = CeilDiv(channels, kTileChannels);
  ParallelFor(work.regions * parts, 1, [&](std::int64_t i) {
    const float* roi = rois + i / parts * 5;
    const std::int64_t first = i % parts * kTileChannels, count = std::min(kTileChannels, channels - first);
    float* to = y + (i / parts * channels + first) * bins;
    if (!(roi[0] >= 0)) return static_cast<void>(std::fill_n(to, count * bins, 0.f));
    const auto region = region_of(roi, maps + static_cast<std::int64_t>(roi[0]) * work.positions() * work.channels);
    alignas(64) std::array<float, kTileBins * kTileChannels> tile;
    for (std::int64_t begin = 0; begin < bins; begin += kTileBins) {
      const std::int64_t end = std::min(bins, begin + kTileBins);
      for (std::int64_t bin = begin; bin < end; ++bin) {
        region(bin, first, count, tile.data() + (bin - begin) * kTileChannels);
      }
      Transpose(tile.data(), kTileChannels, to + begin, bins, end - begin, count);
    }
  });
}

}  // namespace amp::kernels
