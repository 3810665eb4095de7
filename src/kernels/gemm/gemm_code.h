// The code of products, for vectors of Ops::kLanes numbers. One source for all instruction sets; each gives an `Ops` of
// internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_epilogue_code.h"
#include "kernels/gemm/gemm_packing_code.h"

namespace amp::kernels {

// `Ops` has: Vector, kLanes, kRows; Tile, the type of packed numbers, of which kPerUnit are multiplied together; All,
// MultiplyAdd (a * b + c), Clip, Load and Store of vectors, StoreTile; Factor and Column, a unit of a row and of the
// weights, with Broadcast, LoadColumn and Accumulate, which adds to a Sum. Where a unit has two numbers, it has
// CopyTile and PairedScales. Where numbers have scales (kScales), it has a class Packing instead, ZeroSum and Float.

// A product of this code, with so many input channels.
template <class Ops>
Gemm GemmProductOf(std::int64_t in_channels) {
  constexpr ComputeType kComputeType = Ops::kScales         ? ComputeType::kInt16
                                       : Ops::kPerUnit == 2 ? ComputeType::kBFloat16
                                                            : ComputeType::kFloat32;
  return {.compute_type = kComputeType, .in_channels = in_channels};
}

// The scales of rows and columns, for one chunk of input channels after the other.
struct GemmScales {
  const float* rows;
  std::int64_t row_stride;
  const float* columns;
  std::int64_t chunk_units;
};

template <class Ops>  // for internal linkage
struct GemmScaling {
  using V = typename Ops::Vector;
  static constexpr int kLanes = Ops::kLanes;

  // to = before + sums * scales, row by row; `before` may be null, or the same.
  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void Add(const GemmScales& scales, const typename Ops::Sum (&sums)[kCount][kVectors],
                                         const float* before, float* to) {
    V columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = Ops::template Load<false>(scales.columns + v * kLanes, kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
      const V scale = Ops::All(scales.rows[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const int at = (r * kVectors + v) * kLanes;
        const V others = before == nullptr ? Ops::All(0) : Ops::template Load<false>(before + at, kLanes);
        Ops::template Store<false>(to + at, kLanes,
                                   Ops::MultiplyAdd(Ops::Float(sums[r][v]), scale * columns[v], others));
      }
    }
  }
};

// Where an instruction may compute half of a vector in half of the time.
template <class Ops>
struct GemmHalves {
  static constexpr bool kExist = requires { &Ops::AccumulateHalf; };

  template <bool kHalf, class Factor, class Column, class Sum>
  [[gnu::always_inline]] static Sum AccumulateLast(Factor factor, Column column, Sum sum) {
    if constexpr (kHalf) {
      return Ops::AccumulateHalf(factor, column, sum);
    } else {
      return Ops::Accumulate(factor, column, sum);
    }
  }
};

template <class Ops>
struct GemmCode {
  using Halves = GemmHalves<Ops>;
  using Sum = typename Ops::Sum;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kPerUnit = Ops::kPerUnit, kBlock = kGemmBlock, kColumns = kGemmColumns;
  static constexpr Int kBlockUnits = kBlock / kPerUnit;
  static constexpr Int kUnitBytes = kColumns * kPerUnit * static_cast<Int>(sizeof(Tile));  // of a column of weights
  static constexpr Int kLine = 64;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  using Stretch = GemmStretch;
  using Scales = GemmScales;
  using Results = GemmEpilogue<Ops>;
  using Place = typename Results::Place;

  static Int Units(const Stretch& depth) { return (depth.end - depth.first + kPerUnit - 1) / kPerUnit; }

  // ---- products ----

  // What is fetched while a product is computed: weights, a number of bytes for each unit of the depth, and a block of
  // channels of each row that is packed later.
  struct Ahead {
    const char* weights;
    Int weights_step;
    const char* rows;  // null: none
    Int row_bytes, block_bytes;
  };

  static void Prefetch(const char* from) { __builtin_prefetch(from, 0, 2); }

  // Adds the product to sums; to the lower half of the last vectors, if that is enough.
  template <bool kHalf = false, int kCount, int kVectors>
  [[gnu::always_inline]] static void Multiply(const Tile* rows, Int block_stride, const Tile* weights, Int depth,
                                              Ahead ahead, Sum (&sums)[kCount][kVectors]) {
    for (; depth > 0; depth -= kBlockUnits, rows += block_stride) {
      if (ahead.rows != nullptr) {
        for (int r = 0; r < kCount; ++r) Prefetch(ahead.rows + r * ahead.row_bytes);
        ahead.rows += ahead.block_bytes;
      }
      const Int count = Min(depth, kBlockUnits);
      for (Int k = 0; k < count; ++k, weights += kColumns * kPerUnit) {
        typename Ops::Column columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = Ops::LoadColumn(weights + v * kLanes * kPerUnit);
        Prefetch(ahead.weights);
        Prefetch(ahead.weights + kLine);
        ahead.weights += ahead.weights_step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          const typename Ops::Factor factor = Ops::Broadcast(rows + r * kBlock + k * kPerUnit);
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) {
            sums[r][v] = v + 1 < kVectors ? Ops::Accumulate(factor, columns[v], sums[r][v])
                                          : Halves::template AccumulateLast<kHalf>(factor, columns[v], sums[r][v]);
          }
        }
      }
    }
  }

