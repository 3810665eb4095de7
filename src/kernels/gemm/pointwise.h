// Convolutions and dense layers as a blocked matrix product: rows are the positions of an image with channels last, or
// windows around them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"
#include "kernels/elementwise/map.h"

namespace amp::kernels {

// What is multiplied; sums are float32 in all. As int16, sources in bfloat16 lose a tenth of what rounding them to
// bfloat16 does, see int16_products.h.
enum class Multiplies : std::uint8_t { kFloat32, kBFloat16, kInt16 };
inline constexpr std::size_t kNumMultiplies = 3;

// Where the channels of a position begin: n * batch + y * row + x * pixel elements behind the beginning. Strides of the
// convolution are part of these.
struct PointwiseSource {
  bool is_bf16 = false;  // else float32
  std::int64_t batch = 0, row = 0, pixel = 0;
};

// A row is a window of the source instead: its taps one after the other, with so many channels each. Those outside of
// the image are zeros. The source's strides are those of the image then; `stride` and `step` count positions, `step`
// from one tap to the next.
struct PointwiseWindow {
  std::int64_t channels = 0;  // 0: none
  std::int64_t height = 1, width = 1;
  std::int64_t image_height = 0, image_width = 0;
  std::int64_t stride_y = 1, stride_x = 1, step_y = 1, step_x = 1;
  std::int64_t pad_top = 0, pad_left = 0;

  std::int64_t taps() const { return height * width; }
};

// All positions lie `pixel` elements apart.
struct PointwiseImage {
  bool is_bf16 = false;  // else float32
  std::int64_t pixel = 0;
};

// y = min(max(f(product + bias + sum), low), high) in float32, rounded once to y's type. A NaN stays one. With a scale
// the product is that of min(max(source * scale + shift, source_low), source_high).
struct Pointwise {
  Multiplies multiplies = Multiplies::kFloat32;
  bool strassen = false;  // 7 products of half the size instead of 8, see strassen.h; without a scale and a window
  std::int64_t batch = 1, height = 1, width = 1;  // of the result
  std::int64_t in_channels = 0, out_channels = 0;
  PointwiseSource source;
  PointwiseWindow window;  // only without a scale
  PointwiseImage sum, destination;
  float low = 0, high = 0;  // -inf and inf: no bounds
  float source_low = 0, source_high = 0;
  int num_threads = 1;  // for which there is scratch memory

  std::int64_t rows() const { return batch * height * width; }
  constexpr bool multiplies_bf16() const { return multiplies == Multiplies::kBFloat16; }
  constexpr bool multiplies_int16() const { return multiplies == Multiplies::kInt16; }
};

struct PointwiseData {
  const void* source = nullptr;
  const void* weights = nullptr;       // packed
  const float* bias = nullptr;         // one per output channel, or null
  const float* slopes = nullptr;       // the same: y = x > 0 ? x : slope * x, without f and bounds
  const float* scale = nullptr;        // one per input channel, or null
  const float* shift = nullptr;        // where there is a scale
  const void* sum = nullptr;           // null, or an image that is added; may be the destination itself
  const MapStep* functions = nullptr;  // f, see ApplyMapSteps; none: x
  std::size_t num_functions = 0;
  void* destination = nullptr;
};

// Rows that are multiplied together, but by tiles.
std::int64_t PointwiseRowsTogether();

// Whether there is code; there always is for float32.
bool HasPointwise(Multiplies multiplies);

// Of job, these use what is multiplied and how, the channels and the window. `weights`: (out_channels, in_channels),
// with a window (out_channels, channels, height, width), float32. What multiplies bfloat16 or int16 rounds them.
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
  // So many input channels of the rows are packed at a time: a multiple of kPointwiseBlock, and of PointwiseChunk where
  // int16 is multiplied.
  std::int64_t depth = 0;
  const float* factors = nullptr;  // of input channels, where int16 is multiplied: see PointwiseFactors
};

// What packed weights hold side by side.
inline constexpr std::int64_t kPointwiseColumns = 32;
// Packed rows are [channel / 16][row][channel % 16].
inline constexpr std::int64_t kPointwiseBlock = 16;

// From one block of channels to the next, in elements. An odd number of lines: blocks share no set of a cache.
constexpr std::int64_t PointwiseBlockStride(std::int64_t rows) { return (rows | 1) * kPointwiseBlock; }

// ---- tiles (AMX), which multiply bfloat16 ----

// A tile has so many rows, and so many input channels of them.
inline constexpr std::int64_t kPointwiseTileRows = 16, kPointwiseTileDepth = 32;

// Packed rows are [channel / 32][row][channel % 32]: from one block of channels to the next, in elements. The rows fill
// tiles; an odd number of these, so that blocks share few sets of a cache.
constexpr std::int64_t PointwiseTileStride(std::int64_t rows) {
  return ((rows + kPointwiseTileRows - 1) / kPointwiseTileRows | 1) * kPointwiseTileRows * kPointwiseTileDepth;
}

// Where windows move by one position, their taps read the same packed positions of an image, so many of each row at
// least.
inline constexpr std::int64_t kPointwiseLeastGrid = 3;
constexpr bool HasPointwiseGrid(const Pointwise& job) {
  const PointwiseWindow& w = job.window;
  return w.channels > 0 && w.channels % kPointwiseTileDepth == 0 && w.stride_y == 1 && w.stride_x == 1 &&
         job.width + (w.width - 1) * w.step_x >= kPointwiseLeastGrid;
}

// Whether this CPU multiplies them so.
bool UsesPointwiseTiles(const Pointwise& job);

// ---- int16 ----

