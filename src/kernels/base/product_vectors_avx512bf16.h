// Vectors of bfloat16 products, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/tile_vectors_avx512bf16.h"

namespace amp::kernels {
namespace {

// Pairs of bfloat16 products, summed up in float32.
struct ProductVectors : PairVectors<std::uint16_t> {
  using Sum = Vector;
  static constexpr bool kScales = false;

  static Vector ZeroSum() { return All(0); }

  static void StoreTile(std::uint16_t* to, __m512 x) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(x));
  }
  static void CopyTile(std::uint16_t* to, const char* from, std::int64_t count) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), count >= kLanes
                                                           ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))
                                                           : _mm256_maskz_loadu_epi16(Lanes(count), from));
  }
  // Numbers of a row from `begin` on, and how many it has; beside them are zeros.
  struct Row {
    const char* first;
    std::int64_t begin, count;

    __mmask16 lanes() const { return Lanes(count - begin) & static_cast<__mmask16>(~Lanes(-begin)); }
    template <bool kIsBF16>
    const char* at() const {
      return first + begin * (kIsBF16 ? 2 : 4);
    }
  };

  // Sixteen pairs of numbers of two rows, or the first `room`.
  template <bool kIsBF16>
  static void StorePairs(std::uint16_t* to, std::int64_t room, const Row& first, const Row& second) {
    __m512i pairs;
    if constexpr (kIsBF16) {
      const __m256i lower = _mm256_maskz_loadu_epi16(first.lanes(), first.at<true>());
      const __m256i upper = _mm256_maskz_loadu_epi16(second.lanes(), second.at<true>());
      pairs = _mm512_or_si512(_mm512_maskz_cvtepu16_epi32(0xFFFF, lower),
                              _mm512_maskz_slli_epi32(0xFFFF, _mm512_maskz_cvtepu16_epi32(0xFFFF, upper), 16));
    } else {
      pairs = Interleave(_mm512_maskz_loadu_ps(first.lanes(), first.at<false>()),
                         _mm512_maskz_loadu_ps(second.lanes(), second.at<false>()));
    }
    _mm512_mask_storeu_epi32(to, Lanes(room), pairs);
  }

  static void StorePair(std::uint16_t* to, __m512 first, __m512 second) {
    _mm512_store_si512(to, Interleave(first, second));
  }

  // Stores pairs of 32 numbers each, the first 16 pairs and those behind them.
  static void StorePairs(const char* first, const char* second, std::uint16_t* lower, std::uint16_t* upper) {
    const __m512i order = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                                           37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i a = _mm512_loadu_si512(first), b = _mm512_loadu_si512(second);
    _mm512_store_si512(lower, _mm512_permutex2var_epi16(a, order, b));
    _mm512_store_si512(upper, _mm512_permutex2var_epi16(a, _mm512_or_si512(order, _mm512_set1_epi16(16)), b));
  }

  // Rounded; the first number of the second vector follows that of the first one.
  static __m512i Interleave(__m512 first, __m512 second) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_maskz_permutexvar_epi16(0xFFFFFFFF, order, (__m512i)_mm512_cvtne2ps_pbh(second, first));
  }

  // What 32 channels are multiplied by, those with even numbers and those with odd ones.
  class PairedScales {
   public:
    PairedScales(const float* scale, const float* shift, float low, float high) : low_(All(low)), high_(All(high)) {
      Split(scale, scale_);
      Split(shift, shift_);
    }

    // The first 16 results, and those behind them.
    void Apply(const char* from, std::uint16_t* first, std::uint16_t* second) const {
      const __m512i halves = _mm512_loadu_si512(from);
      const __m512 even = Scaled(_mm512_maskz_slli_epi32(0xFFFF, halves, 16), 0);
      const __m512 odd = Scaled(_mm512_and_si512(halves, _mm512_set1_epi32(static_cast<int>(0xFFFF0000))), 1);
      const __m512i packed = Interleave(even, odd);
      _mm256_store_si256(reinterpret_cast<__m256i*>(first), _mm512_maskz_extracti64x4_epi64(0xF, packed, 0));
      _mm256_store_si256(reinterpret_cast<__m256i*>(second), _mm512_maskz_extracti64x4_epi64(0xF, packed, 1));
    }

   private:
    static void Split(const float* from, __m512 (&to)[2]) {
      const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
      const __m512 first = _mm512_loadu_ps(from), second = _mm512_loadu_ps(from + kLanes);
      to[0] = _mm512_permutex2var_ps(first, even, second);
      to[1] = _mm512_permutex2var_ps(first, _mm512_or_si512(even, _mm512_set1_epi32(1)), second);
    }
    __m512 Scaled(__m512i bits, int i) const {
      const __m512 x = _mm512_fmadd_ps(_mm512_castsi512_ps(bits), scale_[i], shift_[i]);
      return _mm512_maskz_min_ps(0xFFFF, high_, _mm512_maskz_max_ps(0xFFFF, low_, x));
    }
    __m512 scale_[2], shift_[2], low_, high_;
  };

  static __m512 Accumulate(__m512i factor, __m512i column, __m512 sum) {
    return _mm512_dpbf16_ps(sum, (__m512bh)factor, (__m512bh)column);
  }
  // The first eight; the others become zero. Assembly, because intrinsics cannot say that.
  [[gnu::always_inline]] static __m512 AccumulateHalf(__m512i factor, __m512i column, __m512 sum) {
    asm("vdpbf16ps %t2, %t1, %t0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }
};

}  // namespace
}  // namespace amp::kernels
