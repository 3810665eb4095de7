// Max pooling of what a convolution of an image has computed; see image_convolution_code.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/image_convolution.h"

namespace amp::kernels {

template <class Ops>
struct ImagePoolCode {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  using Part = ImageConvolutionPart;

  static constexpr int kLanes = Ops::kLanes;
  static constexpr int kPooled = 4;  // vectors at a time, or each comparison waits for the one before

  // What a window meets along an axis of `size` positions.
  struct Extent {
    Int begin, end;
  };
  static Extent Meets(Int window, Int stride, Int pad, Int kernel, Int size) {
    const Int first = window * stride - pad;
    return {first > 0 ? first : 0, first + kernel < size ? first + kernel : size};
  }

  // What a window of the pool meets: rows from a slot on, and columns.
  struct Window {
    Int first_slot, num_rows;
    Extent columns;
  };

  // The largest results in the window of kPooled vectors of channels; of the first `count`, if they are less.
  template <bool kIsBF16, bool kIsFull>
  [[gnu::always_inline]] static void Channels(const ImageConvolution& job, const Part& part, const Window& window,
                                              Int channel, Int count, char* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    constexpr float kLowest = kIsBF16 ? -3.3895313892515355e38f : -3.4028234663852886e38f;  // what nothing gives
    const Int slots = ImageKeptRows(job), pixel = job.product.out_channels * kElement;
    const Int row_bytes = job.product.width * pixel;
    const char* first = static_cast<const char*>(part.kept) + window.columns.begin * pixel + channel * kElement;
    V largest[kPooled];
    for (int v = 0; v < kPooled; ++v) largest[v] = Ops::All(kLowest);
    for (Int row = 0, slot = window.first_slot; row < window.num_rows; ++row) {
      const char* from = first + slot * row_bytes;
      for (Int column = window.columns.begin; column < window.columns.end; ++column, from += pixel) {
#pragma GCC unroll 4
        for (int v = 0; v < kPooled; ++v) {
          const Int begin = v * kLanes, left = kIsFull ? kLanes : count - begin;
          largest[v] = Ops::Maximum(largest[v], Ops::template Load<kIsBF16>(from + begin * kElement, left));
        }
      }
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
#pragma GCC unroll 4
    for (int v = 0; v < kPooled; ++v) {
      const Int begin = v * kLanes;
      Ops::template Store<kIsBF16>(to + (channel + begin) * kElement, kIsFull ? kLanes : count - begin, largest[v]);
    }
  }

  // The rows that row `y` of what the pool gives meets.
  static Extent RowsOf(const ImageConvolution& job, Int y) {
    const ImagePool& pool = job.pool;
    return Meets(y, pool.stride_y, pool.pad_top, pool.kernel_height, job.product.height);
  }

  // Row `y` of what the pool gives.
  template <bool kIsBF16>
  static void Row(const ImageConvolution& job, const GemmData& data, const Part& part, Int y) {
    const ImagePool& pool = job.pool;
    const Int channels = job.product.out_channels, step = kPooled * kLanes;
    const Int position_bytes = job.product.destination.pixel * (kIsBF16 ? 2 : 4);
    const Extent rows = RowsOf(job, y);
    Window window{rows.begin % ImageKeptRows(job), rows.end - rows.begin, {}};
    char* to = static_cast<char*>(data.destination) + (part.image * pool.height + y) * pool.width * position_bytes;
    for (Int x = 0; x < pool.width; ++x, to += position_bytes) {
      window.columns = Meets(x, pool.stride_x, pool.pad_left, pool.kernel_width, job.product.width);
      for (Int c = 0; c < channels; c += step) {
        c + step <= channels ? Channels<kIsBF16, true>(job, part, window, c, step, to)
                             : Channels<kIsBF16, false>(job, part, window, c, channels - c, to);
      }
    }
  }
};

}  // namespace amp::kernels
