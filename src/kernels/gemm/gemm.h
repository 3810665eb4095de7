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
enum class ComputeType : std::uint8_t { kFloat32, kBFloat16, kInt16 };
inline constexpr std::size_t kNumComputeTypes = 3;

// Where the channels of a position begin: n * batch + y * row + x * pixel elements behind the beginning. Strides of the
// convolution are part of these.
struct GemmSource {
  bool is_bf16 = false;  // else float32
  std::int64_t batch = 0, row = 0, pixel = 0;
};

// A row is a window of the source instead: its taps one after the other, with so many channels each. Those outside of
// the image are zeros. The source's strides are those of the image then; `stride` and `step` count positions, `step`
// from one tap to the next.
struct GemmWindow {
  std::int64_t channels = 0;  // 0: none
  std::int64_t height = 1, width = 1;
  std::int64_t image_height = 0, image_width = 0;
  std::int64_t stride_y = 1, stride_x = 1, step_y = 1, step_x = 1;
  std::int64_t pad_top = 0, pad_left = 0;

  std::int64_t taps() const { return height * width; }
};

// All positions lie `pixel` elements apart.
struct GemmImage {
  bool is_bf16 = false;  // else float32
  std::int64_t pixel = 0;
};

// y = min(max(f(product + bias + sum), low), high) in float32, rounded once to y's type. A NaN stays one. With a scale
// the product is that of min(max(source * scale + shift, source_low), source_high).
struct Gemm {
  ComputeType compute_type = ComputeType::kFloat32;
  bool strassen = false;  // 7 products of half the size instead of 8, see strassen.h; without a scale and a window
  std::int64_t batch = 1, height = 1, width = 1;  // of the result
  std::int64_t in_channels = 0, out_channels = 0;
  GemmSource source = {};
  GemmWindow window = {};  // only without a scale
  GemmImage sum = {}, destination = {};
  float low = 0, high = 0;  // -inf and inf: no bounds
  float source_low = 0, source_high = 0;
  int num_threads = 1;  // for which there is scratch memory

  std::int64_t rows() const { return batch * height * width; }
  constexpr bool multiplies_bf16() const { return compute_type == ComputeType::kBFloat16; }
  constexpr bool multiplies_int16() const { return compute_type == ComputeType::kInt16; }
};

