// What depthwise convolutions of blocks read: filled by the expansion, or from the source; see gemm_code.h.
#pragma once

#include <cstdint>

#include "kernels/depthwise/fused_depthwise.h"
#include "kernels/gemm/gemm_code.h"

namespace amp::kernels {

// The rows that taps meet, padding included, of 32 channels: a ring, in which a row lies until another takes its place.
// It stays in the nearest cache. Columns lie in float32, or two of them together in bfloat16, number by number.
template <class Ops, bool kInPairs = false>  // for internal linkage
struct DepthwiseWindow {
  static constexpr std::int64_t kTogether = kInPairs ? 2 : 1;  // columns in 16 elements

  std::int64_t rows;             // of the ring
  std::int64_t shift, pad_left;  // columns of a row in front of the padding, and with it
  std::int64_t columns;          // of a row, without `shift`
  std::int64_t used_columns;     // of the image in a row
  std::int64_t row, block;       // elements of 16 channels: of a row, and of all rows
  std::int64_t pad_top;
  float* memory;

  DepthwiseWindow(const FusedDepthwise& job, float* at) : DepthwiseWindow(job, at, DepthwiseWindowRows(job)) {}
  DepthwiseWindow(const FusedDepthwise& job, float* at, std::int64_t num_rows)
      : rows(num_rows),
        shift(job.pad_left % kTogether),  // the image begins with a pair
        pad_left(job.pad_left + shift),
        columns(DepthwiseWindowColumns(job)),
        used_columns(columns - job.pad_left < job.width ? columns - job.pad_left : job.width),
        row((kInPairs ? DepthwisePairs(shift + columns) : columns) * kGemmBlock),
        block(rows * row),
        pad_top(job.pad_top),
        memory(at) {}

  // A row of the image, from its padding on; rows above it have negative numbers.
  float* Row(std::int64_t y) const { return memory + (y + pad_top) % rows * row; }
  // The row from its first column of the image on.
  float* Image(std::int64_t y) const { return Row(y) + pad_left / kTogether * kGemmBlock; }

  // Where a group of neighbours begins, of groups of about the same size. Columns that lie together stay so.
  static std::int64_t GroupBegin(std::int64_t width, std::int64_t group, std::int64_t groups) {
    const std::int64_t begin = (width + kTogether - 1) / kTogether * group / groups * kTogether;
    return begin < width ? begin : width;
  }
};

// What the code counts in.
struct DepthwiseUnits {
  using Int = std::int64_t;
  static constexpr Int kBlock = kGemmBlock, kColumns = kGemmColumns;
};

// Fills rows of the window.
template <class Ops, bool kInPairs = false>
struct DepthwiseWindowCode : DepthwiseUnits {
  using Products = GemmCode<Ops>;
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Window = DepthwiseWindow<Ops, kInPairs>;
  using Ahead = typename GemmCode<Ops>::Ahead;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kPerUnit = Ops::kPerUnit, kTogether = Window::kTogether;
  static_assert(kMaxRows % kTogether == 0);

  static void Clear(float* to, Int count) {
    for (Int i = 0; i < count; i += kLanes) Ops::template Store<false>(to + i, kLanes, Ops::All(0));
  }

  // `from`: a row of the image, from the channel on.
  template <bool kIsBF16>
  static void CopyRow(const FusedDepthwise& job, const Window& w, const char* from, Int channels, float* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int pixel = job.source.pixel * kElement;
    for (Int x = 0; x < w.used_columns; x += kTogether, from += kTogether * pixel, to += kBlock) {
      if constexpr (kInPairs) {
        CopyPair<kIsBF16>(w, from, pixel, channels, x + 1 < w.used_columns, to);
      } else {
        for (Int lane = 0; lane < channels; lane += kLanes) {
          const V v = Ops::template Load<kIsBF16>(from + lane * kElement, channels - lane);
          Ops::template Store<false>(to + lane / kBlock * w.block + lane % kBlock, kLanes, v);
        }
      }
    }
  }

  // Without a second one: the end of the row.
  template <bool kIsBF16>
  [[gnu::always_inline]] static void CopyPair(const Window& w, const char* from, Int pixel, Int channels,
                                              bool has_second, float* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    if (kIsBF16 && has_second && channels == kColumns)
      return Ops::StorePairs(from, from + pixel, Bits(to), Bits(to + w.block));
    for (Int lane = 0; lane < channels; lane += kLanes, from += kLanes * kElement, to += w.block) {
      const Int second = has_second ? channels - lane : 0;
      Ops::template StorePairs<kIsBF16>(Bits(to), kLanes, {from, 0, channels - lane}, {from + pixel, 0, second});
    }
  }

  static void CopyRow(const FusedDepthwise& job, const Window& w, const FusedDepthwiseData& data, Int image, Int y,
                      Int channel) {
    const Int at = image * job.source.batch + y * job.source.row + channel, channels = job.channels - channel;
    const char* source = static_cast<const char*>(data.source);
    if (job.source.is_bf16) {
      CopyRow<true>(job, w, source + at * 2, Products::Min(kColumns, channels), w.Image(y));
    } else {
      CopyRow<false>(job, w, source + at * 4, Products::Min(kColumns, channels), w.Image(y));
    }
  }

  // Two numbers of bfloat16 in the place of one of float32.
  static auto* Bits(float* to) { return reinterpret_cast<Tile*>(to); }

