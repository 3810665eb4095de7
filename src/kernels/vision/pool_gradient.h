// The gradient of pooling: that of each window's result is handed to the window's elements.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// Position p of a (n, block) lies `row` elements behind position p - 1, and has `channels` neighbours. Planes are
// blocks of one channel.
struct PoolGradient {
  struct Place {
    std::int64_t batch = 0, block = 0, row = 1;
  };
  bool is_max = true;        // else averages
  bool counts_pads = false;  // an average divides by the elements of its window in the padding, too
  bool is_bf16 = false;      // g, x and y; else float32. The result is float32.
  // Three axes: sizes of 1 in front.
  std::array<std::int64_t, 3> in = {1, 1, 1}, out = {1, 1, 1}, kernel = {1, 1, 1}, stride = {1, 1, 1}, pad = {0, 0, 0};
  std::int64_t batch = 1, blocks = 1, channels = 1;
  Place g, x, y, result;  // the gradient, the source, what was made of it, the source's gradient

  std::int64_t in_positions() const { return in[0] * in[1] * in[2]; }
};

// The first of several largest elements of a window gets all. Splits channels among the threads of the scope
// (ParallelFor); the result does not depend on their number. Averages do not read x and y. Allocates nothing.
void RunPoolGradient(const PoolGradient& job, const void* g, const void* x, const void* y, float* result);

struct PoolGradientTable {
  Isa isa;
  // `channels` neighbours of one (n, block). By [is_max][is_bf16].
  using Unit = void (*)(const PoolGradient& job, const void* g, const void* x, const void* y, float* result,
                        std::int64_t channels);
  Unit unit[2][2];

  static const PoolGradientTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
