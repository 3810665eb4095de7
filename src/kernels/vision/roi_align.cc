#include "kernels/vision/roi_align.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/movement/weighted_rows.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kMaxSamples = 16;  // along an axis, at once

// The positions along one axis that samples read, with their weights.
struct Taps {
  std::array<std::int64_t, 2 * kMaxSamples> at;
  std::array<float, 2 * kMaxSamples> weight;
  std::size_t count = 0;

  void Add(std::int64_t position, float amount) {
    for (std::size_t i = count; i-- > 0 && i + 2 >= count;) {
      if (at[i] != position) continue;
      weight[i] += amount;
      return;
    }
    at[count] = position;
    weight[count++] = amount;
  }
};

// The taps of samples [begin, end) of a bin, each of which counts as much as any other of the bin; those beyond one
// pixel outside of the map count nothing.
Taps TapsOf(const RoiBins& bins, std::int64_t bin, std::int64_t begin, std::int64_t end, std::int64_t map) {
  Taps taps;
  const float part = 1 / static_cast<float>(bins.samples);
  for (std::int64_t sample = begin; sample < end; ++sample) {
    const float given = bins.At(bin, sample);
    if (!(given >= -1 && given <= static_cast<float>(map))) continue;
    const float at = std::clamp(given, 0.f, static_cast<float>(map - 1));
    const auto low = static_cast<std::int64_t>(at);
    const float beyond = at - static_cast<float>(low);
    taps.Add(low, (1 - beyond) * part);
    taps.Add(std::min(low + 1, map - 1), beyond * part);
  }
  return taps;
}

// One region on the maps, channels last.
struct Region {
  const RoiAlign& work;
  const float* map;
  RoiBins rows, columns;

  // Channels [0, length) behind `x` of one bin.
  void SumBin(std::int64_t i, std::int64_t j, const float* x, float* y, std::int64_t length) const {
    bool adds = false;
    std::int64_t row = 0;
    do {
      const Taps down = TapsOf(rows, i, row, std::min(rows.samples, row + kMaxSamples), work.height);
      std::int64_t column = 0;
      do {
        const std::int64_t end = std::min(columns.samples, column + kMaxSamples);
        AddTaps(down, TapsOf(columns, j, column, end, work.width), x, adds, y, length);
        adds = true;
      } while ((column += kMaxSamples) < columns.samples);
    } while ((row += kMaxSamples) < rows.samples);
  }

  void AddTaps(const Taps& down, const Taps& across, const float* x, bool adds, float* y, std::int64_t length) const {
    std::array<std::int64_t, 4 * kMaxSamples * kMaxSamples> offsets;
    std::array<float, 4 * kMaxSamples * kMaxSamples> weights;
    std::int64_t count = 0;
    for (std::size_t r = 0; r < down.count; ++r) {
      for (std::size_t c = 0; c < across.count; ++c, ++count) {
        offsets[count] = (down.at[r] * work.width + across.at[c]) * work.channels;
        weights[count] = down.weight[r] * across.weight[c];
      }
    }
    BestTable<WeightedRowsTable>().sum(x, offsets.data(), weights.data(), count, adds, y, length);
  }

  void operator()(std::int64_t bin, std::int64_t first, std::int64_t count, float* y) const {
    const std::int64_t step = work.position_sensitive ? work.channels / work.bins() : 0;
    SumBin(bin / work.bin_columns, bin % work.bin_columns, map + bin * step + first, y, count);
  }
};

// Channels of maps that are position sensitive, from (result's channels, bins) to (bins, result's channels).
void SortChannels(const float* x, float* y, std::int64_t images, std::int64_t channels, std::int64_t bins,
                  std::int64_t positions) {
  const std::int64_t per_bin = channels / bins;
  ParallelFor(images * channels, 16, [&](std::int64_t i) {
    const std::int64_t channel = i % channels, first = i - channel;
    const std::int64_t to = first + channel % bins * per_bin + channel / bins;
    for (std::int64_t p = 0; p < positions; ++p)
      y[(first * positions) + p * channels + to - first] = x[i * positions + p];
  });
}

}  // namespace

RoiBins::RoiBins(const RoiAlign& work, float first, float last, std::int64_t count, std::int64_t map) {
  const float shift = work.aligned ? 0.5f : 0.f;
  begin = first * work.spatial_scale - shift;
  float extent = last * work.spatial_scale - shift - begin;
  if (!work.aligned) extent = std::max(extent, 1.f);
  size = extent / static_cast<float>(count);
  // A bin larger than the map has no more different samples than the map has positions: regions from outside may be of
  // any size.
  const float given = work.sample_ratio > 0 ? static_cast<float>(work.sample_ratio) : std::ceil(size);
  samples = given > 0 ? static_cast<std::int64_t>(std::min(given, static_cast<float>(map + 2))) : 0;
}

void RoiAlign::Run(const float* x, const float* rois, float* y, void* scratch) const {
  auto* maps = static_cast<float*>(scratch);
  if (position_sensitive) {
    SortChannels(x, maps, images, channels, bins(), positions());
  } else {
    ChannelsLast(x, maps, images, channels, positions());
  }
  const std::int64_t results = position_sensitive ? channels / bins() : channels;
  ForRegions<512>(*this, results, maps, rois, y, [&](const float* roi, const float* map) {
    return Region{*this, map, RoiBins(*this, roi[2], roi[4], bin_rows, height),
                  RoiBins(*this, roi[1], roi[3], bin_columns, width)};
  });
}

}  // namespace amp::kernels
