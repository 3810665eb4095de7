// Rows of products as tiles (AMX) read them: as they lie, or packed. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/product_vectors_avx512bf16.h"
#include "kernels/base/tile_registers.h"
#include "kernels/gemm/gemm_packing_code.h"

namespace amp::kernels {
namespace {

using Int = std::int64_t;
using Tile = std::uint16_t;
using Vectors = ProductVectors;

constexpr Int kRows = kGemmTileRows, kDepth = kGemmTileDepth, kLanes = Vectors::kLanes;
constexpr Int kElement = 2;

Int Min(Int a, Int b) { return a < b ? a : b; }
Int CeilDiv(Int x, Int by) { return (x + by - 1) / by; }

// Rows as tiles read them: 32 input channels lie together. Those of a tap of a window may lie a step behind those of
// the tap before it.
struct Rows {
  const char* first;
  Int row_bytes, block_bytes;
  Int blocks;                            // of input channels, of a tap
  Int taps_y = 1, taps_x = 1;            // without a window: 1
  Int tap_y_bytes = 0, tap_x_bytes = 0;  // from one to the next
};

// Positions of rows of an image, padding included: rows of the result, and some between them that are none. Without a
// grid each position is a row of the result.
struct Grid {
  Int width = 0;  // 0: none
  Int first = 0;  // of the positions of the first row of the image
  Int used = 0;   // of a row, those that are results

  bool exists() const { return width > 0; }
};

// Packs rows as [input channel / 32][row][input channel % 32]. Beside the last channel are zeros.
class Packing {
 public:
  Packing(const Gemm& job, const GemmPart& part, void* to)
      : job_(job), part_(part), to_(static_cast<Tile*>(to)), stride_(GemmTileStride(part.num_rows)) {}

  // The grid of a window that moves by one position, where the part is of one image and there is room: its taps read
  // the same packed positions.
  Grid FindGrid() const {
    const GemmWindow& w = job_.window;
    const Int first = part_.first_row, last = first + part_.num_rows - 1, image = job_.height * job_.width;
    const bool is_even = HasGemmGrid(job_) && first / image == last / image;
    if (!is_even) return {};
    const Grid grid{job_.width + (w.width - 1) * w.step_x, first % job_.width, job_.width};
    const Int room = w.taps() * stride_ / kDepth;
    return GridStride(grid) <= room ? grid : Grid{};
  }

  // Rows of the image that windows meet, from their padding on.
  Rows PackGrid(const Grid& grid) const {
    job_.source.is_bf16 ? PackGrid<true>(grid) : PackGrid<false>(grid);
    const GemmWindow& w = job_.window;
    const char* first = reinterpret_cast<const char*>(to_) + grid.first * kTileBytes;
    return {first,    kTileBytes, GridStride(grid) * kTileBytes,      w.channels / kDepth,
            w.height, w.width,    w.step_y * grid.width * kTileBytes, w.step_x * kTileBytes};
  }

  Rows Pack() const {
    job_.source.is_bf16 ? Pack<true>() : Pack<false>();
    return {reinterpret_cast<const char*>(to_), kTileBytes, stride_ * kElement, CeilDiv(job_.in_channels, kDepth)};
  }

 private:
  template <bool kIsBF16>
  void Pack() const {
    if (part_.data.scale != nullptr) {
      PackScaled<kIsBF16>();
    } else if (job_.window.channels > 0) {
      PackWindows<kIsBF16>();
    } else {
      GemmRows<Vectors> rows(job_, part_.data.source, part_.first_row);
      for (Int r = 0; r < part_.num_rows; ++r, rows.Next())
        PackRow<kIsBF16>(rows.get(), job_.in_channels, to_ + r * kDepth);
    }
  }

  Int GridRows() const {
    const Int first = part_.first_row / job_.width, last = (part_.first_row + part_.num_rows - 1) / job_.width;
    return last - first + 1 + (job_.window.height - 1) * job_.window.step_y;
  }

  // Positions of a block of channels, and those that the last tiles read behind them.
  Int GridStride(const Grid& grid) const { return (GridRows() * grid.width + 2 * kRows) | 1; }

  template <bool kIsBF16>
  void PackGrid(const Grid& grid) const {
    const GemmWindow& w = job_.window;
    constexpr Int kSize = kIsBF16 ? 2 : 4;
    const Int image = part_.first_row / (job_.height * job_.width), rows = GridRows(), stride = GridStride(grid);
    const Int top = part_.first_row / job_.width % job_.height - w.pad_top;
    const char* source = static_cast<const char*>(part_.data.source) + image * job_.source.batch * kSize;
    Tile* to = to_;
    for (Int y = top; y < top + rows; ++y) {
      const bool has_row = y >= 0 && y < w.image_height;
      for (Int x = -w.pad_left; x < grid.width - w.pad_left; ++x, to += kDepth) {
        const bool is_inside = has_row && x >= 0 && x < w.image_width;
        const char* from = is_inside ? source + (y * job_.source.row + x * job_.source.pixel) * kSize : nullptr;
        for (Int c = 0; c < w.channels; c += kDepth) {
          const __m512i numbers = is_inside ? Load<kIsBF16>(from + c * kSize, w.channels - c) : _mm512_setzero_si512();
          _mm512_store_si512(to + c * stride, numbers);
        }
      }
    }
  }