// So many input channels are summed up in int32: a multiple of 32.
inline constexpr std::int64_t kPointwiseMaxChunk = 384;
constexpr std::int64_t PointwiseChunk(std::int64_t in_channels) {
  constexpr std::int64_t kMax = kPointwiseMaxChunk, kStep = 32;
  const std::int64_t chunks = in_channels <= kMax ? 1 : (in_channels + kMax - 1) / kMax;
  const std::int64_t channels = (in_channels + chunks - 1) / chunks;
  return channels < kStep ? kStep : (channels + kStep - 1) / kStep * kStep;
}
constexpr std::int64_t PointwiseChunks(std::int64_t in_channels) {
  return (in_channels + PointwiseChunk(in_channels) - 1) / PointwiseChunk(in_channels);
}
// Packed weights begin with so many factors of input channels: of each 32 those with even numbers, then the others.
constexpr std::int64_t PointwiseFactors(std::int64_t in_channels) { return (in_channels + 31) / 32 * 32; }
constexpr std::int64_t PointwiseFactorAt(std::int64_t channel) {
  return channel / 32 * 32 + channel % 2 * 16 + channel % 32 / 2;
}

// Elements of a column of packed weights: [depth / unit][channel % 32][depth % unit], for bfloat16 with zeros behind
// the last channel, and for int16 behind these the scales in float32: [chunk][channel % 32].
[[gnu::always_inline]] constexpr std::int64_t PointwiseColumnElements(const Pointwise& job) {
  if (job.multiplies == Multiplies::kFloat32) return job.in_channels * kPointwiseColumns;
  if (job.multiplies_bf16()) {
    return (job.in_channels + kPointwiseTileDepth - 1) / kPointwiseTileDepth * kPointwiseTileDepth * kPointwiseColumns;
  }
  const std::int64_t pairs = (job.in_channels + 1) / 2 * 2 * kPointwiseColumns;
  return pairs + PointwiseChunks(job.in_channels) * kPointwiseColumns * 2;
}

// What is behind the factors, where there are some: columns.
constexpr const void* PointwiseColumnsOf(const Pointwise& job, const void* packed) {
  if (!job.multiplies_int16() || packed == nullptr) return packed;
  return static_cast<const float*>(packed) + PointwiseFactors(job.in_channels);
}

// Behind the packed rows of a part lie, where it multiplies int16, [chunk of the stretch][row] scales and, with a scale
// of the source, this and the shift in the order of factors; then the gathered numbers of a window.
constexpr std::int64_t PointwiseScaleFloats(const Pointwise& job, std::int64_t rows, std::int64_t depth) {
  return depth / PointwiseChunk(job.in_channels) * rows;
}
constexpr std::int64_t PointwiseSpaceBytes(const Pointwise& job, std::int64_t rows, std::int64_t depth) {
  if (!job.multiplies_int16()) return job.window.channels == 0 ? 0 : job.in_channels * 4;
  return (PointwiseScaleFloats(job, rows, depth) + 2 * PointwiseFactors(job.in_channels)) * 4;
}

// What PointwisePart::depth is a multiple of, and that for all input channels.
constexpr std::int64_t PointwiseDepthStep(const Pointwise& job) {
  return job.multiplies_int16() ? PointwiseChunk(job.in_channels) : kPointwiseBlock;
}
constexpr std::int64_t PointwiseFullDepth(const Pointwise& job) {
  const std::int64_t step = PointwiseDepthStep(job);
  return (job.in_channels + step - 1) / step * step;
}

// Packed rows, and what is behind them.
constexpr std::int64_t PointwiseTileBytes(const Pointwise& job, std::int64_t rows, std::int64_t depth) {
  const std::int64_t element = job.multiplies == Multiplies::kFloat32 ? 4 : 2;
  std::int64_t numbers = depth / kPointwiseBlock * PointwiseBlockStride(rows);
  if (job.multiplies_bf16()) {
    const std::int64_t blocks = (depth + kPointwiseTileDepth - 1) / kPointwiseTileDepth;
    const std::int64_t of_tiles = blocks * PointwiseTileStride(rows);
    if (of_tiles > numbers) numbers = of_tiles;
  }
  return numbers * element + PointwiseSpaceBytes(job, rows, depth);
}

struct StrassenPart;

struct PointwiseTable {
  Isa isa;
  // `tiles`, of PointwiseTileBytes, begins at a multiple of 64 bytes; `sums` has a number per row and output channel,
  // the latter rounded up to kPointwiseColumns. It is not used where all input channels are packed at a time.
  using Run = void (*)(const Pointwise& job, const PointwisePart& part, void* tiles, float* sums);
  Run run[kNumMultiplies];  // null where there is no code
  // See strassen.h.
  using RunStrassen = void (*)(const Pointwise& job, const PointwiseData& data, const StrassenPart& part,
                               void* scratch);
  RunStrassen strassen[kNumMultiplies];
  std::int64_t rows;  // that are multiplied together
};
const PointwiseTable* PointwiseTableGeneric();
// Null where the compiler was not told to make code for it.
const PointwiseTable* PointwiseTableAvx2();
const PointwiseTable* PointwiseTableAvx512();
const PointwiseTable* PointwiseTableAvx512BF16();  // only what multiplies bfloat16
const PointwiseTable* PointwiseTableAvx512AMX();   // the same, by tiles
const PointwiseTable* PointwiseTableAvx512VNNI();  // only what multiplies int16

// The same as Run with a given table, for tests.
void RunPointwiseWith(const PointwiseTable& table, const Pointwise& job, const PointwiseData& data, void* scratch);

}  // namespace amp::kernels
