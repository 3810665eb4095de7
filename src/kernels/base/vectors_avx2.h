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

}  // namespace
}  // namespace amp::kernels
