// The code of Winograd convolutions, for vectors of Ops::kLanes numbers. One source for all instruction sets; each
// gives an `Ops` of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/base/leaky_relu_code.h"
#include "kernels/winograd/winograd.h"
#include "kernels/winograd/winograd_transform_code.h"

namespace amp::kernels {

// `Ops` has: Vector, kLanes, kRows; Tile, the type of transformed numbers; All, MultiplyAdd (a * b + c),
// MultiplySubtract (c - a * b), Clip, Load and Store of vectors, StoreTile, and
// Product<kRows, kVectors>(rows, column, ahead, products, row_stride). Where tiles have scales (kScales), it has
// Quantise, see TransformRun.

// What its parts count in.
template <class Ops, class AxisY, class AxisX>
struct WinogradUnits {
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  static constexpr int kTileY = AxisY::kTile, kTileX = AxisX::kTile;
  static constexpr int kLanes = Ops::kLanes, kInY = AxisY::kIn, kInX = AxisX::kIn, kProducts = kInY * kInX;
  static constexpr Int kBlock = kWinogradBlock, kColumns = kWinogradColumns;
  static constexpr Int kProductStride = WinogradProductStride(kProducts);

  static Int Min(Int a, Int b) { return a < b ? a : b; }

  // Where a tile lies: of image `n`, with its first row and column of the output.
  struct Place {
    Int n, y, x;
  };
  static Int TilesAcross(const Winograd& job) { return (job.out_width + kTileX - 1) / kTileX; }
  static Int TilesDown(const Winograd& job) { return (job.out_height + kTileY - 1) / kTileY; }
  static Place PlaceOf(const Winograd& job, Int tile) {
    const Int across = TilesAcross(job), down = TilesDown(job);
    return {tile / across / down, tile / across % down * kTileY, tile % across * kTileX};
  }

  // The offset of a channel at its position.
  static Int OffsetIn(const WinogradImage& image, Int channel) {
    return channel / 16 * image.block + channel % 16 / 8 * image.half + channel % 8;
  }

  // Some output channels of a part.
  struct Strip {
    Int first, end;
  };

  // The products of a column that begins with this channel of the strip.
  static float* ProductsOf(const WinogradPart& part, Int channel, float* products) {
    return products + channel / kColumns * part.num_tiles * kProductStride;
  }

  // Where transformed tiles of a part lie.
  struct Tiles {
    Tile* first;  // of the tiles, in block 0
    Int block_stride, stride;
    float* scales;  // of the tile, in chunk 0
    Int chunk_stride, scale_stride;

    Tiles From(Int tile) const {
      return {first + tile * kBlock, block_stride, stride, scales + tile, chunk_stride, scale_stride};
    }
    WinogradRows<Tile> RowsOf(Int product) const {
      return {first + product * stride, block_stride, scales + product * scale_stride, chunk_stride};
    }
  };
  static Tiles TilesOf(const Winograd& job, const WinogradPart& part, void* scratch) {
    auto* first = static_cast<Tile*>(scratch);
    return {first,
            part.num_tiles * kBlock,
            part.tile_stride,
            reinterpret_cast<float*>(first + kProducts * part.tile_stride),
            part.num_tiles,
            Chunks(job) * part.num_tiles};
  }
  static Int Chunks(const Winograd& job) {
    return Ops::kScales ? (job.in_channels + kWinogradChunk - 1) / kWinogradChunk : 0;
  }
};

// Transforms tiles of the image.
template <class Ops, class AxisY, class AxisX>
struct WinogradTilesCode : WinogradUnits<Ops, AxisY, AxisX> {
  using Units = WinogradUnits<Ops, AxisY, AxisX>;
  using typename Units::Int, typename Units::Place, typename Units::Tile, typename Units::Tiles, typename Units::V;
  using Units::Chunks, Units::kBlock, Units::kInX, Units::kInY, Units::kLanes, Units::kProducts, Units::kTileX,
      Units::Min, Units::OffsetIn, Units::PlaceOf, Units::TilesAcross;
  // Neighbours share columns, which are transformed once for so many tiles. Those that wait for their scales stay in
  // the nearest cache.
  static constexpr int kRun = !Ops::kScales ? 8 : kProducts > 16 ? 2 : 4;
  static constexpr Int ColumnsOf(Int run) { return run * kTileX + AxisX::kWindow - 1; }
  struct Columns {
    V value[ColumnsOf(kRun)][kInY];
  };

  // A vector of channels: how many there are from here on, and what they are multiplied by.
  struct Channels {
    Int count;
    V factor;
  };

