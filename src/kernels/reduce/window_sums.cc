#include "kernels/reduce/window_sums.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 1024;  // places

void AddSquares(const float* x, std::int64_t count, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += x[i] * x[i];
}

void Add(const float* x, std::int64_t count, float* sums) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] += x[i];
}

}  // namespace

void WindowSums::Run(const float* x, float* y) const {
  const std::int64_t tiles = CeilDiv(places, kTile);
  const auto add = of_squares ? AddSquares : Add;
  ParallelFor(images * tiles, 1, [&](std::int64_t i) {
    const std::int64_t first = i % tiles * kTile, count = std::min(kTile, places - first);
    const float* from = x + i / tiles * channels * places + first;
    float* to = y + i / tiles * channels * places + first;
    for (std::int64_t c = 0; c < channels; ++c) {
      float sums[kTile] = {};
      const std::int64_t last = c + std::min(reach, channels - 1 - c);
      for (std::int64_t k = c - std::min(reach, c); k <= last; ++k) add(from + k * places, count, sums);
      std::copy_n(sums, count, to + c * places);
    }
  });
}

}  // namespace amp::kernels
