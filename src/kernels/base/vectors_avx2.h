// What kernels for AVX2 and FMA share: eight lanes, of which some may lie beyond the end. Of internal linkage, on
// purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 8;

// FloatToBF16 of float_bits.h on eight lanes; the results are zero-extended to 32 bits.
inline __m256i RoundToBF16(__m256i bits) {
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i is_odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i bias = _mm256_add_epi32(is_odd, _mm256_set1_epi32(0x7FFF));
  const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
  const __m256i quiet_nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x0040));
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
  const __m256i is_nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7F800000));
  return _mm256_blendv_epi8(rounded, quiet_nan, is_nan);
}

// The lower halves of eight lanes whose upper halves are 0.
inline __m128i Halves(__m256i wide) {
  return _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
}

inline __m256 WidenBF16(__m128i halves) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}

// All ones in the first `count` lanes.
inline __m256i Lanes(std::int64_t count) {
  const int clamped = static_cast<int>(count > kLanes ? kLanes : count < 0 ? 0 : count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(clamped), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

// Elements i to i + 7 of `count`, as float32; 0 beyond the end, where no memory is touched.
inline __m256 LoadElements(const void* data, bool is_bf16, std::int64_t i, std::int64_t count) {
  const std::int64_t rest = count - i;
  if (!is_bf16) {
    const float* from = static_cast<const float*>(data) + i;
    return rest >= kLanes ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, Lanes(rest));
  }
  const auto* from = static_cast<const std::uint16_t*>(data) + i;
  if (rest >= kLanes) return WidenBF16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  std::uint16_t padded[kLanes] = {};
  for (std::int64_t k = 0; k < rest; ++k) padded[k] = from[k];
  return WidenBF16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(padded)));
}

// The inverse; rounds once.
inline void StoreElements(void* data, bool is_bf16, std::int64_t i, std::int64_t count, __m256 value) {
  const std::int64_t rest = count - i;
  if (!is_bf16) {
    float* to = static_cast<float*>(data) + i;
    if (rest >= kLanes) {
      _mm256_storeu_ps(to, value);
    } else {
      _mm256_maskstore_ps(to, Lanes(rest), value);
    }
    return;
  }
  auto* to = static_cast<std::uint16_t*>(data) + i;
  const __m128i halves = Halves(RoundToBF16(_mm256_castps_si256(value)));
  if (rest >= kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), halves);
    return;
  }
  std::uint16_t padded[kLanes];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(padded), halves);
  for (std::int64_t k = 0; k < rest; ++k) to[k] = padded[k];
}

inline __m256 Larger(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }  // b where one is a NaN

// 2^x to 8e-8 of it, for x up to 127; 0 below -126, so that no result is denormal. A NaN stays one.
inline __m256 Exp2(__m256 x) {
  const __m256 is_normal = _mm256_cmp_ps(x, _mm256_set1_ps(-126.0f), _CMP_NLT_UQ);
  const __m256 rounding = _mm256_set1_ps(12582912.0f);  // 1.5 * 2^23: sums with it have no bits for a fraction
  const __m256 shifted = _mm256_add_ps(x, rounding);
  const __m256 r = _mm256_sub_ps(x, _mm256_sub_ps(shifted, rounding));
  // The polynomial with p(0) = 1 of the least relative error on |r| <= 1/2: 2e-9.
  __m256 p = _mm256_set1_ps(1.5353362e-4f);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3398875e-3f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(9.6184369e-3f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.5503324e-2f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(2.4022648e-1f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(6.9314718e-1f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  // The lowest bits of the shifted number are the whole number: as an exponent they make its power.
  const __m256i power =
      _mm256_add_epi32(_mm256_slli_epi32(_mm256_castps_si256(shifted), 23), _mm256_set1_epi32(127 << 23));
  return _mm256_and_ps(is_normal, _mm256_mul_ps(p, _mm256_castsi256_ps(power)));
}

// Lane j of row i becomes lane i of row j.
inline void Transpose(__m256 (&r)[8]) {
  __m256 t[8], u[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  // Then u[4 i + j] holds lanes j and 4 + j of rows 4 i to 4 i + 3, in its halves.
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    u[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    u[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
    u[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    u[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    r[j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x20);
    r[4 + j] = _mm256_permute2f128_ps(u[j], u[4 + j], 0x31);
  }
}

// All ones in the first `count` lanes, or in those of them whose byte is not 0.
inline __m256 SeenLanes(const std::uint8_t* mask, std::int64_t count) {
  const __m256i lanes = Lanes(count);
  if (mask == nullptr) return _mm256_castsi256_ps(lanes);
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < count && i < kLanes; ++i) bytes |= static_cast<std::uint64_t>(mask[i]) << (8 * i);
  const __m256i shown = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
  return _mm256_castsi256_ps(_mm256_and_si256(lanes, _mm256_cmpgt_epi32(shown, _mm256_setzero_si256())));
}

}  // namespace
}  // namespace amp::kernels
