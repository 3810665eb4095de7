// Vectors of kernels that multiply tiles, for AVX-512 with bfloat16. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/tile_vectors_avx512.h"

namespace amp::kernels {
namespace {

// Rounds by the instruction, which turns denormals into zero, as the library does.
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

}  // namespace
}  // namespace amp::kernels
