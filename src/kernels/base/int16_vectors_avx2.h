// Vectors of int16 products, for AVX2. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/int16_products.h"
#include "kernels/base/tile_vectors_avx2.h"

namespace amp::kernels {
namespace {

// Pairs of int16 products, summed up in int32.
struct Int16Vectors : TileVectors {
  using Bits = __m256i;
  using Tile = std::int16_t;
  using Sum = __m256i;
  using Factor = __m256i;
  using Column = __m256i;
  static constexpr std::int64_t kPerUnit = 2;
  static constexpr bool kScales = true;

  static __m256i Broadcast(const Tile* from) {
    std::int32_t pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return _mm256_set1_epi32(pair);
  }
  static __m256i LoadColumn(const Tile* from) { return LoadBits(from); }

  static __m256i ZeroSum() { return _mm256_setzero_si256(); }
  // Assembly, because gcc 12 keeps the sums of the intrinsics in memory.
  [[gnu::always_inline]] static __m256i Accumulate(__m256i factor, __m256i column, __m256i sum) {
    __m256i products;
    asm("vpmaddwd %3, %2, %1\n\tvpaddd %1, %0, %0" : "+x"(sum), "=&x"(products) : "x"(factor), "x"(column));
    return sum;
  }
  static __m256 Float(__m256i sum) { return _mm256_cvtepi32_ps(sum); }

  // ---- bits ----

  static __m256i LoadBits(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static void StoreBits(void* to, __m256i x) { _mm256_storeu_si256(static_cast<__m256i*>(to), x); }
  static __m256i Add32(__m256i x, __m256i y) { return _mm256_add_epi32(x, y); }
  static __m256i Subtract32(__m256i x, __m256i y) { return _mm256_sub_epi32(x, y); }
  static __m256i Add16(__m256i x, __m256i y) { return _mm256_add_epi16(x, y); }
  static __m256i Subtract16(__m256i x, __m256i y) { return _mm256_sub_epi16(x, y); }

  // Larger numbers have larger bits; those of a NaN are larger than any number's.
  static __m256i Magnitude(__m256 x) { return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7FFFFFFF)); }
  static __m256i Greater(__m256i a, __m256i b) { return _mm256_max_epu32(a, b); }
  static __m128i Fold(__m256i x) { return _mm_max_epu32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)); }
  static std::uint32_t Greatest(__m256i x) {
    const __m128i four = Fold(x);
    const __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_srli_epi64(two, 32))));
  }
  // The greatest of each of four vectors.
  static __m128i Greatest(const __m256i (&x)[4]) {
    const __m256i first = Greater(_mm256_unpacklo_epi32(x[0], x[1]), _mm256_unpackhi_epi32(x[0], x[1]));
    const __m256i second = Greater(_mm256_unpacklo_epi32(x[2], x[3]), _mm256_unpackhi_epi32(x[2], x[3]));
    return Fold(Greater(_mm256_unpacklo_epi64(first, second), _mm256_unpackhi_epi64(first, second)));
  }

  // Scales of such magnitudes; see Int16ScaleOf.
  static __m256 ScalesOf(__m256i bits) {
    const __m256 found = _mm256_max_ps(
        _mm256_div_ps(_mm256_castsi256_ps(bits), All(static_cast<float>(kInt16MaxNumber))), All(kInt16LeastScale));
    const __m256i is_finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7F800000), bits);
    return _mm256_blendv_ps(All(__builtin_nanf("")), found, _mm256_castsi256_ps(is_finite));
  }

  // ---- rounding ----

  // To nearest, even.
  static __m256i Round(__m256 x, __m256 inverse) { return _mm256_cvtps_epi32(_mm256_mul_ps(x, inverse)); }
  // Lower halves of 32 bits, side by side: those of the first vector, then of the second one.
  static __m256i LowerHalves(__m256i first, __m256i second) {
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xD8);
  }
  // Takes turns between lower halves of two vectors.
  static __m256i Interleave(__m256i even, __m256i odd) {
    return _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xAA);
  }
  // Numbers of sixteen channels.
  static void StoreBlocks(Tile* to, std::int64_t, __m256i numbers) { StoreBits(to, numbers); }
  // A block of channels, for each of some neighbours.
  template <int kCount>
  static void StoreRounded(Tile* to, const __m256i (&x)[kCount][2]) {
    for (int i = 0; i < kCount; ++i) StoreBits(to + 16 * i, LowerHalves(x[i][0], x[i][1]));
  }

  // ---- bfloat16 ----

  // Sixteen bits of as many channels as two vectors have; zeros behind `count`.
  static __m256i LoadPairs(const char* from, std::int64_t count) {
    if (count >= 2 * kLanes) return LoadBits(from);
    std::uint16_t padded[2 * kLanes] = {};
    for (std::int64_t k = 0; k < count; ++k) __builtin_memcpy(&padded[k], from + 2 * k, 2);
    return LoadBits(padded);
  }
  // The even ones of these, and the odd ones.
  static __m256 Even(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
  static __m256 Odd(__m256i pairs) {
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
  }
  // The even and the odd ones of two vectors of numbers.
  static __m256 Even(__m256 first, __m256 second) { return InOrder(_mm256_shuffle_ps(first, second, 0x88)); }
  static __m256 Odd(__m256 first, __m256 second) { return InOrder(_mm256_shuffle_ps(first, second, 0xDD)); }

 private:
  static __m256 InOrder(__m256 x) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xD8)); }
};

}  // namespace
}  // namespace amp::kernels
