#include "kernels/winograd/winograd.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "kernels/base/int16_vectors_avx2.h"
#include "kernels/base/tile_vectors_avx2.h"
#include "kernels/winograd/winograd_int16_code.h"
#include "kernels/winograd/winograd_kinds_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct Ops : TileVectors {
  static constexpr bool kScales = false;
  template <int kCount, int kVectors>
  static void Product(const WinogradRows<float>& rows, const WinogradColumn<float>& packed, WinogradAhead ahead,
                      float* products, std::int64_t row_stride) {
    const float *tiles = rows.tiles, *weights = packed.weights;
    constexpr std::int64_t kLine = 64;
    __m256 sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm256_setzero_ps();
    }
    for (std::int64_t depth = packed.depth; depth > 0; depth -= kWinogradBlock, tiles += rows.block_stride) {
      const std::int64_t count = depth < kWinogradBlock ? depth : kWinogradBlock;
      for (std::int64_t k = 0; k < count; ++k, weights += kWinogradColumns) {
        __m256 columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = _mm256_loadu_ps(weights + v * kLanes);
        _mm_prefetch(ahead.weights, _MM_HINT_T1);
        _mm_prefetch(ahead.weights + kLine, _MM_HINT_T1);
        ahead.weights += ahead.step;
#pragma GCC unroll 6
        for (int r = 0; r < kCount; ++r) {
          const __m256 factor = _mm256_set1_ps(tiles[r * kWinogradBlock + k]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm256_fmadd_ps(factor, columns[v], sums[r][v]);
        }
      }
    }
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(products + r * row_stride + v * kLanes, sums[r][v]);
    }
  }
};

using Integers = WinogradInt16<Int16Vectors>;

constexpr WinogradTable kTable = [] {
  WinogradTable table{Isa::kAvx2, {}, {}, Ops::kRows};
  AddWinogradFloats<Ops>(&table);
  AddWinogradIntegers<Integers>(&table);
  return table;
}();

}  // namespace

const WinogradTable* WinogradTable::Avx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTable::Avx2() { return nullptr; }

}  // namespace amp::kernels

#endif
