// Vectors of kernels that multiply tiles, for AVX-512 with bfloat16. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/tile_vectors_avx512.h"

namespace amp::kernels {
namespace {

// Rounds by the instruction, which turns denormals into zero, as oneDNN does.
struct BF16TileVectors : TileVectors {
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
};

// What multiplies pairs of 16 bits.
template <class Number>
struct PairVectors : BF16TileVectors {
  using Tile = Number;
  using Factor = __m512i;
  using Column = __m512i;
  static constexpr std::int64_t kPerUnit = 2;

  static __m512i Broadcast(const Tile* from) {
    std::int32_t pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return _mm512_set1_epi32(pair);
  }
  static __m512i LoadColumn(const Tile* from) { return _mm512_loadu_si512(from); }
};

}  // namespace
}  // namespace amp::kernels
