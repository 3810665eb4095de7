// The code of Winograd convolutions, for vectors of Ops::kLanes numbers. One source for all instruction sets; each
// gives an `Ops` of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/winograd.h"
#include "kernels/winograd_points.h"

namespace amp::kernels {

// One dimension of the transforms. Lagrange's factors are in the weights: the other transforms are plain sums of
// powers.
template <class Ops, int kTile>
struct WinogradTransform;

template <class Ops>
struct WinogradTransform<Ops, 4> {
  using V = typename Ops::Vector;
  using P = WinogradPoints;

  // Of weights x, y, z, in float64.
  template <class D>
  static void Weights(const D& x, const D& y, const D& z, D (&out)[6]) {
    constexpr double a = P::kA, b = P::kB, a2 = a * a, b2 = b * b;
    constexpr double factor_0 = 1 / (a2 * b2), factor_a = 0.5 / (a2 * (a2 - b2)), factor_b = 0.5 / (b2 * (b2 - a2));
    const D even_a = (x + a2 * z) * factor_a, odd_a = (a * factor_a) * y;
    const D even_b = (x + b2 * z) * factor_b, odd_b = (b * factor_b) * y;
    out[0] = x * factor_0;
    out[1] = even_a + odd_a;
    out[2] = even_a - odd_a;
    out[3] = even_b + odd_b;
    out[4] = even_b - odd_b;
    out[5] = z;
  }

  static void In(const V (&x)[6], V (&y)[6]) {
    const V sum = Ops::All(P::kA2 + P::kB2), product = Ops::All(P::kA2 * P::kB2);
    const V a2 = Ops::All(P::kA2), b2 = Ops::All(P::kB2), a = Ops::All(P::kA), b = Ops::All(P::kB);
    y[0] = Ops::MultiplyAdd(product, x[0], Ops::MultiplySubtract(sum, x[2], x[4]));
    const V even_a = Ops::MultiplySubtract(b2, x[2], x[4]), odd_a = Ops::MultiplySubtract(b2, x[1], x[3]);
    y[1] = Ops::MultiplyAdd(a, odd_a, even_a);
    y[2] = Ops::MultiplySubtract(a, odd_a, even_a);
    const V even_b = Ops::MultiplySubtract(a2, x[2], x[4]), odd_b = Ops::MultiplySubtract(a2, x[1], x[3]);
    y[3] = Ops::MultiplyAdd(b, odd_b, even_b);
    y[4] = Ops::MultiplySubtract(b, odd_b, even_b);
    y[5] = Ops::MultiplyAdd(product, x[1], Ops::MultiplySubtract(sum, x[3], x[5]));
  }

  static void Out(const V (&x)[6], V (&y)[4]) {
    const V sum_a = x[1] + x[2], difference_a = x[1] - x[2], sum_b = x[3] + x[4], difference_b = x[3] - x[4];
    y[0] = x[0] + sum_a + sum_b;
    y[1] = Ops::MultiplyAdd(Ops::All(P::kA), difference_a, Ops::All(P::kB) * difference_b);
    y[2] = Ops::MultiplyAdd(Ops::All(P::kA2), sum_a, Ops::All(P::kB2) * sum_b);
    const V cubes = Ops::MultiplyAdd(Ops::All(P::kB2 * P::kB), difference_b, x[5]);
    y[3] = Ops::MultiplyAdd(Ops::All(P::kA2 * P::kA), difference_a, cubes);
  }
};

template <class Ops>
struct WinogradTransform<Ops, 2> {
  using V = typename Ops::Vector;

  template <class D>
  static void Weights(const D& x, const D& y, const D& z, D (&out)[4]) {
    out[0] = x;
    out[1] = (x + y + z) * 0.5;
    out[2] = (x - y + z) * 0.5;
    out[3] = z;
  }

  static void In(const V (&x)[4], V (&y)[4]) {
    y[0] = x[0] - x[2];
    y[1] = x[2] + x[1];
    y[2] = x[2] - x[1];
    y[3] = x[3] - x[1];
  }

