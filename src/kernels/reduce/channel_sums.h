// Sums over all elements of a channel, for batch norms in training and for gradients of biases.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

enum class SumsOf : std::uint8_t {
  kGradient,  // g
  kSquares,   // x - shift, and its square
  kProducts,  // g, and g (x - shift)
};

// Element (n, block, row, channel) lies as ScaleShift has it; where `planes`, blocks are channels and `channels` is the
// number of elements of a row.
struct ChannelSums {
  SumsOf what = SumsOf::kGradient;
  bool is_bf16 = false;  // else float32
  std::int64_t batch = 1, blocks = 1, rows = 1, channels = 1;
  std::int64_t g_batch = 0, g_block = 0, g_row = 0;
  std::int64_t x_batch = 0, x_block = 0, x_row = 0;
  bool planes = false;

  std::int64_t num_channels() const { return planes ? blocks : blocks * channels; }
};

// What a run needs beside its operands.
std::size_t ChannelSumsScratchBytes(const ChannelSums& job);

// `first` and `second` (unused by kGradient) get one total for each channel; `shift` has one number for each. Rows are
// added in float32, stretches of rows in double. Splits the work among the threads of the scope (ParallelFor); the
// result does not depend on their number. Allocates nothing.
void RunChannelSums(const ChannelSums& job, const void* g, const void* x, const float* shift, double* first,
                    double* second, void* scratch);

struct ChannelSumsTable {
  Isa isa;
  // The sums of `rows` rows, one for each channel. By [what][is_bf16].
  using Rows = void (*)(const void* g, std::int64_t g_row, const void* x, std::int64_t x_row, std::int64_t rows,
                        std::int64_t channels, const float* shift, float* first, float* second);
  Rows rows[3][2];
  // The sums of `count` elements of one channel.
  using Plane = void (*)(const void* g, const void* x, std::int64_t count, float shift, float* first, float* second);
  Plane plane[3][2];

  static const ChannelSumsTable *Generic(), *Avx2(), *Avx512();  // see BestTable
};

}  // namespace amp::kernels
