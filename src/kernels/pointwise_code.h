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

// The scales of packed rows.
template <class Tile>
const float* PointwiseScalesBehind(const PointwisePart& part, const Tile* tiles) {
  return reinterpret_cast<const float*>(tiles + part.depth / kPointwiseBlock * PointwiseBlockStride(part.num_rows));
}

// Input channels that are multiplied one after the other.
struct PointwiseStretch {
  std::int64_t first, end;
  bool begins, ends;  // the sum
};

// Gathers what windows meet.
template <class Ops>  // for internal linkage
struct PointwiseWindows {
  using Int = std::int64_t;

  // Taps of one row of a window, from position x of a row of the image on. Those outside of the image are zeros.
  template <Int kElement>
  static void GatherRow(const PointwiseWindow& window, Int pixel, const char* row, Int x, char* to) {
    const auto bytes = static_cast<std::size_t>(window.channels * kElement);
    const bool is_inside = x >= 0 && x + window.width <= window.image_width;
    if (is_inside && window.step_x == 1 && pixel == window.channels) {
      __builtin_memcpy(to, row + x * pixel * kElement, static_cast<std::size_t>(window.width) * bytes);
      return;
    }
    for (Int tap = 0; tap < window.width; ++tap, x += window.step_x, to += bytes) {
      if (x >= 0 && x < window.image_width) {
        __builtin_memcpy(to, row + x * pixel * kElement, bytes);
      } else {
        __builtin_memset(to, 0, bytes);
      }
    }
  }

  // The window of a row of the result, or what a stretch needs of it.
  template <Int kElement>
  static void Gather(const Pointwise& job, const PointwisePart& part, Int row, const PointwiseStretch& depth,
                     char* to) {
    const PointwiseWindow& window = job.window;
    const Int left = row % job.width * window.stride_x - window.pad_left;
    const Int top = row / job.width % job.height * window.stride_y - window.pad_top;
    const char* image =
        static_cast<const char*>(part.data.source) + row / job.width / job.height * job.source.batch * kElement;
    const Int count = window.width * window.channels;
    for (Int tap = 0; tap < window.height; ++tap, to += count * kElement) {
      if (tap * count >= depth.end || (tap + 1) * count <= depth.first) continue;
      const Int y = top + tap * window.step_y;
      if (y >= 0 && y < window.image_height) {
        GatherRow<kElement>(window, job.source.pixel, image + y * job.source.row * kElement, left, to);
      } else {
        __builtin_memset(to, 0, static_cast<std::size_t>(count * kElement));
      }
    }
  }
};

// `Ops` has: Vector, kLanes, kRows; Tile, the type of packed numbers, of which kPerUnit are multiplied together; All,
// MultiplyAdd (a * b + c), Clip, Load and Store of vectors, StoreTile; Factor and Column, a unit of a row and of the
// weights, with Broadcast, LoadColumn and Accumulate, which adds to a Sum. Where a unit has two numbers, it has
// CopyTile and PairedScales. Where numbers have scales (kScales), it has a class Packing instead, ZeroSum and
// AddScaled.

// Packs rows.
template <class Ops>
struct PointwisePacking {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes;
  using Tile = typename Ops::Tile;
  using Stretch = PointwiseStretch;
  static constexpr Int kBlock = kPointwiseBlock, kPerUnit = Ops::kPerUnit;

  // Block by block: what a channel is multiplied by stays in registers.
  template <bool kIsBF16>
  static void PackBlock(const Pointwise& job, const PointwisePart& part, Int channel, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    for (Int lane = 0; lane < kBlock; lane += kLanes) {
      const Int first = channel + lane, count = job.in_channels - first;
      const V scale = Ops::template Load<false>(part.data.scale + first, count);
      const V shift = Ops::template Load<false>(part.data.shift + first, count);
      PointwiseRows<Ops> rows(job, part.data.source, part.first_row);
      for (Int r = 0; r < part.num_rows; ++r, rows.Next()) {
        const V x = Ops::template Load<kIsBF16>(rows.get() + first * kElement, count);
        Ops::StoreTile(to + r * kBlock + lane,
                       Ops::Clip(Ops::MultiplyAdd(x, scale, shift), job.source_low, job.source_high));
      }
    }
  }

