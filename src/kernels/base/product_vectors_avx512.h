// Vectors of products in float32, for AVX-512. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/tile_vectors_avx512.h"

namespace amp::kernels {
namespace {

struct ProductVectors : SingleTileVectors {
  using Sum = Vector;
  static constexpr bool kScales = false;
  using Factor = __m512;
  using Column = __m512;
  static Vector ZeroSum() { return All(0); }
  static __m512 Broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static __m512 LoadColumn(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 Accumulate(__m512 factor, __m512 column, __m512 sum) { return _mm512_fmadd_ps(factor, column, sum); }
  // The first eight; the others become zero. Assembly, because intrinsics cannot say that.
  [[gnu::always_inline]] static __m512 AccumulateHalf(__m512 factor, __m512 column, __m512 sum) {
    asm("vfmadd231ps %t2, %t1, %t0" : "+v"(sum) : "v"(factor), "v"(column));
    return sum;
  }
};

}  // namespace
}  // namespace amp::kernels
