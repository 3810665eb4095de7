// Convolutions of stride 1, and deconvolutions, by Winograd's algorithm: tiles of the image and the weights are
// transformed, multiplied element by element, summed up over channels and transformed back. That takes 2 to 6 times
// fewer multiplications.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/cpu.h"

namespace amp::kernels {

// How large a tile of the output is (height x width), and in which form transformed tiles and weights are multiplied:
// in float32, as fixed-point numbers of 16 bits, or in bfloat16. Fixed-point numbers have a scale for each tile and
// product, and one for each output channel and product. Their products are summed up in int32 over so many input
// channels as cannot overflow, and in float32 over these. They lose a tenth of what bfloat16's 8 bits would, and CPUs
// that have instructions for them multiply them twice as fast as float32. CPUs with tile registers multiply bfloat16
// many times as fast; what counts there is memory. So their tiles are four columns of one row, whose transforms are the
// smallest: two times fewer multiplications, and sums over the window's rows stay in registers.
// Windows are 3x3, but for those of k1x7 (a row of seven; columns are rows of an image that is seen with its axes
// exchanged), k1x3 (a row of three), k5x5 and k2x2.
enum class WinogradKind : std::uint8_t {
  kF4x4,
  kF2x2,
  kF4x4Int16,
  kF4x2Int16,
  kF2x2Int16,
  kF1x4BF16,
  k1x7,
  k1x3,
  k5x5,
  k2x2,
  k1x7Int16,
  k1x3Int16,
  k5x5Int16,
  k2x2Int16,
};
inline constexpr int kNumWinogradKinds = 14;

// Channel c of group g at (n, y, x) lies n * batch + g * group + c / 16 * block + c % 16 / 8 * half + c % 8 + y * row +
// x * pixel elements behind the beginning: channels last, where `block` is 16, or blocks of 16 or 8 channels where the
// kind knows them.
struct WinogradImage {
  bool is_bf16 = false;  // else float32
  std::int64_t batch = 0, group = 0, block = 0, row = 0, pixel = 0;
  std::int64_t half = 8;   // another number only where WinogradKnowsBlocksOf8
  std::int64_t slice = 0;  // of a volume, from one to the next
};

// y = min(max(x, low), high), x = convolution + bias + sum, in float32, rounded once to y's type. Where it `bends`,
// y = x > 0 ? x : slope * x. A NaN stays one.
struct Winograd {
  WinogradKind kind = WinogradKind::kF4x4;
  std::int64_t batch = 1, groups = 1;
  std::int64_t in_channels = 0, out_channels = 0;  // of one group
  std::int64_t in_height = 0, in_width = 0, out_height = 0, out_width = 0;
  std::int64_t pad_top = 0, pad_left = 0;  // at the other ends: what the output's size asks for
  // A dilated window reads every `dilation`-th row and column. These make an image of their own, with a window that is
  // not dilated; `batch` counts dilation * dilation such images. Sizes and pads are theirs, and strides lead from one
  // of their positions to the next.
  std::int64_t dilation = 1;
  // The stride of a deconvolution, else 0: rows of its result with the same remainder of this, and columns, are the
  // result of a convolution of their own, a phase. Its window is every `stride`-th number of the deconvolution's, the
  // last first; beyond these are zeros. Sizes of the output are a phase's, and strides of its images lead from one of
  // its positions to the next. Pads are what is cut off the deconvolution's result.
  std::int64_t stride = 0;
  std::int64_t kernel_height = 0, kernel_width = 0;  // of a deconvolution
  // In three dimensions a window is `slices` windows. Images are slices of the result, `out_depth` of each volume,
  // which `batch` counts. Input channels are those of the slices that the window sees, one slice after the other: so
  // many of each, a multiple of kWinogradBlock. Slices in front of the source and behind it are zeros. A deconvolution
  // has a stride of 1 from slice to slice.
  std::int64_t slices = 1, in_depth = 1, out_depth = 1, pad_front = 0;
  WinogradImage source, sum, destination;
  float low = 0, high = 0;  // -inf and inf: no bounds
  bool is_leaky = false;
  float slope = 0;      // where there are no slopes of channels
  int num_threads = 1;  // for which there is scratch memory
};

// Functions here that code for instruction sets calls are always inlined: a copy that the linker kept would be of one
// of these sets.

// Where image n begins; of a volume, its first slice.
[[gnu::always_inline]] constexpr std::int64_t WinogradImageAt(const Winograd& job, const WinogradImage& image,
                                                              std::int64_t n) {
  const std::int64_t dilation = job.dilation;
  if (dilation == 1) return (job.out_depth == 1 ? n : n / job.out_depth) * image.batch;
  return n / dilation / dilation * image.batch + n / dilation % dilation * (image.row / dilation) +
         n % dilation * (image.pixel / dilation);
}

struct WinogradData {
  const void* source = nullptr;
  const void* weights = nullptr;  // packed
  const float* bias = nullptr;    // one per output channel, or null
  const void* sum = nullptr;      // null, or an image that is added; may be the destination itself
  void* destination = nullptr;
  const float* slopes = nullptr;  // one per output channel, or null
};

// Whether there is code for this kind; those of float32 always have some.
bool HasWinograd(WinogradKind kind);
// Registers of 32 channels do not.
constexpr bool WinogradKnowsBlocks(WinogradKind kind) { return kind != WinogradKind::kF1x4BF16; }
// Vectors of sixteen numbers do not.
bool WinogradKnowsBlocksOf8(WinogradKind kind);

// These use job's kind, groups and channels, and what it says of a deconvolution. `weights`: (groups *
// out_channels, in_channels, [slices,] height, width of the window), float32, where in_channels counts those of one
// slice. They are transformed in float64 and rounded once.
// Splits the work among the threads of the scope (ParallelFor).
std::size_t PackedWinogradBytes(const Winograd& job);
void PackWinogradWeights(const Winograd& job, const float* weights, void* packed);

std::size_t WinogradScratchBytes(const Winograd& job);

// `scratch`: so many bytes. Splits blocks of tiles, and output channels where tiles are few, among job.num_threads
// threads; the result does not depend on their number. Allocates nothing.
void RunWinograd(const Winograd& job, const WinogradData& data, void* scratch);

// Some tiles of one group, and some of its output channels.
struct WinogradPart {
  WinogradData data;  // of the group; weights and bias from the first of the channels on
  std::int64_t first_tile = 0, num_tiles = 0;
  std::int64_t first_channel = 0, num_channels = 0;  // the first is a multiple of kWinogradColumns
  const float* factors = nullptr;                    // of input channels, where tiles have scales
  // Transformed tiles are [product][channel / 16][tile][channel % 16]; so many elements from one product to the next.
  // Behind all of int16 lie their scales in float32: [product][channel / kWinogradChunk][tile]. For kF1x4BF16 see
  // WinogradGrid.
  std::int64_t tile_stride = 0;
  // The number of output channels, a multiple of kWinogradColumns, that each product of the tiles multiplies, before
  // the next product is, and then transformed.
  std::int64_t strip = 0;
};

// What packed weights hold side by side.
inline constexpr std::int64_t kWinogradColumns = 32;
inline constexpr std::int64_t kWinogradBlock = 16;
// Input channels of a tile register.
inline constexpr std::int64_t kWinogradRegister = 32;

// Rows and columns of the output that a tile has, and of the window.
struct WinogradShape {
  std::int64_t tile_height, tile_width, window_height = 3, window_width = 3;

