// The code of 1x1 convolutions, for vectors of Ops::kLanes numbers. One source for all instruction sets; each gives an
// `Ops` of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/pointwise.h"

namespace amp::kernels {

// Rows of the source, one after the other.
template <class Ops>  // for internal linkage
class PointwiseRows {
  using Int = std::int64_t;

 public:
  PointwiseRows(const Pointwise& job, const void* source, Int row)
      : job_(job),
        element_(job.source.is_bf16 ? 2 : 4),
        x_(row % job.width),
        y_(row / job.width % job.height),
        n_(row / job.width / job.height),
        source_(static_cast<const char*>(source)) {
    Seek();
  }
  const char* get() const { return at_; }
  void Next() {
    at_ += job_.source.pixel * element_;
    if (++x_ < job_.width) return;
    x_ = 0;
    if (++y_ == job_.height) {
      y_ = 0;
      ++n_;
    }
    Seek();
  }

 private:
  void Seek() { at_ = source_ + (n_ * job_.source.batch + y_ * job_.source.row + x_ * job_.source.pixel) * element_; }
  const Pointwise& job_;
  Int element_, x_, y_, n_;
  const char* source_;
  const char* at_ = nullptr;
};

// `Ops` has: Vector, kLanes, kRows; Tile, the type of packed numbers, of which kPerUnit are multiplied together; All,
// MultiplyAdd (a * b + c), Clip, Load and Store of vectors, StoreTile; Factor and Column, a unit of a row and of the
// weights, with Broadcast, LoadColumn and Accumulate.
template <class Ops>
struct PointwiseCode {
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kPerUnit = Ops::kPerUnit, kBlock = kPointwiseBlock, kColumns = kPointwiseColumns;
  static constexpr Int kBlockUnits = kBlock / kPerUnit;
  static constexpr Int kUnitBytes = kColumns * kPerUnit * static_cast<Int>(sizeof(Tile));  // of a column of weights
  static constexpr Int kLine = 64;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // ---- rows ----

  template <bool kIsBF16, bool kScales>
  static void PackRow(const Pointwise& job, const PointwiseData& data, const char* row, Int stride, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    for (Int c = 0; c < job.in_channels; c += kBlock, to += stride) {
      for (Int lane = 0; lane < kBlock; lane += kLanes) {
        const Int first = c + lane, count = job.in_channels - first;
        if constexpr (kIsBF16 && kPerUnit == 2 && !kScales) {
          Ops::CopyTile(to + lane, row + first * kElement, count);
        } else {
          V x = Ops::template Load<kIsBF16>(row + first * kElement, count);
          if constexpr (kScales) {
            const V scale = Ops::template Load<false>(data.scale + first, count);
            x = Ops::MultiplyAdd(x, scale, Ops::template Load<false>(data.shift + first, count));
            x = Ops::Clip(x, job.source_low, job.source_high);
          }
          Ops::StoreTile(to + lane, x);
        }
      }
    }
  }

  template <bool kIsBF16, bool kScales>
  static void Pack(const Pointwise& job, const PointwisePart& part, Tile* to) {
    PointwiseRows<Ops> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock) {
      PackRow<kIsBF16, kScales>(job, part.data, rows.get(), PointwiseBlockStride(part.num_rows), to);
    }
  }

  static void Pack(const Pointwise& job, const PointwisePart& part, Tile* to) {
    if (job.source.is_bf16) {
      part.data.scale != nullptr ? Pack<true, true>(job, part, to) : Pack<true, false>(job, part, to);
    } else {
      part.data.scale != nullptr ? Pack<false, true>(job, part, to) : Pack<false, false>(job, part, to);
    }
  }

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

