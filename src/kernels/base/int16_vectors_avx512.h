// Vectors of int16 products, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/int16_products.h"
#include "kernels/base/tile_vectors_avx512bf16.h"

namespace amp::kernels {
namespace {

// Pairs of int16 products, summed up in int32.
struct Int16Vectors : PairVectors<std::int16_t> {
  using Bits = __m512i;
  using Sum = __m512i;
  static constexpr bool kScales = true;

  static __m512i ZeroSum() { return _mm512_setzero_si512(); }
  // Assembly, because gcc 12 keeps the sums of the intrinsic in memory.
  [[gnu::always_inline]] static __m512i Accumulate(__m512i factor, __m512i column, __m512i sum) {
    asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }
  // The first eight; the others become zero.
  [[gnu::always_inline]] static __m512i AccumulateHalf(__m512i factor, __m512i column, __m512i sum) {
    asm("vpdpwssd %t2, %t1, %t0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }

  static __m512 Float(__m512i sum) { return _mm512_maskz_cvtepi32_ps(0xFFFF, sum); }

  // ---- bits ----

  static __m512i LoadBits(const void* from) { return _mm512_loadu_si512(from); }
  static void StoreBits(void* to, __m512i x) { _mm512_storeu_si512(to, x); }
  static __m512i Add32(__m512i x, __m512i y) { return _mm512_maskz_add_epi32(0xFFFF, x, y); }
  static __m512i Subtract32(__m512i x, __m512i y) { return _mm512_maskz_sub_epi32(0xFFFF, x, y); }
  static __m512i Add16(__m512i x, __m512i y) { return _mm512_add_epi16(x, y); }
  static __m512i Subtract16(__m512i x, __m512i y) { return _mm512_sub_epi16(x, y); }

  // Larger numbers have larger bits; those of a NaN are larger than any number's.
  static __m512i Magnitude(__m512 x) { return _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7FFFFFFF)); }
  static __m512i Greater(__m512i a, __m512i b) { return _mm512_maskz_max_epu32(0xFFFF, a, b); }
  static __m128i Fold(__m512i x) {
    const __m256i eight =
        _mm256_max_epu32(_mm512_maskz_extracti64x4_epi64(0xF, x, 0), _mm512_maskz_extracti64x4_epi64(0xF, x, 1));
    return _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
  }
  static std::uint32_t Greatest(__m512i x) {
    const __m128i four = Fold(x);
    const __m128i two = _mm_max_epu32(four, _mm_unpackhi_epi64(four, four));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(_mm_max_epu32(two, _mm_srli_epi64(two, 32))));
  }
  // The greatest of each of four vectors.
  static __m128i Greatest(const __m512i (&x)[4]) {
    const __m512i first =
        Greater(_mm512_maskz_unpacklo_epi32(0xFFFF, x[0], x[1]), _mm512_maskz_unpackhi_epi32(0xFFFF, x[0], x[1]));
    const __m512i second =
        Greater(_mm512_maskz_unpacklo_epi32(0xFFFF, x[2], x[3]), _mm512_maskz_unpackhi_epi32(0xFFFF, x[2], x[3]));
    return Fold(
        Greater(_mm512_maskz_unpacklo_epi64(0xFF, first, second), _mm512_maskz_unpackhi_epi64(0xFF, first, second)));
  }

  // Scales of such magnitudes; see Int16ScaleOf.
  static __m512 ScalesOf(__m512i bits) {
    const __m512 limit = All(static_cast<float>(kInt16MaxNumber)), least = All(kInt16LeastScale);
    const __mmask16 is_finite = _mm512_cmplt_epu32_mask(bits, _mm512_set1_epi32(0x7F800000));
    const __m512 found = _mm512_maskz_max_ps(0xFFFF, _mm512_div_ps(_mm512_castsi512_ps(bits), limit), least);
    return _mm512_mask_mov_ps(All(__builtin_nanf("")), is_finite, found);
  }

  // ---- rounding ----

  // To nearest, even. Adding this number leaves the integer in the lower bits.
  static __m512i Round(__m512 x, __m512 inverse) {
    return _mm512_castps_si512(_mm512_fmadd_ps(x, inverse, All(0x1.8p23F)));
  }
  // Lower halves of 32 bits, side by side: those of the first vector, then of the second one.
  static __m512i LowerHalves(__m512i first, __m512i second) {
    const __m512i lower = _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32, 30, 28, 26,
                                           24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    return _mm512_permutex2var_epi16(first, lower, second);
  }
  // Takes turns between lower halves of two vectors.
  static __m512i Interleave(__m512i even, __m512i odd) {
    return _mm512_mask_blend_epi16(0xAAAAAAAA, even, _mm512_maskz_slli_epi32(0xFFFF, odd, 16));
  }
  // Numbers of two blocks of channels.
  static void StoreBlocks(Tile* to, std::int64_t block_stride, __m512i numbers) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_extracti64x4_epi64(0xF, numbers, 0));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + block_stride),
                        _mm512_maskz_extracti64x4_epi64(0xF, numbers, 1));
  }
  // A block of channels, for each of some neighbours.
  static void StoreRounded(Tile* to, const __m512i (&x)[1][1]) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtepi32_epi16(0xFFFF, x[0][0]));
  }
  static void StoreRounded(Tile* to, const __m512i (&x)[2][1]) { StoreBits(to, LowerHalves(x[0][0], x[1][0])); }

  // ---- bfloat16 ----

  // Sixteen bits of as many channels as two vectors have; zeros behind `count`.
  static __m512i LoadPairs(const char* from, std::int64_t count) {
    const __mmask32 lanes = count >= 2 * kLanes ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
    return _mm512_maskz_loadu_epi16(lanes, from);
  }
  // The even ones of these, and the odd ones.
  static __m512 Even(__m512i pairs) { return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, pairs, 16)); }
  static __m512 Odd(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
  }
  // The even and the odd ones of two vectors of numbers.
  static __m512 Even(__m512 first, __m512 second) { return _mm512_permutex2var_ps(first, EvenLanes(), second); }
  static __m512 Odd(__m512 first, __m512 second) {
    return _mm512_permutex2var_ps(first, _mm512_or_si512(EvenLanes(), _mm512_set1_epi32(1)), second);
  }

 private:
  static __m512i EvenLanes() { return _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0); }
};

}  // namespace
}  // namespace amp::kernels
