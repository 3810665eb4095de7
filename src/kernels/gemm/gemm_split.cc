#include <algorithm>

#include "kernels/gemm/gemm_weights.h"

namespace amp::kernels {
namespace {

// About how many cycles of a core a part takes. The constants are those of a CPU with AVX-512, per vector; what counts
// is which of two splits is faster.
double PartCycles(const Gemm& job, const Partition& split) {
  const std::int64_t rows = split.rows, channels = std::min(split.channels, job.out_channels);
  constexpr double kEpilogueCycles = 3, kCallCycles = 30, kBytesPerCycle = 7;
  const double pack_cycles = job.multiplies_int16() ? 4 : 2;
  const std::int64_t lanes = VectorFloats(), together = GemmRowsTogether();
  const auto depth = static_cast<double>(job.in_channels);
  const auto vectors = static_cast<double>(rows * CeilDiv(channels, kGemmBlock) * kGemmBlock / lanes);
  const auto calls = static_cast<double>(CeilDiv(rows, together) * CeilDiv(channels, 2 * lanes));
  const double multiply = vectors * depth / static_cast<double>(2 * GemmPerUnit(job));
  const double weights = depth * static_cast<double>(channels * GemmElementBytes(job)) / kBytesPerCycle;
  const double pack = static_cast<double>(rows) * depth / static_cast<double>(lanes) * pack_cycles;
  return std::max(multiply, weights) + pack + vectors * kEpilogueCycles + calls * kCallCycles;
}

// PartCycles for tiles. The last ones may compute rows and channels that are dropped.
double TiledPartCycles(const Gemm& job, const Partition& split) {
  const std::int64_t rows = split.rows, channels = std::min(split.channels, job.out_channels);
  constexpr double kTileCycles = 20, kPackCycles = 4, kEpilogueCycles = 4, kCallCycles = 800, kBytesPerCycle = 10;
  const auto row_tiles = static_cast<double>(CeilDiv(rows, kGemmTileRows));
  const auto column_tiles = static_cast<double>(CeilDiv(channels, kGemmTileRows));
  const auto blocks = static_cast<double>(CeilDiv(job.in_channels, kGemmTileDepth));
  const double multiply = row_tiles * column_tiles * blocks * kTileCycles;
  const double weights = blocks * kGemmTileDepth * static_cast<double>(2 * channels) / kBytesPerCycle;
  const double epilogue = static_cast<double>(rows) * column_tiles * kEpilogueCycles;
  return std::max(multiply, weights) + static_cast<double>(rows) * blocks * kPackCycles + epilogue + kCallCycles;
}

}  // namespace

Partition SplitGemm(const Gemm& job, std::int64_t max_rows) {
  constexpr std::int64_t kManyTurns = 8;
  const std::int64_t least = CeilDiv(job.rows(), max_rows), threads = job.num_threads;
  SharedWork work{
      .rows = job.rows(), .channels = job.out_channels, .column = kGemmColumns, .num_threads = job.num_threads};
  if (UsesGemmTiles(job)) {
    work.row_step = 2 * kGemmTileRows;
    return FastestOfManyParts(work, least, 16 * threads,
                              [&](const Partition* split) { return TiledPartCycles(job, *split); });
  }
  if (least >= kManyTurns * threads) return Partition::Into(work, RoundUp(least, threads));
  const std::int64_t most = std::min(job.rows(), least + 2 * threads);
  return FastestPartition(
      work, least, [&](std::int64_t blocks) { return blocks < most ? blocks + 1 : 0; }, 4 * threads,
      [&](const Partition* split) { return PartCycles(job, *split); });
}

}  // namespace amp::kernels