  static void PackTwoBlocks(const Pointwise& job, const PointwisePart& part, Int channel, Int stride, Tile* to) {
    const typename Ops::PairedScales scales(part.data.scale + channel, part.data.shift + channel, job.source_low,
                                            job.source_high);
    PointwiseRows<Ops> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock) {
      scales.Apply(rows.get() + channel * 2, to, to + stride);
    }
  }

  template <bool kIsBF16>
  static void PackScaled(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Tile* to) {
    const Int stride = PointwiseBlockStride(part.num_rows);
    Int c = depth.first;
    if constexpr (kIsBF16 && kPerUnit == 2) {
      for (; c + 2 * kBlock <= depth.end; c += 2 * kBlock, to += 2 * stride) PackTwoBlocks(job, part, c, stride, to);
    }
    for (; c < depth.end; c += kBlock, to += stride) PackBlock<kIsBF16>(job, part, c, to);
  }

  template <bool kIsBF16>
  static void PackRow(const Pointwise& job, const Stretch& depth, const char* row, Int stride, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    for (Int c = depth.first; c < depth.end; c += kBlock, to += stride) {
      for (Int lane = 0; lane < kBlock; lane += kLanes) {
        const Int first = c + lane, count = job.in_channels - first;
        if constexpr (kIsBF16 && kPerUnit == 2) {
          Ops::CopyTile(to + lane, row + first * kElement, count);
        } else {
          Ops::StoreTile(to + lane, Ops::template Load<kIsBF16>(row + first * kElement, count));
        }
      }
    }
  }

  template <bool kIsBF16>
  static void PackWindows(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int stride = PointwiseBlockStride(part.num_rows);
    char* numbers = reinterpret_cast<char*>(to + part.depth / kBlock * stride);
    for (Int r = 0; r < part.num_rows; ++r, to += kBlock) {
      PointwiseWindows<Ops>::template Gather<kElement>(job, part, part.first_row + r, depth, numbers);
      PackRow<kIsBF16>(job, depth, numbers, stride, to);
    }
  }

  template <bool kIsBF16>
  static void PackRows(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Tile* to) {
    if (part.data.scale != nullptr) return PackScaled<kIsBF16>(job, part, depth, to);
    if (job.window.channels > 0) return PackWindows<kIsBF16>(job, part, depth, to);
    PointwiseRows<Ops> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock) {
      PackRow<kIsBF16>(job, depth, rows.get(), PointwiseBlockStride(part.num_rows), to);
    }
  }

  static void Pack(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Tile* to) {
    job.source.is_bf16 ? PackRows<true>(job, part, depth, to) : PackRows<false>(job, part, depth, to);
  }
};

template <class Ops>
void PackPointwiseRows(const Pointwise& job, const PointwisePart& part, const PointwiseStretch& depth,
                       typename Ops::Tile* tiles) {
  if constexpr (Ops::kScales) {
    Ops::Packing::Pack(job, part, depth, tiles);
  } else {
    PointwisePacking<Ops>::Pack(job, part, depth, tiles);
  }
}

// A product of this code, with so many input channels.
template <class Ops>
Pointwise PointwiseProductOf(std::int64_t in_channels) {
  Pointwise job;
  job.multiplies = Ops::kScales         ? Multiplies::kInt16
                   : Ops::kPerUnit == 2 ? Multiplies::kBFloat16
                                        : Multiplies::kFloat32;
  job.in_channels = in_channels;
  return job;
}

// Makes results of sums.
template <class Ops>
struct PointwiseFinish {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes;
  static constexpr Int kLine = 64;

  // Some rows and columns of the results.
  struct Place {
    const float* bias;  // or null
    const char* sum;    // or null
    char* destination;
    Int sum_bytes, destination_bytes;  // from one row to the next
    bool is_bf16, sum_is_bf16;         // the destination, and the sum; else float32
    Int columns;
    const MapStep* functions;
    std::size_t num_functions;
    float low, high;  // bounds
  };

