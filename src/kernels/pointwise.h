// 1x1 convolutions and dense layers as a blocked matrix product: rows are the positions of an image with channels last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu.h"
#include "kernels/map.h"

namespace amp::kernels {

// Where the channels of a position begin: n * batch + y * row + x * pixel elements behind the beginning. Strides of the
// convolution are part of these.
struct PointwiseSource {
  bool is_bf16 = false;  // else float32
  std::int64_t batch = 0, row = 0, pixel = 0;
};

// All positions lie `pixel` elements apart.
struct PointwiseImage {
  bool is_bf16 = false;  // else float32
  std::int64_t pixel = 0;
};

// y = min(max(f(product + bias + sum), low), high) in float32, rounded once to y's type. A NaN stays one. With a scale
// the product is that of min(max(source * scale + shift, source_low), source_high).
struct Pointwise {
  bool multiplies_bf16 = false;                   // else float32; sums are float32 in both
  std::int64_t batch = 1, height = 1, width = 1;  // of the result
  std::int64_t in_channels = 0, out_channels = 0;
  PointwiseSource source;
  PointwiseImage sum, destination;
  float low = 0, high = 0;  // -inf and inf: no bounds
  float source_low = 0, source_high = 0;
  int num_threads = 1;  // for which there is scratch memory

  std::int64_t rows() const { return batch * height * width; }
};

struct PointwiseData {
  const void* source = nullptr;
  const void* weights = nullptr;       // packed
  const float* bias = nullptr;         // one per output channel, or null
  const float* scale = nullptr;        // one per input channel, or null
  const float* shift = nullptr;        // where there is a scale
  const void* sum = nullptr;           // null, or an image that is added; may be the destination itself
  const MapStep* functions = nullptr;  // f, see ApplyMapSteps; none: x
  std::size_t num_functions = 0;
  void* destination = nullptr;
};

// Whether there is code that multiplies bfloat16; there always is for float32.
bool HasPointwiseBF16();

// Of job, these use the dtype of products, and the channels. `weights`: (out_channels, in_channels), float32. What
// multiplies bfloat16 rounds them.
std::size_t PackedPointwiseBytes(const Pointwise& job);
void PackPointwiseWeights(const Pointwise& job, const float* weights, void* packed);

std::size_t PointwiseScratchBytes(const Pointwise& job);

// `scratch`: so many bytes. Splits rows, and output channels where rows are few, among job.num_threads threads; the
// result does not depend on their number. Allocates nothing.
void RunPointwise(const Pointwise& job, const PointwiseData& data, void* scratch);

// Some rows, and some output channels.
struct PointwisePart {
  PointwiseData data;  // weights, and what there is per output channel, from the first of the channels on
  std::int64_t first_row = 0, num_rows = 0;
  std::int64_t num_channels = 0;
  std::int64_t depth = 0;  // so many input channels of the rows are packed at a time: a multiple of kPointwiseBlock
};

// What packed weights hold side by side.
inline constexpr std::int64_t kPointwiseColumns = 32;
// Packed rows are [channel / 16][row][channel % 16].
inline constexpr std::int64_t kPointwiseBlock = 16;

// From one block of channels to the next, in elements. An odd number of lines: blocks share no set of a cache.
constexpr std::int64_t PointwiseBlockStride(std::int64_t rows) { return (rows | 1) * kPointwiseBlock; }

struct PointwiseTable {
  Isa isa;
  // `tiles`, for packed rows, begins at a multiple of 64 bytes; `sums` has a number per row and output channel, the
  // latter rounded up to kPointwiseColumns. It is not used where all input channels are packed at a time.
  using Run = void (*)(const Pointwise& job, const PointwisePart& part, void* tiles, float* sums);
  Run run[2];         // by multiplies_bf16; null where there is no code
  std::int64_t rows;  // that are multiplied together
};
const PointwiseTable* PointwiseTableGeneric();
// Null where the compiler was not told to make code for it.
const PointwiseTable* PointwiseTableAvx2();
const PointwiseTable* PointwiseTableAvx512();
const PointwiseTable* PointwiseTableAvx512BF16();  // only what multiplies bfloat16

// The same as Run with a given table, for tests.
void RunPointwiseWith(const PointwiseTable& table, const Pointwise& job, const PointwiseData& data, void* scratch);

}  // namespace amp::kernels
