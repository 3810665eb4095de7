#include "kernels/winograd.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/float_bits.h"
#include "kernels/parallel.h"
#include "kernels/winograd_points.h"

namespace amp::kernels {
namespace {

std::int64_t RoundUp(std::int64_t x, std::int64_t to) { return (x + to - 1) / to * to; }
std::int64_t Quotient(std::int64_t x, std::int64_t by) { return (x + by - 1) / by; }

// ---- weights ----

constexpr int kMaxIn = 6;
using Evaluation = std::array<double, kMaxIn>;  // of three weights at each of the points

// Lagrange's factors are in the weights: the other transforms are plain sums of powers.
Evaluation Evaluate(std::int64_t tile, double x, double y, double z) {
  if (tile == 2) return {x, (x + y + z) / 2, (x - y + z) / 2, z};
  constexpr double a = WinogradPoints::kA, b = WinogradPoints::kB, a2 = a * a, b2 = b * b;
  constexpr double factor_0 = 1 / (a2 * b2), factor_a = 0.5 / (a2 * (a2 - b2)), factor_b = 0.5 / (b2 * (b2 - a2));
  const double even_a = (x + a2 * z) * factor_a, odd_a = (a * factor_a) * y;
  const double even_b = (x + b2 * z) * factor_b, odd_b = (b * factor_b) * y;
  return {x * factor_0, even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, z};
}

std::array<Evaluation, kMaxIn> TransformWeights(WinogradKind kind, const float* w) {
  std::array<Evaluation, 3> rows;
  for (int r = 0; r < 3; ++r) rows[r] = Evaluate(WinogradTileWidth(kind), w[3 * r], w[3 * r + 1], w[3 * r + 2]);
  std::array<Evaluation, kMaxIn> result{};
  for (int column = 0; column < WinogradTileWidth(kind) + 2; ++column) {
    const Evaluation y = Evaluate(WinogradTileHeight(kind), rows[0][column], rows[1][column], rows[2][column]);
    for (int row = 0; row < kMaxIn; ++row) result[row][column] = y[row];
  }
  return result;
}

std::int64_t Element(WinogradKind kind) { return WinogradMultipliesBF16(kind) ? 2 : 4; }
std::int64_t PerUnit(WinogradKind kind) { return WinogradMultipliesBF16(kind) ? 2 : 1; }

// One group's weights are [channel / 32][product][depth / unit][channel % 32][depth % unit]; in elements.
std::int64_t PackedDepth(const Winograd& job) { return RoundUp(job.in_channels, PerUnit(job.kind)); }
std::int64_t ProductElements(const Winograd& job) { return PackedDepth(job) * kWinogradColumns; }
std::int64_t ColumnElements(const Winograd& job) { return WinogradProducts(job.kind) * ProductElements(job); }
std::int64_t NumColumns(const Winograd& job) { return Quotient(job.out_channels, kWinogradColumns); }
std::int64_t GroupElements(const Winograd& job) { return NumColumns(job) * ColumnElements(job); }

float RoundedTo(float, double value) { return static_cast<float>(value); }
std::uint16_t RoundedTo(std::uint16_t, double value) { return FloatToBF16(static_cast<float>(value)); }

// Of kRows input channels from `in` on and the output channels of one column: what lies side by side in packed weights,
// for each product. These lie far apart, so they are written in pieces of some lines. Channels beyond the last have
// weights of zero.
constexpr std::int64_t kRows = 4;

template <class T>
void PackRows(const Winograd& job, const float* weights, std::int64_t first, std::int64_t in, T* packed) {
  T piece[kMaxIn * kMaxIn][kRows * kWinogradColumns] = {};
  const std::int64_t unit = PerUnit(job.kind), width = WinogradTileWidth(job.kind) + 2;
  const std::int64_t columns = std::min(kWinogradColumns, job.out_channels - first);
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < std::min(kRows, job.in_channels - in); ++row) {
      const auto transformed =
          TransformWeights(job.kind, weights + ((first + column) * job.in_channels + in + row) * 9);
      const std::int64_t at = row / unit * unit * kWinogradColumns + column * unit + row % unit;
      for (std::int64_t p = 0; p < WinogradProducts(job.kind); ++p) {
        piece[p][at] = RoundedTo(T{}, transformed[p / width][p % width]);
      }
    }
  }
  T* to = packed + first / kWinogradColumns * ColumnElements(job) + in * kWinogradColumns;
  const std::int64_t count = std::min(kRows, PackedDepth(job) - in) * kWinogradColumns;
  for (std::int64_t p = 0; p < WinogradProducts(job.kind); ++p)
    std::copy_n(piece[p], count, to + p * ProductElements(job));
}

