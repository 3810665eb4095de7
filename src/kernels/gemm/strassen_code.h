// The code of products by Strassen's algorithm; see strassen.h and gemm_code.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/strassen.h"
#include "kernels/gemm/strassen_epilogue_code.h"
#include "kernels/gemm/strassen_packing_code.h"

namespace amp::kernels {

// A part, with what all of its products need.
template <class Ops>  // for internal linkage
struct StrassenWork {
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  const Gemm& job;
  const Gemm half;
  const GemmData& data;
  const StrassenPart& part;
  StrassenWeights weights;
  float* rows;  // factors and inverses: [2][half][pair]
  StrassenTiles<Ops> tiles;
  float* quarters;
  float* sums;  // null: all input channels are one stretch

  Int groups() const { return (part.num_pairs + Ops::kRows - 1) / Ops::kRows; }
  Int depth() const { return StrassenDepth(half); }
  Int DepthAt(Int stretch) const { return depth() < half.in_channels - stretch ? depth() : half.in_channels - stretch; }
  const float* Inverses(Int row_half) const { return rows + (2 + row_half) * part.num_pairs; }
  bool EndsAt(Int stretch) const { return stretch + depth() >= half.in_channels; }
  const Tile* Column(Int channel, int product) const {
    const Int column = (part.first_channel + channel) / kGemmColumns * kStrassenProducts + product;
    return static_cast<const Tile*>(weights.columns) + column * GemmColumnElements(half);
  }
};

// `Rows` has what depends on the type of packed rows: Magnitude, Pack, and of sums Add, Subtract and Value.
template <class Ops, class Rows>
struct StrassenCode {
  using Code = GemmCode<Ops>;
  using Results = GemmEpilogue<Ops>;
  using Place = typename Results::Place;
  using FinishSums = StrassenEpilogue<Ops, Rows>;
  using Sums = typename FinishSums::Sums;
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Sum = typename Ops::Sum;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kBlock = kGemmBlock, kColumns = kGemmColumns, kPiece = 2 * kLanes;
  static constexpr int kQuarters = 4;
  using Work = StrassenWork<Ops>;

  // ---- rows ----

  template <bool kIsBF16>
  static void FindFactors(const Work& work) {
    const Int pairs = work.part.num_pairs, count = work.job.in_channels;
    GemmRows<Ops> rows(work.job, work.data.source, 2 * work.part.first_pair);
    for (Int i = 0; i < 2 * pairs; ++i) {
      float* factor = work.rows + i % 2 * pairs + i / 2;
      const bool exists = 2 * work.part.first_pair + i < work.job.rows();
      *factor = exists ? StrassenFactor(Rows::template Magnitude<kIsBF16>(rows.get(), work.weights.factors, count)) : 0;
      factor[2 * pairs] = StrassenInverse(*factor);
      if (exists) rows.Next();
    }
  }

  template <bool kIsBF16>
  static void Pack(const Work& work, Int stretch) {
    const Int pairs = work.part.num_pairs;
    GemmRows<Ops> rows(work.job, work.data.source, 2 * work.part.first_pair);
    for (Int i = 0; i < pairs; ++i) {
      StrassenPair pair{{}, {work.rows[i], work.rows[pairs + i]}};
      for (const char*& row : pair.rows) {
        row = rows.get();
        rows.Next();
      }
      Rows::template Pack<kIsBF16>(work.job, work.half, pair, work.weights.factors, stretch, work.DepthAt(stretch), i,
                                   work.tiles);
    }
  }

  // ---- products ----

  // Some pairs.
  struct Group {
    Int first, count;
  };
  static Group GroupAt(const Work& work, Int i) {
    const Int pairs = work.part.num_pairs, first = pairs * i / work.groups();
    return {first, pairs * (i + 1) / work.groups() - first};
  }

  // What is multiplied, and to what it is added: [pair][kPiece].
  struct Factors {
    const Tile* rows;
    Int block_stride;
    const Tile* weights;
    Int units;
    float* sums[2];
    StrassenStep steps[2];
  };

  template <int kCount>
  static void Product(const Factors& factors, const typename Code::Ahead& ahead) {
    Sum sums[kCount][2];
    Code::Clear(sums);
    Code::Multiply(factors.rows, factors.block_stride, factors.weights, factors.units, ahead, sums);
    for (int i = 0; i < 2; ++i) {
      if (factors.steps[i] == StrassenStep::kBegin) AddTo<StrassenStep::kBegin>(sums, factors.sums[i]);
      if (factors.steps[i] == StrassenStep::kAdd) AddTo<StrassenStep::kAdd>(sums, factors.sums[i]);
      if (factors.steps[i] == StrassenStep::kSubtract) AddTo<StrassenStep::kSubtract>(sums, factors.sums[i]);
    }
  }