  template <bool kIsBF16>
  static V LoadRow(const char* from, const Channels& channels) {
    const V x = Ops::template Load<kIsBF16>(from, channels.count);
    return Ops::kScales ? x * channels.factor : x;
  }

  // Rows [begin, end) of a column of the image lie inside of it.
  template <bool kIsBF16>
  static void TransformColumn(const char* first, Int row_bytes, Int begin, Int end, const Channels& channels,
                              V (&y)[kInY]) {
    V x[kInY];
    if (begin == 0 && end == kInY) {
      for (int r = 0; r < kInY; ++r) x[r] = LoadRow<kIsBF16>(first + r * row_bytes, channels);
    } else {
      for (int r = 0; r < kInY; ++r) {
        x[r] = r >= begin && r < end ? LoadRow<kIsBF16>(first + r * row_bytes, channels) : Ops::All(0);
      }
    }
    WinogradTransform<Ops, AxisY>::In(x, y);
  }

  // The next block of channels may lie in lines of its own.
  static void PrefetchColumn(const char* first, Int row_bytes, Int begin, Int end) {
    for (Int r = begin; r < end; ++r) __builtin_prefetch(first + r * row_bytes);
  }

  // The columns of `run` tiles beginning at `place`, channels from `source` on, of an image so wide.
  template <bool kIsBF16>
  static void TransformColumns(const Winograd& job, const char* source, Int width, const Place& place, Int run,
                               const Channels& channels, Columns* columns) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int y = place.y - job.pad_top, x = place.x - job.pad_left;
    const Int begin = y < 0 ? -y : 0, end = Min(kInY, job.in_height - y);
    const char* corner = source + (y * job.source.row + x * job.source.pixel) * kElement;
    for (Int c = 0; c < ColumnsOf(run); ++c) {
      V(&to)[kInY] = columns->value[c];
      if (x + c < 0 || x + c >= width) {
        for (int r = 0; r < kInY; ++r) to[r] = Ops::All(0);
      } else {
        const char* first = corner + c * job.source.pixel * kElement;
        if constexpr (!kIsBF16)
          PrefetchColumn(first + job.source.block * kElement, job.source.row * kElement, begin, end);
        TransformColumn<kIsBF16>(first, job.source.row * kElement, begin, end, channels, to);
      }
    }
  }

  template <class T>
  static void TransformRows(const Columns& columns, Int run, Int stride, T* tiles) {
    for (Int t = 0; t < run; ++t) {
      for (int r = 0; r < kInY; ++r) {
        V x[kInX], y[kInX];
        for (int c = 0; c < kInX; ++c) x[c] = columns.value[t * kTileX + c][r];
        WinogradTransform<Ops, AxisX>::In(x, y);
        for (int c = 0; c < kInX; ++c) Ops::StoreTile(tiles + t * kBlock + (r * kInX + c) * stride, y[c]);
      }
    }
  }

  // A block of channels, as it lies in its slice of a volume.
  struct Block {
    Int offset;  // from the volume, in elements
    Int count;   // channels of the slice from here on
    Int width;   // 0 where the slice lies outside
  };
  static Block BlockAt(const Winograd& job, const Place& place, Int c) {
    if (job.in_depth == 1 && job.slices == 1) return {OffsetIn(job.source, c), job.in_channels - c, job.in_width};
    const Int of_slice = job.in_channels / job.slices, channel = c % of_slice;
    const Int slice = place.n % job.out_depth - job.pad_front + c / of_slice;
    const bool is_inside = slice >= 0 && slice < job.in_depth;
    return {slice * job.source.slice + OffsetIn(job.source, channel), of_slice - channel, is_inside ? job.in_width : 0};
  }

