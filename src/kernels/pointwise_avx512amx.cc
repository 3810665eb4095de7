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

// What is read later. With each block of input channels so many lines of it are fetched.
struct Ahead {
  const char* first;
  Int lines, line_bytes, block_bytes;  // bytes: from one line to the next, and from those of a block to those of the next
};

// What is multiplied: so many blocks of 32 input channels.
struct Factors {
  const char *rows[2], *columns;
  Int row_bytes, block_bytes, blocks;
  Ahead ahead;
};

// Leaves sums in tiles 0 to 3.
template <int kRowTiles, int kColumns>
void Multiply(Factors f) {
  _tile_zero(0);
  if constexpr (kColumns > 1) _tile_zero(1);
  if constexpr (kRowTiles > 1) _tile_zero(2);
  if constexpr (kRowTiles > 1 && kColumns > 1) _tile_zero(3);
  for (Int i = 0; i < f.blocks; ++i, f.rows[0] += f.block_bytes, f.rows[1] += f.block_bytes, f.columns += kUnitBytes) {
    for (Int line = 0; line < f.ahead.lines; ++line)
      __builtin_prefetch(f.ahead.first + line * f.ahead.line_bytes, 0, 2);
    f.ahead.first += f.ahead.block_bytes;
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
}

// Writes them to [row][kColumns * 16].
template <int kRowTiles, int kColumns>
void StoreSums(float* sums) {
  _tile_stored(0, sums, kColumns * kTileBytes);
  if constexpr (kColumns > 1) _tile_stored(1, sums + kLanes, kColumns * kTileBytes);
  if constexpr (kRowTiles > 1) _tile_stored(2, sums + kRows * kColumns * kLanes, kColumns * kTileBytes);
  if constexpr (kRowTiles > 1 && kColumns > 1)
    _tile_stored(3, sums + kRows * kColumns * kLanes + kLanes, kColumns * kTileBytes);
}

// ---- results ----

enum class Bounds { kNone, kLow, kBoth };

template <Bounds kBounds>
[[gnu::always_inline]] inline __m512 Clip(const Results::Place& place, __m512 x) {
  if constexpr (kBounds == Bounds::kNone) return x;
  if constexpr (kBounds == Bounds::kLow) return _mm512_maskz_max_ps(0xFFFF, Vectors::All(place.low), x);  // a NaN stays one
  return Vectors::Clip(x, place.low, place.high);
}

// What the next results are added to, and where they are written: a line each for whole lines of bfloat16.
[[gnu::always_inline]] inline void PrefetchLines(const Results::Place& place, Int rows) {
  for (Int r = 0; r < rows; ++r) __builtin_prefetch(place.destination + r * place.destination_bytes, 1, 3);
  for (Int r = 0; r < (place.sum == nullptr ? 0 : rows); ++r)
    __builtin_prefetch(place.sum + r * place.sum_bytes, 0, 3);
}

// Whole lines of bfloat16, the usual case.
template <bool kHasSum, Bounds kBounds>
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
    x = Clip<kBounds>(place, x);
    y = Clip<kBounds>(place, y);
    _mm512_storeu_si512(place.destination + r * place.destination_bytes, (__m512i)_mm512_cvtne2ps_pbh(y, x));
  }
}

template <Bounds kBounds>
void FinishLines(const Results::Place& place, Int rows, const float* sums) {
  place.sum != nullptr ? FinishLines<true, kBounds>(place, rows, sums) : FinishLines<false, kBounds>(place, rows, sums);
}

bool IsOfLines(const Results::Place& place) {
  return place.columns == kPointwiseColumns && place.is_bf16 && place.num_functions == 0 &&
         (place.sum == nullptr || place.sum_is_bf16);
}

template <int kColumns>
void Finish(const Results::Place& place, Int rows, float* sums) {
  if (kColumns == 1 || !IsOfLines(place)) return Results::Finish<kColumns>(place, rows, sums);
  constexpr float kInfinity = __builtin_inff();
  if (place.high < kInfinity) return FinishLines<Bounds::kBoth>(place, rows, sums);
  place.low > -kInfinity ? FinishLines<Bounds::kLow>(place, rows, sums)
                         : FinishLines<Bounds::kNone>(place, rows, sums);
}

// ---- parts ----

// Computes the products of a part whose rows are ready. Results of a block are made while tiles multiply the next one.
class Computation {
 public:
  // `is_packed`: there is room for whole tiles behind the last row.
  Computation(const Pointwise& job, const PointwisePart& part, const Rows& rows, bool is_packed)
      : job_(job), part_(part), rows_(rows), is_packed_(is_packed), blocks_(Quotient(job.in_channels, kDepth)) {}

  void Compute() {
    constexpr Int kCacheBytes = 32 << 10;  // of the first cache, beside rows and sums
    const Int columns = Quotient(part_.num_channels, kPointwiseColumns);
    columns * blocks_ * kUnitBytes <= kCacheBytes ? ComputeRows() : ComputeColumns();
    FinishLast();
  }

