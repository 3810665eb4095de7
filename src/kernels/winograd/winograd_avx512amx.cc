#include "kernels/winograd/winograd.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/base/leaky_relu_code.h"
#include "kernels/base/product_vectors_avx512bf16.h"
#include "kernels/base/tile_registers.h"
#include "kernels/winograd/winograd_rounding_code.h"
#include "kernels/winograd/winograd_transform_code.h"
#include "kernels/winograd/winograd_weights_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Int = std::int64_t;
using Tile = std::uint16_t;

// Thirty-two channels in two vectors.
struct TwoVectors {
  __m512 first, second;

  friend TwoVectors operator+(const TwoVectors& a, const TwoVectors& b) {
    return {_mm512_add_ps(a.first, b.first), _mm512_add_ps(a.second, b.second)};
  }
  friend TwoVectors operator-(const TwoVectors& a, const TwoVectors& b) {
    return {_mm512_sub_ps(a.first, b.first), _mm512_sub_ps(a.second, b.second)};
  }
  friend TwoVectors operator*(const TwoVectors& a, const TwoVectors& b) {
    return {_mm512_mul_ps(a.first, b.first), _mm512_mul_ps(a.second, b.second)};
  }
};

struct RegisterOps {
  using Vector = TwoVectors;
  using Half = ProductVectors;
  static constexpr int kLanes = 2 * Half::kLanes;