  // A block of channels, from `c` on.
  template <bool kIsBF16, class T>
  static void TransformBlock(const Winograd& job, const char* image, const float* factors, const Place& place, Int run,
                             Int c, Int stride, T* tiles) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    Columns columns;
    for (Int lane = 0; lane < kBlock; lane += kLanes) {
      const Block block = BlockAt(job, place, c + lane);
      const V factor = Ops::kScales ? Ops::template Load<false>(factors + c + lane, kLanes) : Ops::All(1);
      TransformColumns<kIsBF16>(job, image + block.offset * kElement, block.width, place, run, {block.count, factor},
                                &columns);
      TransformRows(columns, run, stride, tiles + lane);
    }
  }

  // Where a chunk of channels of the first tile of a run lies, and its scales.
  struct Quantised {
    Tile* tiles;
    float* scales;
  };
  static constexpr Int kWaitingStride = kRun * kBlock, kWaitingBlock = kProducts * kWaitingStride;

  // Tiles from `t` on.
  template <int kTiles>
  static void QuantiseTiles(const float* waiting, Int blocks, Int t, const Tiles& tiles, const Quantised& to) {
    Ops::template Quantise<kProducts, kTiles>(waiting + t * kBlock, kWaitingStride, kWaitingBlock, blocks,
                                              to.tiles + t * kBlock, tiles.stride, tiles.block_stride, to.scales + t,
                                              tiles.scale_stride);
  }

  // Scales are known when all channels of a chunk are transformed.
  template <bool kIsBF16>
  static void TransformChunk(const Winograd& job, const char* image, const float* factors, const Place& place, Int run,
                             Int chunk, const Tiles& tiles) {
    alignas(64) float waiting[kWinogradChunk / kBlock * kWaitingBlock];
    const Int first = chunk * kWinogradChunk, end = Min(first + kWinogradChunk, job.in_channels);
    Int blocks = 0;
    for (Int c = first; c < end; c += kBlock, ++blocks) {
      TransformBlock<kIsBF16>(job, image, factors, place, run, c, kWaitingStride, waiting + blocks * kWaitingBlock);
    }
    const Quantised to{tiles.first + first / kBlock * tiles.block_stride, tiles.scales + chunk * tiles.chunk_stride};
    Int t = 0;
    for (; t + 2 <= run; t += 2) QuantiseTiles<2>(waiting, blocks, t, tiles, to);
    if (t < run) QuantiseTiles<1>(waiting, blocks, t, tiles, to);
  }

  template <bool kIsBF16>
  static void TransformRun(const Winograd& job, const WinogradPart& part, const Place& place, Int run,
                           const Tiles& tiles) {
    const float* factors = part.factors;
    const Int first = WinogradImageAt(job, job.source, place.n);
    const char* image = static_cast<const char*>(part.data.source) + first * (kIsBF16 ? 2 : 4);
    if constexpr (Ops::kScales) {
      for (Int chunk = 0; chunk < Chunks(job); ++chunk)
        TransformChunk<kIsBF16>(job, image, factors, place, run, chunk, tiles);
    } else {
      for (Int c = 0; c < job.in_channels; c += kBlock) {
        TransformBlock<kIsBF16>(job, image, factors, place, run, c, tiles.stride,
                                tiles.first + c / kBlock * tiles.block_stride);
      }
    }
  }

  template <bool kIsBF16>
  static void TransformIn(const Winograd& job, const WinogradPart& part, const Tiles& tiles) {
    const Int across = TilesAcross(job);
    for (Int t = 0; t < part.num_tiles;) {
      const Int tile = part.first_tile + t;
      const Int run = Min(Min(kRun, part.num_tiles - t), across - tile % across);
      TransformRun<kIsBF16>(job, part, PlaceOf(job, tile), run, tiles.From(t));
      t += run;
    }
  }
};

// ComputeType transformed tiles.
template <class Ops, class AxisY, class AxisX>
struct WinogradProductsCode : WinogradUnits<Ops, AxisY, AxisX> {
  using Units = WinogradUnits<Ops, AxisY, AxisX>;
  using typename Units::Int, typename Units::Strip, typename Units::Tile, typename Units::Tiles;
  using Units::kBlock, Units::kColumns, Units::kLanes, Units::kProducts, Units::kProductStride, Units::ProductsOf;
  static constexpr Int kUnitBytes = kColumns * Ops::kPerUnit * static_cast<Int>(sizeof(Tile));  // of a column

  using Rows = WinogradRows<Tile>;
  using Column = WinogradColumn<Tile>;

  template <int kRows, int kVectors>
  static void MultiplyRows(Int count, const Rows& rows, Column column, WinogradAhead ahead, float* products) {
    if constexpr (kRows > 1) {
      if (count < kRows) return MultiplyRows<kRows - 1, kVectors>(count, rows, column, ahead, products);
    }
    for (Int lane = 0; lane < kVectors * kLanes; lane += 2 * kLanes, ahead.weights += column.depth * ahead.step) {
      constexpr int kTogether = kVectors == 1 ? 1 : 2;
      Ops::template Product<kRows, kTogether>(rows, column, ahead, products + lane, kProductStride);
      column.weights += 2 * kLanes * Ops::kPerUnit;
      column.scales += 2 * kLanes;
    }
  }

