// Vectors of kernels that multiply tiles, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include "kernels/base/bf16_avx512.h"
#include "kernels/base/element_vectors.h"

namespace amp::kernels {
namespace {

// The first `count` lanes.
inline __mmask16 Lanes(std::int64_t count) { return SomeLanes<Isa::kAvx512, 16>::FirstLanes(count); }

struct TileVectors {
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static constexpr int kRows = 14;  // 28 sums, two vectors of weights and a factor fill the registers

  static __m512 All(float x) { return _mm512_set1_ps(x); }
  static __m512 MultiplyAdd(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512 MultiplySubtract(__m512 a, __m512 b, __m512 c) { return _mm512_fnmadd_ps(a, b, c); }

  // max and min return their second operand where one is a NaN.
  static __m512 Clip(__m512 x, float low, float high) {
    return _mm512_maskz_min_ps(0xFFFF, All(high), _mm512_maskz_max_ps(0xFFFF, All(low), x));
  }

  // The larger number; a NaN where one of them is one.
  static __m512 Maximum(__m512 a, __m512 b) {
    return _mm512_mask_max_ps(a, _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
  }

  static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, __m512 x) { _mm512_storeu_ps(to, x); }
  // The first `count` lanes, if there are less than 16; zeros behind them.
  template <bool kIsBF16>
  static __m512 Load(const void* from, std::int64_t count) {
    const bool is_full = count >= kLanes;
    if constexpr (kIsBF16) {
      return WidenBF16(is_full ? _mm256_loadu_si256(static_cast<const __m256i*>(from))
                               : _mm256_maskz_loadu_epi16(Lanes(count), from));
    }
    return is_full ? _mm512_loadu_ps(from) : _mm512_maskz_loadu_ps(Lanes(count), from);
  }

  template <bool kIsBF16>
  static void Store(void* to, std::int64_t count, __m512 x) {
    const bool is_full = count >= kLanes;
    if constexpr (kIsBF16) {
      const __m256i halves = RoundToBF16(_mm512_castps_si512(x));
      is_full ? _mm256_storeu_si256(static_cast<__m256i*>(to), halves)
              : _mm256_mask_storeu_epi16(to, Lanes(count), halves);
    } else {
      is_full ? _mm512_storeu_ps(to, x) : _mm512_mask_storeu_ps(to, Lanes(count), x);
    }
  }
};

// What multiplies numbers in float32, one by one.
struct SingleTileVectors : TileVectors {
  using Tile = float;
  static constexpr std::int64_t kPerUnit = 1;

  static void StoreTile(float* to, __m512 x) { _mm512_store_ps(to, x); }
};

constexpr std::int64_t kLine = 64;  // of a cache, in bytes

}  // namespace
}  // namespace amp::kernels