  // Loads `count` numbers, or 32.
  template <bool kIsBF16>
  [[gnu::always_inline]] static __m512i Load(const char* from, Int count) {
    if constexpr (kIsBF16) {
      if (count >= kDepth) return _mm512_loadu_si512(from);
      return _mm512_maskz_loadu_epi16((__mmask32{1} << count) - 1, from);
    }
    return (__m512i)_mm512_cvtne2ps_pbh(Vectors::Load<false>(from + kLanes * 4, count - kLanes),
                                        Vectors::Load<false>(from, count));
  }

  template <bool kIsBF16>
  [[gnu::always_inline]] void PackRow(const char* from, Int count, Tile* to) const {
    for (; count > 0; count -= kDepth, from += kDepth * (kIsBF16 ? 2 : 4), to += stride_)
      _mm512_store_si512(to, Load<kIsBF16>(from, count));
  }

  // Block by block: what a channel is multiplied by stays in registers.
  template <bool kIsBF16>
  void PackScaled() const {
    Int c = 0;
    Tile* to = to_;
    if constexpr (kIsBF16) {
      for (; c + kDepth <= job_.in_channels; c += kDepth, to += stride_) {
        const Vectors::PairedScales scales(part_.data.scale + c, part_.data.shift + c, job_.source_low,
                                           job_.source_high);
        GemmRows<Vectors> rows(job_, part_.data.source, part_.first_row);
        for (Int r = 0; r < part_.num_rows; ++r, rows.Next())
          scales.Apply(rows.get() + c * kElement, to + r * kDepth, to + r * kDepth + kLanes);
      }
    }
    for (; c < job_.in_channels; c += kDepth, to += stride_) {
      for (Int lane = 0; lane < kDepth; lane += kLanes) PackScaledLanes<kIsBF16>(c + lane, to + lane);
    }
  }

  template <bool kIsBF16>
  void PackScaledLanes(Int channel, Tile* to) const {
    const Int count = job_.in_channels - channel;
    const __m512 scale = Vectors::Load<false>(part_.data.scale + (count > 0 ? channel : 0), count);
    const __m512 shift = Vectors::Load<false>(part_.data.shift + (count > 0 ? channel : 0), count);
    GemmRows<Vectors> rows(job_, part_.data.source, part_.first_row);
    for (Int r = 0; r < part_.num_rows; ++r, rows.Next()) {
      const __m512 x =
          count > 0 ? Vectors::Load<kIsBF16>(rows.get() + channel * (kIsBF16 ? 2 : 4), count) : Vectors::All(0);
      Vectors::StoreTile(to + r * kDepth,
                         Vectors::Clip(Vectors::MultiplyAdd(x, scale, shift), job_.source_low, job_.source_high));
    }
  }

  template <bool kIsBF16>
  void PackWindows() const {
    if (job_.window.channels % kDepth == 0) return PackWholeTaps<kIsBF16>();
    const Int blocks = CeilDiv(job_.in_channels, kDepth);
    char* numbers = reinterpret_cast<char*>(to_ + blocks * stride_);
    for (Int r = 0; r < part_.num_rows; ++r) {
      GemmWindows<Vectors>::template Gather<kIsBF16 ? 2 : 4>(job_, part_, part_.first_row + r,
                                                             {0, job_.in_channels, true, true}, numbers);
      PackRow<kIsBF16>(numbers, job_.in_channels, to_ + r * kDepth);
    }
  }

  // Taps whose channels fill tiles: each number is copied once.
  template <bool kIsBF16>
  void PackWholeTaps() const {
    const GemmWindow& window = job_.window;
    constexpr Int kSize = kIsBF16 ? 2 : 4;
    for (Int r = 0; r < part_.num_rows; ++r) {
      const Int row = part_.first_row + r, left = row % job_.width * window.stride_x - window.pad_left;
      const Int top = row / job_.width % job_.height * window.stride_y - window.pad_top;
      const char* image =
          static_cast<const char*>(part_.data.source) + row / job_.width / job_.height * job_.source.batch * kSize;
      Tile* to = to_ + r * kDepth;
      for (Int ky = 0, y = top; ky < window.height; ++ky, y += window.step_y) {
        const bool has_row = y >= 0 && y < window.image_height;
        for (Int kx = 0, x = left; kx < window.width; ++kx, x += window.step_x) {
          if (has_row && x >= 0 && x < window.image_width) {
            PackRow<kIsBF16>(image + (y * job_.source.row + x * job_.source.pixel) * kSize, window.channels, to);
          } else {
            for (Int c = 0; c < window.channels; c += kDepth)
              _mm512_store_si512(to + c / kDepth * stride_, _mm512_setzero_si512());
          }
          to += window.channels / kDepth * stride_;
        }
      }
    }
  }

  const Gemm& job_;
  const GemmPart& part_;
  Tile* to_;
  Int stride_;  // from one block of channels to the next, in elements
};

// Whether tiles can read the source as it lies. A tile that would read beyond the last row begins before it.
bool IsTiled(const Gemm& job, const GemmPart& part) {
  const GemmSource& source = job.source;
  const bool is_plain = source.is_bf16 && part.data.scale == nullptr && job.window.channels == 0;
  const bool is_even = (job.height == 1 || source.row == job.width * source.pixel) &&
                       (job.batch == 1 || source.batch == job.height * job.width * source.pixel);
  return is_plain && is_even && job.in_channels % kDepth == 0 && part.first_row + part.num_rows >= kRows;
}

}  // namespace
}  // namespace amp::kernels