  // Blocks of about the same number of tiles. Each fetches its share of the weights behind these (`next`): memory works
  // while products are computed.
  template <int kVectors>
  static void Multiply(Int num_tiles, const Rows& rows, const Column& column, const Tile* next, float* products) {
    const Int blocks = (num_tiles + Ops::kRows - 1) / Ops::kRows, shares = blocks * ((kVectors + 1) / 2);
    const Int step = (kUnitBytes + shares - 1) / shares;
    const char* ahead = reinterpret_cast<const char*>(next);
    for (Int b = 0; b < blocks; ++b, ahead += shares / blocks * column.depth * step) {
      const Int first = num_tiles * b / blocks, end = num_tiles * (b + 1) / blocks;
      const Rows some{rows.tiles + first * kBlock, rows.block_stride, rows.scales + first, rows.scale_stride};
      MultiplyRows<Ops::kRows, kVectors>(end - first, some, column, {ahead, step}, products + first * kProductStride);
    }
  }

  // Where the weights of a product begin, for a column that begins with this channel.
  static const Tile* WeightsAt(const Winograd& job, const WinogradPart& part, Int channel, Int product) {
    return static_cast<const Tile*>(part.data.weights) +
           (channel / kColumns * kProducts + product) * WinogradWeightStride(job.kind, job.in_channels);
  }

  static const Tile* WeightsAfter(const Winograd& job, const WinogradPart& part, const Strip& strip, Int channel,
                                  Int product) {
    if (channel + kColumns < strip.end) return WeightsAt(job, part, channel + kColumns, product);
    if (product + 1 < kProducts) return WeightsAt(job, part, strip.first, product + 1);
    return WeightsAt(job, part, channel + kColumns, 0);
  }

  static Column ColumnAt(const Winograd& job, const WinogradPart& part, Int channel, Int product) {
    const Int depth = WinogradDepth(job.kind, job.in_channels);
    const Tile* weights = WeightsAt(job, part, channel, product);
    return {weights, depth, reinterpret_cast<const float*>(weights + depth * Ops::kPerUnit * kColumns)};
  }

  static void MultiplyStrip(const Winograd& job, const WinogradPart& part, const Strip& strip, const Tiles& tiles,
                            float* products) {
    for (Int p = 0; p < kProducts; ++p) {
      const Rows rows = tiles.RowsOf(p);
      for (Int channel = strip.first; channel < strip.end; channel += kColumns) {
        const Column column = ColumnAt(job, part, channel, p);
        const Tile* next = WeightsAfter(job, part, strip, channel, p);
        float* to = ProductsOf(part, channel - strip.first, products) + p * kColumns;
        if (strip.end - channel <= kColumns / 2) {
          Multiply<kColumns / 2 / kLanes>(part.num_tiles, rows, column, next, to);
        } else {
          Multiply<kColumns / kLanes>(part.num_tiles, rows, column, next, to);
        }
      }
    }
  }
};

// Transforms products back.
template <class Ops, class AxisY, class AxisX>
struct WinogradResultsCode : WinogradUnits<Ops, AxisY, AxisX> {
  using Units = WinogradUnits<Ops, AxisY, AxisX>;
  using typename Units::Int, typename Units::Place, typename Units::V;
  using Units::kColumns, Units::kInX, Units::kInY, Units::kLanes, Units::kProductStride, Units::kTileX, Units::kTileY,
      Units::OffsetIn, Units::PlaceOf;
  // Where `count` channels of a tile of the destination and of the sum begin.
  struct Target {
    char* destination;
    const char* sum;
    Int rows, columns, count;
    V bias, slope;
  };

  template <bool kOutIsBF16, bool kSumIsBF16>
  static void Finish(const Winograd& job, const Target& to, int y, int x, V value) {
    value = value + to.bias;
    if (to.sum != nullptr) {
      const Int at = y * job.sum.row + x * job.sum.pixel;
      value = value + Ops::template Load<kSumIsBF16>(to.sum + at * (kSumIsBF16 ? 2 : 4), to.count);
    }
    const Int at = y * job.destination.row + x * job.destination.pixel;
    value = job.is_leaky ? LeakyRelu<Ops>(value, to.slope) : Ops::Clip(value, job.low, job.high);
    Ops::template Store<kOutIsBF16>(to.destination + at * (kOutIsBF16 ? 2 : 4), to.count, value);
  }