  // Adds the product to sums.
  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void Multiply(const Tile* rows, Int block_stride, const Tile* weights, Int depth,
                                              Ahead ahead, V (&sums)[kCount][kVectors]) {
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
          for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::Accumulate(factor, columns[v], sums[r][v]);
        }
      }
    }
  }

  // `products`: [row][kVectors * kLanes].
  template <int kCount, int kVectors>
  static void Product(const Tile* rows, Int block_stride, const Tile* weights, Int depth, const Ahead& ahead,
                      float* products) {
    V sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::All(0);
    }
    Multiply(rows, block_stride, weights, depth, ahead, sums);
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v)
        Ops::template Store<false>(products + (r * kVectors + v) * kLanes, kLanes, sums[r][v]);
    }
  }

  template <int kCount, int kVectors>
  static void ProductOf(Int count, const Tile* rows, Int block_stride, const Tile* weights, Int depth,
                        const Ahead& ahead, float* products) {
    if constexpr (kCount > 1) {
      if (count < kCount) {
        return ProductOf<kCount - 1, kVectors>(count, rows, block_stride, weights, depth, ahead, products);
      }
    }
    Product<kCount, kVectors>(rows, block_stride, weights, depth, ahead, products);
  }

  // ---- results ----

  // Some rows and columns of the results.
  struct Place {
    const float* bias;  // or null
    const char* sum;    // or null
    char* destination;
    Int sum_bytes, destination_bytes;  // from one row to the next
    Int columns;
  };

  static void PrefetchResults(const Place& place, Int rows) {
    for (Int r = 0; r < rows; ++r) {
      __builtin_prefetch(place.destination + r * place.destination_bytes, 1, 3);
      __builtin_prefetch(place.destination + r * place.destination_bytes + kLine, 1, 3);
    }
    for (Int r = 0; r < (place.sum == nullptr ? 0 : rows); ++r) {
      __builtin_prefetch(place.sum + r * place.sum_bytes);
      __builtin_prefetch(place.sum + r * place.sum_bytes + kLine);
    }
  }

  template <bool kIsBF16, bool kSumIsBF16, int kVectors>
  static void Finish(const Pointwise& job, const Place& place, Int rows, const float* products) {
    constexpr Int kElement = kIsBF16 ? 2 : 4, kSumElement = kSumIsBF16 ? 2 : 4;
    V bias[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      bias[v] = place.bias == nullptr ? Ops::All(0)
                                      : Ops::template Load<false>(place.bias + v * kLanes, place.columns - v * kLanes);
    }
    for (Int r = 0; r < rows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        const Int first = v * kLanes, count = place.columns - first;
        V x = Ops::template Load<false>(products + (r * kVectors + v) * kLanes, kLanes) + bias[v];
        if (place.sum != nullptr) {
          x = x + Ops::template Load<kSumIsBF16>(place.sum + r * place.sum_bytes + first * kSumElement, count);
        }
        x = Ops::Clip(x, job.low, job.high);
        Ops::template Store<kIsBF16>(place.destination + r * place.destination_bytes + first * kElement, count, x);
      }
    }
  }

  template <int kVectors>
  static void Finish(const Pointwise& job, const Place& place, Int rows, const float* products) {
    if (job.destination.is_bf16) {
      job.sum.is_bf16 ? Finish<true, true, kVectors>(job, place, rows, products)
                      : Finish<true, false, kVectors>(job, place, rows, products);
    } else {
      job.sum.is_bf16 ? Finish<false, true, kVectors>(job, place, rows, products)
                      : Finish<false, false, kVectors>(job, place, rows, products);
    }
  }

  template <int kVectors>
  static void Compute(const Pointwise& job, const Place& place, Int rows, const Tile* tiles, Int block_stride,
                      const Tile* weights, const Ahead& ahead) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    PrefetchResults(place, rows);
    const Int depth = (job.in_channels + kPerUnit - 1) / kPerUnit;
    ProductOf<kMaxRows, kVectors>(rows, tiles, block_stride, weights, depth, ahead, products);
    Finish<kVectors>(job, place, rows, products);
  }

  // Output channels from `channel` on, as many as two vectors have, and some rows.
  static void ComputePiece(const Pointwise& job, const PointwisePart& part, Int channel, Int first, Int rows,
                           const Tile* tiles, const Tile* weights, const Ahead& ahead) {
    const Int element = job.destination.is_bf16 ? 2 : 4, sum_element = job.sum.is_bf16 ? 2 : 4;
    const Int row = part.first_row + first;
    Place place;
    place.bias = part.data.bias == nullptr ? nullptr : part.data.bias + channel;
    place.sum_bytes = job.sum.pixel * sum_element;
    place.destination_bytes = job.destination.pixel * element;
    const char* sum = static_cast<const char*>(part.data.sum);
    place.sum = sum == nullptr ? nullptr : sum + row * place.sum_bytes + channel * sum_element;
    place.destination = static_cast<char*>(part.data.destination) + row * place.destination_bytes + channel * element;
    place.columns = Min(2 * kLanes, part.num_channels - channel);
    const Int stride = PointwiseBlockStride(part.num_rows);
    if (place.columns <= kLanes) {
      Compute<1>(job, place, rows, tiles + first * kBlock, stride, weights, ahead);
    } else {
      Compute<2>(job, place, rows, tiles + first * kBlock, stride, weights, ahead);
    }
  }

  // One column of weights, and groups of about as many rows.
  static void ComputeColumn(const Pointwise& job, const PointwisePart& part, Int channel, const Tile* tiles) {
    const Int units = (job.in_channels + kPerUnit - 1) / kPerUnit;
    const Int groups = (part.num_rows + kMaxRows - 1) / kMaxRows;
    const Tile* weights = static_cast<const Tile*>(part.data.weights) + channel * units * kPerUnit;
    const char* next_column = reinterpret_cast<const char*>(weights) + units * kUnitBytes;
    const Int step = (kUnitBytes + groups - 1) / groups;
    for (Int g = 0; g < groups; ++g) {
      const Int first = part.num_rows * g / groups, rows = part.num_rows * (g + 1) / groups - first;
      Ahead ahead{next_column + g * units * step, step, nullptr, 0, 0};
      // The rows of the next part, while the first column is multiplied.
      const Int next = part.first_row + part.num_rows + first, element = job.source.is_bf16 ? 2 : 4;
      if (channel == 0 && next + rows <= job.rows()) {
        ahead.rows = PointwiseRows<Ops>(job, part.data.source, next).get();
        ahead.row_bytes = job.source.pixel * element;
        ahead.block_bytes = kBlock * element;
      }
      const Int end = Min(channel + kColumns, part.num_channels);
      for (Int c = channel; c < end; c += 2 * kLanes) {
        ComputePiece(job, part, c, first, rows, tiles, weights + (c - channel) * kPerUnit, ahead);
      }
    }
  }

  static void Run(const Pointwise& job, const PointwisePart& part, void* scratch) {
    auto* tiles = static_cast<Tile*>(scratch);
    Pack(job, part, tiles);
    for (Int channel = 0; channel < part.num_channels; channel += kColumns) ComputeColumn(job, part, channel, tiles);
  }
};

}  // namespace amp::kernels