// ---- parts ----

struct Split {
  std::int64_t tiles = 0, blocks = 0;        // of tiles
  std::int64_t channels = 0, stretches = 0;  // of output channels
  std::int64_t parts(const Winograd& job) const { return job.groups * blocks * stretches; }
};

std::int64_t NumTiles(const Winograd& job) {
  return job.batch * Quotient(job.out_height, WinogradTileHeight(job.kind)) *
         Quotient(job.out_width, WinogradTileWidth(job.kind));
}

// Elements. An odd number of lines: neighbouring products share no set of a cache.
std::int64_t TileStride(const Winograd& job, std::int64_t tiles) {
  const std::int64_t bytes = tiles * RoundUp(job.in_channels, kWinogradBlock) * Element(job.kind);
  return (Quotient(bytes, 64) | 1) * 64 / Element(job.kind);
}

std::int64_t PartBytes(const Winograd& job, std::int64_t tiles) {
  const std::int64_t products = WinogradProducts(job.kind);
  return RoundUp(products * TileStride(job, tiles) * Element(job.kind) +
                     tiles * WinogradProductStride(products) * static_cast<std::int64_t>(sizeof(float)),
                 64);
}

// About how many cycles of a core a part takes: products, transforms, and what is read again for each column of
// weights. The constants are those of a CPU with AVX-512; what counts is which of two splits is faster.
double PartCycles(const Winograd& job, std::int64_t tiles, std::int64_t channels) {
  constexpr double kFloatsPerCycle = 30, kTransformCycles = 4, kNearBytesPerCycle = 24;
  constexpr std::int64_t kCacheBytes = 900 << 10, kFarBytes = 16 << 20;
  const double bytes_per_cycle = job.groups * GroupElements(job) * Element(job.kind) > kFarBytes ? 7 : 16;
  const auto products = static_cast<double>(WinogradProducts(job.kind) * tiles);
  const double in = static_cast<double>(PackedDepth(job)), out = static_cast<double>(channels);
  const double element = static_cast<double>(Element(job.kind));
  const double multiply = products * in * out / (kFloatsPerCycle * PerUnit(job.kind));
  const double transform = products * (in + out) / kWinogradBlock * kTransformCycles;
  const double weights = products / static_cast<double>(tiles) * in * out * element / bytes_per_cycle;
  // Tiles that do not stay in the cache of the core come from the next for each column.
  const double reads = PartBytes(job, tiles) <= kCacheBytes
                           ? 0
                           : products * in * element * (1 + out / kWinogradColumns) / kNearBytesPerCycle;
  return std::max(multiply, weights + reads) + 0.3 * std::min(multiply, weights + reads) + transform;
}

Split SplitInto(const Winograd& job, std::int64_t blocks, std::int64_t stretches) {
  Split split;
  split.tiles = Quotient(NumTiles(job), blocks);
  split.blocks = Quotient(NumTiles(job), split.tiles);
  split.channels = Quotient(NumColumns(job), stretches) * kWinogradColumns;
  split.stretches = Quotient(job.out_channels, split.channels);
  return split;
}

// Of splits into more and more blocks the fastest. All threads get about the same.
Split SplitJob(const Winograd& job) {
  constexpr std::int64_t kMaxTiles = 512, kMinTiles = 4, kMaxBytes = 4 << 20;  // beyond it memory is what counts
  const std::int64_t tiles = NumTiles(job), columns = NumColumns(job);
  Split best;
  double least = 0;
  for (std::int64_t blocks = Quotient(tiles, kMaxTiles); blocks <= tiles; blocks += Quotient(blocks, 8)) {
    const bool is_last = tiles / blocks < kMinTiles;
    if (!is_last && PartBytes(job, Quotient(tiles, blocks)) > kMaxBytes) continue;
    for (std::int64_t stretches = 1; stretches <= columns; stretches *= 2) {
      const Split split = SplitInto(job, blocks, stretches);
      const double turns = static_cast<double>(Quotient(split.parts(job), job.num_threads));
      const double cycles = turns * PartCycles(job, split.tiles, std::min(split.channels, job.out_channels));
      if (best.tiles == 0 || cycles < least) {
        best = split;
        least = cycles;
      }
    }
    if (is_last) break;
  }
  return best;
}

const char* Moved(const void* data, std::int64_t elements, std::int64_t element) {
  return data == nullptr ? nullptr : static_cast<const char*>(data) + elements * element;
}