  // Some neighbours in a row of the image, and vectors of channels.
  struct Expanded {
    const float* bias;  // or null
    Int channels;       // from here on
    Bounds bounds;
    float* to[2];                             // the first neighbour's
    const float *row_scales, *column_scales;  // where numbers have some
  };

  template <int kCount, int kVectors>
  static void Expand(const Tile* rows, Int stride, const Tile* weights, Int depth, const Ahead& ahead,
                     const Expanded& e) {
    if constexpr (Ops::kScales) {
      ExpandScaled<kCount, kVectors>(rows, stride, weights, depth, ahead, e);
    } else {
      V sums[kCount][kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const V bias = BiasOf(e, v);
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) sums[r][v] = bias;
      }
      Products::Multiply(rows, stride, weights, depth, ahead, sums);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
#pragma GCC unroll 14
        for (int r = 0; r < kCount; r += kTogether) {
          if constexpr (kInPairs) {
            KeepPair(e, r, v, sums[r][v], r + 1 < kCount ? &sums[r + 1][v] : nullptr);
          } else {
            Keep(e, r, v, sums[r][v]);
          }
        }
      }
    }
  }

  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void ExpandScaled(const Tile* rows, Int stride, const Tile* weights, Int depth,
                                                  const Ahead& ahead, const Expanded& e) {
    typename Ops::Sum sums[kCount][kVectors];
    Products::Clear(sums);
    Products::Multiply(rows, stride, weights, depth, ahead, sums);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const V bias = BiasOf(e, v), columns = Ops::template Load<false>(e.column_scales + v * kLanes, kLanes);
#pragma GCC unroll 14
      for (int r = 0; r < kCount; ++r) {
        Keep(e, r, v, Ops::MultiplyAdd(Ops::Float(sums[r][v]), Ops::All(e.row_scales[r]) * columns, bias));
      }
    }
  }

  [[gnu::always_inline]] static V BiasOf(const Expanded& e, int v) {
    return e.bias == nullptr ? Ops::All(0) : Ops::template Load<false>(e.bias + v * kLanes, e.channels - v * kLanes);
  }
  static void Keep(const Expanded& e, int r, int v, V x) {
    Ops::template Store<false>(e.to[v] + r * kBlock, kLanes, Ops::Clip(x, e.bounds.low, e.bounds.high));
  }
  // Without a second one: the end of the row, behind which zeros are.
  [[gnu::always_inline]] static void KeepPair(const Expanded& e, int r, int v, V first, const V* second) {
    const V x = Ops::Clip(first, e.bounds.low, e.bounds.high);
    const V y = second == nullptr ? Ops::All(0) : Ops::Clip(*second, e.bounds.low, e.bounds.high);
    Ops::StorePair(Bits(e.to[v] + r / 2 * kBlock), x, y);
  }

  template <int kCount, int kVectors>
  static void ExpandSome(Int count, const Tile* rows, Int stride, const Tile* weights, Int depth, const Ahead& ahead,
                         const Expanded& e) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ExpandSome<kCount - 1, kVectors>(count, rows, stride, weights, depth, ahead, e);
    }
    Expand<kCount, kVectors>(rows, stride, weights, depth, ahead, e);
  }

  // A row of packed positions, which are so many elements of a block of channels.
  struct SourceRow {
    const Tile* tiles;
    Int block_stride;
    const float* scales;  // where numbers have some
  };

  // One column of weights, and groups of neighbours. `ahead`: what is fetched meanwhile, by each group a part.
  static void ExpandRow(const FusedDepthwise& job, const Window& w, const FusedDepthwiseData& data, SourceRow source,
                        Int channel, Ahead ahead, float* to) {
    const Int units = (job.in_channels + kPerUnit - 1) / kPerUnit,
              channels = Products::Min(kColumns, job.channels - channel);
    const Gemm product = GemmProductOf<Ops>(job.in_channels);
    const Tile* weights = static_cast<const Tile*>(GemmColumnsOf(product, data.expand_weights)) +
                          channel / kColumns * GemmColumnElements(product);
    const auto* column_scales = reinterpret_cast<const float*>(weights + units * kPerUnit * kColumns);
    const Int groups = (w.used_columns + kMaxRows - 1) / kMaxRows;
    for (Int g = 0; g < groups; ++g, ahead.weights += units * ahead.weights_step) {
      const Int x = Window::GroupBegin(w.used_columns, g, groups);
      const Int count = Window::GroupBegin(w.used_columns, g + 1, groups) - x;
      float* first = to + x / kTogether * kBlock;
      for (Int lane = 0; lane < channels; lane += 2 * kLanes) {
        const Int second = lane + kLanes;
        const Expanded e{
            data.expand_bias == nullptr ? nullptr : data.expand_bias + channel + lane,
            channels - lane,
            job.expanded,
            {first + lane / kBlock * w.block + lane % kBlock, first + second / kBlock * w.block + second % kBlock},
            Ops::kScales ? source.scales + x : nullptr,
            Ops::kScales ? column_scales + lane : nullptr};
        const Tile* tiles = source.tiles + x * kBlock;
        if (e.channels > kLanes) {
          ExpandSome<kMaxRows, 2>(count, tiles, source.block_stride, weights + lane * kPerUnit, units, ahead, e);
        } else {
          ExpandSome<kMaxRows, 1>(count, tiles, source.block_stride, weights + lane * kPerUnit, units, ahead, e);
        }
      }
    }
  }
};

}  // namespace amp::kernels
