// Vectors of bfloat16 products, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/tile_vectors_avx512.h"

namespace amp::kernels {
namespace {

// Pairs of bfloat16 products, summed up in float32.
struct ProductVectors : TileVectors {
  using Tile = std::uint16_t;
  using Factor = __m512i;
  using Column = __m512i;
  static constexpr std::int64_t kPerUnit = 2;

  // By the instruction, which turns denormals into zero, as the library does.
  template <bool kIsBF16>
  static void Store(void* to, std::int64_t count, __m512 x) {
    if constexpr (kIsBF16) {
      const auto halves = (__m256i)_mm512_cvtneps_pbh(x);
      count >= kLanes ? _mm256_storeu_si256(static_cast<__m256i*>(to), halves)
                      : _mm256_mask_storeu_epi16(to, Lanes(count), halves);
    } else {
      TileVectors::Store<false>(to, count, x);
    }
  }
  static void StoreTile(std::uint16_t* to, __m512 x) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
  }
  static void CopyTile(std::uint16_t* to, const char* from, std::int64_t count) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), count >= kLanes
                                                           ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                                                           : _mm256_maskz_loadu_epi16(Lanes(count), from));
  }
  static __m512i Broadcast(const std::uint16_t* from) {
    std::int32_t pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  static __m512i LoadColumn(const std::uint16_t* from) { return _mm512_loadu_si512(from); }
  static __m512 Accumulate(__m512i factor, __m512i column, __m512 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)factor, (__m512bh)column);
  }
};

}  // namespace
}  // namespace amp::kernels
