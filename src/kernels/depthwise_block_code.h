// The code of depthwise blocks, for vectors of Ops::kLanes numbers; see pointwise_code.h.
#pragma once

#include <cstdint>

#include "kernels/depthwise_block.h"
#include "kernels/pointwise_code.h"

namespace amp::kernels {

// Where the rows lie that some rows of the result need. Window: the rows and columns that taps meet, padding included.
template <class Ops>  // for internal linkage
struct DepthwiseWindow {
  std::int64_t rows, columns;  // of the window
  std::int64_t first_row;      // of the image, at the top of the window; negative in the padding
  std::int64_t top, bottom;    // rows of the image in the window
  std::int64_t used_columns;   // of the image in the window
  std::int64_t block;          // elements of 16 channels

  DepthwiseWindow(const DepthwiseBlock& job, std::int64_t first, std::int64_t num)
      : rows((num - 1) * job.stride + job.kernel_height),
        columns((job.out_width - 1) * job.stride + job.kernel_width),
        first_row(first * job.stride - job.pad_top),
        top(first_row < 0 ? 0 : first_row),
        bottom(first_row + rows < job.height ? first_row + rows : job.height),
        used_columns(columns - job.pad_left < job.width ? columns - job.pad_left : job.width),
        block(rows * columns * kPointwiseBlock) {}
};

template <class Ops>
struct DepthwiseBlockCode {
  using Products = PointwiseCode<Ops>;
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;
  using Window = DepthwiseWindow<Ops>;
  using Ahead = typename Products::Ahead;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kBlock = kPointwiseBlock, kColumns = kPointwiseColumns, kPerUnit = Ops::kPerUnit;

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // ---- what the depthwise convolution reads ----

  static void Clear(float* window, Int count) {
    for (Int i = 0; i < count; i += kLanes) Ops::template Store<false>(window + i, kLanes, Ops::All(0));
  }

  static float* At(const DepthwiseBlock& job, const Window& w, float* window, Int y, Int x) {
    return window + ((y - w.first_row) * w.columns + job.pad_left + x) * kBlock;
  }

  template <bool kIsBF16>
  static void CopyChannels(const DepthwiseBlock& job, const Window& w, const char* image, Int channel, float* window) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int lanes = Min(kColumns, job.channels - channel);
    for (Int y = w.top; y < w.bottom; ++y) {
      const char* from = image + (y * job.source.row + channel) * kElement;
      float* to = At(job, w, window, y, 0);
      for (Int x = 0; x < w.used_columns; ++x, from += job.source.pixel * kElement, to += kBlock) {
        for (Int lane = 0; lane < lanes; lane += kLanes) {
          const V v = Ops::template Load<kIsBF16>(from + lane * kElement, lanes - lane);
          Ops::template Store<false>(to + lane / kBlock * w.block + lane % kBlock, kLanes, v);
        }
      }
    }
  }

  static void CopyChannels(const DepthwiseBlock& job, const Window& w, const DepthwiseBlockData& data, Int image,
                           Int channel, float* window) {
    const char* source = static_cast<const char*>(data.source);
    if (job.source.is_bf16) {
      CopyChannels<true>(job, w, source + image * job.source.batch * 2, channel, window);
    } else {
      CopyChannels<false>(job, w, source + image * job.source.batch * 4, channel, window);
    }
  }

  // Some neighbours in a row of the image, and vectors of channels.
  struct Expanded {
    const float* bias;  // or null
    Int channels;       // from here on
    Bounds bounds;
    float* to[2];  // the first neighbour's
  };

  template <int kCount, int kVectors>
  static void Expand(const Tile* rows, Int stride, const Tile* weights, Int depth, const Ahead& ahead,
                     const Expanded& e) {
    V sums[kCount][kVectors];
    for (int v = 0; v < kVectors; ++v) {
      const V bias =
          e.bias == nullptr ? Ops::All(0) : Ops::template Load<false>(e.bias + v * kLanes, e.channels - v * kLanes);
      for (int r = 0; r < kCount; ++r) sums[r][v] = bias;
    }
    Products::Multiply(rows, stride, weights, depth, ahead, sums);
    for (int v = 0; v < kVectors; ++v) {
      for (int r = 0; r < kCount; ++r) {
        Ops::template Store<false>(e.to[v] + r * kBlock, kLanes, Ops::Clip(sums[r][v], e.bounds.low, e.bounds.high));
      }
    }
  }

