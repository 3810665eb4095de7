// Weighted sums of rows of float32 numbers: what sampling and interpolation come down to.
#pragma once

#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

struct WeightedRowsTable {
  Isa isa;
  // y[i] = the sum over k < count of weights[k] * x[offsets[k] + i], for i < length, plus y[i] if `adds`. Every
  // instruction set gives the same bits.
  void (*sum)(const float* x, const std::int64_t* offsets, const float* weights, std::int64_t count, bool adds,
              float* y, std::int64_t length);
  // y[i] = (1 - weights[i]) * x[first[i]] + weights[i] * x[second[i]]
  void (*interpolate)(const float* x, const std::int32_t* first, const std::int32_t* second, const float* weights,
                      float* y, std::int64_t length);

  static const WeightedRowsTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