  static Vector All(float x) { return {Half::All(x), Half::All(x)}; }
  static Vector MultiplyAdd(const Vector& a, const Vector& b, const Vector& c) {
    return {Half::MultiplyAdd(a.first, b.first, c.first), Half::MultiplyAdd(a.second, b.second, c.second)};
  }
  static Vector MultiplySubtract(const Vector& a, const Vector& b, const Vector& c) {
    return {Half::MultiplySubtract(a.first, b.first, c.first), Half::MultiplySubtract(a.second, b.second, c.second)};
  }
  static Vector Clip(const Vector& x, float low, float high) {
    return {Half::Clip(x.first, low, high), Half::Clip(x.second, low, high)};
  }
  template <bool kIsBF16>
  static Vector Load(const void* from, Int count) {
    const char* second = static_cast<const char*>(from) + Half::kLanes * (kIsBF16 ? 2 : 4);
    return {Half::Load<kIsBF16>(from, count), Half::Load<kIsBF16>(second, count - Half::kLanes)};
  }
  // To nearest, ties away from zero. A NaN stays what it is.
  static __m512 ToBF16(__m512 x) {
    const __m512i bits = _mm512_castps_si512(x), raised = _mm512_add_epi32(bits, _mm512_set1_epi32(0x8000));
    const __mmask16 is_number = _mm512_cmp_ps_mask(x, x, _CMP_ORD_Q);
    return _mm512_castsi512_ps(
        _mm512_mask_and_epi32(bits, is_number, raised, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
  }
  static Vector ToBF16(const Vector& x) { return {ToBF16(x.first), ToBF16(x.second)}; }
  static __m512i Round(const Vector& x) { return (__m512i)_mm512_cvtne2ps_pbh(x.second, x.first); }
  template <bool kIsBF16>
  static void Store(void* to, Int count, const Vector& x) {
    if constexpr (kIsBF16) {
      count >= kLanes ? _mm512_storeu_si512(to, Round(x))
                      : _mm512_mask_storeu_epi16(to, (__mmask32{1} << count) - 1, Round(x));
    } else {
      Half::Store<false>(to, count, x.first);
      if (count > Half::kLanes)
        Half::Store<false>(static_cast<float*>(to) + Half::kLanes, count - Half::kLanes, x.second);
    }
  }
  static void StoreTile(Tile* to, const Vector& x) { _mm512_store_si512(to, Round(x)); }
};

// One vector of weights.
struct WeightOps : ProductVectors {
  static __m512 ToBF16(__m512 x) { return RegisterOps::ToBF16(x); }
};

// ---- the grid ----

// Rows of a part's grid, one after another: those of an image, and two behind them whose products are dropped.
class GridRows {
 public:
  GridRows(const Winograd& job, const WinogradPart& part)
      : height_(job.out_height),
        rows_(part.num_tiles / Across(job)),
        n_(part.first_tile / Across(job) / height_),
        y_(part.first_tile / Across(job) % height_) {
    Begin();
  }
  static Int Across(const Winograd& job) { return (job.out_width + 3) / 4; }

  Int image() const { return n_; }
  Int y() const { return y_; }  // of the result
  bool is_result() const { return left_ > 2; }

  void Next() {
    ++y_;
    if (--left_ > 0) return;
    ++n_;
    y_ = 0;
    Begin();
  }

 private:
  void Begin() {
    const Int rows = rows_ < height_ - y_ ? rows_ : height_ - y_;
    rows_ -= rows;
    left_ = rows + 2;
  }
  Int height_, rows_, n_, y_, left_ = 0;
};

WinogradGrid GridOf(const Winograd& job, const WinogradPart& part) {
  const Int rows = part.num_tiles / GridRows::Across(job), first = part.first_tile / GridRows::Across(job);
  return WinogradGridOf(job, part.num_tiles, (first % job.out_height + rows - 1) / job.out_height + 1);
}

constexpr int kProducts = WinogradGrid::kProducts;
using Transform = WinogradTransform<RegisterOps, WinogradAxis<4, 3>>;

// Transforms rows of the image.
class GridTransform {
 public:
  GridTransform(const Winograd& job, const WinogradPart& part, const WinogradGrid& grid, Tile* tiles)
      : job_(job), part_(part), grid_(grid), tiles_(tiles) {}

  void Run() const { job_.source.is_bf16 ? RunAll<true>() : RunAll<false>(); }

 private:
  template <bool kIsBF16>
  void RunAll() const {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    GridRows row(job_, part_);
    for (Int r = 0; r < grid_.rows; ++r, row.Next()) {
      const Int y = row.y() - job_.pad_top;
      const Int at = row.image() * job_.source.batch + y * job_.source.row;
      const char* from =
          y < 0 || y >= job_.in_height ? nullptr : static_cast<const char*>(part_.data.source) + at * kElement;
      Tile* to = tiles_ + r * grid_.across * kWinogradRegister;
      for (Int c = 0; c < job_.in_channels; c += kWinogradRegister, to += grid_.room() * kWinogradRegister) {
        from == nullptr ? Clear(to) : TransformRow<kIsBF16>(from + c * kElement, job_.in_channels - c, to);
      }
    }
  }

  void Clear(Tile* to) const {
    for (Int p = 0; p < kProducts; ++p, to += grid_.stride(job_.in_channels)) {
      for (Int i = 0; i < grid_.across; ++i) RegisterOps::StoreTile(to + i * kWinogradRegister, RegisterOps::All(0));
    }
  }

  // Neighbours share two columns.
  template <bool kIsBF16>
  void TransformRow(const char* row, Int channels, Tile* to) const {
    const Int stride = grid_.stride(job_.in_channels);
    Int x = -job_.pad_left;
    const auto next = [&] {
      const Int column = x++;
      if (column < 0 || column >= job_.in_width) return RegisterOps::All(0);
      return RegisterOps::Load<kIsBF16>(row + column * job_.source.pixel * (kIsBF16 ? 2 : 4), channels);
    };
    TwoVectors in[kProducts], out[kProducts];
    in[4] = next();
    in[5] = next();
    for (Int i = 0; i < grid_.across; ++i, to += kWinogradRegister) {
      in[0] = in[4];
      in[1] = in[5];
      for (int k = 2; k < kProducts; ++k) in[k] = next();
      Transform::In(in, out);
      WinogradRoundingCode<RegisterOps>::Round(WinogradRounding::kOfTiles, out);
      for (int p = 0; p < kProducts; ++p) RegisterOps::StoreTile(to + p * stride, out[p]);
    }
  }

  const Winograd& job_;
  const WinogradPart& part_;
  const WinogradGrid grid_;
  Tile* tiles_;
};

// ---- results ----

// Transforms products of positions back, one after another, of up to 32 output channels.
class GridResults {
 public:
  GridResults(const Winograd& job, const WinogradPart& part, const WinogradGrid& grid, Int channel)
      : job_(job),
        part_(part),
        across_(grid.across),
        left_(grid.computed()),
        channel_(channel),
        count_(part.first_channel + part.num_channels - channel),
        bias_(part.data.bias == nullptr ? RegisterOps::All(0)
                                        : RegisterOps::Load<false>(part.data.bias + channel, count_)),
        slope_(part.data.slopes == nullptr ? RegisterOps::All(job.slope)
                                           : RegisterOps::Load<false>(part.data.slopes + channel, count_)),
        row_(job, part) {}

  // The next positions, or as many as there are.
  void Finish(Int count, const float* products) {
    count = count < left_ ? count : left_;
    left_ -= count;
    if (job_.destination.is_bf16) {
      job_.sum.is_bf16 ? FinishAll<true, true>(count, products) : FinishAll<true, false>(count, products);
    } else {
      job_.sum.is_bf16 ? FinishAll<false, true>(count, products) : FinishAll<false, false>(count, products);
    }
  }

 private:
  template <bool kIsBF16, bool kSumIsBF16>
  void FinishAll(Int count, const float* products) {
    for (; count > 0; --count, products += WinogradGrid::kProductStride) {
      if (row_.is_result()) FinishTile<kIsBF16, kSumIsBF16>(products);
      if (++tile_ < across_) continue;
      tile_ = 0;
      row_.Next();
    }
  }

  Int OffsetIn(const WinogradImage& image) const {
    return row_.image() * image.batch + row_.y() * image.row + 4 * tile_ * image.pixel + channel_;
  }

  template <bool kIsBF16, bool kSumIsBF16>
  void FinishTile(const float* products) const {
    constexpr Int kElement = kIsBF16 ? 2 : 4, kSumElement = kSumIsBF16 ? 2 : 4;
    TwoVectors in[kProducts], out[4];
    for (int p = 0; p < kProducts; ++p)
      in[p] = RegisterOps::Load<false>(products + p * kWinogradColumns, kWinogradColumns);
    Transform::Out(in, out);
    char* to = static_cast<char*>(part_.data.destination) + OffsetIn(job_.destination) * kElement;
    const char* sum = static_cast<const char*>(part_.data.sum);
    if (sum != nullptr) sum += OffsetIn(job_.sum) * kSumElement;
    const Int columns = job_.out_width - 4 * tile_;
    for (int x = 0; x < 4; ++x) {
      if (x >= columns) break;
      TwoVectors value = out[x] + bias_;
      if (sum != nullptr) value = value + RegisterOps::Load<kSumIsBF16>(sum + x * job_.sum.pixel * kSumElement, count_);
      value = job_.is_leaky ? LeakyRelu<RegisterOps>(value, slope_) : RegisterOps::Clip(value, job_.low, job_.high);
      RegisterOps::Store<kIsBF16>(to + x * job_.destination.pixel * kElement, count_, value);
    }
  }

  const Winograd& job_;
  const WinogradPart& part_;
  const Int across_;
  Int left_;  // positions
  const Int channel_, count_;
  const TwoVectors bias_, slope_;
  GridRows row_;
  Int tile_ = 0;
};

// ---- products ----

// What is read later. With each block of input channels so many lines of it are fetched.
struct Ahead {
  const char* first;
  Int lines;
};

// Positions of two registers in three rows of the grid, and a column of weights for each of these.
struct Factors {
  const char* rows;
  Int row_bytes;    // from one row of the grid to the next
  Int block_bytes;  // from one block of channels to the next
  const char* columns;
  Int column_bytes;  // from the weights of a row of the window to those of the next
  Int blocks;
};

// Multiplies so many registers of positions, and of output channels.
template <int kRowTiles, int kColumnTiles>
void Multiply(const Factors& f, Ahead* ahead, float* products) {
  constexpr Int kStride = WinogradGrid::kProductStride, kStrideBytes = kStride * static_cast<Int>(sizeof(float));
  ClearSums<kRowTiles, kColumnTiles>();
  for (Int y = 0; y < 3; ++y) {
    const char *rows = f.rows + y * f.row_bytes, *columns = f.columns + y * f.column_bytes;
    for (Int i = 0; i < f.blocks; ++i, rows += f.block_bytes, columns += kWinogradColumns * kTileBytes) {
      for (Int line = 0; line < ahead->lines; ++line) __builtin_prefetch(ahead->first + line * kLine, 0, 2);
      ahead->first += ahead->lines * kLine;
      AddProducts<kRowTiles, kColumnTiles>(rows, rows + kTileRows * kTileBytes, kTileBytes, columns);
    }
  }
  StoreSums<kRowTiles, kColumnTiles>(products, products + kTileRows * kStride, kStrideBytes);
}

// Computes the products of a part whose grid is ready, 32 positions and output channels after the others. They are
// transformed back while the next ones are computed.
class Computation {
 public:
  Computation(const Winograd& job, const WinogradPart& part, const WinogradGrid& grid, const Tile* tiles)
      : job_(job),
        part_(part),
        grid_(grid),
        tiles_(tiles),
        blocks_((job.in_channels + kWinogradRegister - 1) / kWinogradRegister),
        weight_stride_(WinogradWeightStride(job.kind, job.in_channels)) {}

  void Compute(float* products) const {
    const Int end = part_.first_channel + part_.num_channels;
    for (Int channel = part_.first_channel; channel < end; channel += kWinogradColumns) {
      const bool is_last = channel + kWinogradColumns >= end;
      end - channel > kWinogradColumns / 2 ? ComputeColumn<2>(channel, is_last, products)
                                           : ComputeColumn<1>(channel, is_last, products);
    }
  }

 private:
  static constexpr Int kTogether = WinogradGrid::kTogether;

  template <int kColumnTiles>
  void ComputeColumn(Int channel, bool is_last, float* products) const {
    const char* columns = reinterpret_cast<const char*>(static_cast<const Tile*>(part_.data.weights) +
                                                        channel / kWinogradColumns * 3 * kProducts * weight_stride_);
    const Int groups = (grid_.computed() + kTogether - 1) / kTogether, lines = (kTogether + groups - 1) / groups;
    Ahead ahead{columns + 3 * kProducts * weight_stride_ * 2, is_last ? 0 : lines};
    GridResults results(job_, part_, grid_, channel);
    const float* before = nullptr;  // products that are not transformed back yet
    for (Int position = 0; position < grid_.computed(); position += kTogether) {
      float* now = products + position / kTogether % 2 * kTogether * WinogradGrid::kProductStride;
      for (Int p = 0; p < kProducts; ++p) {
        const Factors f = FactorsAt(position, p, columns);
        float* to = now + p * kWinogradColumns;
        grid_.computed() - position > kTileRows ? Multiply<2, kColumnTiles>(f, &ahead, to)
                                                : Multiply<1, kColumnTiles>(f, &ahead, to);
        const Int first = kTogether * p / kProducts, end = kTogether * (p + 1) / kProducts;
        if (before != nullptr) results.Finish(end - first, before + first * WinogradGrid::kProductStride);
      }
      before = now;
    }
    results.Finish(kTogether, before);
  }

  Factors FactorsAt(Int position, Int product, const char* columns) const {
    const Tile* rows = tiles_ + product * grid_.stride(job_.in_channels) + position * kWinogradRegister;
    return {reinterpret_cast<const char*>(rows),    grid_.across * kTileBytes,      grid_.room() * kTileBytes,
            columns + product * weight_stride_ * 2, kProducts * weight_stride_ * 2, blocks_};
  }

  const Winograd& job_;
  const WinogradPart& part_;
  const WinogradGrid grid_;
  const Tile* tiles_;
  const Int blocks_, weight_stride_;
};

void Run(const Winograd& job, const WinogradPart& part, void* scratch) {
  const WinogradGrid grid = GridOf(job, part);
  auto* tiles = static_cast<Tile*>(scratch);
  GridTransform(job, part, grid, tiles).Run();
  ConfigureTiles();
  Computation(job, part, grid, tiles)
      .Compute(reinterpret_cast<float*>(tiles + kProducts * grid.stride(job.in_channels)));
  _tile_release();
}

constexpr WinogradTable kTable = [] {
  constexpr auto kKind = static_cast<int>(WinogradKind::kF1x4BF16);
  WinogradTable table{Isa::kAvx512, {}, {}, 2 * kTileRows};
  table.run[kKind] = Run;
  table.pack[kKind] = WinogradWeightsCode<WeightOps, WinogradAxis<1, 3>, WinogradAxis<4, 3>>::Pack;
  return table;
}();

}  // namespace

const WinogradTable* WinogradTable::Avx512AMX() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTable::Avx512AMX() { return nullptr; }

}  // namespace amp::kernels

#endif
