// How rows and windows become packed rows of products; see gemm_code.h.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"

namespace amp::kernels {

// Rows of the source, one after the other.
template <class Ops>  // for internal linkage
class GemmRows {
  using Int = std::int64_t;

 public:
  GemmRows(const Gemm& job, const void* source, Int row)
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
  const Gemm& job_;
  Int element_, x_, y_, n_;
  const char* source_;
  const char* at_ = nullptr;
};

// The scales of packed rows.
template <class Tile>
const float* GemmScalesBehind(const GemmPart& part, const Tile* tiles) {
  return reinterpret_cast<const float*>(tiles + part.depth / kGemmBlock * GemmBlockStride(part.num_rows));
}

// Input channels that are multiplied one after the other.
struct GemmStretch {
  std::int64_t first, end;
  bool begins, ends;  // the sum
};

// Gathers what windows meet.
template <class Ops>  // for internal linkage
struct GemmWindows {
  using Int = std::int64_t;

  // Taps of one row of a window, from position x of a row of the image on. Those outside of the image are zeros.
  template <Int kElement>
  static void GatherRow(const GemmWindow& window, Int pixel, const char* row, Int x, char* to) {
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
  static void Gather(const Gemm& job, const GemmPart& part, Int row, const GemmStretch& depth, char* to) {
    const GemmWindow& window = job.window;
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

// Packs rows.
template <class Ops>
struct GemmPacking {
  using V = typename Ops::Vector;
  using Int = std::int64_t;
  static constexpr int kLanes = Ops::kLanes;
  using Tile = typename Ops::Tile;
  using Stretch = GemmStretch;
  static constexpr Int kBlock = kGemmBlock, kPerUnit = Ops::kPerUnit;

  // Block by block: what a channel is multiplied by stays in registers.
  template <bool kIsBF16>
  static void PackBlock(const Gemm& job, const GemmPart& part, Int channel, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    for (Int lane = 0; lane < kBlock; lane += kLanes) {
      const Int first = channel + lane, count = job.in_channels - first;
      const V scale = Ops::template Load<false>(part.data.scale + first, count);
      const V shift = Ops::template Load<false>(part.data.shift + first, count);
      GemmRows<Ops> rows(job, part.data.source, part.first_row);
      for (Int r = 0; r < part.num_rows; ++r, rows.Next()) {
        const V x = Ops::template Load<kIsBF16>(rows.get() + first * kElement, count);
        Ops::StoreTile(to + r * kBlock + lane,
                       Ops::Clip(Ops::MultiplyAdd(x, scale, shift), job.source_low, job.source_high));
      }
    }
  }

  static void PackTwoBlocks(const Gemm& job, const GemmPart& part, Int channel, Int stride, Tile* to) {
    const typename Ops::PairedScales scales(part.data.scale + channel, part.data.shift + channel, job.source_low,
                                            job.source_high);
    GemmRows<Ops> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock) {
      scales.Apply(rows.get() + channel * 2, to, to + stride);
    }
  }

  template <bool kIsBF16>
  static void PackScaled(const Gemm& job, const GemmPart& part, const Stretch& depth, Tile* to) {
    const Int stride = GemmBlockStride(part.num_rows);
    Int c = depth.first;
    if constexpr (kIsBF16 && kPerUnit == 2) {
      for (; c + 2 * kBlock <= depth.end; c += 2 * kBlock, to += 2 * stride) PackTwoBlocks(job, part, c, stride, to);
    }
    for (; c < depth.end; c += kBlock, to += stride) PackBlock<kIsBF16>(job, part, c, to);
  }

  template <bool kIsBF16>
  static void PackRow(const Gemm& job, const Stretch& depth, const char* row, Int stride, Tile* to) {
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
  static void PackWindows(const Gemm& job, const GemmPart& part, const Stretch& depth, Tile* to) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int stride = GemmBlockStride(part.num_rows);
    char* numbers = reinterpret_cast<char*>(to + part.depth / kBlock * stride);
    for (Int r = 0; r < part.num_rows; ++r, to += kBlock) {
      GemmWindows<Ops>::template Gather<kElement>(job, part, part.first_row + r, depth, numbers);
      PackRow<kIsBF16>(job, depth, numbers, stride, to);
    }
  }

  template <bool kIsBF16>
  static void PackRows(const Gemm& job, const GemmPart& part, const Stretch& depth, Tile* to) {
    if (part.data.scale != nullptr) return PackScaled<kIsBF16>(job, part, depth, to);
    if (job.window.channels > 0) return PackWindows<kIsBF16>(job, part, depth, to);
    GemmRows<Ops> rows(job, part.data.source, part.first_row);
    for (Int r = 0; r < part.num_rows; ++r, rows.Next(), to += kBlock) {
      PackRow<kIsBF16>(job, depth, rows.get(), GemmBlockStride(part.num_rows), to);
    }
  }

  static void Pack(const Gemm& job, const GemmPart& part, const Stretch& depth, Tile* to) {
    job.source.is_bf16 ? PackRows<true>(job, part, depth, to) : PackRows<false>(job, part, depth, to);
  }
};

template <class Ops>
void PackGemmRows(const Gemm& job, const GemmPart& part, const GemmStretch& depth, typename Ops::Tile* tiles) {
  if constexpr (Ops::kScales) {
    Ops::Packing::Pack(job, part, depth, tiles);
  } else {
    GemmPacking<Ops>::Pack(job, part, depth, tiles);
  }
}

}  // namespace amp::kernels