struct GemmData {
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
std::int64_t GemmRowsTogether();

// Whether there is code; there always is for float32.
bool HasGemm(ComputeType compute_type);

// These use how job multiplies, its channels and its window. `weights`: (out_channels, in_channels), with a window
// (out_channels, channels, height, width), float32. What multiplies bfloat16 or int16 rounds them.
std::size_t PackedGemmBytes(const Gemm& job);
void PackGemmWeights(const Gemm& job, const float* weights, void* packed);

std::size_t GemmScratchBytes(const Gemm& job);

// `scratch`: so many bytes. Splits rows, and output channels where rows are few, among job.num_threads threads; the
// result does not depend on their number. Allocates nothing.
void RunGemm(const Gemm& job, const GemmData& data, void* scratch);

// Some rows, and some output channels.
struct GemmPart {
  GemmData data;  // weights, and what there is per output channel, from the first of the channels on
  std::int64_t first_row = 0, num_rows = 0;
  std::int64_t num_channels = 0;
  // The number of input channels of the rows that are packed at a time: a multiple of kGemmBlock, and of GemmChunk
  // where int16 is multiplied.
  std::int64_t depth = 0;
  const float* factors = nullptr;  // of input channels, where int16 is multiplied: see GemmFactors
};

// What packed weights hold side by side.
inline constexpr std::int64_t kGemmColumns = 32;
// Packed rows are [channel / 16][row][channel % 16].
inline constexpr std::int64_t kGemmBlock = 16;

// From one block of channels to the next, in elements. An odd number of lines: blocks share no set of a cache.
constexpr std::int64_t GemmBlockStride(std::int64_t rows) { return (rows | 1) * kGemmBlock; }

// ---- tiles (AMX), which multiply bfloat16 ----

// A tile has so many rows, and so many input channels of them.
inline constexpr std::int64_t kGemmTileRows = 16, kGemmTileDepth = 32;

// Packed rows are [channel / 32][row][channel % 32]: from one block of channels to the next, in elements. The rows fill
// tiles; an odd number of these, so that blocks share few sets of a cache.
constexpr std::int64_t GemmTileStride(std::int64_t rows) {
  return ((rows + kGemmTileRows - 1) / kGemmTileRows | 1) * kGemmTileRows * kGemmTileDepth;
}

// Where windows move by one position, their taps read the same packed positions of an image, so many of each row at
// least.
inline constexpr std::int64_t kGemmLeastGrid = 3;
constexpr bool HasGemmGrid(const Gemm& job) {
  const GemmWindow& w = job.window;
  return w.channels > 0 && w.channels % kGemmTileDepth == 0 && w.stride_y == 1 && w.stride_x == 1 &&
         job.width + (w.width - 1) * w.step_x >= kGemmLeastGrid;
}

// Whether this CPU multiplies them so.
bool UsesGemmTiles(const Gemm& job);

// ---- int16 ----

// The most input channels that are summed up in int32: a multiple of 32.
inline constexpr std::int64_t kGemmMaxChunk = 384;
constexpr std::int64_t GemmChunk(std::int64_t in_channels) {
  constexpr std::int64_t kMax = kGemmMaxChunk, kStep = 32;
  const std::int64_t chunks = in_channels <= kMax ? 1 : (in_channels + kMax - 1) / kMax;
  const std::int64_t channels = (in_channels + chunks - 1) / chunks;
  return channels < kStep ? kStep : (channels + kStep - 1) / kStep * kStep;
}
constexpr std::int64_t GemmChunks(std::int64_t in_channels) {
  return (in_channels + GemmChunk(in_channels) - 1) / GemmChunk(in_channels);
}
// Packed weights begin with so many factors of input channels: of each 32 those with even numbers, then the others.
constexpr std::int64_t GemmFactors(std::int64_t in_channels) { return (in_channels + 31) / 32 * 32; }
constexpr std::int64_t GemmFactorAt(std::int64_t channel) {
  return channel / 32 * 32 + channel % 2 * 16 + channel % 32 / 2;
}

// Elements of a column of packed weights: [depth / unit][channel % 32][depth % unit], for bfloat16 with zeros behind
// the last channel, and for int16 behind these the scales in float32: [chunk][channel % 32].
[[gnu::always_inline]] constexpr std::int64_t GemmColumnElements(const Gemm& job) {
  if (job.compute_type == ComputeType::kFloat32) return job.in_channels * kGemmColumns;
  if (job.multiplies_bf16()) {
    return (job.in_channels + kGemmTileDepth - 1) / kGemmTileDepth * kGemmTileDepth * kGemmColumns;
  }
  const std::int64_t pairs = (job.in_channels + 1) / 2 * 2 * kGemmColumns;
  return pairs + GemmChunks(job.in_channels) * kGemmColumns * 2;
}

// What is behind the factors, where there are some: columns.
constexpr const void* GemmColumnsOf(const Gemm& job, const void* packed) {
  if (!job.multiplies_int16() || packed == nullptr) return packed;
  return static_cast<const float*>(packed) + GemmFactors(job.in_channels);
}

// Behind the packed rows of a part lie, where it multiplies int16, [chunk of the stretch][row] scales and, with a scale
// of the source, this and the shift in the order of factors; then the gathered numbers of a window.
constexpr std::int64_t GemmScaleFloats(const Gemm& job, std::int64_t rows, std::int64_t depth) {
  return depth / GemmChunk(job.in_channels) * rows;
}
constexpr std::int64_t GemmSpaceBytes(const Gemm& job, std::int64_t rows, std::int64_t depth) {
  if (!job.multiplies_int16()) return job.window.channels == 0 ? 0 : job.in_channels * 4;
  return (GemmScaleFloats(job, rows, depth) + 2 * GemmFactors(job.in_channels)) * 4;
}

// What GemmPart::depth is a multiple of, and that for all input channels.
constexpr std::int64_t GemmDepthStep(const Gemm& job) {
  return job.multiplies_int16() ? GemmChunk(job.in_channels) : kGemmBlock;
}
constexpr std::int64_t GemmFullDepth(const Gemm& job) {
  const std::int64_t step = GemmDepthStep(job);
  return (job.in_channels + step - 1) / step * step;
}

// Packed rows, and what is behind them.
constexpr std::int64_t GemmTileBytes(const Gemm& job, std::int64_t rows, std::int64_t depth) {
  const std::int64_t element = job.compute_type == ComputeType::kFloat32 ? 4 : 2;
  std::int64_t numbers = depth / kGemmBlock * GemmBlockStride(rows);
  if (job.multiplies_bf16()) {
    const std::int64_t blocks = (depth + kGemmTileDepth - 1) / kGemmTileDepth;
    const std::int64_t of_tiles = blocks * GemmTileStride(rows);
    if (of_tiles > numbers) numbers = of_tiles;
  }
  return numbers * element + GemmSpaceBytes(job, rows, depth);
}

struct StrassenPart;

struct GemmTable {
  Isa isa;
  // `tiles`, of GemmTileBytes, begins at a multiple of 64 bytes; `sums` has a number per row and output channel,
  // the latter rounded up to kGemmColumns. It is not used where all input channels are packed at a time.
  using Run = void (*)(const Gemm& job, const GemmPart& part, void* tiles, float* sums);
  Run run[kNumComputeTypes];  // null where there is no code
  // See strassen.h.
  using RunStrassen = void (*)(const Gemm& job, const GemmData& data, const StrassenPart& part, void* scratch);
  RunStrassen strassen[kNumComputeTypes];
  std::int64_t rows;  // that are multiplied together

  static const GemmTable *Generic(), *Avx2(), *Avx512(), *Avx512BF16(), *Avx512AMX(), *Avx512VNNI();  // see BestTable
};

// RunGemm with a given table, for tests.
void RunGemmWith(const GemmTable& table, const Gemm& job, const GemmData& data, void* scratch);

}  // namespace amp::kernels
