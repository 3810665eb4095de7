#include "kernels/gemm/gemm_split.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/gemm/gemm_weights.h"

namespace amp::kernels {
namespace {

// About how many cycles of a core a part takes. The constants are those of a CPU with AVX-512, per vector; what counts
// is which of two splits is faster.
double PartCycles(const Gemm& job, std::int64_t rows, std::int64_t channels) {
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

// The same for tiles. The last ones may compute rows and channels that are dropped.
double TiledPartCycles(const Gemm& job, std::int64_t rows, std::int64_t channels) {
  constexpr double kTileCycles = 20, kPackCycles = 4, kEpilogueCycles = 4, kCallCycles = 800, kBytesPerCycle = 10;
  const auto row_tiles = static_cast<double>(CeilDiv(rows, kGemmTileRows));
  const auto column_tiles = static_cast<double>(CeilDiv(channels, kGemmTileRows));
  const auto blocks = static_cast<double>(CeilDiv(job.in_channels, kGemmTileDepth));
  const double multiply = row_tiles * column_tiles * blocks * kTileCycles;
  const double weights = blocks * kGemmTileDepth * static_cast<double>(2 * channels) / kBytesPerCycle;
  const double epilogue = static_cast<double>(rows) * column_tiles * kEpilogueCycles;
  return std::max(multiply, weights) + static_cast<double>(rows) * blocks * kPackCycles + epilogue + kCallCycles;
}

GemmSplit SplitInto(const Gemm& job, std::int64_t blocks, std::int64_t stretches) {
  GemmSplit split;
  split.rows = CeilDiv(job.rows(), blocks);
  if (UsesGemmTiles(job)) split.rows = RoundUp(split.rows, 2 * kGemmTileRows);
  split.blocks = CeilDiv(job.rows(), split.rows);
  split.channels = CeilDiv(GemmColumns(job), stretches) * kGemmColumns;
  split.stretches = CeilDiv(job.out_channels, split.channels);
  return split;
}

// Many parts: a thread whose core is slow, as where another program uses its tiles, too, takes fewer of them.
GemmSplit SplitIntoTiles(const Gemm& job, std::int64_t max_rows) {
  const std::int64_t threads = job.num_threads, least = CeilDiv(job.rows(), max_rows);
  GemmSplit best;
  double fewest = 0;
  for (std::int64_t more = 0; more <= 8 * threads; more = more < threads ? more + 1 : 2 * more) {
    const std::int64_t blocks = least + more;
    for (std::int64_t stretches = 1; stretches <= std::min(GemmColumns(job), 16 * threads); stretches *= 2) {
      const GemmSplit split = SplitInto(job, blocks, stretches);
      const double turns =
          static_cast<double>(CeilDiv(split.parts(), threads)) + 0.5 * static_cast<double>(threads > 1);
      const double cycles = turns * TiledPartCycles(job, split.rows, std::min(split.channels, job.out_channels));
      if (best.rows == 0 || cycles < fewest) {
        best = split;
        fewest = cycles;
      }
    }
  }
  return best;
}

}  // namespace

// All threads get about the same.
GemmSplit SplitGemm(const Gemm& job, std::int64_t max_rows) {
  if (UsesGemmTiles(job)) return SplitIntoTiles(job, max_rows);
  constexpr std::int64_t kManyTurns = 8;
  const std::int64_t least = CeilDiv(job.rows(), max_rows), threads = job.num_threads;
  if (least >= kManyTurns * threads) return SplitInto(job, RoundUp(least, threads), 1);
  GemmSplit best;
  double fewest = 0;
  for (std::int64_t blocks = least; blocks <= job.rows() && blocks <= least + 2 * threads; ++blocks) {
    for (std::int64_t stretches = 1; stretches <= std::min(GemmColumns(job), 4 * threads); stretches *= 2) {
      const GemmSplit split = SplitInto(job, blocks, stretches);
      const auto turns = static_cast<double>(CeilDiv(split.parts(), threads));
      const double cycles = turns * PartCycles(job, split.rows, std::min(split.channels, job.out_channels));
      if (best.rows == 0 || cycles < fewest) {
        best = split;
        fewest = cycles;
      }
    }
  }
  return best;
}

}  // namespace amp::kernels
