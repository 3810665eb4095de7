#include "kernels/pointwise.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/pointwise_finish_code.h"
#include "kernels/pointwise_packing_code.h"
#include "kernels/product_vectors_avx512bf16.h"

// See cast_table.h for what may not appear in this file.
//
// A tile register has 16 rows of 64 bytes. Four hold sums, of 32 rows and 32 output channels; two hold 32 input
// channels of these rows, and two those of the output channels. So there is one instruction that loads for each one that
// multiplies: where another program uses the core's tiles, too, instructions count, not what they compute.
namespace amp::kernels {
namespace {

using Int = std::int64_t;
using Tile = std::uint16_t;
using Vectors = ProductVectors;
using Results = PointwiseFinish<Vectors>;

constexpr Int kRows = kPointwiseTileRows, kDepth = kPointwiseTileDepth;
constexpr Int kTileBytes = 64, kElement = 2;
constexpr Int kUnitBytes = kPointwiseColumns * kTileBytes;  // of a column of weights, 32 input channels

Int Min(Int a, Int b) { return a < b ? a : b; }
Int Quotient(Int x, Int by) { return (x + by - 1) / by; }

// ---- rows ----

// Rows as tiles read them: 32 input channels lie together.
struct Rows {
  const char* first;
  Int row_bytes, block_bytes;
};

// Packs rows as [input channel / 32][row][input channel % 32]. Beside the last channel are zeros.
class Packing {
 public:
  Packing(const Pointwise& job, const PointwisePart& part, void* to)
      : job_(job), part_(part), to_(static_cast<Tile*>(to)), stride_(PointwiseTileStride(part.num_rows)) {}

  Rows Pack() const {
    job_.source.is_bf16 ? Pack<true>() : Pack<false>();
    return {reinterpret_cast<const char*>(to_), kTileBytes, stride_ * kElement};
  }

 private:
  template <bool kIsBF16>
  void Pack() const {
    if (part_.data.scale != nullptr) {
      PackScaled<kIsBF16>();
    } else if (job_.window.channels > 0) {
      PackWindows<kIsBF16>();
    } else {
      PointwiseRows<Vectors> rows(job_, part_.data.source, part_.first_row);
      for (Int r = 0; r < part_.num_rows; ++r, rows.Next())
        PackRow<kIsBF16>(rows.get(), job_.in_channels, to_ + r * kDepth);
    }
  }

  // So many numbers, or 32.
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
        PointwiseRows<Vectors> rows(job_, part_.data.source, part_.first_row);
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
    PointwiseRows<Vectors> rows(job_, part_.data.source, part_.first_row);
    for (Int r = 0; r < part_.num_rows; ++r, rows.Next()) {
      const __m512 x =
          count > 0 ? Vectors::Load<kIsBF16>(rows.get() + channel * (kIsBF16 ? 2 : 4), count) : Vectors::All(0);
      Vectors::StoreTile(to + r * kDepth, Vectors::Clip(Vectors::MultiplyAdd(x, scale, shift), job_.source_low,
                                                        job_.source_high));
    }
  }

  template <bool kIsBF16>
  void PackWindows() const {
    if (job_.window.channels % kDepth == 0) return PackWholeTaps<kIsBF16>();
    const Int blocks = Quotient(job_.in_channels, kDepth);
    char* numbers = reinterpret_cast<char*>(to_ + blocks * stride_);
    for (Int r = 0; r < part_.num_rows; ++r) {
      PointwiseWindows<Vectors>::template Gather<kIsBF16 ? 2 : 4>(job_, part_, part_.first_row + r,
                                                                  {0, job_.in_channels, true, true}, numbers);
      PackRow<kIsBF16>(numbers, job_.in_channels, to_ + r * kDepth);
    }
  }

