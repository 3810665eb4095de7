// Vectors of products, for AVX2. Of internal linkage, on purpose: see cast_table.h.
#pragma once

#include <immintrin.h>

#include "kernels/base/tile_vectors_avx2.h"

namespace amp::kernels {
namespace {

struct ProductVectors : TileVectors {
  using Sum = Vector;
  static constexpr bool kScales = false;
  using Factor = __m256;
  using Column = __m256;

  static Vector ZeroSum() { return All(0); }
  static __m256 Broadcast(const float* from) { return _mm256_set1_ps(*from); }
  static __m256 LoadColumn(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 Accumulate(__m256 factor, __m256 column, __m256 sum) { return _mm256_fmadd_ps(factor, column, sum); }
};

}  // namespace
}  // namespace amp::kernels
