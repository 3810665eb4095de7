// The code of weighted sums, for vectors of kLanes numbers. One source for all instruction sets; every name depends on
// the instruction set, on purpose: see vector_code.h.
#pragma once

#include <cstring>

#include "kernels/movement/weighted_rows.h"

namespace amp::kernels {

template <Isa kIsa, int kLanes>
struct WeightedRowsCode {
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));

  static Floats Load(const float* x) {
    Floats v;
    std::memcpy(&v, x, sizeof v);
    return v;
  }

  // kVectors * kLanes numbers.
  template <int kVectors>
  static void SumBlock(const float* x, const std::int64_t* offsets, const float* weights, std::int64_t count, bool adds,
                       float* y) {
    Floats sums[kVectors];
    for (int v = 0; v < kVectors; ++v) sums[v] = adds ? Load(y + v * kLanes) : Floats{};
    for (std::int64_t k = 0; k < count; ++k) {
      const float* row = x + offsets[k];
      for (int v = 0; v < kVectors; ++v) sums[v] += weights[k] * Load(row + v * kLanes);
    }
    for (int v = 0; v < kVectors; ++v) std::memcpy(y + v * kLanes, &sums[v], sizeof sums[v]);
  }

  static void Sum(const float* x, const std::int64_t* offsets, const float* weights, std::int64_t count, bool adds,
                  float* y, std::int64_t length) {
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= length; i += 4 * kLanes) SumBlock<4>(x + i, offsets, weights, count, adds, y + i);
    for (; i + kLanes <= length; i += kLanes) SumBlock<1>(x + i, offsets, weights, count, adds, y + i);
    if (i < length && i > 0 && !adds) {  // once more what lies before
      i = length - kLanes;
      return SumBlock<1>(x + i, offsets, weights, count, adds, y + i);
    }
    for (; i < length; ++i) {
      float sum = adds ? y[i] : 0;
      for (std::int64_t k = 0; k < count; ++k) sum += weights[k] * x[offsets[k] + i];
      y[i] = sum;
    }
  }

  static void Interpolate(const float* x, const std::int32_t* __restrict first, const std::int32_t* __restrict second,
                          const float* __restrict weights, float* __restrict y, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) y[i] = (1 - weights[i]) * x[first[i]] + weights[i] * x[second[i]];
  }

  static constexpr WeightedRowsTable kTable = {kIsa, Sum, Interpolate};
};

}  // namespace amp::kernels
