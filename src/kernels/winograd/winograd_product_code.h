// The product of Winograd convolutions in float32. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/tile_vectors.h"
#include "kernels/winograd/winograd_kinds_code.h"

namespace amp::kernels {
namespace {

struct WinogradFloats : FloatTileVectors {
  static constexpr bool kScales = false;
  template <int kCount, int kVectors>
  static void Product(const WinogradRows<float>& rows, const WinogradColumn<float>& packed, WinogradAhead ahead,
                      float* products, std::int64_t row_stride) {
    const float *tiles = rows.tiles, *weights = packed.weights;
    constexpr std::int64_t kLineBytes = 64;
    Vector sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = All(0);
    }
    for (std::int64_t depth = packed.depth; depth > 0; depth -= kWinogradBlock, tiles += rows.block_stride) {
      const std::int64_t count = depth < kWinogradBlock ? depth : kWinogradBlock;
      for (std::int64_t k = 0; k < count; ++k, weights += kWinogradColumns) {
        Vector columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = Load(weights + v * kLanes);
        __builtin_prefetch(ahead.weights, 0, 2);
        __builtin_prefetch(ahead.weights + kLineBytes, 0, 2);
        ahead.weights += ahead.step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          const Vector factor = All(tiles[r * kWinogradBlock + k]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = MultiplyAdd(factor, columns[v], sums[r][v]);
        }
      }
    }
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) Store(products + r * row_stride + v * kLanes, sums[r][v]);
    }
  }
};

}  // namespace
}  // namespace amp::kernels