 private:
  // Sums of some rows that are not results yet.
  struct Pending {
    Results::Place place;
    Int rows;
    float* sums;
    int columns;
  };

  void FinishLast() {
    for (const Pending& p : pending_) {
      if (p.rows > 0) p.columns == 1 ? Finish<1>(p.place, p.rows, p.sums) : Finish<2>(p.place, p.rows, p.sums);
    }
    pending_[0].rows = pending_[1].rows = 0;
  }

  Results::Place PlaceOf(Int row, Int channel) const {
    return Results::PlaceOf(job_, part_.data, part_.first_row + row, channel, part_.num_channels - channel);
  }

  // So many rows from `first` on, which fill so many tiles but for the last. Where rows are not packed, that repeats
  // rows before them.
  template <int kRowTiles, int kColumns>
  void ComputeTiles(Int first, Int count, Int channel, Factors f) {
    const Int last = first + kRows * (kRowTiles - 1), repeated = is_packed_ ? 0 : kRows - (first + count - last);
    const Results::Place place = PlaceOf(first, channel);
    IsOfLines(place) ? PrefetchLines(place, count) : Results::PrefetchResults(place, count);
    f.rows[0] = rows_.first + (kRowTiles == 1 ? first - repeated : first) * rows_.row_bytes;
    f.rows[1] = rows_.first + (last - repeated) * rows_.row_bytes;
    Multiply<kRowTiles, kColumns>(f);
    FinishLast();
    StoreSums<kRowTiles, kColumns>(sums_);
    constexpr Int kRowFloats = kColumns * kLanes;
    if (repeated == 0) {
      pending_[0] = {place, count, sums_, kColumns};
    } else {
      pending_[0] = {place, last - first, sums_, kColumns};
      pending_[1] = {PlaceOf(last, channel), kRows - repeated, sums_ + (last - first + repeated) * kRowFloats, kColumns};
    }
  }

  // Up to 32 rows and output channels.
  void ComputeBlock(Int first, Int channel, const Ahead& ahead) {
    const Int count = Min(2 * kRows, part_.num_rows - first);
    const Factors f{{}, ColumnAt(channel), rows_.row_bytes, rows_.block_bytes, blocks_, ahead};
    if (part_.num_channels - channel > kLanes) {
      count > kRows ? ComputeTiles<2, 2>(first, count, channel, f) : ComputeTiles<1, 2>(first, count, channel, f);
    } else {
      count > kRows ? ComputeTiles<2, 1>(first, count, channel, f) : ComputeTiles<1, 1>(first, count, channel, f);
    }
  }

  const char* ColumnAt(Int channel) const {
    return static_cast<const char*>(part_.data.weights) +
           channel / kPointwiseColumns * PointwiseColumnElements(job_) * kElement;
  }

  // Column by column of the weights: each is in the first cache for all rows. The next one is fetched meanwhile.
  void ComputeColumns() {
    const Int groups = Quotient(part_.num_rows, 2 * kRows), lines = Quotient(kUnitBytes / kLine, groups);
    for (Int channel = 0; channel < part_.num_channels; channel += kPointwiseColumns) {
      const bool is_last = channel + kPointwiseColumns >= part_.num_channels;
      const char* next = ColumnAt(channel) + blocks_ * kUnitBytes;
      for (Int g = 0; g < groups; ++g, next += blocks_ * lines * kLine)
        ComputeBlock(g * 2 * kRows, channel, {next, is_last ? 0 : lines, kLine, lines * kLine});
    }
  }

  // Row by row where all weights are in the first cache. The next rows are fetched meanwhile.
  void ComputeRows() {
    const Int lines = 2 * kRows / Quotient(part_.num_channels, kPointwiseColumns);
    for (Int first = 0; first < part_.num_rows; first += 2 * kRows) {
      const bool is_last = first + 4 * kRows > part_.num_rows;
      const char* next = rows_.first + (first + 2 * kRows) * rows_.row_bytes;
      for (Int channel = 0; channel < part_.num_channels; channel += kPointwiseColumns, next += lines * rows_.row_bytes)
        ComputeBlock(first, channel, {next, is_last || is_packed_ ? 0 : lines, rows_.row_bytes, rows_.block_bytes});
    }
  }

  const Pointwise& job_;
  const PointwisePart& part_;
  const Rows rows_;
  const bool is_packed_;
  const Int blocks_;
  Pending pending_[2] = {};
  alignas(64) float sums_[2 * kRows * 2 * kLanes];
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
  LoadConfiguration();
  asm volatile("" ::: "memory");  // what is packed is stored before tiles are loaded, which the compiler does not know
  Computation(job, part, rows, !is_tiled).Compute();
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