  template <StrassenStep kStep, int kCount>
  [[gnu::always_inline]] static void AddTo(const Sum (&sums)[kCount][2], float* to) {
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < 2; ++v, to += kLanes) {
        if constexpr (kStep == StrassenStep::kBegin) Rows::Store(to, sums[r][v]);
        if constexpr (kStep == StrassenStep::kAdd) Rows::Store(to, Rows::Add(Rows::Load(to), sums[r][v]));
        if constexpr (kStep == StrassenStep::kSubtract) Rows::Store(to, Rows::Subtract(Rows::Load(to), sums[r][v]));
      }
    }
  }

  template <int kCount>
  static void ProductOf(Int count, const Factors& factors, const typename Code::Ahead& ahead) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ProductOf<kCount - 1>(count, factors, ahead);
    }
    Product<kCount>(factors, ahead);
  }

  // Computes one product for some output channels, as many as two vectors have. `column`: weights, from `stretch` on.
  static void ComputePiece(const Work& work, Int stretch, const Tile* column, int product, const Group& group,
                           float* quarters, const typename Code::Ahead& ahead) {
    Factors factors;
    factors.rows = work.tiles.Of(product, work.tiles.first + group.first * kBlock);
    factors.block_stride = GemmBlockStride(work.part.num_pairs);
    factors.weights = column;
    factors.units = work.DepthAt(stretch) / Ops::kPerUnit;
    for (int i = 0; i < 2; ++i) {
      const StrassenTarget target = kStrassenTargets[product][i];
      factors.sums[i] = quarters + target.quarter * group.count * kPiece;
      factors.steps[i] = target.step;
    }
    ProductOf<kMaxRows>(group.count, factors, ahead);
  }

  // What is read after this column of weights.
  static const Tile* ColumnAfter(const Work& work, Int channel, int product) {
    const bool is_last = product + 1 == kStrassenProducts;
    return is_last ? work.Column(channel + kColumns, 0) : work.Column(channel, product + 1);
  }

  // A quarter of the pairs that are packed next, from `stretch` on; null: none.
  static const char* RowsAfter(const Work& work, Int stretch, int quarter, const Group& group) {
    const Int row = 2 * (work.part.first_pair + work.part.num_pairs + group.first) + quarter / 2;
    const Int channel = stretch + quarter % 2 * work.half.in_channels;
    if (row + 2 * group.count > work.job.rows() || channel + work.DepthAt(stretch) > work.job.in_channels)
      return nullptr;
    return GemmRows<Ops>(work.job, work.data.source, row).get() + channel * (work.job.source.is_bf16 ? 2 : 4);
  }

  static Int AheadStep(const Work& work) { return (Code::kUnitBytes + work.groups() - 1) / work.groups(); }

  // Weights, a number of bytes for each unit; rows, while the first column is multiplied.
  static typename Code::Ahead AheadOf(const Work& work, Int stretch, Int channel, int product, const Group& group,
                                      const char* weights) {
    const Int element = work.job.source.is_bf16 ? 2 : 4;
    const bool fetches_rows = channel == 0 && product < kQuarters;
    const char* rows = fetches_rows ? RowsAfter(work, stretch, product, group) : nullptr;
    return {weights, AheadStep(work), rows, 2 * work.job.source.pixel * element, kBlock * element};
  }

  // One column of weights of one product, and all pairs. The next column is fetched meanwhile, and the results that the
  // last products complete.
  static void ComputeColumn(const Work& work, Int stretch, Int channel, int product) {
    const int quarter = product - (kStrassenProducts - kQuarters);
    const Tile* column = work.Column(channel, product) + stretch * kColumns;
    const char* next = reinterpret_cast<const char*>(ColumnAfter(work, channel, product) + stretch * kColumns);
    const Int skipped = work.DepthAt(stretch) / Ops::kPerUnit * AheadStep(work);
    for (Int i = 0; i < work.groups(); ++i, next += skipped) {
      const Group group = GroupAt(work, i);
      const typename Code::Ahead ahead = AheadOf(work, stretch, channel, product, group, next);
      float* quarters = work.quarters + group.first * kQuarters * kColumns;
      for (Int piece = 0; piece < kColumns; piece += kPiece, quarters += kQuarters * group.count * kPiece) {
        if (work.EndsAt(stretch) && quarter >= 0) PrefetchQuarter(work, channel + piece, quarter, group);
        ComputePiece(work, stretch, column + piece * Ops::kPerUnit, product, group, quarters, ahead);
      }
    }
  }

  // ---- results ----

  // The place of output channels from `channel` of the part on; `rows`: 0 where there is nothing.
  struct QuarterPlace {
    Place place;
    Int rows, column;
  };
  static QuarterPlace PlaceOf(const Work& work, Int channel, int quarter, const Group& group) {
    const Int row = 2 * (work.part.first_pair + group.first) + quarter / 2;
    const Int column = work.part.first_channel + channel + quarter % 2 * work.half.out_channels;
    const Int columns = work.job.out_channels - column, rows = (work.job.rows() - row + 1) / 2;
    if (columns <= 0 || rows <= 0) return {};
    Place place = Results::PlaceOf(work.job, work.data, row, column, columns);
    place.sum_bytes *= 2;
    place.destination_bytes *= 2;
    return {place, Code::Min(rows, group.count), column};
  }

  [[gnu::always_inline]] static void PrefetchQuarter(const Work& work, Int channel, int quarter, const Group& group) {
    const QuarterPlace at = PlaceOf(work, channel, quarter, group);
    Results::PrefetchResults(at.place, at.rows);
  }

  static void FinishQuarter(const Work& work, Int channel, int quarter, const Group& group, const Sums& sums) {
    const QuarterPlace at = PlaceOf(work, channel, quarter, group);
    if (at.rows == 0) return;
    FinishSums::Finish(at.place, work.Inverses(quarter / 2) + group.first, work.weights.inverses + at.column, at.rows,
                       sums);
  }

  static Sums SumsOf(const Work& work, Int stretch, Int channel, Int piece, int quarter, const Group& group) {
    const Int at = group.first * kQuarters * kColumns + (piece * kQuarters + quarter * kPiece) * group.count;
    Sums sums{};
    sums.quarter = work.quarters + at;
    sums.before = work.sums == nullptr ? nullptr : work.sums + channel * kQuarters * work.part.num_pairs + at;
    sums.is_first = stretch == 0;
    if constexpr (Ops::kScales) {
      sums.row_scales = work.tiles.scales() + group.first;
      sums.column_scales = reinterpret_cast<const float*>(work.Column(channel, 0) + work.half.in_channels * kColumns) +
                           stretch / work.depth() * kColumns + piece;
    }
    return sums;
  }

  // Adds up all pairs and 32 output channels of each half: results, or sums of stretches.
  static void AddUpColumn(const Work& work, Int stretch, Int channel) {
    for (Int i = 0; i < work.groups(); ++i) {
      const Group group = GroupAt(work, i);
      for (Int piece = 0; piece < kColumns; piece += kPiece) {
        for (int quarter = 0; quarter < kQuarters; ++quarter) {
          const Sums sums = SumsOf(work, stretch, channel, piece, quarter, group);
          work.EndsAt(stretch) ? FinishQuarter(work, channel + piece, quarter, group, sums)
                               : FinishSums::AddUp(sums, group.count);
        }
      }
    }
  }

  // ---- parts ----

  static void Run(const Gemm& job, const GemmData& data, const StrassenPart& part, void* scratch) {
    const Gemm half = StrassenHalf(job);
    const StrassenScratch bytes = StrassenScratchOf(half, part.num_pairs, part.num_channels);
    char* at = static_cast<char*>(scratch);
    char* tiles = at + bytes.rows;
    char* quarters = tiles + kStrassenProducts * bytes.tile;
    Work work{job, half, data, part, StrassenWeightsAt(half, data.weights), {}, {}, {}, {}};
    work.rows = reinterpret_cast<float*>(at);
    work.tiles = {reinterpret_cast<Tile*>(tiles), bytes.tile, part.num_pairs, StrassenDepth(half)};
    work.quarters = reinterpret_cast<float*>(quarters);
    if (bytes.sums > 0) work.sums = reinterpret_cast<float*>(quarters + bytes.quarters);
    job.source.is_bf16 ? FindFactors<true>(work) : FindFactors<false>(work);
    for (Int stretch = 0; stretch < half.in_channels; stretch += work.depth()) {
      job.source.is_bf16 ? Pack<true>(work, stretch) : Pack<false>(work, stretch);
      for (Int channel = 0; channel < part.num_channels; channel += kColumns) {
        for (int product = 0; product < kStrassenProducts; ++product) ComputeColumn(work, stretch, channel, product);
        AddUpColumn(work, stretch, channel);
      }
    }
  }
};

}  // namespace amp::kernels
