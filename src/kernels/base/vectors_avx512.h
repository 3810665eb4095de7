// What kernels for AVX-512 share. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 16;

inline __mmask16 Lanes(std::int64_t count) {
  return static_cast<__mmask16>(count >= kLanes ? 0xFFFF : count <= 0 ? 0 : (1u << count) - 1);
}

inline __m512 Larger(__m512 a, __m512 b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }  // b where one is a NaN

// 2^x to 8e-8 of it, for x up to 127; 0 below -126, so that no result is denormal. A NaN stays one.
inline __m512 Exp2(__m512 x) {
  const __mmask16 is_normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);
  const __m512 rounding = _mm512_set1_ps(12582912.0f);  // 1.5 * 2^23: sums with it have no bits for a fraction
  const __m512 n = _mm512_sub_ps(_mm512_add_ps(x, rounding), rounding);
  const __m512 r = _mm512_sub_ps(x, n);
  // The polynomial with p(0) = 1 of the least relative error on |r| <= 1/2: 2e-9.
  __m512 p = _mm512_set1_ps(1.5353362e-4f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3398875e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.6184369e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.5503324e-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.4022648e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.9314718e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_maskz_scalef_ps(is_normal, p, n);
}

// Unit j of row i becomes unit i of row j.
inline void Transpose(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_maskz_unpacklo_epi32(0xFFFF, r[i], r[i + 1]);
    t[i + 1] = _mm512_maskz_unpackhi_epi32(0xFFFF, r[i], r[i + 1]);
  }
  // Then r[4 i + j] holds units 4 l + j of rows 4 i to 4 i + 3, in its quarters l.
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    r[i] = _mm512_maskz_unpacklo_epi64(0xFF, t[i], t[i + 2]);
    r[i + 1] = _mm512_maskz_unpackhi_epi64(0xFF, t[i], t[i + 2]);
    r[i + 2] = _mm512_maskz_unpacklo_epi64(0xFF, t[i + 1], t[i + 3]);
    r[i + 3] = _mm512_maskz_unpackhi_epi64(0xFF, t[i + 1], t[i + 3]);
  }
  constexpr int kEven = 0x88, kOdd = 0xDD;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i a = _mm512_maskz_shuffle_i32x4(0xFFFF, r[j], r[4 + j], kEven);
    const __m512i b = _mm512_maskz_shuffle_i32x4(0xFFFF, r[8 + j], r[12 + j], kEven);
    const __m512i c = _mm512_maskz_shuffle_i32x4(0xFFFF, r[j], r[4 + j], kOdd);
    const __m512i d = _mm512_maskz_shuffle_i32x4(0xFFFF, r[8 + j], r[12 + j], kOdd);
    t[j] = _mm512_maskz_shuffle_i32x4(0xFFFF, a, b, kEven);
    t[8 + j] = _mm512_maskz_shuffle_i32x4(0xFFFF, a, b, kOdd);
    t[4 + j] = _mm512_maskz_shuffle_i32x4(0xFFFF, c, d, kEven);
    t[12 + j] = _mm512_maskz_shuffle_i32x4(0xFFFF, c, d, kOdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) r[i] = t[i];
}

}  // namespace
}  // namespace amp::kernels
