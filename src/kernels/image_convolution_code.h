// The code of convolutions of images with few channels. One source for all instruction sets; each gives an `Ops` of
// internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/image_convolution.h"
#include "kernels/pointwise_code.h"

namespace amp::kernels {

// `Ops`: see PointwiseCode.
template <class Ops>
struct ImageConvolutionCode {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  using Results = PointwiseFinish<Ops>;
  using Place = typename Results::Place;
  using Part = ImageConvolutionPart;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kColumns = kPointwiseColumns;

  static Int Min(Int a, Int b) { return a < b ? a : b; }
  static Int Max(Int a, Int b) { return a > b ? a : b; }

  // ---- what windows meet ----

  static void FillTaps(const ImageConvolution& job, const Part& part) {
    const Int columns = ImageColumns(job), rows = ImageRows(job, part.num_rows);
    Int* to = part.taps;
    for (Int c = 0; c < job.channels; ++c) {
      for (Int y = 0; y < job.kernel_height; ++y) {
        for (Int x = 0; x < job.kernel_width; ++x) *to++ = (c * rows + y) * columns + x;
      }
    }
  }

  template <bool kIsBF16>
  static void Copy(const char* from, Int count, float* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    for (Int i = 0; i < count; i += kLanes) {
      Ops::template Store<false>(to + i, count - i, Ops::template Load<kIsBF16>(from + i * kElement, count - i));
    }
  }

  static void Clear(float* to, Int count) {
    for (Int i = 0; i < count; i += kLanes) Ops::template Store<false>(to + i, count - i, Ops::All(0));
  }

  // Row y of a channel, with zeros around it.
  static void FillRow(const ImageConvolution& job, const char* channel, Int y, float* to) {
    const Int columns = ImageColumns(job), element = job.product.source.is_bf16 ? 2 : 4;
    if (y < 0 || y >= job.height) return Clear(to, columns);
    const Int left = Min(job.pad_left, columns), end = Max(left, Min(job.pad_left + job.width, columns));
    const char* from = channel + y * job.width * element;
    Clear(to, left);
    job.product.source.is_bf16 ? Copy<true>(from, end - left, to + left) : Copy<false>(from, end - left, to + left);
    Clear(to + end, columns - end);
  }

  static void FillRows(const ImageConvolution& job, const void* source, const Part& part) {
    const Int rows = ImageRows(job, part.num_rows), first = part.first_row * job.stride_y - job.pad_top;
    const Int bytes = job.height * job.width * (job.product.source.is_bf16 ? 2 : 4);
    for (Int c = 0; c < job.channels; ++c) {
      const char* channel = static_cast<const char*>(source) + (part.image * job.channels + c) * bytes;
      float* to = part.rows + c * rows * ImageColumns(job);
      for (Int r = 0; r < rows; ++r) FillRow(job, channel, first + r, to + r * ImageColumns(job));
    }
  }

  // ---- products ----

  // Windows that begin `step` elements apart, and the weights of a column.
  struct Factors {
    const float* windows;
    Int step;
    const Int* taps;
    Int num_taps;
    const float* weights;
  };

  template <int kCount, int kVectors>
  static void Product(const Factors& factors, float* products) {
    V sums[kCount][kVectors];
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::All(0);
    }
    const float* weights = factors.weights;
    for (Int tap = 0; tap < factors.num_taps; ++tap, weights += kColumns) {
      const float* windows = factors.windows + factors.taps[tap];
      V columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = Ops::LoadColumn(weights + v * kLanes);
#pragma GCC unroll 14
      for (int r = 0; r < kCount; ++r) {
        const V factor = Ops::Broadcast(windows + r * factors.step);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::Accumulate(factor, columns[v], sums[r][v]);
      }
    }
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        Ops::template Store<false>(products + (r * kVectors + v) * kLanes, kLanes, sums[r][v]);
      }
    }
  }

  template <int kCount, int kVectors>
  static void ProductOf(Int count, const Factors& factors, float* products) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ProductOf<kCount - 1, kVectors>(count, factors, products);
    }
    Product<kCount, kVectors>(factors, products);
  }

  template <int kVectors>
  static void Compute(const Place& place, Int count, const Factors& factors) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    ProductOf<kMaxRows, kVectors>(count, factors, products);
    Results::template Finish<kVectors>(place, count, products);
  }

  // Some output channels of a row of the result, whose windows begin in `windows`: groups of about as many positions.
  static void ComputeColumn(const ImageConvolution& job, const PointwiseData& data, const Part& part,
                            const float* windows, Int row, Int channel, const float* weights) {
    const Int width = job.product.width, groups = (width + kMaxRows - 1) / kMaxRows;
    for (Int g = 0; g < groups; ++g) {
      const Int first = width * g / groups, count = width * (g + 1) / groups - first;
      const Place place = Results::PlaceOf(job.product, data, row + first, channel, job.product.out_channels - channel);
      const Factors factors{windows + first * job.stride_x, job.stride_x, part.taps, job.product.in_channels, weights};
      place.columns <= kLanes ? Compute<1>(place, count, factors) : Compute<2>(place, count, factors);
    }
  }

  static void Run(const ImageConvolution& job, const PointwiseData& data, const Part& part) {
    FillTaps(job, part);
    FillRows(job, data.source, part);
    const Int first = part.image * job.product.height + part.first_row;
    for (Int y = 0; y < part.num_rows; ++y) {
      const float* windows = part.rows + y * job.stride_y * ImageColumns(job);
      for (Int c = 0; c < job.product.out_channels; c += 2 * kLanes) {
        const Int column = c / kColumns * kColumns;
        const float* weights =
            static_cast<const float*>(data.weights) + column * job.product.in_channels + (c - column);
        ComputeColumn(job, data, part, windows, (first + y) * job.product.width, c, weights);
      }
    }
  }
};

}  // namespace amp::kernels