  // How many numbers of a window there are, and how many products are summed up per tile and pair of channels.
  constexpr std::int64_t window() const { return window_height * window_width; }
  constexpr std::int64_t products() const {
    return (tile_height + window_height - 1) * (tile_width + window_width - 1);
  }
};

struct WinogradKindFacts {
  const char* name;
  WinogradShape shape;
};
// In the order of WinogradKind.
inline constexpr WinogradKindFacts kWinogradKinds[kNumWinogradKinds] = {
    {"winograd_f4x4_f32", {4, 4}},        {"winograd_f2x2_f32", {2, 2}},        {"winograd_f4x4_int16", {4, 4}},
    {"winograd_f4x2_int16", {4, 2}},      {"winograd_f2x2_int16", {2, 2}},      {"winograd_f1x4_bf16", {1, 4}},
    {"winograd_1x7_f32", {1, 4, 1, 7}},   {"winograd_1x3_f32", {1, 4, 1, 3}},   {"winograd_5x5_f32", {4, 4, 5, 5}},
    {"winograd_2x2_f32", {3, 3, 2, 2}},   {"winograd_1x7_int16", {1, 4, 1, 7}}, {"winograd_1x3_int16", {1, 4, 1, 3}},
    {"winograd_5x5_int16", {4, 4, 5, 5}}, {"winograd_2x2_int16", {3, 3, 2, 2}},
};
[[gnu::always_inline]] constexpr const char* WinogradName(WinogradKind kind) {
  return kWinogradKinds[static_cast<int>(kind)].name;
}
[[gnu::always_inline]] constexpr WinogradShape WinogradShapeOf(WinogradKind kind) {
  return kWinogradKinds[static_cast<int>(kind)].shape;
}
// This is a switch: code that knows the kind only at run time branches on it, and divides by constants then.
[[gnu::always_inline]] constexpr bool WinogradMultipliesInt16(WinogradKind kind) {
  switch (kind) {
    case WinogradKind::kF4x4Int16:
    case WinogradKind::kF4x2Int16:
    case WinogradKind::kF2x2Int16:
    case WinogradKind::k1x7Int16:
    case WinogradKind::k1x3Int16:
    case WinogradKind::k5x5Int16:
    case WinogradKind::k2x2Int16:
      return true;
    default:
      return false;
  }
}
// Whether tile registers (AMX) multiply, which hold 16 rows of 32 numbers.
[[gnu::always_inline]] constexpr bool WinogradMultipliesBF16(WinogradKind kind) {
  return kind == WinogradKind::kF1x4BF16;
}
// How many numbers lie side by side in tiles and weights, and are multiplied together.
[[gnu::always_inline]] constexpr std::int64_t WinogradPerUnit(WinogradKind kind) {
  return WinogradMultipliesInt16(kind) || WinogradMultipliesBF16(kind) ? 2 : 1;
}
// Products are [column of the strip][tile][product][channel]; so many numbers from one tile to the next.
[[gnu::always_inline]] constexpr std::int64_t WinogradProductStride(std::int64_t products) {
  return products * kWinogradColumns + kWinogradBlock;
}

// Input channels whose products are summed up in int32; see int16_products.h.
inline constexpr std::int64_t kWinogradChunk = 128;

// Tiles of kF1x4BF16: the image's rows are transformed one by one, as rows of a grid, of which three that follow each
// other give a row of the result. Above and below are rows of padding. A part has some rows of the result, which may be
// of several images. Transformed tiles are [product][channel / 32][position][channel % 32].
struct WinogradGrid {
  static constexpr std::int64_t kProducts = 6, kTogether = 32;
  // Products of positions that are multiplied together are [position][product][channel].
  static constexpr std::int64_t kProductStride = kProducts * kWinogradColumns + kWinogradBlock;

