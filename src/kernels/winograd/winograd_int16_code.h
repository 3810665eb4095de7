// How Winograd convolutions round and multiply tiles of int16; see winograd_code.h and int16_products.h. One source for
// all instruction sets; each gives `Vectors` of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <cstdint>

#include "kernels/base/int16_products.h"
#include "kernels/winograd/winograd.h"

namespace amp::kernels {

// Pairs of int16 products, summed up in int32 over a chunk of channels.
template <class Vectors>
struct WinogradInt16 : Vectors {
  using V = typename Vectors::Vector;
  using Bits = typename Vectors::Bits;
  using Tile = typename Vectors::Tile;
  using Int = std::int64_t;
  static constexpr int kLanes = Vectors::kLanes;
  static constexpr Int kBlock = kWinogradBlock, kPerUnit = Vectors::kPerUnit, kBlockVectors = kBlock / kLanes;

  static V LoadNumbers(const float* from) { return Vectors::template Load<false>(from, kLanes); }
  static void StoreTile(float* to, V x) { Vectors::template Store<false>(to, kLanes, x); }

  // ---- scales ----

  // Where the waiting numbers of a tile lie: of its products, and of its blocks of channels.
  struct Waiting {
    const float* first;
    Int stride, block_stride, blocks;

    Waiting Product(Int product) const { return {first + product * stride, stride, block_stride, blocks}; }
    Waiting Tile(Int tile) const { return {first + tile * kBlock, stride, block_stride, blocks}; }
  };

  // The largest magnitudes of at most four products from this one on, as bits: those of a NaN are larger than any
  // number's.
  template <int kCount>
  static void MostOf(const Waiting& waiting, float* to) {
    Bits most[4];
    for (Bits& bits : most) bits = Vectors::ZeroSum();
    const float* from = waiting.first;
    for (Int b = 0; b < waiting.blocks; ++b, from += waiting.block_stride) {
      for (int p = 0; p < kCount; ++p) {
        for (Int lane = 0; lane < kBlock; lane += kLanes) {
          most[p] = Vectors::Greater(most[p], Vectors::Magnitude(LoadNumbers(from + p * waiting.stride + lane)));
        }
      }
    }
    const auto greatest = Vectors::Greatest(most);
    __builtin_memcpy(to, &greatest, sizeof greatest);
  }

  // The scales of a tile's products, and their inverses.
  template <int kProducts>
  static void FindScales(const Waiting& waiting, float* scales, float* inverses) {
    constexpr int kFours = kProducts / 4 * 4;
    for (int p = 0; p < kFours; p += 4) MostOf<4>(waiting.Product(p), scales + p);
    if constexpr (kFours < kProducts) MostOf<kProducts - kFours>(waiting.Product(kFours), scales + kFours);
    for (int p = 0; p < kProducts; p += kLanes) {
      const V found = Vectors::ScalesOf(Vectors::LoadBits(scales + p));
      StoreTile(scales + p, found);
      StoreTile(inverses + p, Vectors::All(1) / found);
    }
  }

  // ---- rounding ----

  // A product, of so many tiles that lie side by side.
  template <int kTiles>
  static void Round(const Waiting& waiting, const float* inverse, Int inverse_stride, Tile* to, Int to_block) {
    const float* from = waiting.first;
    for (Int b = 0; b < waiting.blocks; ++b, from += waiting.block_stride, to += to_block) {
      Bits rounded[kTiles][kBlockVectors];
      for (int t = 0; t < kTiles; ++t) {
        for (int v = 0; v < kBlockVectors; ++v) {
          const V factor = Vectors::All(inverse[t * inverse_stride]);
          rounded[t][v] = Vectors::Round(LoadNumbers(from + t * kBlock + v * kLanes), factor);
        }
      }
      Vectors::StoreRounded(to, rounded);
    }
  }

