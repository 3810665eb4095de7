// Vectors of kernels that multiply tiles, for AVX2. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/element_vectors.h"

namespace amp::kernels {
namespace {

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

// Vectors of intrinsics: gcc spills more of its own (vector_code.h) in sums of products. Where some lanes are missing,
// which is rare, the shared code does.
struct TileVectors {
  using Elements = ElementVectors<Isa::kAvx2, 8>;
  using Vector = __m256;
  using Tile = float;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;  // 12 sums, two vectors of weights and a factor fill the registers
  static constexpr std::int64_t kPerUnit = 1;

  static __m256 All(float x) { return _mm256_set1_ps(x); }
  static __m256 MultiplyAdd(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256 MultiplySubtract(__m256 a, __m256 b, __m256 c) { return _mm256_fnmadd_ps(a, b, c); }

  // max and min return their second operand where one is a NaN.
  static __m256 Clip(__m256 x, float low, float high) { return _mm256_min_ps(All(high), _mm256_max_ps(All(low), x)); }

  // The larger number; a NaN where one of them is one.
  static __m256 Maximum(__m256 a, __m256 b) {
    return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  }

  static __m256 Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
  // The first `count` lanes, if there are less than 8; zeros behind them. All lanes are what is inlined.
  template <bool kIsBF16>
  [[gnu::always_inline]] static __m256 Load(const void* from, std::int64_t count) {
    if (count < kLanes) return LoadSome<kIsBF16>(from, count);
    return kIsBF16 ? WidenBF16(_mm_loadu_si128(static_cast<const __m128i*>(from)))
                   : _mm256_loadu_ps(static_cast<const float*>(from));
  }

  template <bool kIsBF16>
  [[gnu::always_inline]] static void Store(void* to, std::int64_t count, __m256 x) {
    if (count < kLanes) return StoreSome<kIsBF16>(to, count, x);
    if constexpr (kIsBF16) {
      _mm_storeu_si128(static_cast<__m128i*>(to), Halves(RoundToBF16(_mm256_castps_si256(x))));
    } else {
      _mm256_storeu_ps(static_cast<float*>(to), x);
    }
  }

  static void StoreTile(float* to, __m256 x) { _mm256_store_ps(to, x); }

 private:
  template <bool kIsBF16>
  [[gnu::noinline]] static __m256 LoadSome(const void* from, std::int64_t count) {
    return Elements::Load<kIsBF16>(from, count);
  }
  template <bool kIsBF16>
  [[gnu::noinline]] static void StoreSome(void* to, std::int64_t count, __m256 x) {
    Elements::Store<kIsBF16>(to, count, x);
  }
};

}  // namespace
}  // namespace amp::kernels
