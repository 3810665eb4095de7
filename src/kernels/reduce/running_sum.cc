#include "kernels/reduce/running_sum.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 512;  // lines side by side

template <class T>
void RunAs(const RunningSum& work, const T* x, T* y) {
  const std::int64_t tiles = CeilDiv(work.inner, kTile);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / (work.size * std::min(work.inner, kTile)));
  ParallelFor(work.outer * tiles, grain, [&](std::int64_t i) {
    const std::int64_t column = i % tiles * kTile, width = std::min(kTile, work.inner - column);
    const std::int64_t first = i / tiles * work.size * work.inner + column;
    std::copy_n(x + first, width, y + first);
    for (std::int64_t row = 1; row < work.size; ++row) {
      const std::int64_t at = first + row * work.inner;
      for (std::int64_t j = at; j < at + width; ++j) y[j] = y[j - work.inner] + x[j];
    }
  });
}

}  // namespace

void RunningSum::Run(const void* x, void* y) const {
  if (is_integer) return RunAs(*this, static_cast<const std::uint64_t*>(x), static_cast<std::uint64_t*>(y));
  RunAs(*this, static_cast<const double*>(x), static_cast<double*>(y));
}

}  // namespace amp::kernels
