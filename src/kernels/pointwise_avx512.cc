#include "kernels/pointwise.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

#include "kernels/pointwise_code.h"
#include "kernels/tile_vectors_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct SingleOps : SingleTileVectors {
  using Factor = __m512;
  using Column = __m512;
  static __m512 Broadcast(const float* from) { return _mm512_set1_ps(*from); }
  static __m512 LoadColumn(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 Accumulate(__m512 factor, __m512 column, __m512 sum) { return _mm512_fmadd_ps(factor, column, sum); }
};

constexpr PointwiseTable kTable = {Isa::kAvx512, {PointwiseCode<SingleOps>::Run, nullptr}, TileVectors::kRows};

}  // namespace

const PointwiseTable* PointwiseTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const PointwiseTable* PointwiseTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
