// A scale and a shift per channel: batch norm at inference, wherever no convolution can take it over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// y = min(max(x * scale + shift, low), high) in float32, rounded once to y's type. A NaN stays one. bfloat16 is rounded
// to nearest even; denormals are kept.
struct ScaleShift {
  bool x_is_bf16 = false;  // else float32
  bool y_is_bf16 = false;
  const float* scale = nullptr;  // blocks * channels values
  const float* shift = nullptr;
  float low = 0, high = 0;  // -inf and inf: no bounds

  // Element (n, block, row, channel) lies `channel` elements behind n * x_batch + block * x_block + row * x_row.
  // Channels-last memory is one block; where channels are outermost each is a block of one channel, and a plane is one
  // row per block: see `planes`.
  std::int64_t batch = 1, blocks = 1, rows = 1, channels = 1;
  std::int64_t x_batch = 0, x_block = 0, x_row = 0;
  std::int64_t y_batch = 0, y_block = 0, y_row = 0;
  // Blocks have one scale and one shift, and `channels` is the number of elements of a row.
  bool planes = false;
};

// Splits rows among the threads of the scope (ParallelFor); the result does not depend on their number, nor on the
// instruction set in use, except that without FMA the product is rounded, too.
void RunScaleShift(const ScaleShift& job, const void* x, void* y);

// One row of `count` elements. `step` is 1, or 0 where all share one scale and shift.
struct ScaleShiftTable {
  Isa isa;
  // The functions are row[x_is_bf16][y_is_bf16].
  using Row = void (*)(const void* x, void* y, std::int64_t count, const float* scale, const float* shift, int step,
                       float low, float high);
  Row row[2][2];

  static const ScaleShiftTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
