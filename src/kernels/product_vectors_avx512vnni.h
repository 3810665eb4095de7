// Vectors of int16 products, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/int16_products.h"
#include "kernels/tile_vectors_avx512bf16.h"

namespace amp::kernels {
namespace {

// Pairs of int16 products, summed up in int32.
struct Int16Vectors : PairVectors<std::int16_t> {
  using Sum = __m512i;
  static constexpr bool kScales = true;

  static __m512i ZeroSum() { return _mm512_setzero_si512(); }
  // Assembly, because gcc 12 keeps the sums of the intrinsic in memory.
  [[gnu::always_inline]] static __m512i Accumulate(__m512i factor, __m512i column, __m512i sum) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }

  static __m512 Float(__m512i sum) { return _mm512_maskz_cvtepi32_ps(0xFFFF, sum); }

  // to = before + sums * scales, row by row; `before` may be null, or the same.
  template <int kCount, int kVectors>
  [[gnu::always_inline]] static void AddScaled(const float* row_scales, const float* column_scales,
                                               const __m512i (&sums)[kCount][kVectors], const float* before,
                                               float* to) {
    __m512 columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = _mm512_loadu_ps(column_scales + v * kLanes);
#pragma GCC unroll 14
    for (int r = 0; r < kCount; ++r) {
      const __m512 scale = _mm512_set1_ps(row_scales[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const int at = (r * kVectors + v) * kLanes;
        const __m512 factor = _mm512_mul_ps(scale, columns[v]), sum = Float(sums[r][v]);
        const __m512 others = before == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(before + at);
        _mm512_storeu_ps(to + at, _mm512_fmadd_ps(sum, factor, others));
      }
    }
  }

  // ---- rounding ----

  // Larger numbers have larger bits; those of a NaN are larger than any number's.
  static __m512i Magnitude(__m512 x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF)); }
  static __m512i Greater(__m512i a, __m512i b) { return _mm512_maskz_max_epu32(0xFFFF, a, b); }
  static std::uint32_t Greatest(__m512i x) {
    const __m256i eight =
        _mm256_max_epu32(_mm512_maskz_extracti64x4_epi64(0xF, x, 0), _mm512_maskz_extracti64x4_epi64(0xF, x, 1));
    const __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    const __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_srli_epi64(two, 32))));
  }

  // Of numbers up to this magnitude. Where it is none, or infinite, the scale is a NaN.
  static float ScaleOf(std::uint32_t bits) {
    if (bits >= 0x7F800000) return __builtin_nanf("");
    float most;
    __builtin_memcpy(&most, &bits, sizeof most);
    const float scale = most / static_cast<float>(kInt16MaxNumber);
    return scale < kInt16LeastScale ? kInt16LeastScale : scale;
  }

  // Rounds to nearest, even. Adding this number leaves the integer in the lower bits.
  static __m512i Round(__m512 x, __m512 inverse) {
    return _mm512_castps_si512(_mm512_fmadd_ps(x, inverse, _mm512_set1_ps(0x1.8p23F)));
  }
  // The lower halves of the first vector's 32 bits, then those of the second one.
  static __m512i LowerHalves(__m512i first, __m512i second) {
    const __m512i lower = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                                           24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(first, lower, second);
  }
  // Takes turns between lower halves of two vectors.
  static __m512i Interleave(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi16(0xAAAAAAAA, even, _mm512_maskz_slli_epi32(0xFFFF, odd, 16));
  }
};

}  // namespace
}  // namespace amp::kernels