  static void Out(const V (&x)[4], V (&y)[2]) {
    y[0] = x[0] + x[1] + x[2];
    y[1] = x[1] - x[2] + x[3];
  }
};

// `Ops` has: Vector, kLanes, kRows; Tile, the type of transformed numbers; All, MultiplyAdd (a * b + c),
// MultiplySubtract (c - a * b), Clip, Load and Store of vectors, StoreTile, and
// Product<kRows, kVectors>(tiles, block_stride, weights, depth, ahead, products, row_stride).
template <class Ops, int kTileY, int kTileX>
struct WinogradCode {
  using V = typename Ops::Vector;
  using Tile = typename Ops::Tile;
  using Int = std::int64_t;

  static constexpr int kLanes = Ops::kLanes, kInY = kTileY + 2, kInX = kTileX + 2, kProducts = kInY * kInX;
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

  // Of a channel at its position.
  static Int OffsetIn(const WinogradImage& image, Int channel) {
    return channel / 16 * image.block + channel % 16 / 8 * image.half + channel % 8;
  }

  // ---- tiles ----

  // Neighbours share two columns, which are transformed once for so many tiles.
  static constexpr int kRun = 8;
  struct Columns {
    V value[kRun * kTileX + 2][kInY];
  };

  // Rows [begin, end) of a column of the image lie inside of it.
  template <bool kIsBF16>
  static void TransformColumn(const char* first, Int row_bytes, Int begin, Int end, Int count, V (&y)[kInY]) {
    V x[kInY];
    if (begin == 0 && end == kInY) {
      for (int r = 0; r < kInY; ++r) x[r] = Ops::template Load<kIsBF16>(first + r * row_bytes, count);
    } else {
      for (int r = 0; r < kInY; ++r) {
        x[r] = r >= begin && r < end ? Ops::template Load<kIsBF16>(first + r * row_bytes, count) : Ops::All(0);
      }
    }
    WinogradTransform<Ops, kTileY>::In(x, y);
  }

  // The next block of channels may lie in lines of its own.
  static void PrefetchColumn(const char* first, Int row_bytes, Int begin, Int end) {
    for (Int r = begin; r < end; ++r) __builtin_prefetch(first + r * row_bytes);
  }

  // The columns of `run` tiles beginning at `place`, `count` channels from `source` on.
  template <bool kIsBF16>
  static void TransformColumns(const Winograd& job, const char* source, const Place& place, Int run, Int count,
                               Columns* columns) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const Int y = place.y - job.pad_top, x = place.x - job.pad_left;
    const Int begin = y < 0 ? -y : 0, end = Min(kInY, job.in_height - y);
    const char* corner = source + (y * job.source.row + x * job.source.pixel) * kElement;
    for (Int c = 0; c < run * kTileX + 2; ++c) {
      V(&to)[kInY] = columns->value[c];
      if (x + c < 0 || x + c >= job.in_width) {
        for (int r = 0; r < kInY; ++r) to[r] = Ops::All(0);
      } else {
        const char* first = corner + c * job.source.pixel * kElement;
        if constexpr (!kIsBF16)
          PrefetchColumn(first + job.source.block * kElement, job.source.row * kElement, begin, end);
        TransformColumn<kIsBF16>(first, job.source.row * kElement, begin, end, count, to);
      }
    }
  }

  static void TransformRows(const Columns& columns, Int run, Int stride, Tile* tiles) {
    for (Int t = 0; t < run; ++t) {
      for (int r = 0; r < kInY; ++r) {
        V x[kInX], y[kInX];
        for (int c = 0; c < kInX; ++c) x[c] = columns.value[t * kTileX + c][r];
        WinogradTransform<Ops, kTileX>::In(x, y);
        for (int c = 0; c < kInX; ++c) Ops::StoreTile(tiles + t * kBlock + (r * kInX + c) * stride, y[c]);
      }
    }
  }

  // `tiles`: the first of the run, in block 0.
  template <bool kIsBF16>
  static void TransformRun(const Winograd& job, const char* source, const Place& place, Int run, Int block_stride,
                           Int stride, Tile* tiles) {
    constexpr Int kElement = kIsBF16 ? 2 : 4;
    const char* image = source + place.n * job.source.batch * kElement;
    Columns columns;
    for (Int c = 0; c < job.in_channels; c += kBlock) {
      for (Int lane = 0; lane < kBlock; lane += kLanes) {
        const char* first = image + OffsetIn(job.source, c + lane) * kElement;
        TransformColumns<kIsBF16>(job, first, place, run, job.in_channels - c - lane, &columns);
        TransformRows(columns, run, stride, tiles + c / kBlock * block_stride + lane);
      }
    }
  }

