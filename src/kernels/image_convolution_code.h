// The code of first convolutions, for vectors of kLanes numbers. One source for all instruction sets; see
// vector_code.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kernels/image_convolution.h"
#include "kernels/vector_code.h"

namespace amp::kernels {

// kPixels and kPanels: how many pixels and panels of channels a block of sums has. They and the weights of one element
// of the window are to fit into the registers. MultiplyAdd::Of(x, y, z) is x * y + z.
template <Isa kIsa, int kLanes, int kMaxPixels, int kMaxPanels, class MultiplyAdd>
struct ImageConvolutionCode {
  using Code = VectorCode<kIsa, kLanes>;
  using Floats = typename Code::Floats;
  static constexpr int kVectors = static_cast<int>(kImagePanel) / kLanes;  // of a panel

  struct Block {
    const ImageConvolution& job;
    const float* rows;        // from the first pixel on
    const float* weights;     // of the first panel
    std::int64_t next_panel;  // distance of the next one's
    const float* bias;        // of the first panel's channels, or null
    std::int64_t row_length, window_rows;
  };

  // Of channels first, first + 1 and so on, of which `channels` exist.
  static Floats Bias(const float* bias, std::int64_t first, std::int64_t channels) {
    if (bias == nullptr || first >= channels) return Floats{};
    if (first + kLanes <= channels) return Code::Load(bias + first);
    float padded[kLanes] = {};
    for (std::int64_t i = first; i < channels; ++i) padded[i - first] = bias[i];
    return Code::Load(padded);
  }

  template <int kPixels, int kPanels>
  static void Sum(const Block& block, std::int64_t channels, Floats (&sums)[kPixels][kPanels * kVectors]) {
    const ImageConvolution& job = block.job;
    const float* weights[kPanels];
    for (int i = 0; i < kPanels; ++i) weights[i] = block.weights + i * block.next_panel;
#pragma GCC unroll 8
    for (int v = 0; v < kPanels * kVectors; ++v) {
      const Floats start = Bias(block.bias, v * kLanes, channels);
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) sums[p][v] = start;
    }
    const float* row = block.rows;
    for (std::int64_t k = 0; k < block.window_rows; ++k, row += block.row_length) {
      const float* x = row;
      for (std::int64_t j = 0; j < job.width.kernel; ++j, x += job.width.step) {
        Floats w[kPanels * kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kPanels * kVectors; ++v) {
          w[v] = Code::Load(weights[v / kVectors] + v % kVectors * kLanes);
        }
        for (int i = 0; i < kPanels; ++i) weights[i] += kImagePanel;
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const Floats pixel = Code::All(x[p * job.width.stride]);
#pragma GCC unroll 8
          for (int v = 0; v < kPanels * kVectors; ++v) sums[p][v] = MultiplyAdd::Of(w[v], pixel, sums[p][v]);
        }
      }
    }
  }

  static Floats Clipped(Floats x, float low, float high) {  // a NaN stays one
    x = x < Code::All(low) ? Code::All(low) : x;
    return x > Code::All(high) ? Code::All(high) : x;
  }

  template <class T>
  static void Write(Floats x, std::int64_t count, T* y) {
    T all[kLanes];
    if constexpr (sizeof(T) == sizeof(float)) {
      std::memcpy(all, &x, sizeof all);
    } else {
      const typename Code::Halves halves = __builtin_convertvector(Code::RoundedBits(x), typename Code::Halves);
      std::memcpy(all, &halves, sizeof all);
    }
    if (count >= kLanes) {
      std::memcpy(y, all, sizeof all);
    } else {
      for (std::int64_t i = 0; i < count; ++i) y[i] = all[i];
    }
  }

  // `y`: of the first pixel, in the first panel, which has `channels` channels with all that follow.
  template <class T, int kPixels, int kPanels>
  static void RunBlock(const Block& block, T* y, std::int64_t channels) {
    Floats sums[kPixels][kPanels * kVectors];
    Sum<kPixels, kPanels>(block, channels, sums);
    const ImageConvolution& job = block.job;
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < kPanels * kVectors; ++v) {
        const int panel = v / kVectors, first = v % kVectors * kLanes;
        Write(Clipped(sums[p][v], job.low, job.high), channels - panel * kImagePanel - first,
              y + p * job.y_pixel + panel * job.y_panel + first);
      }
    }
  }

  template <class T>
  using BlockFunction = void (*)(const Block& block, T* y, std::int64_t channels);

  template <class T, int kPanels, std::size_t... kIndices>
  static constexpr std::array<BlockFunction<T>, kMaxPixels> BlocksOf(std::index_sequence<kIndices...>) {
    return {RunBlock<T, kIndices + 1, kPanels>...};
  }

  template <class T, int kPanels>
  static void RunPanels(const Block& panels, std::int64_t channels, T* y) {
    static constexpr auto kBlocks = BlocksOf<T, kPanels>(std::make_index_sequence<kMaxPixels>());
    const ImageConvolution& job = panels.job;
    // Blocks of about the same size: a small last one would keep few sums in flight.
    const std::int64_t count = (job.width.out + kMaxPixels - 1) / kMaxPixels;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = job.width.out * i / count, end = job.width.out * (i + 1) / count;
      Block block = panels;
      block.rows += begin * job.width.stride;
      kBlocks[static_cast<std::size_t>(end - begin - 1)](block, y + begin * job.y_pixel, channels);
    }
  }

  template <class T>
  static void RunRow(const ImageConvolution& job, const float* rows, const float* packed, const float* bias, T* y) {
    // Functions of the header would be shared with code for other instruction sets.
    const std::int64_t window_rows = job.channels * job.depth.kernel * job.height.kernel;
    const std::int64_t panel = window_rows * job.width.kernel * kImagePanel;
    const std::int64_t length = (job.width.out - 1) * job.width.stride + (job.width.kernel - 1) * job.width.step + 1;
    for (std::int64_t first = 0; first < job.out_channels;) {
      const Block panels{job, rows, packed, panel, bias, length, window_rows};
      const std::int64_t channels = job.out_channels - first;
      const bool has_all = channels > (kMaxPanels - 1) * kImagePanel;
      has_all ? RunPanels<T, kMaxPanels>(panels, channels, y) : RunPanels<T, 1>(panels, channels, y);
      const std::int64_t done = has_all ? kMaxPanels : 1;
      first += done * kImagePanel;
      packed += done * panel;
      if (bias != nullptr) bias += done * kImagePanel;
      y += done * job.y_panel;
    }
  }

  static void Row(const ImageConvolution& job, const float* rows, const float* packed, const float* bias, void* y) {
    if (job.y_is_bf16) return RunRow(job, rows, packed, bias, static_cast<std::uint16_t*>(y));
    RunRow(job, rows, packed, bias, static_cast<float*>(y));
  }

  static constexpr ImageConvolutionTable kTable = {kIsa, Row};
};

}  // namespace amp::kernels