  std::int64_t across = 0;  // positions of a row
  std::int64_t rows = 0;

  constexpr std::int64_t computed() const { return (rows - 2) * across; }  // positions whose products are
  // There is memory for so many: those that are multiplied together fill registers.
  constexpr std::int64_t room() const { return (computed() + kTogether - 1) / kTogether * kTogether + 2 * across; }
  // Elements from one product to the next: an odd number of lines.
  constexpr std::int64_t stride(std::int64_t in_channels) const {
    return ((in_channels + kWinogradRegister - 1) / kWinogradRegister * room() | 1) * kWinogradRegister;
  }
};
// The grid of a part with so many tiles, whose rows are of so many images.
constexpr WinogradGrid WinogradGridOf(const Winograd& job, std::int64_t num_tiles, std::int64_t images) {
  const std::int64_t across = (job.out_width + 3) / 4;
  return {across, num_tiles / across + 2 * images};
}

// Where tiles have scales, a group's packed weights begin with so many floats: a factor for each input channel
// (FindInt16Factors). Channels of the image are multiplied by it before they are transformed, and weights divided.
constexpr std::int64_t WinogradFactors(WinogradKind kind, std::int64_t in_channels) {
  return WinogradMultipliesInt16(kind) ? (in_channels + kWinogradBlock - 1) / kWinogradBlock * kWinogradBlock : 0;
}

// In units. Weights of a register that is not full are zeros.
[[gnu::always_inline]] constexpr std::int64_t WinogradDepth(WinogradKind kind, std::int64_t in_channels) {
  const std::int64_t unit = WinogradPerUnit(kind), step = WinogradMultipliesBF16(kind) ? kWinogradRegister : unit;
  return (in_channels + step - 1) / step * (step / unit);
}
// From one product of packed weights to the next, in elements of them.
[[gnu::always_inline]] constexpr std::int64_t WinogradWeightStride(WinogradKind kind, std::int64_t in_channels) {
  const std::int64_t scales = WinogradMultipliesInt16(kind) ? 2 * kWinogradColumns : 0;
  return WinogradDepth(kind, in_channels) * WinogradPerUnit(kind) * kWinogradColumns + scales;
}

// The slice of the weights that slice `number` of a window is: a deconvolution's last comes first.
[[gnu::always_inline]] constexpr std::int64_t WinogradSlice(const Winograd& job, std::int64_t number) {
  return job.stride > 0 ? job.slices - 1 - number : number;
}

// Along one axis of the weights, the places of a window's numbers: `first`, `first + step`, ... Beyond `size` there are
// zeros.
struct WinogradTaps {
  std::int64_t first = 0, step = 1, size = 0;

