// A depthwise convolution with the 1x1 product behind it and, where there is one, the product in front of it. What lies
// between them stays in the caches of a core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"
#include "kernels/gemm/pointwise.h"

namespace amp::kernels {

struct Bounds {
  float low = 0, high = 0;  // -inf and inf: no bounds
};

// Images have channels last. Expansion: e = clip(source * expand_weights + expand_bias), or e = source. Depthwise:
// d = clip(sum over taps of e * weights + bias), padded with zeros. y = clip(d * project_weights + project_bias + sum),
// rounded once to y's type. Sums are float32; what is multiplied in bfloat16 or int16 is rounded before, d among it. A
// source that is expanded by int16 is bfloat16, with kPointwiseMaxChunk channels at most. The depthwise convolution
// multiplies float32 or, where both products multiply bfloat16 by vectors, bfloat16, too: then e and the weights are
// rounded, and an e that is infinite makes NaNs of the results beside those that meet it.
struct DepthwiseBlock {
  Multiplies multiplies = Multiplies::kFloat32;  // in both products
  bool expands = false;
  std::int64_t batch = 1, height = 1, width = 1;  // of the source
  std::int64_t out_height = 1, out_width = 1;
  std::int64_t in_channels = 0, channels = 0, out_channels = 0;  // channels: of the depthwise convolution
  std::int64_t kernel_height = 3, kernel_width = 3, stride = 1;  // strides: 1 or 2
  std::int64_t pad_top = 0, pad_left = 0;
  PointwiseSource source;
  PointwiseImage sum, destination;
  Bounds expanded, between, result;
  int num_threads = 1;  // for which there is scratch memory

  Pointwise Expansion() const;
  Pointwise Projection() const;
  constexpr bool multiplies_int16() const { return multiplies == Multiplies::kInt16; }
};

struct DepthwiseBlockData {
  const void* source = nullptr;
  const void* expand_weights = nullptr;  // packed by PackPointwiseWeights for Expansion()
  const float* expand_bias = nullptr;    // biases: one per channel, or null
  const float* weights = nullptr;        // packed by PackDepthwiseWeights
  const float* bias = nullptr;
  const void* project_weights = nullptr;  // packed for Projection()
  const float* project_bias = nullptr;
  const void* sum = nullptr;  // null, or an image that is added; may be the source or the destination itself
  void* destination = nullptr;
};

// Pairs of neighbours that a number of columns may meet, wherever it begins.
constexpr std::int64_t DepthwisePairs(std::int64_t columns) { return columns / 2 + 1; }

// `weights`: (channels, kernel_height, kernel_width).
std::size_t PackedDepthwiseBytes(const DepthwiseBlock& job);
void PackDepthwiseWeights(const DepthwiseBlock& job, const float* weights, float* packed);

std::size_t DepthwiseBlockScratchBytes(const DepthwiseBlock& job);

// `scratch`: so many bytes. Splits rows of images among job.num_threads threads; the result does not depend on their
// number. Allocates nothing.
void RunDepthwiseBlock(const DepthwiseBlock& job, const DepthwiseBlockData& data, void* scratch);

// Rows of the result that are computed together, at most.
std::int64_t DepthwiseBlockStrip(const DepthwiseBlock& job);

// Rows that the taps of a row of the result meet, and columns.
constexpr std::int64_t DepthwiseWindowRows(const DepthwiseBlock& job) {
  return job.kernel_height > job.stride ? job.kernel_height : job.stride;
}
// By tiles, 32 positions are expanded together, some of them of rows that taps meet later.
constexpr std::int64_t DepthwiseTileWindowRows(const DepthwiseBlock& job) {
  return DepthwiseWindowRows(job) + (2 * kPointwiseTileRows - 1) / (job.width > 0 ? job.width : 1) + 1;
}
constexpr std::int64_t DepthwiseWindowColumns(const DepthwiseBlock& job) {
  return (job.out_width - 1) * job.stride + job.kernel_width;
}

// Some rows of the result of one image, and memory for what is between.
struct DepthwiseBlockPart {
  std::int64_t image = 0, first_row = 0, num_rows = 0;
  void* source_tiles = nullptr;  // packed rows of the source
  float* window = nullptr;       // 32 channels of what the depthwise convolution reads: [2][row][column][16]
  void* tiles = nullptr;         // packed rows of what it writes, as the product reads them
  // What it writes before that is rounded to int16, [channel / 16][position][channel % 16], and factors of its
  // channels.
  float *between = nullptr, *factors = nullptr;
};

struct DepthwiseBlockTable {
  Isa isa;
  using Run = void (*)(const DepthwiseBlock& job, const DepthwiseBlockData& data, const DepthwiseBlockPart& part);
  Run run[kNumMultiplies];  // null where there is no code
};
const DepthwiseBlockTable* DepthwiseBlockTableGeneric();
// Null where the compiler was not told to make code for it.
const DepthwiseBlockTable* DepthwiseBlockTableAvx2();
const DepthwiseBlockTable* DepthwiseBlockTableAvx512();
const DepthwiseBlockTable* DepthwiseBlockTableAvx512BF16();  // only what multiplies bfloat16
const DepthwiseBlockTable* DepthwiseBlockTableAvx512AMX();   // the same, by tiles
const DepthwiseBlockTable* DepthwiseBlockTableAvx512VNNI();  // only what multiplies int16

// The same as Run with a given table, for tests.
void RunDepthwiseBlockWith(const DepthwiseBlockTable& table, const DepthwiseBlock& job, const DepthwiseBlockData& data,
                           void* scratch);

}  // namespace amp::kernels