  // Of `columns` results of a row and of those behind it, as many as two vectors have.
  static Place PlaceOf(const Pointwise& job, const PointwiseData& data, Int row, Int channel, Int columns) {
    const Int element = job.destination.is_bf16 ? 2 : 4, sum_element = job.sum.is_bf16 ? 2 : 4;
    Place place;
    place.bias = data.bias == nullptr ? nullptr : data.bias + channel;
    place.sum_bytes = job.sum.pixel * sum_element;
    place.destination_bytes = job.destination.pixel * element;
    place.is_bf16 = job.destination.is_bf16;
    place.sum_is_bf16 = job.sum.is_bf16;
    const char* sum = static_cast<const char*>(data.sum);
    place.sum = sum == nullptr ? nullptr : sum + row * place.sum_bytes + channel * sum_element;
    place.destination = static_cast<char*>(data.destination) + row * place.destination_bytes + channel * element;
    place.columns = columns < 2 * kLanes ? columns : 2 * kLanes;
    place.functions = data.functions;
    place.num_functions = data.num_functions;
    place.low = job.low;
    place.high = job.high;
    return place;
  }

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
  static void Finish(const Place& place, Int rows, const float* products) {
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
        x = Ops::Clip(x, place.low, place.high);
        Ops::template Store<kIsBF16>(place.destination + r * place.destination_bytes + first * kElement, count, x);
      }
    }
  }

  template <int kVectors>
  static void FinishSums(const Place& place, Int rows, const float* products) {
    if (place.is_bf16) {
      place.sum_is_bf16 ? Finish<true, true, kVectors>(place, rows, products)
                        : Finish<true, false, kVectors>(place, rows, products);
    } else {
      place.sum_is_bf16 ? Finish<false, true, kVectors>(place, rows, products)
                        : Finish<false, false, kVectors>(place, rows, products);
    }
  }

  template <int kVectors>
  static void Finish(const Place& place, Int rows, float* products) {
    if (place.num_functions != 0) return Apply<kVectors>(place, rows, products);
    FinishSums<kVectors>(place, rows, products);
  }

  // Functions are applied to what is complete, in float32.
  template <int kVectors>
  [[gnu::noinline]] static void Apply(Place place, Int rows, float* products) {
    Place complete = place;
    complete.destination = reinterpret_cast<char*>(products);
    complete.destination_bytes = kVectors * kLanes * static_cast<Int>(sizeof(float));
    complete.is_bf16 = false;
    complete.low = -__builtin_inff();
    complete.high = __builtin_inff();
    FinishSums<kVectors>(complete, rows, products);
    ApplyMapSteps(place.functions, place.num_functions, rows * kVectors * kLanes, products);
    place.bias = nullptr;
    place.sum = nullptr;
    FinishSums<kVectors>(place, rows, products);
  }
};

template <class Ops>
struct PointwiseCode {
  using Sum = typename Ops::Sum;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kPerUnit = Ops::kPerUnit, kBlock = kPointwiseBlock, kColumns = kPointwiseColumns;
  static constexpr Int kBlockUnits = kBlock / kPerUnit;
  static constexpr Int kUnitBytes = kColumns * kPerUnit * static_cast<Int>(sizeof(Tile));  // of a column of weights
  static constexpr Int kLine = 64;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  using Stretch = PointwiseStretch;
  using Results = PointwiseFinish<Ops>;
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

