// Products by tiles (AMX). Of internal linkage, on purpose: see cast_table.h.
//
// A tile register has 16 rows of 64 bytes. Four hold sums, of 32 rows and 32 output channels; two hold 32 input
// channels of these rows, and two those of the output channels. So there is one instruction that loads for each one
// that multiplies: where another program uses the core's tiles, too, instructions count, not what they compute.
#pragma once

#include "kernels/base/tile_registers.h"
#include "kernels/gemm/gemm_epilogue_code.h"
#include "kernels/gemm/gemm_tile_rows.h"

namespace amp::kernels {
namespace {

using Results = GemmEpilogue<Vectors>;

constexpr Int kUnitBytes = kGemmColumns * kTileBytes;  // of a column of weights, 32 input channels

// ---- products ----

// What is read later. With each block of input channels so many lines of it are fetched.
struct Ahead {
  const char* first;
  Int lines;
  Int line_bytes;   // from one to the next
  Int block_bytes;  // from those of a block to those of the next
};

// What is multiplied: rows of two tiles, and a column of weights.
struct Factors {
  const Rows& rows;
  const char *first[2], *columns;
  Ahead ahead;
};

// Adds to the sums.
template <int kRowTiles, int kColumns>
[[gnu::always_inline]] inline void MultiplyTap(Factors& f, Int tap) {
  const char *first = f.first[0] + tap, *second = f.first[1] + tap;
  for (Int i = 0; i < f.rows.blocks; ++i, f.columns += kUnitBytes) {
    for (Int line = 0; line < f.ahead.lines; ++line)
      __builtin_prefetch(f.ahead.first + line * f.ahead.line_bytes, 0, 2);
    f.ahead.first += f.ahead.block_bytes;
    AddProducts<kRowTiles, kColumns>(first, second, f.rows.row_bytes, f.columns);
    first += f.rows.block_bytes;
    second += f.rows.block_bytes;
  }
}

// Leaves sums in tiles 0 to 3.
template <int kRowTiles, int kColumns>
void Multiply(Factors f) {
  ClearSums<kRowTiles, kColumns>();
  for (Int y = 0; y < f.rows.taps_y; ++y) {
    for (Int x = 0; x < f.rows.taps_x; ++x) {
      MultiplyTap<kRowTiles, kColumns>(f, y * f.rows.tap_y_bytes + x * f.rows.tap_x_bytes);
    }
  }
}

// ---- parts ----

// Computes the products of a part whose rows are ready. Results of a block are made while tiles multiply the next one.
class Computation {
 public:
  // `is_packed`: there is room for whole tiles behind the last row.
  Computation(const Gemm& job, const GemmPart& part, const Rows& rows, const Grid& grid, bool is_packed)
      : job_(job),
        part_(part),
        rows_(rows),
        grid_(grid),
        is_packed_(is_packed),
        blocks_(CeilDiv(job.in_channels, kDepth)),
        positions_(grid.exists() ? PositionOf(part.num_rows - 1) + 1 : part.num_rows) {}

  void Compute() {
    constexpr Int kCacheBytes = 32 << 10;  // of the first cache, beside rows and sums
    const Int columns = CeilDiv(part_.num_channels, kGemmColumns);
    const Int bytes = columns * blocks_ * kUnitBytes;
    bytes <= kCacheBytes ? ComputeRows() : ComputeColumns();
    FinishLast();
  }

 private:
  // Sums of some rows that are not results yet.
  struct Pending {
    Results::Place place;
    Int rows;
    float* sums;
    int columns;
  };
  // The most rows of a grid that 32 positions can lie in.
  static constexpr Int kMaxPending = 2 * kRows / kGemmLeastGrid + 2;

  void FinishLast() {
    for (Int i = 0; i < num_pending_; ++i) {
      const Pending& p = pending_[i];
      p.columns == 1 ? Results::Finish<1>(p.place, p.rows, p.sums) : Results::Finish<2>(p.place, p.rows, p.sums);
    }
    num_pending_ = 0;
  }
  void Keep(Int row, Int count, Int channel, float* sums, int columns) {
    pending_[num_pending_++] = {PlaceOf(row, channel), count, sums, columns};
  }

  // Keeps those of `count` positions that are results.
  void KeepGrid(Int position, Int count, Int channel, float* sums, int columns) {
    while (count > 0) {
      const Int at = grid_.first + position, x = at % grid_.width, run = Min(count, grid_.width - x);
      const Int row = at / grid_.width * grid_.used + x - grid_.first;
      if (x < grid_.used) Keep(row, Min(run, grid_.used - x), channel, sums, columns);
      position += run;
      count -= run;
      sums += run * columns * kLanes;
    }
  }

