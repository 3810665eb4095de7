#include "kernels/depthwise/fused_depthwise.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__) && \
    defined(__AVX512VL__)

#include "kernels/depthwise/fused_depthwise_code.h"
#include "kernels/gemm/gemm_tile_products.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

using Window = DepthwiseWindow<Vectors>;
using Block = FusedDepthwiseCode<Vectors>;
using Filling = DepthwiseWindowCode<Vectors>;
using Taps = DepthwiseTapsCode<Vectors, kDepth>;

constexpr Int kTogether = 2 * kRows;

// Expands rows of the image into the window, 32 positions after the others, whatever rows they are of.
class Expansion {
 public:
  Expansion(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part,
            const Block::ImageRows& rows, const Window& window)
      : job_(job), data_(data), window_(window), top_(rows.top), positions_(rows.count() * job.width) {
    if (!job.expands || positions_ == 0) return;
    Gemm product = ProductOf(job.in_channels);
    product.batch = job.batch;
    product.height = job.height;
    product.width = job.width;
    product.source = job.source;
    GemmPart source;
    source.data.source = data.source;
    source.first_row = (part.image * job.height + rows.top) * job.width;
    source.num_rows = positions_;
    source.depth = GemmFullDepth(product);
    is_packed_ = positions_ < kTogether || !IsTiled(product, source);
    if (is_packed_) {
      rows_ = Packing(product, source, part.source_tiles).Pack();
    } else {
      const char* first = GemmRows<Vectors>(product, data.source, source.first_row).get();
      rows_ = {first, job.source.pixel * kElement, kTileBytes, job.in_channels / kDepth};
    }
  }

  // The next 32 channels.
  void Begin(Int channel) {
    const Int left = job_.channels - channel;
    next_ = 0;
    columns_ = static_cast<const char*>(data_.expand_weights) +
               channel / kGemmColumns * GemmColumnElements(ProductOf(job_.in_channels)) * kElement;
    for (Int lane = 0; lane < 2 * kLanes; lane += kLanes) {
      const bool has_bias = data_.expand_bias != nullptr && lane < left;
      Vectors::Store<false>(
          bias_ + lane, kLanes,
          has_bias ? Vectors::Load<false>(data_.expand_bias + channel + lane, left - lane) : Vectors::All(0));
    }
    EndWrites();
  }

  // So that a row of the image is in the window, and perhaps some behind it.
  void FillRow(Int y) {
    const Int end = (y - top_ + 1) * job_.width;
    while (next_ < end) FillSome();
  }

 private:
  static constexpr Int kLanes = Vectors::kLanes;

  static Gemm ProductOf(Int in_channels) { return GemmProductOf<Vectors>(in_channels); }

  // The last registers of rows that are not packed repeat positions before them.
  void FillSome() {
    const Int count = Min(kTogether, positions_ - next_),
              first = is_packed_ ? next_ : Min(next_, positions_ - kTogether);
    const char *rows = rows_.first + first * rows_.row_bytes, *columns = columns_;
    // There may be no more packed rows.
    const Int second = is_packed_ && count <= kRows ? 0 : kRows * rows_.row_bytes;
    _tile_loadd(0, bias_, 0);
    _tile_loadd(1, bias_ + kLanes, 0);
    _tile_loadd(2, bias_, 0);
    _tile_loadd(3, bias_ + kLanes, 0);
    for (Int i = 0; i < rows_.blocks; ++i, rows += rows_.block_bytes, columns += kUnitBytes)
      AddProducts<2, 2>(rows, rows + second, rows_.row_bytes, columns);
    StoreSums<2, 2>(sums_, sums_ + kRows * 2 * kLanes, 2 * kTileBytes);
    Keep(count, sums_ + (next_ - first) * 2 * kLanes);
    next_ += count;
  }

