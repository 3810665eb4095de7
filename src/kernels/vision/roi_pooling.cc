#include "kernels/vision/roi_pooling.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/base/round_up.h"
#include "kernels/movement/transpose.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTileBins = 16, kTileChannels = 256;

void Maximum(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

// Where numbers are none, or beyond what maps have, so are the positions.
std::int64_t Position(float at) {
  constexpr float kFarthest = 1 << 30;
  return static_cast<std::int64_t>(at == at ? std::clamp(std::round(at), -kFarthest, kFarthest) : -kFarthest);
}

}  // namespace

RoiPooling::Span RoiPooling::SpanOf(float first, float last, std::int64_t bin, std::int64_t count,
                                    std::int64_t map) const {
  const std::int64_t start = Position(first * spatial_scale), end = Position(last * spatial_scale);
  const float size = static_cast<float>(std::max<std::int64_t>(end - start + 1, 1)) / static_cast<float>(count);
  const auto from = static_cast<std::int64_t>(std::floor(static_cast<float>(bin) * size));
  const auto to = static_cast<std::int64_t>(std::ceil(static_cast<float>(bin + 1) * size));
  return {std::clamp<std::int64_t>(from + start, 0, map), std::clamp<std::int64_t>(to + start, 0, map)};
}

std::size_t RoiPooling::ScratchBytes() const {
  return static_cast<std::size_t>(images * channels * height * width) * sizeof(float);
}

void RoiPooling::Run(const float* x, const float* rois, float* y, void* scratch) const {
  const std::int64_t bins = bin_rows * bin_columns;
  auto* maps = static_cast<float*>(scratch);
  ChannelsLast(x, maps, images, channels, height * width);
  const std::int64_t parts = CeilDiv(channels, kTileChannels);
  ParallelFor(regions * parts, 1, [&](std::int64_t item) {
    const float* roi = rois + item / parts * 5;
    const std::int64_t first = item % parts * kTileChannels, count = std::min(kTileChannels, channels - first);
    float* to = y + (item / parts * channels + first) * bins;
    if (!(roi[0] >= 0)) return static_cast<void>(std::fill_n(to, count * bins, 0.f));
    const float* map = maps + static_cast<std::int64_t>(roi[0]) * height * width * channels + first;
    alignas(64) std::array<float, kTileBins * kTileChannels> tile;
    for (std::int64_t begin = 0; begin < bins; begin += kTileBins) {
      const std::int64_t end = std::min(bins, begin + kTileBins);
      for (std::int64_t bin = begin; bin < end; ++bin) {
        const Span down = SpanOf(roi[2], roi[4], bin / bin_columns, bin_rows, height);
        const Span across = SpanOf(roi[1], roi[3], bin % bin_columns, bin_columns, width);
        const bool is_empty = down.end <= down.begin || across.end <= across.begin;
        float* maxima = tile.data() + (bin - begin) * kTileChannels;
        std::fill_n(maxima, count, is_empty ? 0 : std::numeric_limits<float>::lowest());
        for (std::int64_t row = down.begin; row < down.end; ++row) {
          for (std::int64_t column = across.begin; column < across.end; ++column) {
            Maximum(map + (row * width + column) * channels, count, maxima);
          }
        }
      }
      Transpose(tile.data(), kTileChannels, to + begin, bins, end - begin, count);
    }
  });
}

}  // namespace amp::kernels
