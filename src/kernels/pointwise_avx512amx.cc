#include "kernels/pointwise.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/pointwise_finish_code.h"
#include "kernels/pointwise_packing_code.h"
#include "kernels/product_vectors_avx512bf16.h"

// See cast_table.h for what may not appear in this file.
//
// A tile register has 16 rows of 64 bytes. Four hold sums, of 32 rows and 32 output channels; two hold 32 input
// channels of these rows, and two those of the output channels. So there is one instruction that loads for each one
// that multiplies: where another program uses the core's tiles, too, instructions count, not what they compute.
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
  Packing(const Pointwise& job, const PointwisePart& part, void* to)
      : job_(job), part_(part), to_(static_cast<Tile*>(to)), stride_(PointwiseTileStride(part.num_rows)) {}

  // The grid of a window that moves by one position, where the part is of one image and there is room: its taps read
  // the same packed positions.
  Grid FindGrid() const {
    const PointwiseWindow& w = job_.window;
    const Int first = part_.first_row, last = first + part_.num_rows - 1, image = job_.height * job_.width;
    const bool is_even = HasPointwiseGrid(job_) && first / image == last / image;
    if (!is_even) return {};
    const Grid grid{job_.width + (w.width - 1) * w.step_x, first % job_.width, job_.width};
    const Int room = w.taps() * stride_ / kDepth;
    return GridStride(grid) <= room ? grid : Grid{};
  }

  // Rows of the image that windows meet, from their padding on.
  Rows PackGrid(const Grid& grid) const {
    job_.source.is_bf16 ? PackGrid<true>(grid) : PackGrid<false>(grid);
    const PointwiseWindow& w = job_.window;
    const char* first = reinterpret_cast<const char*>(to_) + grid.first * kTileBytes;
    return {first,    kTileBytes, GridStride(grid) * kTileBytes,      w.channels / kDepth,
            w.height, w.width,    w.step_y * grid.width * kTileBytes, w.step_x * kTileBytes};
  }

  Rows Pack() const {
    job_.source.is_bf16 ? Pack<true>() : Pack<false>();
    return {reinterpret_cast<const char*>(to_), kTileBytes, stride_ * kElement, Quotient(job_.in_channels, kDepth)};
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

  Int GridRows() const {
    const Int first = part_.first_row / job_.width, last = (part_.first_row + part_.num_rows - 1) / job_.width;
    return last - first + 1 + (job_.window.height - 1) * job_.window.step_y;
  }

  // Positions of a block of channels, and those that the last tiles read behind them.
  Int GridStride(const Grid& grid) const { return (GridRows() * grid.width + 2 * kRows) | 1; }

  template <bool kIsBF16>
  void PackGrid(const Grid& grid) const {
    const PointwiseWindow& w = job_.window;
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
      Vectors::StoreTile(to + r * kDepth,
                         Vectors::Clip(Vectors::MultiplyAdd(x, scale, shift), job_.source_low, job_.source_high));
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
  Int lines, line_bytes,
      block_bytes;  // bytes: from one line to the next, and from those of a block to those of the next
};

// What is multiplied: rows of two tiles, and a column of weights.
struct Factors {
  const Rows& rows;
  const char *first[2], *columns;
  Ahead ahead;
};

// Adds to the sums.
template <int kRowTiles, int kColumns>
[[gnu::always_inline]] inline void MultiplyTap(Factors& f, Int tap) {
  const char *first = f.first[0] + tap, *second = f.first[1] + tap;
  for (Int i = 0; i < f.rows.blocks; ++i, f.columns += kUnitBytes) {
    for (Int line = 0; line < f.ahead.lines; ++line)
      __builtin_prefetch(f.ahead.first + line * f.ahead.line_bytes, 0, 2);
    f.ahead.first += f.ahead.block_bytes;
    _tile_loadd(6, f.columns, 2 * kTileBytes);
    _tile_loadd(4, first, f.rows.row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kRowTiles > 1) {
      _tile_loadd(5, second, f.rows.row_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kColumns > 1) {
      _tile_loadd(7, f.columns + kTileBytes, 2 * kTileBytes);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kRowTiles > 1) _tile_dpbf16ps(3, 5, 7);
    }
    first += f.rows.block_bytes;
    second += f.rows.block_bytes;
  }
}

// Leaves sums in tiles 0 to 3.
template <int kRowTiles, int kColumns>
void Multiply(Factors f) {
  _tile_zero(0);
  if constexpr (kColumns > 1) _tile_zero(1);
  if constexpr (kRowTiles > 1) _tile_zero(2);
  if constexpr (kRowTiles > 1 && kColumns > 1) _tile_zero(3);
  for (Int y = 0; y < f.rows.taps_y; ++y) {
    for (Int x = 0; x < f.rows.taps_x; ++x) {
      MultiplyTap<kRowTiles, kColumns>(f, y * f.rows.tap_y_bytes + x * f.rows.tap_x_bytes);
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
  if constexpr (kBounds == Bounds::kLow)
    return _mm512_maskz_max_ps(0xFFFF, Vectors::All(place.low), x);  // a NaN stays one
  return Vectors::Clip(x, place.low, place.high);
}

// What the next results are added to, and where they are written: a line each for whole lines of bfloat16.
[[gnu::always_inline]] inline void PrefetchLines(const Results::Place& place, Int rows) {
  for (Int r = 0; r < rows; ++r) __builtin_prefetch(place.destination + r * place.destination_bytes, 1, 3);
  for (Int r = 0; r < (place.sum == nullptr ? 0 : rows); ++r) __builtin_prefetch(place.sum + r * place.sum_bytes, 0, 3);
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
  place.low > -kInfinity ? FinishLines<Bounds::kLow>(place, rows, sums) : FinishLines<Bounds::kNone>(place, rows, sums);
}

// ---- parts ----

// Computes the products of a part whose rows are ready. Results of a block are made while tiles multiply the next one.
class Computation {
 public:
  // `is_packed`: there is room for whole tiles behind the last row.
  Computation(const Pointwise& job, const PointwisePart& part, const Rows& rows, const Grid& grid, bool is_packed)
      : job_(job),
        part_(part),
        rows_(rows),
        grid_(grid),
        is_packed_(is_packed),
        blocks_(Quotient(job.in_channels, kDepth)),
        positions_(grid.exists() ? PositionOf(part.num_rows - 1) + 1 : part.num_rows) {}

  void Compute() {
    constexpr Int kCacheBytes = 32 << 10;  // of the first cache, beside rows and sums
    const Int columns = Quotient(part_.num_channels, kPointwiseColumns);
    columns* blocks_* kUnitBytes <= kCacheBytes ? ComputeRows() : ComputeColumns();
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
  // Of 32 positions, as many as rows of a grid can have parts in.
  static constexpr Int kMaxPending = 2 * kRows / kPointwiseLeastGrid + 2;

  void FinishLast() {
    for (Int i = 0; i < num_pending_; ++i) {
      const Pending& p = pending_[i];
      p.columns == 1 ? Finish<1>(p.place, p.rows, p.sums) : Finish<2>(p.place, p.rows, p.sums);
    }
    num_pending_ = 0;
  }
  void Keep(Int row, Int count, Int channel, float* sums, int columns) {
    pending_[num_pending_++] = {PlaceOf(row, channel), count, sums, columns};
  }

  // Those of `count` positions that are results.
  void KeepGrid(Int position, Int count, Int channel, float* sums, int columns) {
    while (count > 0) {
      const Int at = grid_.first + position, x = at % grid_.width, run = Min(count, grid_.width - x);
      const Int row = at / grid_.width * grid_.used + x - grid_.first;
      if (x < grid_.used) Keep(row, Min(run, grid_.used - x), channel, sums, columns);
      position += run;
      count -= run;
      sums += run * columns * kLanes;
    }
  }

  // In the grid, of a row of the part.
  Int PositionOf(Int row) const {
    const Int at = grid_.first + row;
    return at / grid_.used * grid_.width + at % grid_.used - grid_.first;
  }

  Results::Place PlaceOf(Int row, Int channel) const {
    return Results::PlaceOf(job_, part_.data, part_.first_row + row, channel, part_.num_channels - channel);
  }
  void PrefetchResults(Int position, Int count, Int channel) const {
    const Int row = grid_.exists() ? (grid_.first + position) / grid_.width * grid_.used : position;
    const Results::Place place = PlaceOf(row, channel);
    IsOfLines(place) ? PrefetchLines(place, count) : Results::PrefetchResults(place, count);
  }

  // So many positions from `first` on, which fill so many tiles but for the last. Where rows are not packed, that
  // repeats rows before them.
  template <int kRowTiles, int kColumns>
  void ComputeTiles(Int first, Int count, Int channel, Factors f) {
    const Int last = first + kRows * (kRowTiles - 1), repeated = is_packed_ ? 0 : kRows - (first + count - last);
    PrefetchResults(first, count, channel);
    f.first[0] = rows_.first + (kRowTiles == 1 ? first - repeated : first) * rows_.row_bytes;
    f.first[1] = rows_.first + (last - repeated) * rows_.row_bytes;
    Multiply<kRowTiles, kColumns>(f);
    FinishLast();
    StoreSums<kRowTiles, kColumns>(sums_);
    if (grid_.exists()) return KeepGrid(first, count, channel, sums_, kColumns);
    if (repeated == 0) return Keep(first, count, channel, sums_, kColumns);
    if (last > first) Keep(first, last - first, channel, sums_, kColumns);
    Keep(last, kRows - repeated, channel, sums_ + (last - first + repeated) * kColumns * kLanes, kColumns);
  }

  // Up to 32 rows and output channels.
  void ComputeBlock(Int first, Int channel, const Ahead& ahead) {
    const Int count = Min(2 * kRows, positions_ - first);
    const Factors f{rows_, {}, ColumnAt(channel), ahead};
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

  // Column by column of the weights: each is in the first cache for all rows. The next one is fetched meanwhile, or
  // what is read soon, where each column is read once.
  void ComputeColumns() {
    constexpr Int kSoon = 32 << 10;
    const Int groups = Quotient(positions_, 2 * kRows), lines = Quotient(kUnitBytes / kLine, groups);
    for (Int channel = 0; channel < part_.num_channels; channel += kPointwiseColumns) {
      const bool is_last = channel + kPointwiseColumns >= part_.num_channels;
      const Int bytes = blocks_ * kUnitBytes;
      const char* next = ColumnAt(channel) + (groups == 1 ? Min(bytes, kSoon) : bytes);
      for (Int g = 0; g < groups; ++g, next += blocks_ * lines * kLine)
        ComputeBlock(g * 2 * kRows, channel, {next, is_last && groups > 1 ? 0 : lines, kLine, lines * kLine});
    }
  }

  // Row by row where all weights are in the first cache. The next rows are fetched meanwhile.
  void ComputeRows() {
    const Int lines = 2 * kRows / Quotient(part_.num_channels, kPointwiseColumns);
    for (Int first = 0; first < positions_; first += 2 * kRows) {
      const bool is_last = first + 4 * kRows > positions_;
      const char* next = rows_.first + (first + 2 * kRows) * rows_.row_bytes;
      for (Int channel = 0; channel < part_.num_channels; channel += kPointwiseColumns, next += lines * rows_.row_bytes)
        ComputeBlock(first, channel, {next, is_last || is_packed_ ? 0 : lines, rows_.row_bytes, rows_.block_bytes});
    }
  }

  const Pointwise& job_;
  const PointwisePart& part_;
  const Rows rows_;
  const Grid grid_;
  const bool is_packed_;
  const Int blocks_, positions_;
  Int num_pending_ = 0;
  Pending pending_[kMaxPending];
  alignas(64) float sums_[2 * kRows * 2 * kLanes];
};

void Run(const Pointwise& job, const PointwisePart& part, void* tiles, float* /*sums*/) {
  const bool is_tiled = IsTiled(job, part);
  const Packing packing(job, part, tiles);
  const Grid grid = packing.FindGrid();
  Rows rows;
  if (is_tiled) {
    const char* first = PointwiseRows<Vectors>(job, part.data.source, part.first_row).get();
    rows = {first, job.source.pixel * kElement, kTileBytes, job.in_channels / kDepth};
  } else {
    rows = grid.exists() ? packing.PackGrid(grid) : packing.Pack();
  }
  LoadConfiguration();
  asm volatile("" ::: "memory");  // what is packed is stored before tiles are loaded, which the compiler does not know
  Computation(job, part, rows, grid, !is_tiled).Compute();
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
