// The code of depthwise blocks, for vectors of Ops::kLanes numbers; see gemm_code.h.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/depthwise/fused_depthwise_window_code.h"

namespace amp::kernels {

// The depthwise convolution. Of a position so many channels that it writes lie together.
template <class Ops, std::int64_t kTogether = kGemmBlock, bool kInPairs = false>
struct DepthwiseTapsCode : DepthwiseUnits {
  using Products = GemmCode<Ops>;
  using V = typename Ops::Vector;
  // What is rounded to int16 is kept in float32 until all channels of a position are known.
  using Tile = std::conditional_t<Ops::kScales, float, typename Ops::Tile>;
  using Window = DepthwiseWindow<Ops, kInPairs>;

  static constexpr int kLanes = Ops::kLanes, kMaxRows = Ops::kRows;
  static constexpr int kUsualWidth = 3;

  // What a vector of channels of a row of the result is made of.
  struct TappedRow {
    const FusedDepthwise& job;
    const Window& window;
    Int first;          // where the row of the first taps lies, in a block
    const float* from;  // the channels in the window
    const float* weights;
    V bias;
  };

  // Adds a tap. `at`: where the first neighbour's lies.
  template <int kStride, int kCount>
  [[gnu::always_inline]] static void AddTap(const float* at, const float* weights, V (&sums)[kCount]) {
    const V weight = Ops::template Load<false>(weights, kLanes);
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      sums[i] = Ops::MultiplyAdd(Ops::template Load<false>(at + i * kStride * kBlock, kLanes), weight, sums[i]);
    }
  }

  // Adds a pair of taps, whose first number the first neighbour does not meet if kShift is 1. There are weights for
  // such neighbours and for others.
  template <int kStride, int kShift, int kCount>
  [[gnu::always_inline]] static void AddPair(const float* at, const float* weights, V (&sums)[kCount]) {
    const auto load = [](const float* from) {
      return Ops::LoadColumn(reinterpret_cast<const typename Ops::Tile*>(from));
    };
    const typename Ops::Column even = load(weights), odd = load(weights + kBlock);
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const int column = kShift + i * kStride;
      sums[i] = Ops::Accumulate(load(at + column / 2 * kBlock), column % 2 == 0 ? even : odd, sums[i]);
    }
  }

  // Adds a row of taps, or of pairs. Returns the weights of the next one.
  template <int kStride, int kShift, int kCount>
  [[gnu::always_inline]] static const float* AddRow(Int width, const float* at, const float* weights,
                                                    V (&sums)[kCount]) {
    const auto add = [&](Int i) __attribute__((always_inline)) {
      if constexpr (kInPairs) {
        AddPair<kStride, kShift>(at + i * kBlock, weights + i * 2 * kBlock, sums);
      } else {
        AddTap<kStride>(at + i * kBlock, weights + i * kBlock, sums);
      }
    };
    const Int count = kInPairs ? DepthwisePairs(width) : width;
    if (width == kUsualWidth) {  // without a loop
      constexpr int kUsual = kInPairs ? DepthwisePairs(kUsualWidth) : kUsualWidth;
#pragma GCC unroll 3
      for (int i = 0; i < kUsual; ++i) add(i);
    } else {
      for (Int i = 0; i < count; ++i) add(i);
    }
    return weights + count * Window::kTogether * kBlock;
  }

  // Some neighbours, from column x of the window on.
  template <int kCount, int kStride, int kShift>
  static void Taps(const TappedRow& row, Int x, Tile* to) {
    V sums[kCount];
    for (int i = 0; i < kCount; ++i) sums[i] = row.bias;
    const float* weights = row.weights;
    const Bounds bounds = row.job.between;
    Int taps = row.first;
    for (Int ky = 0; ky < row.job.kernel_height; ++ky) {
      const float* at = row.from + taps + x / Window::kTogether * kBlock;
      taps = taps + row.window.row == row.window.block ? 0 : taps + row.window.row;
      weights = AddRow<kStride, kShift>(row.job.kernel_width, at, weights, sums);
    }
#pragma GCC unroll 14
    for (int i = 0; i < kCount; ++i) {
      const V result = Ops::Clip(sums[i], bounds.low, bounds.high);
      if constexpr (Ops::kScales) {
        Ops::template Store<false>(to + i * kTogether, kLanes, result);
      } else {
        Ops::StoreTile(to + i * kTogether, result);
      }
    }
  }

  template <int kCount, int kStride, int kShift>
  static void TapSome(Int count, const TappedRow& row, Int x, Tile* to) {
    if constexpr (kCount > 1) {
      if (count < kCount) return TapSome<kCount - 1, kStride, kShift>(count, row, x, to);
    }
    Taps<kCount, kStride, kShift>(row, x, to);
  }

  // Groups of neighbours of about the same size.
  template <int kStride, int kShift>
  static void TapRow(const TappedRow& row, Tile* to) {
    const Int width = row.job.out_width, groups = (width + kMaxRows - 1) / kMaxRows;
    for (Int g = 0; g < groups; ++g) {
      const Int x = Window::GroupBegin(width, g, groups), count = Window::GroupBegin(width, g + 1, groups) - x;
      TapSome<kMaxRows, kStride, kShift>(count, row, kShift + x * kStride, to + x * kTogether);
    }
  }
  template <int kStride>
  static void TapRow(const TappedRow& row, Tile* to) {
    if constexpr (kInPairs) {
      if (row.window.shift == 1) return TapRow<kStride, 1>(row, to);
    }
    TapRow<kStride, 0>(row, to);
  }

  // The weights of 16 channels from c on.
  static const float* WeightsAt(const FusedDepthwise& job, const FusedDepthwiseData& data, Int c) {
    const Int taps = job.kernel_height * job.kernel_width;
    if constexpr (kInPairs) {
      const Int block = job.kernel_height * DepthwisePairs(job.kernel_width) * 2 * kBlock;
      return data.weights + (job.channels + kBlock - 1) / kBlock * taps * kBlock + c / kBlock * block;
    } else {
      return data.weights + c / kBlock * taps * kBlock + c % kBlock;
    }
  }

  // A row of the result, all channels of the window. `to`: the row's place in the first block of channels.
  static void TapChannels(const FusedDepthwise& job, const Window& w, const FusedDepthwiseData& data, Int y,
                          Int channel, Tile* to, Int block_stride) {
    const Int left = job.channels - channel;
    for (Int lane = 0; lane < Products::Min(kColumns, (left + kBlock - 1) / kBlock * kBlock); lane += kLanes) {
      const Int c = channel + lane;
      const bool has_bias = data.bias != nullptr && lane < left;
      const TappedRow row{job,
                          w,
                          w.Row(y * job.stride - job.pad_top) - w.memory,
                          w.memory + lane / kBlock * w.block + lane % kBlock,
                          WeightsAt(job, data, c),
                          has_bias ? Ops::template Load<false>(data.bias + c, left - lane) : Ops::All(0)};
      Tile* tiles = to + lane / kTogether * block_stride + lane % kTogether;
      job.stride == 1 ? TapRow<1>(row, tiles) : TapRow<2>(row, tiles);
    }
  }
};