  template <bool kOutIsBF16, bool kSumIsBF16>
  static void TransformTile(const Winograd& job, const float* products, const Target& to) {
    V half[kTileY][kInX];
    for (int c = 0; c < kInX; ++c) {
      V x[kInY], y[kTileY];
      for (int r = 0; r < kInY; ++r) x[r] = Ops::template Load<false>(products + (r * kInX + c) * kColumns, kLanes);
      WinogradTransform<Ops, AxisY>::Out(x, y);
      for (int r = 0; r < kTileY; ++r) half[r][c] = y[r];
    }
    for (int r = 0; r < kTileY; ++r) {
      if (r >= to.rows) break;
      V y[kTileX];
      WinogradTransform<Ops, AxisX>::Out(half[r], y);
      for (int c = 0; c < kTileX; ++c) {
        if (c < to.columns) Finish<kOutIsBF16, kSumIsBF16>(job, to, r, c, y[c]);
      }
    }
  }

  // Where a tile begins, in elements.
  static Int OffsetOf(const Winograd& job, const WinogradImage& image, const Place& place) {
    const Int slice = job.out_depth == 1 ? 0 : place.n % job.out_depth * image.slice;
    return WinogradImageAt(job, image, place.n) + slice + place.y * image.row + place.x * image.pixel;
  }

  // Channels from `channel` on, `count` of them.
  template <bool kOutIsBF16, bool kSumIsBF16>
  static void TransformOut(const Winograd& job, const WinogradPart& part, Int channel, Int count,
                           const float* products) {
    const WinogradData& data = part.data;
    for (Int t = 0; t < part.num_tiles; ++t) {
      const Place place = PlaceOf(job, part.first_tile + t);
      const Int destination = OffsetOf(job, job.destination, place), sum = OffsetOf(job, job.sum, place);
      for (Int lane = 0; lane < count; lane += kLanes) {
        Target to;
        to.rows = job.out_height - place.y;
        to.columns = job.out_width - place.x;
        to.count = count - lane;
        to.destination = static_cast<char*>(data.destination) +
                         (destination + OffsetIn(job.destination, channel + lane)) * (kOutIsBF16 ? 2 : 4);
        to.sum = data.sum == nullptr ? nullptr
                                     : static_cast<const char*>(data.sum) +
                                           (sum + OffsetIn(job.sum, channel + lane)) * (kSumIsBF16 ? 2 : 4);
        to.bias = data.bias == nullptr ? Ops::All(0) : Ops::template Load<false>(data.bias + channel + lane, to.count);
        to.slope = data.slopes == nullptr ? Ops::All(job.slope)
                                          : Ops::template Load<false>(data.slopes + channel + lane, to.count);
        TransformTile<kOutIsBF16, kSumIsBF16>(job, products + t * kProductStride + lane, to);
      }
    }
  }

  static void TransformOut(const Winograd& job, const WinogradPart& part, Int channel, Int count,
                           const float* products) {
    if (job.destination.is_bf16) {
      job.sum.is_bf16 ? TransformOut<true, true>(job, part, channel, count, products)
                      : TransformOut<true, false>(job, part, channel, count, products);
    } else {
      job.sum.is_bf16 ? TransformOut<false, true>(job, part, channel, count, products)
                      : TransformOut<false, false>(job, part, channel, count, products);
    }
  }
};

template <class Ops, class AxisY, class AxisX>
struct WinogradCode : WinogradUnits<Ops, AxisY, AxisX> {
  using Units = WinogradUnits<Ops, AxisY, AxisX>;
  using In = WinogradTilesCode<Ops, AxisY, AxisX>;
  using Products = WinogradProductsCode<Ops, AxisY, AxisX>;
  using Out = WinogradResultsCode<Ops, AxisY, AxisX>;
  using typename Units::Int, typename Units::Strip, typename Units::Tiles;

  static void Run(const Winograd& job, const WinogradPart& part, void* scratch) {
    const Tiles tiles = Units::TilesOf(job, part, scratch);
    float* products = tiles.scales + Units::kProducts * tiles.scale_stride;
    job.source.is_bf16 ? In::template TransformIn<true>(job, part, tiles)
                       : In::template TransformIn<false>(job, part, tiles);

    const Int end = part.first_channel + part.num_channels;
    for (Int first = part.first_channel; first < end; first += part.strip) {
      const Strip strip{first, Units::Min(first + part.strip, end)};
      Products::MultiplyStrip(job, part, strip, tiles, products);
      for (Int channel = first; channel < strip.end; channel += Units::kColumns) {
        Out::TransformOut(job, part, channel, Units::Min(Units::kColumns, strip.end - channel),
                          Units::ProductsOf(part, channel - first, products));
      }
    }
  }
};

}  // namespace amp::kernels
