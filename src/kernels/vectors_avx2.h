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

// e^x, to about one unit in the last place; 0 below -104. A NaN stays one.
inline __m256 Exp(__m256 x) {
  x = Larger(_mm256_set1_ps(-110.0f), x);
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504088896341f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  // ln 2 in two parts, the first with zeros at its end.
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693145751953125f), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(1.42860682030941723e-6f), r);
  // Taylor's series: on |r| <= ln(2) / 2 its next term is 5e-9.
  __m256 p = _mm256_set1_ps(1.0f / 5040);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 720));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  // 2^n in two factors: the result may be a denormal.
  const __m256i exponent = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(exponent, 1);
  const __m256i bias = _mm256_set1_epi32(127), other = _mm256_sub_epi32(exponent, half);
  p = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)));
  return _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(other, bias), 23)));
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