// `kInPairs`: the depthwise convolution multiplies pairs of neighbours in bfloat16.
template <class Ops, bool kInPairs = false>
struct FusedDepthwiseCode : DepthwiseUnits {
  using Filling = DepthwiseWindowCode<Ops, kInPairs>;
  using Taps = DepthwiseTapsCode<Ops, kGemmBlock, kInPairs>;
  using Products = GemmCode<Ops>;
  using Tile = typename Ops::Tile;
  using Window = DepthwiseWindow<Ops, kInPairs>;
  using Ahead = typename GemmCode<Ops>::Ahead;

  static constexpr int kMaxRows = Ops::kRows;
  static constexpr Int kPerUnit = Ops::kPerUnit;

  static Gemm ProductProblem(const FusedDepthwise& job) {
    Gemm product = GemmProductOf<Ops>(job.channels);
    product.out_channels = job.out_channels;
    product.sum = job.sum;
    product.destination = job.destination;
    product.low = job.result.low;
    product.high = job.result.high;
    return product;
  }

  // Rows of the image that a part reads.
  struct ImageRows {
    Int top, bottom;
    ImageRows(const FusedDepthwise& job, const FusedDepthwisePart& part) {
      const Int first = part.first_row * job.stride - job.pad_top;
      const Int end = first + (part.num_rows - 1) * job.stride + job.kernel_height;
      top = first < 0 ? 0 : first;
      bottom = Products::Min(end, job.height);
    }
    Int count() const { return bottom > top ? bottom - top : 0; }
  };

  // Whole rows of the image.
  static void PackSource(const FusedDepthwise& job, const ImageRows& rows, const FusedDepthwiseData& data, Int image,
                         Tile* tiles) {
    Gemm product = GemmProductOf<Ops>(job.in_channels);
    product.batch = job.batch;
    product.height = job.height;
    product.width = job.width;
    product.source = job.source;
    GemmPart part;
    part.data.source = data.source;
    part.first_row = (image * job.height + rows.top) * job.width;
    part.num_rows = rows.count() * job.width;
    part.depth = GemmFullDepth(product);
    part.factors = static_cast<const float*>(data.expand_weights);
    PackGemmRows<Ops>(product, part, {0, job.in_channels, true, true}, tiles);
  }

