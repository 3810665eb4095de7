// The code of convolutions of images with few channels. One source for all instruction sets; each gives an `Ops` of
// internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm_code.h"
#include "kernels/gemm/image_convolution.h"
#include "kernels/gemm/image_pool_code.h"

namespace amp::kernels {

// `Ops`: see GemmCode. Where a unit has two numbers, it has Row and StorePairs.
template <class Ops>
struct ImageConvolutionCode {
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;
  using Results = GemmEpilogue<Ops>;
  using Place = typename Results::Place;
  using Part = ImageConvolutionPart;
  using Pool = ImagePoolCode<Ops>;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr Int kColumns = kGemmColumns, kPerUnit = Ops::kPerUnit;

  static Int Min(Int a, Int b) { return a < b ? a : b; }
  static Int Max(Int a, Int b) { return a > b ? a : b; }

  // ---- what windows meet ----

  static void FillTaps(const ImageConvolution& job, const Part& part) {
    const Int columns = ImageColumns(job), rows = ImageRows(job, part.num_rows);
    Int* to = part.taps;
    for (Int p = 0; p < ImagePlanes(job); ++p) {
      for (Int y = 0; y < job.kernel_height; ++y) {
        const Int row = (p * rows + y) * columns;
        for (Int u = 0; u < ImageUnitsOfRow(job, p); ++u) *to++ = row + ImageUnitColumn(job, p, u);
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

  // Row y of two channels with zeros around it, or of one channel, beside itself from the next column on.
  template <bool kIsBF16>
  static void FillPairs(const ImageConvolution& job, const char* channel, bool is_alone, Int y, Tile* to) {
    const Int columns = ImageColumns(job), row_bytes = job.width * (kIsBF16 ? 2 : 4);
    const char* first = channel + y * row_bytes;
    const char* second = is_alone ? first : first + job.height * row_bytes;
    const Int count = y < 0 || y >= job.height ? 0 : job.width;
    const Int ahead = is_alone ? 1 : 0, second_count = is_alone && job.kernel_width == 1 ? 0 : count;
    for (Int x = 0; x < columns; x += kLanes) {
      const Int begin = x - job.pad_left;
      Ops::template StorePairs<kIsBF16>(to + x * kPerUnit, columns - x, {first, begin, count},
                                        {second, begin + ahead, second_count});
    }
  }

  static void FillUnits(const ImageConvolution& job, const char* channel, Int plane, Int y, Tile* to) {
    if constexpr (kPerUnit == 2) {
      const bool is_alone = 2 * plane + 1 == job.channels;
      job.product.source.is_bf16 ? FillPairs<true>(job, channel, is_alone, y, to)
                                 : FillPairs<false>(job, channel, is_alone, y, to);
    } else {
      FillRow(job, channel, y, to);
    }
  }

  static void FillPlanes(const ImageConvolution& job, const void* source, const Part& part) {
    const Int rows = ImageRows(job, part.num_rows), first = part.first_row * job.stride_y - job.pad_top;
    const Int bytes = job.height * job.width * (job.product.source.is_bf16 ? 2 : 4), columns = ImageColumns(job);
    auto* to = static_cast<Tile*>(part.units);
    for (Int p = 0; p < ImagePlanes(job); ++p) {
      const char* channel = static_cast<const char*>(source) + (part.image * job.channels + p * kPerUnit) * bytes;
      for (Int r = 0; r < rows; ++r, to += columns * kPerUnit) FillUnits(job, channel, p, first + r, to);
    }
  }

  // What the row of the result meets that lies as far behind the part as this one behind its first: memory works while
  // products are computed. Inlined, or the compiler drops a call without an effect.
  [[gnu::always_inline]] static void PrefetchAfter(const ImageConvolution& job, const void* source, const Part& part,
                                                   Int row) {
    constexpr Int kLine = 64;
    const Int element = job.product.source.is_bf16 ? 2 : 4, row_bytes = job.width * element;
    const Int next = (part.first_row + part.num_rows + row) * job.stride_y - job.pad_top;
    const Int begin = Max(0, next + Max(0, job.kernel_height - job.stride_y));
    const Int end = Min(job.height, next + job.kernel_height);
    const char* image = static_cast<const char*>(source) + part.image * job.channels * job.height * row_bytes;
    for (Int c = 0; c < job.channels; ++c) {
      const char* channel = image + c * job.height * row_bytes;
      for (Int at = begin * row_bytes; at < end * row_bytes; at += kLine) __builtin_prefetch(channel + at, 0, 2);
    }
  }

  // ---- products ----

  // Windows that begin `step` numbers apart, and the weights of a column.
  struct Factors {
    const Tile* windows;
    Int step;
    const Int* taps;
    Int num_taps;
    const Tile* weights;
  };

  // `kStride`: a step of so many units; 0: any. Then addresses are computed, which takes turns with products.
  template <int kCount, int kVectors, int kStride>
  static void Product(const Factors& factors, float* products) {
    const Int step = kStride == 0 ? factors.step : kStride * kPerUnit;
    V sums[kCount][kVectors];
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Ops::All(0);
    }
    const Tile* weights = factors.weights;
    for (Int tap = 0; tap < factors.num_taps; ++tap, weights += kColumns * kPerUnit) {
      const Tile* windows = factors.windows + factors.taps[tap] * kPerUnit;
      typename Ops::Column columns[kVectors];
      for (int v = 0; v < kVectors; ++v) columns[v] = Ops::LoadColumn(weights + v * kLanes * kPerUnit);
#pragma GCC unroll 14
      for (int r = 0; r < kCount; ++r) {
        const typename Ops::Factor factor = Ops::Broadcast(windows + r * step);
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

  template <int kCount, int kVectors, int kStride>
  static void ProductOf(Int count, const Factors& factors, float* products) {
    if constexpr (kCount > 1) {
      if (count < kCount) return ProductOf<kCount - 1, kVectors, kStride>(count, factors, products);
    }
    Product<kCount, kVectors, kStride>(factors, products);
  }

  template <int kVectors>
  static void Compute(const Place& place, Int count, const Factors& factors) {
    alignas(64) float products[kMaxRows * kVectors * kLanes];
    if (factors.step == kPerUnit) {
      ProductOf<kMaxRows, kVectors, 1>(count, factors, products);
    } else if (factors.step == 2 * kPerUnit) {
      ProductOf<kMaxRows, kVectors, 2>(count, factors, products);
    } else {
      ProductOf<kMaxRows, kVectors, 0>(count, factors, products);
    }
    Results::template Finish<kVectors>(place, count, products);
  }

  // Some output channels of a row of the result, whose windows begin in `windows`: groups of about as many positions.
  static void ComputeColumn(const ImageConvolution& job, const GemmData& data, const Part& part, const Tile* windows,
                            Int row, Int channel, const Tile* weights) {
    const Int width = job.product.width, groups = (width + kMaxRows - 1) / kMaxRows;
    for (Int g = 0; g < groups; ++g) {
      const Int first = width * g / groups, count = width * (g + 1) / groups - first;
      const Place place = Results::PlaceOf(job.product, data, row + first, channel, job.product.out_channels - channel);
      const Int step = job.stride_x * kPerUnit;
      const Factors factors{windows + first * step, step, part.taps, job.product.in_channels / kPerUnit, weights};
      place.columns <= kLanes ? Compute<1>(place, count, factors) : Compute<2>(place, count, factors);
    }
  }

  // The rows of the part; the first one of them is that row of `data.destination` which `place_of` says.
  template <class PlaceOf>
  static void ComputeRows(const ImageConvolution& job, const GemmData& data, const Part& part,
                          const PlaceOf& place_of) {
    FillTaps(job, part);
    FillPlanes(job, data.source, part);
    for (Int y = 0; y < part.num_rows; ++y) {
      PrefetchAfter(job, data.source, part, y);
      const Tile* windows = static_cast<const Tile*>(part.units) + y * job.stride_y * ImageColumns(job) * kPerUnit;
      for (Int c = 0; c < job.product.out_channels; c += 2 * kLanes) {
        const Int column = c / kColumns * kColumns;
        const Tile* weights = static_cast<const Tile*>(data.weights) +
                              column / kColumns * GemmColumnElements(job.product) + (c - column) * kPerUnit;
        ComputeColumn(job, data, part, windows, place_of(part.first_row + y) * job.product.width, c, weights);
      }
    }
  }

  // ---- pooling ----

  // Rows of the convolution are kept until no window meets them any more.
  static void RunPooled(const ImageConvolution& job, const GemmData& data, const Part& part) {
    const Int slots = ImageKeptRows(job), end = Pool::RowsOf(job, part.first_row + part.num_rows - 1).end;
    ImageConvolution kept = job;
    kept.product.destination.pixel = job.product.out_channels;
    GemmData results = data;
    results.destination = part.kept;
    Part strip = part;
    strip.first_row = Pool::RowsOf(job, part.first_row).begin;
    for (Int y = part.first_row; y < part.first_row + part.num_rows; ++y) {
      for (Int next = strip.first_row; next < Pool::RowsOf(job, y).end; next = strip.first_row) {
        strip.num_rows = Min(kImagePoolRows, end - next);
        ComputeRows(kept, results, strip, [&](Int row) { return row % slots; });
        strip.first_row += strip.num_rows;
      }
      job.product.destination.is_bf16 ? Pool::template Row<true>(job, data, part, y)
                                      : Pool::template Row<false>(job, data, part, y);
    }
  }

  static void Run(const ImageConvolution& job, const GemmData& data, const Part& part) {
    if (job.pools()) return RunPooled(job, data, part);
    ComputeRows(job, data, part, [&](Int row) { return part.image * job.product.height + row; });
  }
};

}  // namespace amp::kernels
