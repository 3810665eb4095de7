// Conversions on sixteen lanes, for the translation units that are compiled for AVX-512. Of internal linkage, on
// purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

namespace amp::kernels {
namespace {

// FloatToBF16 of float_bits.h. Not vcvtneps2bf16: that instruction turns denormals into zero.
inline __m256i RoundToBF16(__m512i bits) {
  constexpr __mmask16 kAll = 0xFFFF;
  const __m512i upper = _mm512_maskz_srli_epi32(kAll, bits, 16);
  const __m512i is_odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(is_odd, _mm512_set1_epi32(0x7FFF));
  const __m512i rounded = _mm512_maskz_srli_epi32(kAll, _mm512_add_epi32(bits, bias), 16);
  const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7FFFFFFF));
  const __mmask16 is_nan = _mm512_cmpgt_epi32_mask(magnitude, _mm512_set1_epi32(0x7F800000));
  const __m512i result = _mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x0040));
  return _mm512_maskz_cvtepi32_epi16(kAll, result);
}

inline __m512 WidenBF16(__m256i halves) {
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, _mm512_maskz_cvtepu16_epi32(0xFFFF, halves), 16));
}

}  // namespace
}  // namespace amp::kernels