  // Adds the product to sums.
  template <int kCount, int kVectors>
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
          for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::Accumulate(factor, columns[v], sums[r][v]);
        }
      }
    }
  }

  // Of rows and columns, for one chunk after the other.
  struct Scales {
    const float* rows;
    Int row_stride;
    const float* columns;
    Int chunk_units;
  };

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

  template <int kCount, int kVectors>
  static void ScaledProduct(Factors factors, Ahead ahead) {
    do {
      Sum sums[kCount][kVectors];
      Clear(sums);
      Multiply(factors.rows, factors.block_stride, factors.weights, Min(factors.units, factors.scales.chunk_units),
               ahead, sums);
      Ops::AddScaled(factors.scales.rows, factors.scales.columns, sums, factors.before, factors.sums);
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

  template <int kCount, int kVectors>
  static void Product(const Factors& factors, const Ahead& ahead) {
    if constexpr (Ops::kScales) {
      ScaledProduct<kCount, kVectors>(factors, ahead);
    } else {
      PlainProduct<kCount, kVectors>(factors, ahead);
    }
  }

  template <int kCount, int kVectors>
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
    Multiply(factors.rows, factors.block_stride, factors.weights, factors.units, ahead, sums);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v)
        Ops::template Store<false>(factors.sums + (r * kVectors + v) * kLanes, kLanes, sums[r][v]);
    }
  }

  template <int kCount, int kVectors>
  static void ProductOf(Int count, const Factors& factors, const Ahead& ahead) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ProductOf<kCount - 1, kVectors>(count, factors, ahead);
    }
    Product<kCount, kVectors>(factors, ahead);
  }

  // ---- parts ----

  // Some rows of a part.
  struct Group {
    Int first, count;
  };

  // `sums`: those of the piece, where the depth has several stretches.
  template <int kVectors>
  static void Compute(const Place& place, const Stretch& depth, const Group& group, Factors factors, float* sums,
                      const Ahead& ahead) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    float* partial = sums + group.first * kVectors * kLanes;
    if (depth.ends) Results::PrefetchResults(place, group.count);
    factors.before = depth.begins ? nullptr : partial;
    factors.sums = depth.ends ? products : partial;
    ProductOf<kMaxRows, kVectors>(group.count, factors, ahead);
    if (depth.ends) Results::template Finish<kVectors>(place, group.count, products);
  }

  // Output channels from `channel` on, as many as two vectors have, and some rows.
  static void ComputePiece(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Int channel,
                           const Group& group, const Tile* tiles, const Tile* weights, float* sums,
                           const Ahead& ahead) {
    const Place place =
        Results::PlaceOf(job, part.data, part.first_row + group.first, channel, part.num_channels - channel);
    Factors factors{
        tiles + group.first * kBlock, PointwiseBlockStride(part.num_rows), weights, Units(depth), {}, {}, {}};
    if constexpr (Ops::kScales) factors.scales = ScalesOf(job, part, depth, channel, group, tiles);
    sums += channel * part.num_rows;
    if (place.columns <= kLanes) {
      Compute<1>(place, depth, group, factors, sums, ahead);
    } else {
      Compute<2>(place, depth, group, factors, sums, ahead);
    }
  }

  static Scales ScalesOf(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Int channel,
                         const Group& group, const Tile* tiles) {
    const Int chunk = PointwiseChunk(job.in_channels);
    const Tile* behind = WeightsAt(job, part, channel, (job.in_channels + kPerUnit - 1) / kPerUnit * kPerUnit);
    const auto* columns = reinterpret_cast<const float*>(behind) + depth.first / chunk * kColumns;
    const auto* rows = PointwiseScalesBehind(part, tiles);
    return {rows + group.first, part.num_rows, columns, chunk / kPerUnit};
  }

  // Where a column's weights of a stretch begin.
  static const Tile* WeightsAt(const Pointwise& job, const PointwisePart& part, Int channel, Int depth) {
    const auto* columns = static_cast<const Tile*>(part.data.weights);
    return columns + channel / kColumns * PointwiseColumnElements(job) + depth * kColumns;
  }

  // What is read after this column: the next one, or the first of the next stretch.
  static const Tile* WeightsAfter(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Int channel) {
    const Int next = channel + kColumns;
    if (next < part.num_channels) return WeightsAt(job, part, next, depth.first);
    return depth.ends ? WeightsAt(job, part, next, 0) : WeightsAt(job, part, 0, depth.end);
  }

  // The first of the rows that are packed next; null: none.
  static const char* RowsAfter(const Pointwise& job, const PointwisePart& part, const Stretch& depth,
                               const Group& group) {
    const Int row = part.first_row + group.first + (depth.ends ? part.num_rows : 0);
    if (row + group.count > job.rows() || job.window.channels > 0) return nullptr;
    const Int element = job.source.is_bf16 ? 2 : 4;
    return PointwiseRows<Ops>(job, part.data.source, row).get() + (depth.ends ? 0 : depth.end * element);
  }

  // One column of weights, and groups of about as many rows. Those that are packed next are fetched while the first
  // column is multiplied.
  static void ComputeColumn(const Pointwise& job, const PointwisePart& part, const Stretch& depth, Int channel,
                            const Tile* tiles, float* sums) {
    const Int groups = (part.num_rows + kMaxRows - 1) / kMaxRows, element = job.source.is_bf16 ? 2 : 4;
    const Tile* weights = WeightsAt(job, part, channel, depth.first);
    const char* next = reinterpret_cast<const char*>(WeightsAfter(job, part, depth, channel));
    const Int step = (kUnitBytes + groups - 1) / groups;
    for (Int g = 0; g < groups; ++g) {
      const Int first = part.num_rows * g / groups;
      const Group group{first, part.num_rows * (g + 1) / groups - first};
      const char* rows = channel == 0 ? RowsAfter(job, part, depth, group) : nullptr;
      const Ahead ahead{next + g * Units(depth) * step, step, rows, job.source.pixel * element, kBlock * element};
      const Int end = Min(channel + kColumns, part.num_channels);
      for (Int c = channel; c < end; c += 2 * kLanes) {
        ComputePiece(job, part, depth, c, group, tiles, weights + (c - channel) * kPerUnit, sums, ahead);
      }
    }
  }

  static void Run(const Pointwise& job, const PointwisePart& part, void* tiles, float* sums) {
    for (Int first = 0; first < job.in_channels || first == 0; first += part.depth) {
      const Int end = Min(first + part.depth, job.in_channels);
      const Stretch depth{first, end, first == 0, end == job.in_channels};
      PackPointwiseRows<Ops>(job, part, depth, static_cast<Tile*>(tiles));
      for (Int channel = 0; channel < part.num_channels; channel += kColumns) {
        ComputeColumn(job, part, depth, channel, static_cast<const Tile*>(tiles), sums);
      }
    }
  }
};

}  // namespace amp::kernels
