#include "kernels/winograd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512BF16__)

#include <immintrin.h>

#include "kernels/tile_vectors_avx512.h"
#include "kernels/winograd_weights_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// Pairs of bfloat16 products, summed up in float32.
struct PairOps : TileVectors {
  using Tile = std::uint16_t;
  static constexpr std::int64_t kPerUnit = 2;

  static void StoreTile(std::uint16_t* to, __m512 x) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
  }

  template <int kCount, int kVectors>
  static void Product(const std::uint16_t* tiles, std::int64_t block_stride, const std::uint16_t* weights,
                      std::int64_t depth, WinogradAhead ahead, float* products, std::int64_t row_stride) {
    constexpr std::int64_t kPairs = kWinogradBlock / kPerUnit;
    __m512 sums[kCount][kVectors];
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
    }
    for (; depth > 0; depth -= kPairs, tiles += block_stride) {
      const std::int64_t count = depth < kPairs ? depth : kPairs;
      for (std::int64_t k = 0; k < count; ++k, weights += kPerUnit * kWinogradColumns) {
        __m512i columns[kVectors];
        for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_si512(weights + v * kPerUnit * kLanes);
        _mm_prefetch(ahead.weights, _MM_HINT_T1);
        _mm_prefetch(ahead.weights + kLine, _MM_HINT_T1);
        ahead.weights += ahead.step;
#pragma GCC unroll 14
        for (int r = 0; r < kCount; ++r) {
          std::int32_t pair;
          __builtin_memcpy(&pair, tiles + r * kWinogradBlock + k * kPerUnit, sizeof pair);
          const __m512i factor = _mm512_set1_epi32(pair);
          for (int v = 0; v < kVectors; ++v) {
            sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)factor, (__m512bh)columns[v]);
          }
        }
      }
    }
    for (int r = 0; r < kCount; ++r) {
      for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(products + r * row_stride + v * kLanes, sums[r][v]);
    }
  }
};

constexpr WinogradTable kTable = {
    Isa::kAvx512,
    {nullptr, nullptr, WinogradCode<PairOps, 2, 2>::Run, WinogradCode<PairOps, 4, 2>::Run},
    {nullptr, nullptr, WinogradWeightsCode<PairOps, 2, 2>::Pack, WinogradWeightsCode<PairOps, 4, 2>::Pack},
    TileVectors::kRows};

}  // namespace

const WinogradTable* WinogradTableAvx512BF16() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const WinogradTable* WinogradTableAvx512BF16() { return nullptr; }

}  // namespace amp::kernels

#endif
