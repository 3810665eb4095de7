#include "kernels/gemm/pointwise_split.h"

#include <algorithm>

#include "kernels/base/round_up.h"
#include "kernels/gemm/pointwise_weights.h"

namespace amp::kernels {
namespace {

// About how many cycles of a core a part takes. The constants are those of a CPU with AVX-512, per vector; what counts
// is which of two splits is faster.
double PartCycles(const Pointwise& job, std::int64_t rows, std::int64_t channels) {
  constexpr double kFinishCycles = 3, kCallCycles = 30, kBytesPerCycle = 7;
  const double pack_cycles = job.multiplies_int16() ? 4 : 2;
  const std::int64_t lanes = VectorFloats(), together = PointwiseRowsTogether();
  const auto depth = static_cast<double>(job.in_channels);
  const auto vectors = static_cast<double>(rows * Quotient(channels, kPointwiseBlock) * kPointwiseBlock / lanes);
  const auto calls = static_cast<double>(Quotient(rows, together) * Quotient(channels, 2 * lanes));
  const double multiply = vectors * depth / static_cast<double>(2 * PointwisePerUnit(job));
  const double weights = depth * static_cast<double>(channels * PointwiseElementBytes(job)) / kBytesPerCycle;
  const double pack = static_cast<double>(rows) * depth / static_cast<double>(lanes) * pack_cycles;
  return std::max(multiply, weights) + pack + vectors * kFinishCycles + calls * kCallCycles;
}

// The same for tiles. The last ones may compute rows and channels that are dropped.
double TiledPartCycles(const Pointwise& job, std::int64_t rows, std::int64_t channels) {
  constexpr double kTileCycles = 20, kPackCycles = 4, kFinishCycles = 4, kCallCycles = 800, kBytesPerCycle = 10;
  const auto row_tiles = static_cast<double>(Quotient(rows, kPointwiseTileRows));
  const auto column_tiles = static_cast<double>(Quotient(channels, kPointwiseTileRows));
  const auto blocks = static_cast<double>(Quotient(job.in_channels, kPointwiseTileDepth));
  const double multiply = row_tiles * column_tiles * blocks * kTileCycles;
  const double weights = blocks * kPointwiseTileDepth * static_cast<double>(2 * channels) / kBytesPerCycle;
  const double finish = static_cast<double>(rows) * column_tiles * kFinishCycles;
  return std::max(multiply, weights) + static_cast<double>(rows) * blocks * kPackCycles + finish + kCallCycles;
}

PointwiseSplit SplitInto(const Pointwise& job, std::int64_t blocks, std::int64_t stretches) {
  PointwiseSplit split;
  split.rows = Quotient(job.rows(), blocks);
  if (UsesPointwiseTiles(job)) split.rows = RoundUp(split.rows, 2 * kPointwiseTileRows);
  split.blocks = Quotient(job.rows(), split.rows);
  split.channels = Quotient(PointwiseColumns(job), stretches) * kPointwiseColumns;
  split.stretches = Quotient(job.out_channels, split.channels);
  return split;
}

// Many parts: a thread whose core is slow, as where another program uses its tiles, too, takes fewer of them.
PointwiseSplit SplitIntoTiles(const Pointwise& job, std::int64_t max_rows) {
  const std::int64_t threads = job.num_threads, least = Quotient(job.rows(), max_rows);
  PointwiseSplit best;
  double fewest = 0;
  for (std::int64_t more = 0; more <= 8 * threads; more = more < threads ? more + 1 : 2 * more) {
    const std::int64_t blocks = least + more;
    for (std::int64_t stretches = 1; stretches <= std::min(PointwiseColumns(job), 16 * threads); stretches *= 2) {
      const PointwiseSplit split = SplitInto(job, blocks, stretches);
      const double turns =
          static_cast<double>(Quotient(split.parts(), threads)) + 0.5 * static_cast<double>(threads > 1);
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
PointwiseSplit SplitPointwise(const Pointwise& job, std::int64_t max_rows) {
  if (UsesPointwiseTiles(job)) return SplitIntoTiles(job, max_rows);
  constexpr std::int64_t kManyTurns = 8;
  const std::int64_t least = Quotient(job.rows(), max_rows), threads = job.num_threads;
  if (least >= kManyTurns * threads) return SplitInto(job, RoundUp(least, threads), 1);
  PointwiseSplit best;
  double fewest = 0;
  for (std::int64_t blocks = least; blocks <= job.rows() && blocks <= least + 2 * threads; ++blocks) {
    for (std::int64_t stretches = 1; stretches <= std::min(PointwiseColumns(job), 4 * threads); stretches *= 2) {
      const PointwiseSplit split = SplitInto(job, blocks, stretches);
      const auto turns = static_cast<double>(Quotient(split.parts(), threads));
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
