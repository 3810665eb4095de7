#include "kernels/vision/roi_pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace amp::kernels {
namespace {

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

void RoiPooling::Run(const float* x, const float* rois, float* y, void* scratch) const {
  auto* maps = static_cast<float*>(scratch);
  ChannelsLast(x, maps, images, channels, positions());
  ForRegions<256>(*this, channels, maps, rois, y, [this](const float* roi, const float* map) {
    return [this, roi, map](std::int64_t bin, std::int64_t first, std::int64_t count, float* maxima) {
      const Span down = SpanOf(roi[2], roi[4], bin / bin_columns, bin_rows, height);
      const Span across = SpanOf(roi[1], roi[3], bin % bin_columns, bin_columns, width);
      const bool is_empty = down.end <= down.begin || across.end <= across.begin;
      std::fill_n(maxima, count, is_empty ? 0 : std::numeric_limits<float>::lowest());
      for (std::int64_t row = down.begin; row < down.end; ++row) {
        for (std::int64_t column = across.begin; column < across.end; ++column) {
          Maximum(map + (row * width + column) * channels + first, count, maxima);
        }
      }
    };
  });
}

}  // namespace amp::kernels