  template <bool kIsBF16>
  static void TransformIn(const Winograd& job, const WinogradPart& part, Int stride, Tile* tiles) {
    const Int across = TilesAcross(job);
    for (Int t = 0; t < part.num_tiles;) {
      const Int tile = part.first_tile + t;
      const Int run = Min(Min(kRun, part.num_tiles - t), across - tile % across);
      TransformRun<kIsBF16>(job, static_cast<const char*>(part.data.source), PlaceOf(job, tile), run,
                            part.num_tiles * kBlock, stride, tiles + t * kBlock);
      t += run;
    }
  }

  // ---- products ----

  static constexpr Int kUnitBytes = kColumns * Ops::kPerUnit * static_cast<Int>(sizeof(Tile));  // of a column

  // One column of weights of one product.
  struct Column {
    Int depth;  // in units of the weights
    const Tile* weights;
    const char* next;  // the weights that are multiplied after these
  };

  template <int kRows, int kVectors>
  static void Rows(Int count, const Tile* tiles, Int block_stride, const Column& column, WinogradAhead ahead,
                   float* products) {
    if constexpr (kRows > 1) {
      if (count < kRows) {
        return Rows<kRows - 1, kVectors>(count, tiles, block_stride, column, ahead, products);
      }
    }
    for (Int lane = 0; lane < kVectors * kLanes; lane += 2 * kLanes, ahead.weights += column.depth * ahead.step) {
      constexpr int kTogether = kVectors == 1 ? 1 : 2;
      Ops::template Product<kRows, kTogether>(tiles, block_stride, column.weights + lane * Ops::kPerUnit, column.depth,
                                              ahead, products + lane, kProductStride);
    }
  }

  // Blocks of about the same number of tiles. Each fetches its share of the weights behind these: memory works while
  // products are computed.
  template <int kVectors>
  static void Multiply(const WinogradPart& part, const Tile* tiles, const Column& column, float* products) {
    const Int blocks = (part.num_tiles + Ops::kRows - 1) / Ops::kRows, shares = blocks * ((kVectors + 1) / 2);
    const Int step = (kUnitBytes + shares - 1) / shares;
    for (Int b = 0; b < blocks; ++b) {
      const Int first = part.num_tiles * b / blocks, end = part.num_tiles * (b + 1) / blocks;
      const WinogradAhead ahead{column.next + b * (shares / blocks) * column.depth * step, step};
      Rows<Ops::kRows, kVectors>(end - first, tiles + first * kBlock, part.num_tiles * kBlock, column, ahead,
                                 products + first * kProductStride);
    }
  }

  // Some output channels of a part.
  struct Strip {
    Int first, end;
  };

  // Where the weights of a product begin, for a column that begins with this channel.
  static const Tile* WeightsAt(const WinogradPart& part, Int depth, Int channel, Int product) {
    return static_cast<const Tile*>(part.data.weights) +
           (channel * kProducts + product * kColumns) * depth * Ops::kPerUnit;
  }

  static const Tile* WeightsAfter(const WinogradPart& part, Int depth, const Strip& strip, Int channel, Int product) {
    if (channel + kColumns < strip.end) return WeightsAt(part, depth, channel + kColumns, product);
    if (product + 1 < kProducts) return WeightsAt(part, depth, strip.first, product + 1);
    return WeightsAt(part, depth, channel + kColumns, 0);
  }

  // Of a column that begins with this channel of the strip.
  static float* ProductsOf(const WinogradPart& part, Int channel, float* products) {
    return products + channel / kColumns * part.num_tiles * kProductStride;
  }

  static void MultiplyStrip(const Winograd& job, const WinogradPart& part, const Strip& strip, const Tile* tiles,
                            float* products) {
    const Int depth = (job.in_channels + Ops::kPerUnit - 1) / Ops::kPerUnit;
    for (Int p = 0; p < kProducts; ++p, tiles += part.tile_stride) {
      for (Int channel = strip.first; channel < strip.end; channel += kColumns) {
        const Column column{depth, WeightsAt(part, depth, channel, p),
                            reinterpret_cast<const char*>(WeightsAfter(part, depth, strip, channel, p))};
        float* to = ProductsOf(part, channel - strip.first, products) + p * kColumns;
        if (strip.end - channel <= kColumns / 2) {
          Multiply<kColumns / 2 / kLanes>(part, tiles, column, to);
        } else {
          Multiply<kColumns / kLanes>(part, tiles, column, to);
        }
      }
    }
  }