  // -1 beyond.
  [[gnu::always_inline]] constexpr std::int64_t At(std::int64_t number) const {
    const std::int64_t place = first + number * step;
    return place < size ? place : -1;
  }
};

// Some weights of one group. One group's packed weights are [channel / 32][product][depth / unit][channel % 32]
// [depth % unit], where depth counts input channels and a unit is two of 16 bits, one of float32. Behind the int16 of a
// product lie 32 scales in float32.
struct WinogradPiece {
  const float* weights = nullptr;  // of the group
  WinogradTaps rows, columns;      // of the window
  const float* factors = nullptr;  // of its input channels, where tiles have scales; weights are divided by them
  std::int64_t first = 0;          // output channel, a multiple of kWinogradColumns: so many of them
  // Input channels, a multiple of the unit: at most kWinogradPieceRows, or all where tiles have scales.
  std::int64_t in = 0, count = 0;
  void* packed = nullptr;           // where the first product of these goes
  std::int64_t product_stride = 0;  // elements
};
inline constexpr std::int64_t kWinogradPieceRows = 4;

// Tiles of one product, from the first of some on, with the scales of int16.
template <class Tile>
struct WinogradRows {
  const Tile* tiles;
  std::int64_t block_stride;  // from one block of channels to the next
  const float* scales;
  std::int64_t scale_stride;  // from one chunk of channels to the next
};

// One column of weights of one product, with the scales of int16.
template <class Tile>
struct WinogradColumn {
  const Tile* weights;
  std::int64_t depth;  // in units
  const float* scales;
};

// What is fetched while a product is computed: of the weights of the next one, so many bytes for each unit of the
// depth.
struct WinogradAhead {
  const char* weights;
  std::int64_t step;
};

struct WinogradTable {
  Isa isa;
  // The functions go by kind; null where there is no code. `scratch` begins at a multiple of 64 bytes.
  using Run = void (*)(const Winograd& job, const WinogradPart& part, void* scratch);
  Run run[kNumWinogradKinds];
  using Pack = void (*)(const Winograd& job, const WinogradPiece& piece);
  Pack pack[kNumWinogradKinds];
  std::int64_t rows;  // tiles that are multiplied together

  static const WinogradTable *Generic(), *Avx2(), *Avx512(), *Avx512AMX(), *Avx512VNNI();  // see BestTable
};

// PackWinogradWeights and RunWinograd with a given table, for tests.
void PackWinogradWeightsWith(const WinogradTable& table, const Winograd& job, const float* weights, void* packed);
void RunWinogradWith(const WinogradTable& table, const Winograd& job, const WinogradData& data, void* scratch);

}  // namespace amp::kernels