  // `count` positions from the next one on.
  void Keep(Int count, const float* sums) const {
    Int y = top_ + next_ / job_.width, x = next_ % job_.width;
    while (count > 0) {
      const Int run = Min(count, job_.width - x), used = Min(run, window_.used_columns - x);
      float* to = window_.Image(y) + x * kGemmBlock;
      for (Int i = 0; i < used; ++i, to += kGemmBlock) {
        for (Int v = 0; v < 2; ++v) {
          const __m512 sum = Vectors::Load<false>(sums + (2 * i + v) * kLanes, kLanes);
          Vectors::Store<false>(to + v * window_.block, kLanes,
                                Vectors::Clip(sum, job_.expanded.low, job_.expanded.high));
        }
      }
      sums += run * 2 * kLanes;
      count -= run;
      x = 0;
      ++y;
    }
  }

  const FusedDepthwise& job_;
  const FusedDepthwiseData& data_;
  const Window& window_;
  const Int top_, positions_;
  bool is_packed_ = false;
  Rows rows_ = {};
  const char* columns_ = nullptr;
  Int next_ = 0;  // position
  alignas(64) float bias_[2 * kLanes];
  alignas(64) float sums_[kTogether * 2 * kLanes];
};

// What the depthwise convolution wrote, at all positions.
void Project(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part, Int stride) {
  const Gemm product = Block::ProductProblem(job);
  GemmPart rows;
  rows.data.weights = data.project_weights;
  rows.data.bias = data.project_bias;
  rows.data.sum = data.sum;
  rows.data.destination = data.destination;
  rows.first_row = (part.image * job.out_height + part.first_row) * job.out_width;
  rows.num_rows = part.num_rows * job.out_width;
  rows.num_channels = job.out_channels;
  const Rows tiles{static_cast<const char*>(part.tiles), kTileBytes, stride * kElement, CeilDiv(job.channels, kDepth)};
  EndWrites();
  Computation(product, rows, tiles, Grid{}, true).Compute();
}

// Channels that fill half a register have zeros beside them.
void ClearUpperHalf(Tile* tiles, Int positions) {
  for (Int i = 0; i < positions; ++i) Vectors::StoreTile(tiles + i * kDepth + kDepth / 2, Vectors::All(0));
}

void Run(const FusedDepthwise& job, const FusedDepthwiseData& data, const FusedDepthwisePart& part) {
  const Window window(job, part.window, DepthwiseTileWindowRows(job));
  const Block::ImageRows rows(job, part);
  auto* tiles = static_cast<Tile*>(part.tiles);
  const Int positions = part.num_rows * job.out_width, stride = GemmTileStride(positions);
  Filling::Clear(part.window, kGemmColumns / kGemmBlock * window.block);
  Expansion expansion(job, data, part, rows, window);
  ConfigureTiles();
  for (Int channel = 0; channel < job.channels; channel += kDepth, tiles += stride) {
    if (job.expands) expansion.Begin(channel);
    if (job.channels - channel <= kDepth / 2) ClearUpperHalf(tiles, positions);
    Int filled = part.first_row * job.stride - job.pad_top;  // rows before are in the window
    for (Int i = 0; i < part.num_rows; ++i) {
      const Int y = part.first_row + i, end = y * job.stride - job.pad_top + job.kernel_height;
      for (; filled < end; ++filled) {
        if (filled < rows.top || filled >= rows.bottom) {
          for (Int block = 0; block < kDepth / kGemmBlock; ++block)
            Filling::Clear(window.Row(filled) + block * window.block, window.row);
        } else if (job.expands) {
          expansion.FillRow(filled);
        } else {
          Filling::CopyRow(job, window, data, part.image, filled, channel);
        }
      }
      Taps::TapChannels(job, window, data, y, channel, tiles + i * job.out_width * kDepth, stride);
    }
  }
  Project(job, data, part, stride);
  _tile_release();
}

constexpr FusedDepthwiseTable kTable = {Isa::kAvx512, {nullptr, Run, nullptr}};

}  // namespace

const FusedDepthwiseTable* FusedDepthwiseTable::Avx512AMX() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const FusedDepthwiseTable* FusedDepthwiseTable::Avx512AMX() { return nullptr; }

}  // namespace amp::kernels

#endif