  // Taps whose channels fill tiles: each number is copied once.
  template <bool kIsBF16>
  void PackWholeTaps() const {
    const PointwiseWindow& window = job_.window;
    constexpr Int kSize = kIsBF16 ? 2 : 4;
    for (Int r = 0; r < part_.num_rows; ++r) {
      const Int row = part_.first_row + r, left = row % job_.width * window.stride_x - window.pad_left;
      const Int top = row / job_.width % job_.height * window.stride_y - window.pad_top;
      const char* image = static_cast<const char*>(part_.data.source) +
                          row / job_.width / job_.height * job_.source.batch * kSize;
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

  const Pointwise& job_;
  const PointwisePart& part_;
  Tile* to_;
  Int stride_;  // from one block of channels to the next, in elements
};

// Whether tiles can read the source as it lies. A tile that would read beyond the last row begins before it.
bool IsTiled(const Pointwise& job, const PointwisePart& part) {
  const PointwiseSource& source = job.source;
  const bool is_plain = source.is_bf16 && part.data.scale == nullptr && job.window.channels == 0;
  const bool is_even = (job.height == 1 || source.row == job.width * source.pixel) &&
                       (job.batch == 1 || source.batch == job.height * job.width * source.pixel);
  return is_plain && is_even && job.in_channels % kDepth == 0 && part.first_row + part.num_rows >= kRows;
}

// ---- products ----

void LoadConfiguration() {
  struct alignas(64) {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } configuration;
  for (int i = 0; i < 8; ++i) {
    configuration.row_bytes[i] = kTileBytes;
    configuration.rows[i] = kRows;
  }
  _tile_loadconfig(&configuration);
}

// What is multiplied: so many blocks of 32 input channels.
struct Factors {
  const char *rows[2], *columns;
  Int row_bytes, block_bytes, blocks;
  const char* ahead;  // weights that are read later, of which each block fetches so many lines
  Int ahead_lines;
};

// Sums are written to [row][kColumns * 16].
template <int kRowTiles, int kColumns>
void Multiply(Factors f, float* sums) {
  _tile_zero(0);
  if constexpr (kColumns > 1) _tile_zero(1);
  if constexpr (kRowTiles > 1) _tile_zero(2);
  if constexpr (kRowTiles > 1 && kColumns > 1) _tile_zero(3);
  for (Int i = 0; i < f.blocks; ++i, f.rows[0] += f.block_bytes, f.rows[1] += f.block_bytes, f.columns += kUnitBytes) {
    for (Int line = 0; line < f.ahead_lines; ++line, f.ahead += 64) __builtin_prefetch(f.ahead, 0, 2);
    _tile_loadd(6, f.columns, 2 * kTileBytes);
    _tile_loadd(4, f.rows[0], f.row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRowTiles > 1) {
      _tile_loadd(5, f.rows[1], f.row_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kColumns > 1) {
      _tile_loadd(7, f.columns + kTileBytes, 2 * kTileBytes);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kRowTiles > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, sums, kColumns * kTileBytes);
  if constexpr (kColumns > 1) _tile_stored(1, sums + kLanes, kColumns * kTileBytes);
  if constexpr (kRowTiles > 1) _tile_stored(2, sums + kRows * kColumns * kLanes, kColumns * kTileBytes);
  if constexpr (kRowTiles > 1 && kColumns > 1)
    _tile_stored(3, sums + kRows * kColumns * kLanes + kLanes, kColumns * kTileBytes);
}

// ---- results ----

// Whole lines of bfloat16, the usual case.
template <bool kHasSum>
void FinishLines(const Results::Place place, Int rows, const float* sums) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512 first = place.bias == nullptr ? zero : _mm512_loadu_ps(place.bias);
  const __m512 second = place.bias == nullptr ? zero : _mm512_loadu_ps(place.bias + kLanes);
  for (Int r = 0; r < rows; ++r, sums += 2 * kLanes) {
    __m512 x = _mm512_load_ps(sums) + first, y = _mm512_load_ps(sums + kLanes) + second;
    if constexpr (kHasSum) {
      x = x + Vectors::Load<true>(place.sum + r * place.sum_bytes, kLanes);
      y = y + Vectors::Load<true>(place.sum + r * place.sum_bytes + kLanes * kElement, kLanes);
    }
    x = Vectors::Clip(x, place.low, place.high);
    y = Vectors::Clip(y, place.low, place.high);
    _mm512_storeu_si512(place.destination + r * place.destination_bytes, (__m512i)_mm512_cvtne2ps_pbh(y, x));
  }
}

template <int kColumns>
void Finish(const Results::Place& place, Int rows, float* sums) {
  const bool is_usual = kColumns == 2 && place.columns == kPointwiseColumns && place.is_bf16 &&
                        place.num_functions == 0 && (place.sum == nullptr || place.sum_is_bf16);
  if (!is_usual) {
    Results::Finish<kColumns>(place, rows, sums);
  } else if (place.sum != nullptr) {
    FinishLines<true>(place, rows, sums);
  } else {
    FinishLines<false>(place, rows, sums);
  }
}

// ---- parts ----

// The products of a part whose rows are ready.
struct Computation {
  const Pointwise& job;
  const PointwisePart& part;
  Rows rows;
  bool is_packed;  // then there is room for whole tiles behind the last row
  Int blocks;

  // So many rows from `first` on, at most 32: those of tiles that begin at `begin`, and perhaps before.
  template <int kRowTiles, int kColumns>
  void ComputeTiles(Int first, Int count, Int channel, Factors f) const {
    alignas(64) float sums[2 * kRows * 2 * kLanes];
    Results::Place place = Results::PlaceOf(job, part.data, part.first_row + first, channel,
                                            part.num_channels - channel);
    Results::PrefetchResults(place, count);
    // What the last tile has before its first new row.
    const Int last = first + kRows * (kRowTiles - 1), repeated = is_packed ? 0 : kRows - (first + count - last);
    f.rows[0] = rows.first + (kRowTiles == 1 ? first - repeated : first) * rows.row_bytes;
    f.rows[1] = rows.first + (last - repeated) * rows.row_bytes;
    Multiply<kRowTiles, kColumns>(f, sums);
    if (repeated == 0) return Finish<kColumns>(place, count, sums);
    if constexpr (kRowTiles > 1) Finish<kColumns>(place, kRows, sums);
    if constexpr (kRowTiles > 1) {
      place = Results::PlaceOf(job, part.data, part.first_row + last, channel, part.num_channels - channel);
    }
    Finish<kColumns>(place, kRows - repeated, sums + (kRows * (kRowTiles - 1) + repeated) * kColumns * kLanes);
  }

  template <int kColumns>
  void ComputeRows(Int first, Int count, Int channel, const Factors& f) const {
    count > kRows ? ComputeTiles<2, kColumns>(first, count, channel, f)
                  : ComputeTiles<1, kColumns>(first, count, channel, f);
  }

  // A column of weights. The next one is fetched meanwhile.
  void ComputeColumn(Int channel) const {
    const char* columns = static_cast<const char*>(part.data.weights) +
                          channel / kPointwiseColumns * PointwiseColumnElements(job) * kElement;
    const Int groups = Quotient(part.num_rows, 2 * kRows), bytes = blocks * kUnitBytes;
    const Int lines = Quotient(kUnitBytes / 64, groups);
    const bool is_last = channel + kPointwiseColumns >= part.num_channels;
    for (Int g = 0; g < groups; ++g) {
      const Int first = g * 2 * kRows, count = Min(2 * kRows, part.num_rows - first);
      const Factors f{{}, columns, rows.row_bytes, rows.block_bytes, blocks, columns + bytes + g * blocks * lines * 64,
                      is_last ? 0 : lines};
      if (part.num_channels - channel > kLanes) {
        ComputeRows<2>(first, count, channel, f);
      } else {
        ComputeRows<1>(first, count, channel, f);
      }
    }
  }
};

void Run(const Pointwise& job, const PointwisePart& part, void* tiles, float* /*sums*/) {
  const bool is_tiled = IsTiled(job, part);
  Rows rows;
  if (is_tiled) {
    const char* first = PointwiseRows<Vectors>(job, part.data.source, part.first_row).get();
    rows = {first, job.source.pixel * kElement, kTileBytes};
  } else {
    rows = Packing(job, part, tiles).Pack();
  }
  const Computation computation{job, part, rows, !is_tiled, Quotient(job.in_channels, kDepth)};
  LoadConfiguration();
  asm volatile("" ::: "memory");  // what is packed is stored before tiles are loaded, which the compiler does not know
  for (Int channel = 0; channel < part.num_channels; channel += kPointwiseColumns) computation.ComputeColumn(channel);
  _tile_release();
}

constexpr PointwiseTable kTable = {
    Isa::kAvx512, {nullptr, Run, nullptr}, {nullptr, nullptr, nullptr}, 2 * kPointwiseTileRows};

}  // namespace

const PointwiseTable* PointwiseTableAvx512AMX() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PointwiseTable* PointwiseTableAvx512AMX() { return nullptr; }

}  // namespace amp::kernels

#endif
