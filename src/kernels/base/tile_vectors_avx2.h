// Vectors of kernels that multiply tiles, for AVX2. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/element_vectors.h"

namespace amp::kernels {
namespace {

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
    return count < kLanes ? LoadSome<kIsBF16>(from, count) : Elements::Load<kIsBF16>(from, kLanes);
  }
  template <bool kIsBF16>
  [[gnu::always_inline]] static void Store(void* to, std::int64_t count, __m256 x) {
    count < kLanes ? StoreSome<kIsBF16>(to, count, x) : Elements::Store<kIsBF16>(to, kLanes, x);
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