  // `blocks` blocks of channels of all products of one or two tiles that lie side by side, and the tiles' scales for
  // each of these.
  template <int kProducts, int kTiles>
  static void Quantise(const float* from, Int from_stride, Int from_block, Int blocks, Tile* to, Int to_stride,
                       Int to_block, float* scales, Int scale_stride) {
    constexpr int kSpace = (kProducts + kLanes - 1) / kLanes * kLanes;
    alignas(64) float scale[kTiles * kSpace] = {}, inverse[kTiles * kSpace];
    const Waiting waiting{from, from_stride, from_block, blocks};
    for (int t = 0; t < kTiles; ++t) {
      FindScales<kProducts>(waiting.Tile(t), scale + t * kSpace, inverse + t * kSpace);
    }
    for (int p = 0; p < kProducts; ++p) {
      for (int t = 0; t < kTiles; ++t) scales[p * scale_stride + t] = scale[t * kSpace + p];
      Round<kTiles>(waiting.Product(p), inverse + p, kSpace, to + p * to_stride, to_block);
    }
  }

  // ---- products ----

  // The products of a chunk of channels. Those of the first one are stored, others are added.
  struct Chunk {
    const Tile *tiles, *weights;
    Int block_stride, depth;
    const float *row_scales, *column_scales;
    bool is_first;
  };

  template <int kCount, int kVectors>
  static void MultiplyChunk(const Chunk& chunk, WinogradAhead ahead, float* products, Int row_stride) {
    constexpr Int kPairs = kBlock / kPerUnit, kLine = 64;
    const Tile *tiles = chunk.tiles, *weights = chunk.weights;
    Bits sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = Vectors::ZeroSum();
    }
    for (Int depth = chunk.depth; depth > 0; depth -= kPairs, tiles += chunk.block_stride) {
      const Int count = depth < kPairs ? depth : kPairs;
      for (Int k = 0; k < count; ++k, weights += kPerUnit * kWinogradColumns) {
        Bits columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = Vectors::LoadColumn(weights + v * kPerUnit * kLanes);
        __builtin_prefetch(ahead.weights, 0, 2);
        __builtin_prefetch(ahead.weights + kLine, 0, 2);
        ahead.weights += ahead.step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          const Bits factor = Vectors::Broadcast(tiles + r * kBlock + k * kPerUnit);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = Vectors::Accumulate(factor, columns[v], sums[r][v]);
        }
      }
    }
    V columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = LoadNumbers(chunk.column_scales + v * kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
      const V scale = Vectors::All(chunk.row_scales[r]);
      for (int v = 0; v < kVectors; ++v) {
        float* to = products + r * row_stride + v * kLanes;
        const V before = chunk.is_first ? Vectors::All(0) : LoadNumbers(to);
        StoreTile(to, Vectors::MultiplyAdd(Vectors::Float(sums[r][v]), scale * columns[v], before));
      }
    }
  }

  template <int kCount, int kVectors>
  static void Product(const WinogradRows<Tile>& rows, const WinogradColumn<Tile>& packed, WinogradAhead ahead,
                      float* products, Int row_stride) {
    constexpr Int kChunkUnits = kWinogradChunk / kPerUnit, kChunkBlocks = kWinogradChunk / kBlock;
    Chunk chunk{rows.tiles, packed.weights, rows.block_stride, 0, rows.scales, packed.scales, true};
    for (Int left = packed.depth; left > 0; left -= kChunkUnits) {
      chunk.depth = left < kChunkUnits ? left : kChunkUnits;
      MultiplyChunk<kCount, kVectors>(chunk, ahead, products, row_stride);
      chunk.tiles += kChunkBlocks * rows.block_stride;
      chunk.weights += kWinogradChunk * kWinogradColumns;
      chunk.row_scales += rows.scale_stride;
      chunk.is_first = false;
      ahead.weights += kChunkUnits * ahead.step;
    }
  }
};

}  // namespace amp::kernels