  // What is multiplied, so many units of the depth, and where the sums are: [row][kVectors * kLanes].
  struct Factors {
    const Tile* rows;
    Int block_stride;
    const Tile* weights;
    Int units;
    Scales scales;        // where numbers have some
    const float* before;  // sums of the depth before; null: none
    float* sums;
  };

  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void Clear(Sum (&sums)[kCount][kVectors]) {
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::ZeroSum();
    }
  }

  template <int kCount, int kVectors, bool kHalf>
  static void ScaledProduct(Factors factors, Ahead ahead) {
    do {
      Sum sums[kCount][kVectors];
      Clear(sums);
      Multiply<kHalf>(factors.rows, factors.block_stride, factors.weights,
                      Min(factors.units, factors.scales.chunk_units), ahead, sums);
      GemmScaling<Ops>::Add(factors.scales, sums, factors.before, factors.sums);
      factors.before = factors.sums;
      ahead.weights += factors.scales.chunk_units * ahead.weights_step;
      if (ahead.rows != nullptr) ahead.rows += factors.scales.chunk_units / kBlockUnits * ahead.block_bytes;
      factors.rows += factors.scales.chunk_units / kBlockUnits * factors.block_stride;
      factors.weights += factors.scales.chunk_units * kColumns * kPerUnit;
      factors.units -= factors.scales.chunk_units;
      factors.scales.rows += factors.scales.row_stride;
      factors.scales.columns += kColumns;
    } while (factors.units > 0);
  }

  template <int kCount, int kVectors, bool kHalf>
  static void Product(const Factors& factors, const Ahead& ahead) {
    if constexpr (Ops::kScales) {
      ScaledProduct<kCount, kVectors, kHalf>(factors, ahead);
    } else {
      PlainProduct<kCount, kVectors, kHalf>(factors, ahead);
    }
  }

  template <int kCount, int kVectors, bool kHalf>
  [[gnu::always_inline]] static void PlainProduct(const Factors& factors, const Ahead& ahead) {
    Sum sums[kCount][kVectors];
    Clear(sums);
    if (factors.before != nullptr) {
#pragma GCC unroll 14
      for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sums[r][v] = Ops::template Load<false>(factors.before + (r * kVectors + v) * kLanes, kLanes);
      }
    }
    Multiply<kHalf>(factors.rows, factors.block_stride, factors.weights, factors.units, ahead, sums);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        Ops::template Store<false>(factors.sums + (r * kVectors + v) * kLanes, kLanes, sums[r][v]);
    }
  }

  template <int kCount, int kVectors, bool kHalf>
  static void ProductOf(Int count, const Factors& factors, const Ahead& ahead) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ProductOf<kCount - 1, kVectors, kHalf>(count, factors, ahead);
    }
    Product<kCount, kVectors, kHalf>(factors, ahead);
  }

  // ---- parts ----

  // Some rows of a part.
  struct Group {
    Int first, count;
  };

  // `sums`: those of the piece, where the depth has several stretches.
  template <int kVectors, bool kHalf>
  static void Compute(const Place& place, const Stretch& depth, const Group& group, Factors factors, float* sums,
                      const Ahead& ahead) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    float* partial = sums + group.first * kVectors * kLanes;
    if (depth.ends) Results::PrefetchResults(place, group.count);
    factors.before = depth.begins ? nullptr : partial;
    factors.sums = depth.ends ? products : partial;
    ProductOf<kMaxRows, kVectors, kHalf>(group.count, factors, ahead);
    if (depth.ends) Results::template Finish<kVectors>(place, group.count, products);
  }

  // Output channels from `channel` on, as many as two vectors have, and some rows.
  static void ComputePiece(const Gemm& job, const GemmPart& part, const Stretch& depth, Int channel, const Group& group,
                           const Tile* tiles, const Tile* weights, float* sums, const Ahead& ahead) {
    const Place place =
        Results::PlaceOf(job, part.data, part.first_row + group.first, channel, part.num_channels - channel);
    Factors factors{tiles + group.first * kBlock, GemmBlockStride(part.num_rows), weights, Units(depth), {}, {}, {}};
    if constexpr (Ops::kScales) factors.scales = ScalesOf(job, part, depth, channel, group, tiles);
    sums += channel * part.num_rows;
    place.columns <= kLanes ? ComputeVectors<1>(place, depth, group, factors, sums, ahead)
                            : ComputeVectors<2>(place, depth, group, factors, sums, ahead);
  }

  template <int kVectors>
  static void ComputeVectors(const Place& place, const Stretch& depth, const Group& group, const Factors& factors,
                             float* sums, const Ahead& ahead) {
    if constexpr (Halves::kExist) {
      if (2 * place.columns <= (2 * kVectors - 1) * kLanes)
        return Compute<kVectors, true>(place, depth, group, factors, sums, ahead);
    }
    Compute<kVectors, false>(place, depth, group, factors, sums, ahead);
  }

  static Scales ScalesOf(const Gemm& job, const GemmPart& part, const Stretch& depth, Int channel, const Group& group,
                         const Tile* tiles) {
    const Int chunk = GemmChunk(job.in_channels);
    const Tile* behind = WeightsAt(job, part, channel, (job.in_channels + kPerUnit - 1) / kPerUnit * kPerUnit);
    const auto* columns = reinterpret_cast<const float*>(behind) + depth.first / chunk * kColumns + channel % kColumns;
    const auto* rows = GemmScalesBehind(part, tiles);
    return {rows + group.first, part.num_rows, columns, chunk / kPerUnit};
  }

  // Where a column's weights of a stretch begin.
  static const Tile* WeightsAt(const Gemm& job, const GemmPart& part, Int channel, Int depth) {
    const auto* columns = static_cast<const Tile*>(part.data.weights);
    return columns + channel / kColumns * GemmColumnElements(job) + depth * kColumns;
  }

  // What is read after this column: the next one, or the first of the next stretch.
  static const Tile* WeightsAfter(const Gemm& job, const GemmPart& part, const Stretch& depth, Int channel) {
    const Int next = channel + kColumns;
    if (next < part.num_channels) return WeightsAt(job, part, next, depth.first);
    return depth.ends ? WeightsAt(job, part, next, 0) : WeightsAt(job, part, 0, depth.end);
  }

  // The first of the rows that are packed next; null: none.
  static const char* RowsAfter(const Gemm& job, const GemmPart& part, const Stretch& depth, const Group& group) {
    const Int row = part.first_row + group.first + (depth.ends ? part.num_rows : 0);
    if (row + group.count > job.rows() || job.window.channels > 0) return nullptr;
    const Int element = job.source.is_bf16 ? 2 : 4;
    return GemmRows<Ops>(job, part.data.source, row).get() + (depth.ends ? 0 : depth.end * element);
  }

  // One column of weights, in pieces of two vectors, and groups of about as many rows. A piece stays in the nearest
  // cache for all groups, if its depth allows. Rows that are packed next are fetched while the first piece is
  // multiplied.
  static void ComputeColumn(const Gemm& job, const GemmPart& part, const Stretch& depth, Int channel, const Tile* tiles,
                            float* sums) {
    const Int groups = (part.num_rows + kMaxRows - 1) / kMaxRows, element = job.source.is_bf16 ? 2 : 4;
    const Tile* weights = WeightsAt(job, part, channel, depth.first);
    const char* next = reinterpret_cast<const char*>(WeightsAfter(job, part, depth, channel));
    const Int end = Min(channel + kColumns, part.num_channels);
    const Int pieces = (end - channel + 2 * kLanes - 1) / (2 * kLanes);
    const Int step = (kUnitBytes + groups * pieces - 1) / (groups * pieces);
    for (Int c = channel; c < end; c += 2 * kLanes) {
      for (Int g = 0; g < groups; ++g, next += Units(depth) * step) {
        const Int first = part.num_rows * g / groups;
        const Group group{first, part.num_rows * (g + 1) / groups - first};
        const char* rows = c == 0 ? RowsAfter(job, part, depth, group) : nullptr;
        const Ahead ahead{next, step, rows, job.source.pixel * element, kBlock * element};
        ComputePiece(job, part, depth, c, group, tiles, weights + (c - channel) * kPerUnit, sums, ahead);
      }
    }
  }

  static void Run(const Gemm& job, const GemmPart& part, void* tiles, float* sums) {
    for (Int first = 0; first < job.in_channels || first == 0; first += part.depth) {
      const Int end = Min(first + part.depth, job.in_channels);
      const Stretch depth{first, end, first == 0, end == job.in_channels};
      PackGemmRows<Ops>(job, part, depth, static_cast<Tile*>(tiles));
      for (Int channel = 0; channel < part.num_channels; channel += kColumns) {
        ComputeColumn(job, part, depth, channel, static_cast<const Tile*>(tiles), sums);
      }
    }
  }
};

}  // namespace amp::kernels
