// A depthwise convolution with the 1x1 product behind it and, where there is one, the product in front of it. What lies
// between them stays in the caches of a core.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm.h"

namespace amp::kernels {

struct Bounds {
  float low = 0, high = 0;  // -inf and inf: no bounds
};

// Images have channels last. Expansion: e = clip(source * expand_weights + expand_bias), or e = source. Depthwise:
// d = clip(sum over taps of e * weights + bias), padded with zeros. y = clip(d * project_weights + project_bias + sum),
// rounded once to y's type. Sums are float32; what is multiplied in bfloat16 or int16 is rounded before, d among it. A
// source that is expanded by int16 is bfloat16, with kGemmMaxChunk channels at most. The depthwise convolution
// multiplies float32 or, where both products multiply bfloat16 by vectors, bfloat16, too: then e and the weights are
// rounded, and an e that is infinite makes NaNs of the results beside those that meet it.
struct FusedDepthwise {
  ComputeType compute_type = ComputeType::kFloat32;  // in both products
  bool expands = false;
  std::int64_t batch = 1, height = 1, width = 1;  // of the source
  std::int64_t out_height = 1, out_width = 1;
  std::int64_t in_channels = 0, channels = 0, out_channels = 0;  // channels: of the depthwise convolution
  std::int64_t kernel_height = 3, kernel_width = 3, stride = 1;  // strides: 1 or 2
  std::int64_t pad_top = 0, pad_left = 0;
  GemmSource source;
  GemmImage sum, destination;
  Bounds expanded, between, result;
  int num_threads = 1;           // for which there is scratch memory
  std::int64_t cache_bytes = 0;  // second level, of a core; 0: of this CPU

  Gemm Expansion() const;
  Gemm Projection() const;
  constexpr bool multiplies_int16() const { return compute_type == ComputeType::kInt16; }
};

struct FusedDepthwiseData {
  const void* source = nullptr;
  const void* expand_weights = nullptr;  // packed by PackGemmWeights for Expansion()
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
std::size_t PackedDepthwiseBytes(const FusedDepthwise& job);
void PackDepthwiseWeights(const FusedDepthwise& job, const float* weights, float* packed);

std::size_t FusedDepthwiseScratchBytes(const FusedDepthwise& job);

// `scratch`: so many bytes. Splits rows of images among job.num_threads threads; the result does not depend on their
// number. Allocates nothing.
void RunFusedDepthwise(const FusedDepthwise& job, const FusedDepthwiseData& data, void* scratch);

// Rows of the result that are computed together, at most.
std::int64_t FusedDepthwiseStrip(const FusedDepthwise& job);

// Rows that the taps of a row of the result meet, and columns.
constexpr std::int64_t DepthwiseWindowRows(const FusedDepthwise& job) {
  return job.kernel_height > job.stride ? job.kernel_height : job.stride;
}
// Tiles expand 32 positions together, some of them of rows that taps meet later.
constexpr std::int64_t DepthwiseTileWindowRows(const FusedDepthwise& job) {
  return DepthwiseWindowRows(job) + (2 * kGemmTileRows - 1) / (job.width > 0 ? job.width : 1) + 1;
}
constexpr std::int64_t DepthwiseWindowColumns(const FusedDepthwise& job) {
  return (job.out_width - 1) * job.stride + job.kernel_width;
}

// Some rows of the result of one image, and memory for what is between.
struct FusedDepthwisePart {
  std::int64_t image = 0, first_row = 0, num_rows = 0;
  void* source_tiles = nullptr;  // packed rows of the source
  float* window = nullptr;       // 32 channels of what the depthwise convolution reads: [2][row][column][16]
  void* tiles = nullptr;         // packed rows of what it writes, as the product reads them
  // What it writes before that is rounded to int16, [channel / 16][position][channel % 16], and factors of its
  // channels.
  float *between = nullptr, *factors = nullptr;
};

struct FusedDepthwiseTable {
  Isa isa;
  using Run = void (*)(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part);
  Run run[kNumComputeTypes];  // null where there is no code

  static const FusedDepthwiseTable *Generic(), *Avx2(), *Avx512(), *Avx512BF16(), *Avx512AMX(),
      *Avx512VNNI();  // see BestTable
};

// RunFusedDepthwise with a given table, for tests.
void RunFusedDepthwiseWith(const FusedDepthwiseTable& table, const FusedDepthwise& job, const FusedDepthwiseData& data,
                           void* scratch);

}  // namespace amp::kernels
