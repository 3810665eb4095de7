#include "kernels/reduce/extreme_positions.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/elementwise/element_types.h"
#include "kernels/threads/parallel.h"

namespace amp::kernels {
namespace {

constexpr std::int64_t kTile = 512;        // lines side by side
constexpr std::int64_t kLanes = 32;        // parts of one line
constexpr std::int64_t kItemWork = 16384;  // elements that are worth a thread

// Calls f with a zero of the type; false for another type. Truth values are numbers.
template <class F>
bool WithType(ElementType type, const F& f) {
  using enum ElementType;
  return WithTypeAmong<kFloat32, kFloat64, kUInt8, kInt8, kInt32, kInt64>(type == kBool ? kUInt8 : type, f);
}

// The extremes of `width` columns so far.
template <class T, bool kLargest>
struct Extremes {
  T best[kTile];
  std::int32_t position[kTile];

  static bool Beats(T a, T b) { return (kLargest ? a > b : a < b) || (IsNan(a) && !IsNan(b)); }
  static bool Ties(T a, T b) { return a == b || (IsNan(a) && IsNan(b)); }
  static bool IsNan(T a) { return a != a; }

  void AddRow(const T* row, std::int32_t number, std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i) {
      const bool beats = Beats(row[i], best[i]);
      best[i] = beats ? row[i] : best[i];
      position[i] = beats ? number : position[i];
    }
  }
};

template <class T, bool kLargest>
void Columns(const T* x, std::int64_t size, std::int64_t stride, std::int64_t width, std::int64_t* y) {
  Extremes<T, kLargest> extremes;
  std::copy_n(x, width, extremes.best);
  std::fill_n(extremes.position, width, 0);
  for (std::int64_t row = 1; row < size; ++row) {
    extremes.AddRow(x + row * stride, static_cast<std::int32_t>(row), width);
  }
  std::copy_n(extremes.position, width, y);
}

// Element i belongs to lane i % kLanes. All lanes begin with the first element.
template <class T, bool kLargest>
std::int64_t Line(const T* x, std::int64_t size) {
  Extremes<T, kLargest> extremes;
  std::fill_n(extremes.best, kLanes, x[0]);
  std::fill_n(extremes.position, kLanes, -1);
  const std::int64_t rows = size / kLanes;
  for (std::int64_t row = 0; row < rows; ++row) {
    extremes.AddRow(x + row * kLanes, static_cast<std::int32_t>(row), kLanes);
  }
  extremes.AddRow(x + rows * kLanes, static_cast<std::int32_t>(rows), size - rows * kLanes);
  std::int64_t found = 0;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    if (extremes.position[lane] < 0) continue;
    const std::int64_t at = extremes.position[lane] * kLanes + lane;
    const T value = x[at];
    const bool is_first = Extremes<T, kLargest>::Ties(value, x[found]) && at < found;
    if (is_first || Extremes<T, kLargest>::Beats(value, x[found])) found = at;
  }
  return found;
}

template <class T, bool kLargest>
void RunAs(const ExtremePositions& work, const T* x, std::int64_t* y) {
  if (work.inner == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, kItemWork / work.size);
    return ParallelFor(work.outer, grain,
                       [&](std::int64_t i) { y[i] = Line<T, kLargest>(x + i * work.size, work.size); });
  }
  const std::int64_t tiles = CeilDiv(work.inner, kTile);
  const std::int64_t grain = std::max<std::int64_t>(1, kItemWork / (work.size * std::min(work.inner, kTile)));
  ParallelFor(work.outer * tiles, grain, [&](std::int64_t i) {
    const std::int64_t first = i % tiles * kTile, width = std::min(kTile, work.inner - first);
    Columns<T, kLargest>(x + i / tiles * work.size * work.inner + first, work.size, work.inner, width,
                         y + i / tiles * work.inner + first);
  });
}

}  // namespace

bool ExtremePositions::IsType(ElementType type) {
  return WithType(type, [](auto) {});
}

void ExtremePositions::Run(const void* x, std::int64_t* y) const {
  WithType(type, [&](auto zero) {
    using T = decltype(zero);
    if (largest) {
      RunAs<T, true>(*this, static_cast<const T*>(x), y);
    } else {
      RunAs<T, false>(*this, static_cast<const T*>(x), y);
    }
  });
}

}  // namespace amp::kernels
