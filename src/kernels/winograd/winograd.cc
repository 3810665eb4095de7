#include "kernels/winograd/winograd.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/base/int16_products.h"
#include "kernels/base/round_up.h"
#include "kernels/threads/partition.h"

namespace amp::kernels {
namespace {

// ---- weights ----

std::int64_t Element(WinogradKind kind) { return 4 / WinogradPerUnit(kind); }

// In elements.
std::int64_t PackedDepth(const Winograd& job) {
  return WinogradDepth(job.kind, job.in_channels) * WinogradPerUnit(job.kind);
}
std::int64_t ProductElements(const Winograd& job) { return WinogradWeightStride(job.kind, job.in_channels); }
std::int64_t ColumnElements(const Winograd& job) { return WinogradShapeOf(job.kind).products() * ProductElements(job); }
std::int64_t NumColumns(const Winograd& job) { return CeilDiv(job.out_channels, kWinogradColumns); }
std::int64_t FactorElements(const Winograd& job) {
  return WinogradFactors(job.kind, job.in_channels) * static_cast<std::int64_t>(sizeof(float)) / Element(job.kind);
}
std::int64_t GroupElements(const Winograd& job) { return FactorElements(job) + NumColumns(job) * ColumnElements(job); }

// Numbers of the weights for each pair of channels.
std::int64_t WindowElements(const Winograd& job) {
  return job.stride > 0 ? job.kernel_height * job.kernel_width : WinogradShapeOf(job.kind).window();
}

// Finds the factors of the weights of a group.
void FindFactors(const Winograd& job, const float* weights, float* factors) {
  const auto count = static_cast<std::size_t>(job.in_channels);
  const std::int64_t window = WindowElements(job);
  std::vector<double> squares(count);
  const std::int64_t of_slice = job.in_channels / job.slices;
  for (std::int64_t i = 0; i < job.out_channels * job.in_channels * window; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    const std::int64_t slice = i / window % job.slices, channel = i / window / job.slices % of_slice;
    squares[static_cast<std::size_t>(WinogradSlice(job, slice) * of_slice + channel)] += weight * weight;
  }
  std::fill_n(factors, WinogradFactors(job.kind, job.in_channels), 1.0f);
  FindInt16Factors(squares.data(), job.in_channels, factors);
}

// ---- phases ----

std::int64_t Stride(const Winograd& job) { return std::max<std::int64_t>(job.stride, 1); }
std::int64_t NumPhases(const Winograd& job) { return Stride(job) * Stride(job); }

// One axis of a phase: what the image is padded with in front, and where the window's numbers are among the weights.
struct PhaseAxis {
  std::int64_t pad;
  WinogradTaps numbers;
};

// The axis of the rows of the result with this remainder. Number j of a deconvolution's kernel leads from row i of the
// source to row `stride` i + j - pad of the result.
PhaseAxis AxisOfPhase(std::int64_t stride, std::int64_t remainder, std::int64_t pad, std::int64_t kernel,
                      std::int64_t window) {
  if (stride == 0) return {pad, {0, 1, window}};
  const std::int64_t last = (remainder + pad) % stride;
  return {window - 1 - (remainder + pad) / stride, {last + stride * (window - 1), -stride, kernel}};
}
PhaseAxis RowsOfPhase(const Winograd& job, std::int64_t phase) {
  return AxisOfPhase(job.stride, phase / Stride(job), job.pad_top, job.kernel_height,
                     WinogradShapeOf(job.kind).window_height);
}
PhaseAxis ColumnsOfPhase(const Winograd& job, std::int64_t phase) {
  return AxisOfPhase(job.stride, phase % Stride(job), job.pad_left, job.kernel_width,
                     WinogradShapeOf(job.kind).window_width);
}

// The convolution that it is.
Winograd JobOfPhase(const Winograd& job, std::int64_t phase) {
  Winograd convolution = job;
  convolution.pad_top = RowsOfPhase(job, phase).pad;
  convolution.pad_left = ColumnsOfPhase(job, phase).pad;
  convolution.pad_front = WinogradSlice(job, job.pad_front);
  return convolution;
}

// Where a phase begins, from where the image does.
std::int64_t OffsetOfPhase(const Winograd& job, const WinogradImage& image, std::int64_t phase) {
  return phase / Stride(job) * (image.row / Stride(job)) + phase % Stride(job) * (image.pixel / Stride(job));
}

// ---- parts ----

std::int64_t NumTiles(const Winograd& job) {
  return job.batch * CeilDiv(job.out_height, WinogradShapeOf(job.kind).tile_height) *
         CeilDiv(job.out_width, WinogradShapeOf(job.kind).tile_width);
}

std::int64_t TilesAcross(const Winograd& job) { return CeilDiv(job.out_width, WinogradShapeOf(job.kind).tile_width); }

// Its rows are tiles, its groups those of all phases.
SharedWork WorkOf(const Winograd& job) {
  return {.groups = NumPhases(job) * job.groups,
          .rows = NumTiles(job),
          .row_step = WinogradMultipliesBF16(job.kind) ? TilesAcross(job) : 1,
          .channels = job.out_channels,
          .column = kWinogradColumns,
          .num_threads = job.num_threads};
}

// Elements. An odd number of lines: neighbouring products share no set of a cache.
std::int64_t TileStride(const Winograd& job, std::int64_t tiles) {
  const std::int64_t bytes = tiles * RoundUp(job.in_channels, kWinogradBlock) * Element(job.kind);
  return (CeilDiv(bytes, 64) | 1) * 64 / Element(job.kind);
}

std::int64_t ScaleBytes(const Winograd& job, std::int64_t tiles) {
  if (!WinogradMultipliesInt16(job.kind)) return 0;
  return WinogradShapeOf(job.kind).products() * CeilDiv(job.in_channels, kWinogradChunk) * tiles *
         static_cast<std::int64_t>(sizeof(float));
}

// The scratch memory of a part: transformed tiles with their scales, then products.
struct PartBytes {
  std::int64_t tiles = 0, products = 0;
  std::int64_t both() const { return RoundUp(tiles + products, 64); }
};

// The largest grid of a part that begins anywhere, by the images that its rows may be of.
WinogradGrid LargestGrid(const Winograd& job, const Partition& split) {
  const std::int64_t rows = split.rows / TilesAcross(job), height = job.out_height;
  const bool is_even = rows % height == 0 || height % rows == 0;
  return WinogradGridOf(job, split.rows, is_even ? CeilDiv(rows, height) : (height + rows - 2) / height + 1);
}

PartBytes BytesOf(const Winograd& job, const Partition& split) {
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  if (WinogradMultipliesBF16(job.kind)) {
    // Products of some positions are transformed back while those of the next are computed.
    return {WinogradGrid::kProducts * LargestGrid(job, split).stride(job.in_channels) * Element(job.kind),
            2 * WinogradGrid::kTogether * WinogradGrid::kProductStride * kFloat};
  }
  const std::int64_t products = WinogradShapeOf(job.kind).products(), columns = split.strip / kWinogradColumns;
  return {products * TileStride(job, split.rows) * Element(job.kind) + ScaleBytes(job, split.rows),
          columns * split.rows * WinogradProductStride(products) * kFloat};
}

// About how many cycles of a core a part takes: products, transforms, and what is read again. The constants are those
// of CPUs with AVX-512, per vector; what counts is which of two splits is faster.
double PartCycles(const Winograd& job, const Partition& split) {
  const auto lanes = static_cast<double>(VectorFloats()), floats_per_cycle = 1.9 * lanes;
  constexpr double kTransformCycles = 5, kNearBytesPerCycle = 14;
  constexpr std::int64_t kFarBytes = 16 << 20;
  const std::int64_t cache_bytes = std::min<std::int64_t>(700 << 10, SecondLevelCacheBytes() / 8 * 7);
  const bool is_far = NumPhases(job) * job.groups * GroupElements(job) * Element(job.kind) > kFarBytes;
  // Threads that read the same weights at about the same time share the way from memory.
  const double bytes_per_cycle = (is_far ? 7 : 16) / (split.stretches > 1 && job.num_threads > 1 ? 1.85 : 1.0);
  const std::int64_t channels = std::min(split.channels, job.out_channels);
  const auto products = static_cast<double>(WinogradShapeOf(job.kind).products() * split.rows);
  const auto in = static_cast<double>(PackedDepth(job)), out = static_cast<double>(channels);
  const auto element = static_cast<double>(Element(job.kind));
  const double multiply = products * in * out / (floats_per_cycle * WinogradPerUnit(job.kind));
  const double transform = products * (in + out) / lanes * kTransformCycles;
  const double weight_bytes = products / static_cast<double>(split.rows) * in * out * element;
  const double weights = weight_bytes / bytes_per_cycle;
  // What does not stay in the cache of the core comes from the next: tiles for each strip, products once. Few weights
  // stay beside them.
  const PartBytes bytes = BytesOf(job, split);
  const auto strips = static_cast<double>(CeilDiv(channels, split.strip));
  const double again = static_cast<double>(bytes.tiles) * (1 + strips) + 2 * products * out * sizeof(float);
  const double beside = weight_bytes < static_cast<double>(cache_bytes) / 2 ? weight_bytes : 0;
  const double reads =
      static_cast<double>(bytes.both()) + beside <= static_cast<double>(cache_bytes) ? 0 : again / kNearBytesPerCycle;
  return std::max(multiply, weights) + 0.3 * std::min(multiply, weights) + reads + transform;
}

// PartCycles for tile registers, which multiply 512 pairs in a cycle. Products are transformed back meanwhile.
double GridCycles(const Winograd& job, const Partition& split) {
  constexpr double kPairsPerCycle = 400, kTransformCycles = 3, kFarBytesPerCycle = 8;
  const WinogradGrid grid = LargestGrid(job, split);
  const auto in = static_cast<double>(PackedDepth(job));
  const auto out = static_cast<double>(std::min(split.channels, job.out_channels));
  const auto weights = static_cast<double>(WinogradShapeOf(job.kind).products()) * in * out;
  const double multiply = weights * static_cast<double>(grid.room() - 2 * grid.across) / kPairsPerCycle;
  const double read = weights * static_cast<double>(Element(job.kind)) / kFarBytesPerCycle;
  const double transform =
      static_cast<double>(grid.rows * grid.across * WinogradGrid::kProducts) * in / kWinogradBlock * kTransformCycles;
  return std::max(multiply, read) + 0.3 * std::min(multiply, read) + transform;
}

// Rows of the result whose transformed tiles stay in the cache of a core, beside a column of weights.
std::int64_t GridRowsInCache(const Winograd& job) {
  const std::int64_t column = WinogradShapeOf(job.kind).products() * ProductElements(job) * Element(job.kind);
  const std::int64_t row = WinogradGrid::kProducts * TilesAcross(job) * PackedDepth(job) * Element(job.kind);
  return std::max<std::int64_t>((SecondLevelCacheBytes() / 2 - column) / row - 2, 1);
}

Partition SplitGrid(const Winograd& job) {
  const SharedWork work = WorkOf(job);
  const std::int64_t least_blocks = CeilDiv(work.rows / work.row_step, GridRowsInCache(job));
  return FastestOfManyParts(work, least_blocks, 4 * job.num_threads, [&](Partition* split) {
    split->strip = kWinogradColumns;
    return GridCycles(job, *split);
  });
}

// Strips are one column or all channels of a part.
Partition SplitTiles(const Winograd& job) {
  constexpr std::int64_t kMaxTiles = 512, kMinTiles = 4, kMaxBytes = 4 << 20;  // beyond it memory is what counts
  const std::int64_t tiles = NumTiles(job), first = CeilDiv(tiles, kMaxTiles);
  bool is_last = tiles / first < kMinTiles;
  const auto next = [&](std::int64_t blocks) -> std::int64_t {
    if (is_last) return 0;
    blocks += CeilDiv(blocks, 8);
    is_last = tiles / blocks < kMinTiles;
    return blocks;
  };
  const auto cycles_with = [&](Partition* split, std::int64_t strip) {
    split->strip = strip;
    const bool is_too_large = !is_last && BytesOf(job, *split).both() > kMaxBytes;
    return is_too_large ? std::numeric_limits<double>::infinity() : PartCycles(job, *split);
  };
  return FastestPartition(WorkOf(job), first, next, NumColumns(job), [&](Partition* split) {
    const double of_all = cycles_with(split, split->channels), of_one = cycles_with(split, kWinogradColumns);
    if (of_all < of_one) split->strip = split->channels;
    return std::min(of_all, of_one);
  });
}

Partition SplitProblem(const Winograd& job) {
  return WinogradMultipliesBF16(job.kind) ? SplitGrid(job) : SplitTiles(job);
}

const char* GroupOf(const void* data, const WinogradImage& image, std::int64_t group) {
  return Offset(data, group * image.group * (image.is_bf16 ? 2 : 4));
}

// Where a group of a phase begins.
const char* PhaseOf(const Winograd& job, const void* data, const WinogradImage& image, std::int64_t phase,
                    std::int64_t group) {
  return Offset(GroupOf(data, image, group), OffsetOfPhase(job, image, phase) * (image.is_bf16 ? 2 : 4));
}

WinogradPart PartAt(const Winograd& job, const WinogradData& data, const Partition& split, const PartOfWork& place) {
  const std::int64_t phase = place.group / job.groups, group = place.group % job.groups;
  WinogradPart part;
  part.data.source = GroupOf(data.source, job.source, group);
  const char* packed = Offset(data.weights, place.group * GroupElements(job) * Element(job.kind));
  if (WinogradMultipliesInt16(job.kind)) part.factors = reinterpret_cast<const float*>(packed);
  part.data.weights = Offset(packed, FactorElements(job) * Element(job.kind));
  part.data.bias = Offset(data.bias, group * job.out_channels);
  part.data.slopes = Offset(data.slopes, group * job.out_channels);
  part.data.sum = PhaseOf(job, data.sum, job.sum, phase, group);
  part.data.destination = const_cast<char*>(PhaseOf(job, data.destination, job.destination, phase, group));
  part.first_tile = place.first_row;
  part.num_tiles = place.num_rows;
  part.first_channel = place.first_channel;
  part.num_channels = place.num_channels;
  part.tile_stride = TileStride(job, part.num_tiles);
  part.strip = split.strip;
  return part;
}

// ---- tables ----

// Null where there is no code for the CPU.
const WinogradTable* Integers() {
  static const WinogradTable* table = Int16Table<WinogradTable>();
  return table;
}

// Null where the CPU has no tile registers.
const WinogradTable* Registers() {
  static const WinogradTable* table = AllowsTiles() ? WinogradTable::Avx512AMX() : nullptr;
  return table;
}

const WinogradTable* TableFor(WinogradKind kind) {
  if (WinogradMultipliesBF16(kind)) return Registers();
  return WinogradMultipliesInt16(kind) ? Integers() : &BestTable<WinogradTable>();
}

}  // namespace

bool HasWinograd(WinogradKind kind) { return TableFor(kind) != nullptr; }

bool WinogradKnowsBlocksOf8(WinogradKind kind) { return HasWinograd(kind) && TableFor(kind)->isa < Isa::kAvx512; }

std::size_t PackedWinogradBytes(const Winograd& job) {
  return static_cast<std::size_t>(NumPhases(job) * job.groups * GroupElements(job) * Element(job.kind));
}

void PackWinogradWeightsWith(const WinogradTable& table, const Winograd& job, const float* weights, void* packed) {
  // The scales of int16 are those of all input channels. Pieces fill whole registers of channels: weights of zero stand
  // behind the last channel.
  const std::int64_t rows = WinogradMultipliesInt16(job.kind) ? PackedDepth(job) : kWinogradPieceRows;
  const std::int64_t columns = NumColumns(job), pieces = CeilDiv(PackedDepth(job), rows);
  const std::int64_t group_weights = job.out_channels * job.in_channels * WindowElements(job);
  const WinogradTable::Pack pack = table.pack[static_cast<int>(job.kind)];
  const std::int64_t groups = NumPhases(job) * job.groups;  // of all phases
  const auto factors_of = [&](std::int64_t group) {
    return reinterpret_cast<float*>(static_cast<char*>(packed) + group * GroupElements(job) * Element(job.kind));
  };
  for (std::int64_t group = 0; group < (WinogradMultipliesInt16(job.kind) ? groups : 0); ++group) {
    if (group < job.groups) {
      FindFactors(job, weights + group * group_weights, factors_of(group));
    } else {  // phases have those of all weights
      std::copy_n(factors_of(group % job.groups), WinogradFactors(job.kind, job.in_channels), factors_of(group));
    }
  }
  ParallelFor(groups * columns * pieces, 4, [&](std::int64_t i) {
    const std::int64_t column = i / pieces % columns, group = i / pieces / columns;
    WinogradPiece piece;
    piece.weights = weights + group % job.groups * group_weights;
    piece.rows = RowsOfPhase(job, group / job.groups).numbers;
    piece.columns = ColumnsOfPhase(job, group / job.groups).numbers;
    piece.first = column * kWinogradColumns;
    piece.in = i % pieces * rows;
    piece.count = std::min(rows, PackedDepth(job) - piece.in);
    piece.product_stride = ProductElements(job);
    if (WinogradMultipliesInt16(job.kind)) piece.factors = factors_of(group);
    const std::int64_t to =
        group * GroupElements(job) + FactorElements(job) + column * ColumnElements(job) + piece.in * kWinogradColumns;
    piece.packed = static_cast<char*>(packed) + to * Element(job.kind);
    pack(job, piece);
  });
}

void PackWinogradWeights(const Winograd& job, const float* weights, void* packed) {
  PackWinogradWeightsWith(*TableFor(job.kind), job, weights, packed);
}

std::size_t WinogradScratchBytes(const Winograd& job) {
  if (NumTiles(job) == 0) return 0;
  return static_cast<std::size_t>(BytesOf(job, SplitProblem(job)).both() * job.num_threads);
}

void RunWinogradWith(const WinogradTable& table, const Winograd& job, const WinogradData& data, void* scratch) {
  if (NumTiles(job) == 0 || job.groups == 0 || job.out_channels == 0) return;
  const Partition split = SplitProblem(job);
  const WinogradTable::Run run = table.run[static_cast<int>(job.kind)];
  split.ForEach(scratch, BytesOf(job, split).both(), [&](const PartOfWork& place, char* memory) {
    run(JobOfPhase(job, place.group / job.groups), PartAt(job, data, split, place), memory);
  });
}

void RunWinograd(const Winograd& job, const WinogradData& data, void* scratch) {
  RunWinogradWith(*TableFor(job.kind), job, data, scratch);
}

}  // namespace amp::kernels