  // A row that taps meet, into the window.
  static void FillRow(const FusedDepthwise& job, const Window& w, const FusedDepthwiseData& data,
                      const FusedDepthwisePart& part, const ImageRows& rows, Int y, Int channel, const Ahead& ahead) {
    if (y < rows.top || y >= rows.bottom) {
      for (Int block = 0; block < kColumns / kBlock; ++block) Filling::Clear(w.Row(y) + block * w.block, w.row);
    } else if (job.expands) {
      const Int first = (y - rows.top) * job.width, stride = GemmBlockStride(rows.count() * job.width);
      const auto* tiles = static_cast<const Tile*>(part.source_tiles);
      const Int depth = GemmFullDepth(GemmProductOf<Ops>(job.in_channels));
      const auto* scales = reinterpret_cast<const float*>(tiles + depth / kBlock * stride);
      const typename Filling::SourceRow source{tiles + first * kBlock, stride, scales + first};
      Filling::ExpandRow(job, w, data, source, channel, ahead, w.Image(y));
    } else {
      Filling::CopyRow(job, w, data, part.image, y, channel);
    }
  }

  // Weights of the next channels, of which each row fetches a part.
  struct NextWeights {
    const char* first = nullptr;
    Int row_bytes = 0, step = 0;

    NextWeights(const FusedDepthwise& job, const Window& w, const FusedDepthwiseData& data, Int rows) {
      if (!job.expands || rows == 0) return;
      const Gemm product = GemmProductOf<Ops>(job.in_channels);
      const Int units = GemmColumnElements(product) / (kColumns * kPerUnit);  // with scales
      const Int groups = (w.used_columns + kMaxRows - 1) / kMaxRows;
      step = (Products::kUnitBytes + groups * rows - 1) / (groups * rows);
      row_bytes = groups * units * step;
      first = static_cast<const char*>(GemmColumnsOf(product, data.expand_weights)) + units * Products::kUnitBytes;
    }
    Ahead Of(Int row, Int channel, Int rows) const {
      if (first == nullptr || row < 0) return {};
      return {first + channel / kColumns * rows * row_bytes + row * row_bytes, step, nullptr, 0, 0};
    }
  };

  // What the depthwise convolution wrote, at all positions.
  static void Project(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part) {
    const Gemm product = ProductProblem(job);
    GemmPart rows;
    rows.data.weights = GemmColumnsOf(product, data.project_weights);
    rows.data.bias = data.project_bias;
    rows.data.sum = data.sum;
    rows.data.destination = data.destination;
    rows.first_row = (part.image * job.out_height + part.first_row) * job.out_width;
    rows.num_rows = part.num_rows * job.out_width;
    rows.num_channels = job.out_channels;
    rows.depth = GemmFullDepth(product);
    rows.factors = static_cast<const float*>(data.project_weights);
    if constexpr (Ops::kScales) Ops::RoundBetween(product, rows, part, static_cast<Tile*>(part.tiles));
    for (Int channel = 0; channel < job.out_channels; channel += kColumns) {
      Products::ComputeColumn(product, rows, {0, job.channels, true, true}, channel,
                              static_cast<const Tile*>(part.tiles), nullptr);
    }
  }

  static auto* WrittenTo(const FusedDepthwisePart& part) {
    if constexpr (Ops::kScales) {
      return part.between;
    } else {
      return static_cast<Tile*>(part.tiles);
    }
  }

  static void Run(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part) {
    const Window w(job, part.window);
    const ImageRows rows(job, part);
    auto* tiles = WrittenTo(part);
    const Int positions = part.num_rows * job.out_width, stride = GemmBlockStride(positions);
    Filling::Clear(part.window, kColumns / kBlock * w.block);
    if (job.expands && rows.count() > 0) PackSource(job, rows, data, part.image, static_cast<Tile*>(part.source_tiles));
    const NextWeights next(job, w, data, rows.count());
    for (Int channel = 0; channel < job.channels; channel += kColumns) {
      Int filled = part.first_row * job.stride - job.pad_top;  // rows before are in the window
      for (Int i = 0; i < part.num_rows; ++i) {
        const Int y = part.first_row + i, end = y * job.stride - job.pad_top + job.kernel_height;
        for (; filled < end; ++filled) {
          FillRow(job, w, data, part, rows, filled, channel, next.Of(filled - rows.top, channel, rows.count()));
        }
        Taps::TapChannels(job, w, data, y, channel, tiles + channel / kBlock * stride + i * job.out_width * kBlock,
                          stride);
      }
    }
    Project(job, data, part);
  }
};

}  // namespace amp::kernels