  // ---- results ----

  // Where `count` channels of a tile of the destination and of the sum begin.
  struct Target {
    char* destination;
    const char* sum;
    Int rows, columns, count;
    V bias;
  };

  template <bool kOutIsBF16, bool kSumIsBF16>
  static void Finish(const Winograd& job, const Target& to, int y, int x, V value) {
    value = value + to.bias;
    if (to.sum != nullptr) {
      const Int at = y * job.sum.row + x * job.sum.pixel;
      value = value + Ops::template Load<kSumIsBF16>(to.sum + at * (kSumIsBF16 ? 2 : 4), to.count);
    }
    const Int at = y * job.destination.row + x * job.destination.pixel;
    Ops::template Store<kOutIsBF16>(to.destination + at * (kOutIsBF16 ? 2 : 4), to.count,
                                    Ops::Clip(value, job.low, job.high));
  }

  template <bool kOutIsBF16, bool kSumIsBF16>
  static void TransformTile(const Winograd& job, const float* products, const Target& to) {
    V half[kTileY][kInX];
    for (int c = 0; c < kInX; ++c) {
      V x[kInY], y[kTileY];
      for (int r = 0; r < kInY; ++r) x[r] = Ops::template Load<false>(products + (r * kInX + c) * kColumns, kLanes);
      WinogradTransform<Ops, kTileY>::Out(x, y);
      for (int r = 0; r < kTileY; ++r) half[r][c] = y[r];
    }
    for (int r = 0; r < kTileY; ++r) {
      if (r >= to.rows) break;
      V y[kTileX];
      WinogradTransform<Ops, kTileX>::Out(half[r], y);
      for (int c = 0; c < kTileX; ++c) {
        if (c < to.columns) Finish<kOutIsBF16, kSumIsBF16>(job, to, r, c, y[c]);
      }
    }
  }

  static Int OffsetOf(const WinogradImage& image, const Place& place, Int channel) {
    const Int index = place.n * image.batch + OffsetIn(image, channel) + place.y * image.row + place.x * image.pixel;
    return index * (image.is_bf16 ? 2 : 4);
  }

  // Channels from `channel` on, `count` of them.
  template <bool kOutIsBF16, bool kSumIsBF16>
  static void TransformOut(const Winograd& job, const WinogradPart& part, Int channel, Int count,
                           const float* products) {
    const WinogradData& data = part.data;
    for (Int t = 0; t < part.num_tiles; ++t) {
      const Place place = PlaceOf(job, part.first_tile + t);
      for (Int lane = 0; lane < count; lane += kLanes) {
        Target to;
        to.rows = job.out_height - place.y;
        to.columns = job.out_width - place.x;
        to.count = count - lane;
        to.destination = static_cast<char*>(data.destination) + OffsetOf(job.destination, place, channel + lane);
        to.sum = data.sum == nullptr ? nullptr
                                     : static_cast<const char*>(data.sum) + OffsetOf(job.sum, place, channel + lane);
        to.bias = data.bias == nullptr ? Ops::All(0) : Ops::template Load<false>(data.bias + channel + lane, to.count);
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

  static void Run(const Winograd& job, const WinogradPart& part, void* scratch) {
    auto* tiles = static_cast<Tile*>(scratch);
    auto* products = reinterpret_cast<float*>(tiles + kProducts * part.tile_stride);
    job.source.is_bf16 ? TransformIn<true>(job, part, part.tile_stride, tiles)
                       : TransformIn<false>(job, part, part.tile_stride, tiles);

    const Int end = part.first_channel + part.num_channels;
    for (Int first = part.first_channel; first < end; first += part.strip) {
      const Strip strip{first, Min(first + part.strip, end)};
      MultiplyStrip(job, part, strip, tiles, products);
      for (Int channel = first; channel < strip.end; channel += kColumns) {
        TransformOut(job, part, channel, Min(kColumns, strip.end - channel),
                     ProductsOf(part, channel - first, products));
      }
    }
  }
};

}  // namespace amp::kernels