const char* GroupOf(const void* data, const WinogradImage& image, std::int64_t group) {
  return Moved(data, group * image.group, image.is_bf16 ? 2 : 4);
}

// Parts that follow each other share tiles of the image.
WinogradPart PartAt(const Winograd& job, const WinogradData& data, const Split& split, std::int64_t i) {
  const std::int64_t stretch = i % split.stretches, block = i / split.stretches % split.blocks;
  const std::int64_t group = i / split.stretches / split.blocks;
  WinogradPart part;
  part.data.source = GroupOf(data.source, job.source, group);
  part.data.weights = Moved(data.weights, group * GroupElements(job), Element(job.kind));
  part.data.bias = data.bias == nullptr ? nullptr : data.bias + group * job.out_channels;
  part.data.sum = GroupOf(data.sum, job.sum, group);
  part.data.destination = const_cast<char*>(GroupOf(data.destination, job.destination, group));
  part.first_tile = block * split.tiles;
  part.num_tiles = std::min(split.tiles, NumTiles(job) - part.first_tile);
  part.first_channel = stretch * split.channels;
  part.num_channels = std::min(split.channels, job.out_channels - part.first_channel);
  part.tile_stride = TileStride(job, part.num_tiles);
  return part;
}

// ---- tables ----

const WinogradTable& Floats() {
  static const WinogradTable& table = BestTable<WinogradTable>(
      {{Isa::kGeneric, WinogradTableGeneric}, {Isa::kAvx2, WinogradTableAvx2}, {Isa::kAvx512, WinogradTableAvx512}});
  return table;
}

// Null where the CPU does not multiply bfloat16.
const WinogradTable* Pairs() {
  static const WinogradTable* table =
      AllowedIsa() >= Isa::kAvx512 && CpuHasBF16() ? WinogradTableAvx512BF16() : nullptr;
  return table;
}

const WinogradTable* TableFor(WinogradKind kind) { return WinogradMultipliesBF16(kind) ? Pairs() : &Floats(); }

}  // namespace

const char* WinogradName(WinogradKind kind) {
  switch (kind) {
    case WinogradKind::kF4x4:
      return "winograd_f4x4_f32";
    case WinogradKind::kF2x2BF16:
      return "winograd_f2x2_bf16";
    case WinogradKind::kF4x2BF16:
      return "winograd_f4x2_bf16";
  }
  return "unknown";
}

bool HasWinograd(WinogradKind kind) { return TableFor(kind) != nullptr; }

bool WinogradKnowsBlocksOf8(WinogradKind kind) { return HasWinograd(kind) && TableFor(kind)->isa < Isa::kAvx512; }

std::size_t PackedWinogradBytes(const Winograd& job) {
  return static_cast<std::size_t>(job.groups * GroupElements(job) * Element(job.kind));
}

void PackWinogradWeights(const Winograd& job, const float* weights, void* packed) {
  const std::int64_t columns = NumColumns(job), pieces = Quotient(job.in_channels, kRows);
  ParallelFor(job.groups * columns * pieces, 4, [&](std::int64_t i) {
    const std::int64_t in = i % pieces * kRows, first = i / pieces % columns * kWinogradColumns;
    const std::int64_t group = i / pieces / columns;
    const float* from = weights + group * job.out_channels * job.in_channels * 9;
    if (WinogradMultipliesBF16(job.kind)) {
      PackRows(job, from, first, in, static_cast<std::uint16_t*>(packed) + group * GroupElements(job));
    } else {
      PackRows(job, from, first, in, static_cast<float*>(packed) + group * GroupElements(job));
    }
  });
}

std::size_t WinogradScratchBytes(const Winograd& job) {
  if (NumTiles(job) == 0) return 0;
  return static_cast<std::size_t>(PartBytes(job, SplitJob(job).tiles) * job.num_threads);
}

void RunWinogradWith(const WinogradTable& table, const Winograd& job, const WinogradData& data, void* scratch) {
  if (NumTiles(job) == 0 || job.groups == 0 || job.out_channels == 0) return;
  const Split split = SplitJob(job);
  const std::int64_t bytes = PartBytes(job, split.tiles);
  const WinogradTable::Run run = table.run[static_cast<int>(job.kind)];
  const ThreadScope threads(job.num_threads);
  ParallelFor(split.parts(job), 1, [&](std::int64_t i) {
    run(job, PartAt(job, data, split, i), static_cast<char*>(scratch) + CurrentPlace().part * bytes);
  });
}

void RunWinograd(const Winograd& job, const WinogradData& data, void* scratch) {
  RunWinogradWith(*TableFor(job.kind), job, data, scratch);
}

}  // namespace amp::kernels
