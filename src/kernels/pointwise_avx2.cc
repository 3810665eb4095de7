#include "kernels/pointwise.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "kernels/pointwise_code.h"
#include "kernels/tile_vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct Ops : TileVectors {
  using Factor = __m256;
  using Column = __m256;

  static __m256 Broadcast(const float* from) { return _mm256_set1_ps(*from); }
  static __m256 LoadColumn(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 Accumulate(__m256 factor, __m256 column, __m256 sum) { return _mm256_fmadd_ps(factor, column, sum); }
};

constexpr PointwiseTable kTable = {Isa::kAvx2, {PointwiseCode<Ops>::Run, nullptr}, Ops::kRows};

}  // namespace

const PointwiseTable* PointwiseTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PointwiseTable* PointwiseTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