  template <int kCount, int kVectors>
  static void ExpandSome(Int count, const Tile* rows, Int stride, const Tile* weights, Int depth, const Ahead& ahead,
                         const Expanded& e) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ExpandSome<kCount - 1, kVectors>(count, rows, stride, weights, depth, ahead, e);
    }
    Expand<kCount, kVectors>(rows, stride, weights, depth, ahead, e);
  }

  // One column of weights, and groups of neighbours in each row.
  static void ExpandChannels(const DepthwiseBlock& job, const Window& w, const DepthwiseBlockData& data,
                             const Tile* source, Int channel, float* window) {
    const Int units = (job.in_channels + kPerUnit - 1) / kPerUnit, channels = Min(kColumns, job.channels - channel);
    const Tile* weights = static_cast<const Tile*>(data.expand_weights) + channel * units * kPerUnit;
    const Int stride = PointwiseBlockStride((w.bottom - w.top) * job.width);
    const Int groups = (w.used_columns + kMaxRows - 1) / kMaxRows, calls = groups * (w.bottom - w.top);
    const Int step = (Products::kUnitBytes + calls - 1) / calls;
    const char* ahead = reinterpret_cast<const char*>(weights) + units * Products::kUnitBytes;
    for (Int y = w.top; y < w.bottom; ++y) {
      for (Int g = 0; g < groups; ++g, ahead += units * step) {
        const Int x = w.used_columns * g / groups, count = w.used_columns * (g + 1) / groups - x;
        const Tile* rows = source + ((y - w.top) * job.width + x) * kBlock;
        float* to = At(job, w, window, y, x);
        for (Int lane = 0; lane < channels; lane += 2 * kLanes) {
          const Int second = lane + kLanes;
          const Expanded e{
              data.expand_bias == nullptr ? nullptr : data.expand_bias + channel + lane,
              channels - lane,
              job.expanded,
              {to + lane / kBlock * w.block + lane % kBlock, to + second / kBlock * w.block + second % kBlock}};
          const Ahead next{ahead, step, nullptr, 0, 0};
          if (e.channels > kLanes) {
            ExpandSome<kMaxRows, 2>(count, rows, stride, weights + lane * kPerUnit, units, next, e);
          } else {
            ExpandSome<kMaxRows, 1>(count, rows, stride, weights + lane * kPerUnit, units, next, e);
          }
        }
      }
    }
  }

  // ---- the depthwise convolution ----

  // Some neighbours in a row of the result, one vector of channels.
  template <int kCount, int kStride>
  static void Taps(const DepthwiseBlock& job, Int row_elements, const float* from, const float* weights, V bias,
                   Tile* to) {
    V sums[kCount];
    for (int i = 0; i < kCount; ++i) sums[i] = bias;
    for (Int y = 0; y < job.kernel_height; ++y, from += row_elements) {
      for (Int x = 0; x < job.kernel_width; ++x, weights += kBlock) {
        const V weight = Ops::template Load<false>(weights, kLanes);
        const float* at = from + x * kBlock;
#pragma GCC unroll 14
        for (int i = 0; i < kCount; ++i) {
          const V tap = Ops::template Load<false>(at + i * kStride * kBlock, kLanes);
          sums[i] = Ops::MultiplyAdd(tap, weight, sums[i]);
        }
      }
    }
    for (int i = 0; i < kCount; ++i) {
      Ops::StoreTile(to + i * kBlock, Ops::Clip(sums[i], job.between.low, job.between.high));
    }
  }

  template <int kCount, int kStride>
  static void TapSome(Int count, const DepthwiseBlock& job, Int row_elements, const float* from, const float* weights,
                      V bias, Tile* to) {
    if constexpr (kCount > 1) {
      if (count < kCount) return TapSome<kCount - 1, kStride>(count, job, row_elements, from, weights, bias, to);
    }
    Taps<kCount, kStride>(job, row_elements, from, weights, bias, to);
  }

  // Groups of neighbours of about the same size.
  template <int kStride>
  static void TapRow(const DepthwiseBlock& job, const Window& w, const float* from, const float* weights, V bias,
                     Tile* to) {
    const Int groups = (job.out_width + kMaxRows - 1) / kMaxRows;
    for (Int g = 0; g < groups; ++g) {
      const Int x = job.out_width * g / groups, count = job.out_width * (g + 1) / groups - x;
      TapSome<kMaxRows, kStride>(count, job, w.columns * kBlock, from + x * kStride * kBlock, weights, bias,
                                 to + x * kBlock);
    }
  }

  // One vector of channels, all rows of the part. `to`: its lanes of the first position.
  static void TapChannels(const DepthwiseBlock& job, const Window& w, const DepthwiseBlockData& data, Int channel,
                          Int num_rows, const float* from, Tile* to) {
    const Int taps = job.kernel_height * job.kernel_width;
    const float* weights = data.weights + channel / kBlock * taps * kBlock + channel % kBlock;
    const bool has_bias = data.bias != nullptr && channel < job.channels;
    const V bias = has_bias ? Ops::template Load<false>(data.bias + channel, job.channels - channel) : Ops::All(0);
    for (Int y = 0; y < num_rows; ++y) {
      const float* row = from + y * job.stride * w.columns * kBlock;
      Tile* row_to = to + y * job.out_width * kBlock;
      job.stride == 1 ? TapRow<1>(job, w, row, weights, bias, row_to) : TapRow<2>(job, w, row, weights, bias, row_to);
    }
  }

  // ---- the product behind it ----

  static void Project(const Pointwise& job, const DepthwiseBlockData& data, const Tile* tiles, Int first_row,
                      Int num_rows) {
    const Int element = job.destination.is_bf16 ? 2 : 4, sum_element = job.sum.is_bf16 ? 2 : 4;
    const Int units = (job.in_channels + kPerUnit - 1) / kPerUnit;
    const Int groups = (num_rows + kMaxRows - 1) / kMaxRows;
    const Int step = (Products::kUnitBytes + groups - 1) / groups;
    for (Int channel = 0; channel < job.out_channels; channel += kColumns) {
      const Tile* weights = static_cast<const Tile*>(data.project_weights) + channel * units * kPerUnit;
      const char* ahead = reinterpret_cast<const char*>(weights) + units * Products::kUnitBytes;
      for (Int g = 0; g < groups; ++g, ahead += units * step) {
        const Int first = num_rows * g / groups, count = num_rows * (g + 1) / groups - first;
        const Int row = first_row + first, end = Min(channel + kColumns, job.out_channels);
        for (Int c = channel; c < end; c += 2 * kLanes) {
          typename Products::Place place;
          place.bias = data.project_bias == nullptr ? nullptr : data.project_bias + c;
          place.sum_bytes = job.sum.pixel * sum_element;
          place.destination_bytes = job.destination.pixel * element;
          const char* sum = static_cast<const char*>(data.sum);
          place.sum = sum == nullptr ? nullptr : sum + row * place.sum_bytes + c * sum_element;
          place.destination = static_cast<char*>(data.destination) + row * place.destination_bytes + c * element;
          place.columns = Min(2 * kLanes, end - c);
          MultiplyAndFinish(job, place, count, tiles + first * kBlock, PointwiseBlockStride(num_rows),
                            weights + (c - channel) * kPerUnit, {ahead, step, nullptr, 0, 0});
        }
      }
    }
  }

  static void MultiplyAndFinish(const Pointwise& job, const typename Products::Place& place, Int count,
                                const Tile* tiles, Int stride, const Tile* weights,
                                const typename Products::Ahead& ahead) {
    if (place.columns <= kLanes) {
      Products::template Compute<1>(job, place, count, tiles, stride, weights, ahead);
    } else {
      Products::template Compute<2>(job, place, count, tiles, stride, weights, ahead);
    }
  }

  // ---- all ----

  static Pointwise ProductJob(const DepthwiseBlock& job) {
    Pointwise product;
    product.in_channels = job.channels;
    product.out_channels = job.out_channels;
    product.sum = job.sum;
    product.destination = job.destination;
    product.low = job.result.low;
    product.high = job.result.high;
    return product;
  }

  // Packed rows of the source, whole rows of the image.
  static void PackSource(const DepthwiseBlock& job, const Window& w, const DepthwiseBlockData& data, Int image,
                         Tile* tiles) {
    Pointwise product;
    product.in_channels = job.in_channels;
    product.batch = job.batch;
    product.height = job.height;
    product.width = job.width;
    product.source = job.source;
    PointwisePart rows;
    rows.data.source = data.source;
    rows.first_row = (image * job.height + w.top) * job.width;
    rows.num_rows = (w.bottom - w.top) * job.width;
    Products::Pack(product, rows, tiles);
  }

  static void Run(const DepthwiseBlock& job, const DepthwiseBlockData& data, const DepthwiseBlockPart& part) {
    const Window w(job, part.first_row, part.num_rows);
    auto* source = static_cast<Tile*>(part.source_tiles);
    auto* tiles = static_cast<Tile*>(part.tiles);
    const Int rows = part.num_rows * job.out_width, stride = PointwiseBlockStride(rows);
    Clear(part.window, 2 * w.block);
    if (job.expands && w.top < w.bottom) PackSource(job, w, data, part.image, source);
    for (Int channel = 0; channel < job.channels; channel += kColumns) {
      if (job.expands) {
        if (w.top < w.bottom) ExpandChannels(job, w, data, source, channel, part.window);
      } else {
        CopyChannels(job, w, data, part.image, channel, part.window);
      }
      const Int end = Min(channel + kColumns, (job.channels + kBlock - 1) / kBlock * kBlock);
      for (Int c = channel; c < end; c += kLanes) {
        const Int lane = c - channel;
        TapChannels(job, w, data, c, part.num_rows, part.window + lane / kBlock * w.block + lane % kBlock,
                    tiles + c / kBlock * stride + c % kBlock);
      }
    }
    Project(ProductJob(job), data, tiles, (part.image * job.out_height + part.first_row) * job.out_width, rows);
  }
};

}  // namespace amp::kernels
