#include "kernels/winograd/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

#include "kernels/base/tile_vectors_avx512.h"
#include "kernels/winograd/winograd_kinds_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct SingleOps : SingleTileVectors {
  static constexpr bool kScales = false;
  template <int kCount, int kVectors>
  static void Product(const WinogradRows<float>& rows, const WinogradColumn<float>& packed, WinogradAhead ahead,
                      float* products, std::int64_t row_stride) {
    const float *tiles = rows.tiles, *weights = packed.weights;
    __m512 sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
    }
    for (std::int64_t depth = packed.depth; depth > 0; depth -= kWinogradBlock, tiles += rows.block_stride) {
      const std::int64_t count = depth < kWinogradBlock ? depth : kWinogradBlock;
      for (std::int64_t k = 0; k < count; ++k, weights += kWinogradColumns) {
        __m512 columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_ps(weights + v * kLanes);
        _mm_prefetch(ahead.weights, _MM_HINT_T1);
        _mm_prefetch(ahead.weights + kLine, _MM_HINT_T1);
        ahead.weights += ahead.step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          const __m512 factor = _mm512_set1_ps(tiles[r * kWinogradBlock + k]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_fmadd_ps(factor, columns[v], sums[r][v]);
        }
      }
    }
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(products + r * row_stride + v * kLanes, sums[r][v]);
    }
  }
};

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kAvx512, {}, {}, TileVectors::kRows};
  AddWinogradFloats<SingleOps>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTable::Avx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTable::Avx512() { return nullptr; }

}  // namespace amp::kernels

#endif