  // In the grid, of a row of the part.
  Int PositionOf(Int row) const {
    const Int at = grid_.first + row;
    return at / grid_.used * grid_.width + at % grid_.used - grid_.first;
  }

  Results::Place PlaceOf(Int row, Int channel) const {
    return Results::PlaceOf(job_, part_.data, part_.first_row + row, channel, part_.num_channels - channel);
  }
  void PrefetchResults(Int position, Int count, Int channel) const {
    const Int row = grid_.exists() ? (grid_.first + position) / grid_.width * grid_.used : position;
    Results::PrefetchResults(PlaceOf(row, channel), count);
  }

  // Computes `count` positions from `first` on, which fill tiles but for the last. Where rows are not packed, that
  // repeats rows before them.
  template <int kRowTiles, int kColumns>
  void ComputeTiles(Int first, Int count, Int channel, Factors f) {
    const Int last = first + kRows * (kRowTiles - 1), repeated = is_packed_ ? 0 : kRows - (first + count - last);
    PrefetchResults(first, count, channel);
    f.first[0] = rows_.first + (kRowTiles == 1 ? first - repeated : first) * rows_.row_bytes;
    f.first[1] = rows_.first + (last - repeated) * rows_.row_bytes;
    Multiply<kRowTiles, kColumns>(f);
    FinishLast();
    StoreSums<kRowTiles, kColumns>(sums_, sums_ + kRows * kColumns * kLanes, kColumns * kTileBytes);
    if (grid_.exists()) return KeepGrid(first, count, channel, sums_, kColumns);
    if (repeated == 0) return Keep(first, count, channel, sums_, kColumns);
    if (last > first) Keep(first, last - first, channel, sums_, kColumns);
    Keep(last, kRows - repeated, channel, sums_ + (last - first + repeated) * kColumns * kLanes, kColumns);
  }

  // Up to 32 rows and output channels.
  void ComputeBlock(Int first, Int channel, const Ahead& ahead) {
    const Int count = Min(2 * kRows, positions_ - first);
    const Factors f{rows_, {}, ColumnAt(channel), ahead};
    if (part_.num_channels - channel > kLanes) {
      count > kRows ? ComputeTiles<2, 2>(first, count, channel, f) : ComputeTiles<1, 2>(first, count, channel, f);
    } else {
      count > kRows ? ComputeTiles<2, 1>(first, count, channel, f) : ComputeTiles<1, 1>(first, count, channel, f);
    }
  }

  const char* ColumnAt(Int channel) const {
    return static_cast<const char*>(part_.data.weights) + channel / kGemmColumns * GemmColumnElements(job_) * kElement;
  }

  // Column by column of the weights: each is in the first cache for all rows. The next one is fetched meanwhile, or
  // what is read soon, where each column is read once.
  void ComputeColumns() {
    constexpr Int kSoon = 32 << 10;
    const Int groups = CeilDiv(positions_, 2 * kRows), lines = CeilDiv(kUnitBytes / kLine, groups);
    for (Int channel = 0; channel < part_.num_channels; channel += kGemmColumns) {
      const bool is_last = channel + kGemmColumns >= part_.num_channels;
      const Int bytes = blocks_ * kUnitBytes;
      const char* next = ColumnAt(channel) + (groups == 1 ? Min(bytes, kSoon) : bytes);
      for (Int g = 0; g < groups; ++g, next += blocks_ * lines * kLine)
        ComputeBlock(g * 2 * kRows, channel, {next, is_last && groups > 1 ? 0 : lines, kLine, lines * kLine});
    }
  }

  // Row by row where all weights are in the first cache. The next rows are fetched meanwhile.
  void ComputeRows() {
    const Int lines = 2 * kRows / CeilDiv(part_.num_channels, kGemmColumns);
    for (Int first = 0; first < positions_; first += 2 * kRows) {
      const bool is_last = first + 4 * kRows > positions_;
      const char* next = rows_.first + (first + 2 * kRows) * rows_.row_bytes;
      for (Int channel = 0; channel < part_.num_channels; channel += kGemmColumns, next += lines * rows_.row_bytes)
        ComputeBlock(first, channel, {next, is_last || is_packed_ ? 0 : lines, rows_.row_bytes, rows_.block_bytes});
    }
  }

  const Gemm& job_;
  const GemmPart& part_;
  const Rows rows_;
  const Grid grid_;
  const bool is_packed_;
  const Int blocks_, positions_;
  Int num_pending_ = 0;
  Pending pending_[kMaxPending];
  alignas(64) float sums_[2 * kRows * 2 * kLanes];
};

}  // namespace
}  // namespace amp::kernels
