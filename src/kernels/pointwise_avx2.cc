#include "kernels/pointwise.h"

#if defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>

#include "kernels/pointwise_code.h"
#include "kernels/vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct Ops {
  using Vector = __m256;
  using Tile = float;
  using Factor = __m256;
  using Column = __m256;
  static constexpr int kLanes = 8;
  static constexpr int kRows = 6;  // 12 sums, two vectors of weights and a factor fill the registers
  static constexpr std::int64_t kPerUnit = 1;

  static __m256 All(float x) { return _mm256_set1_ps(x); }
  static __m256 MultiplyAdd(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }

  // max and min return their second operand where one is a NaN.
  static __m256 Clip(__m256 x, float low, float high) { return _mm256_min_ps(All(high), _mm256_max_ps(All(low), x)); }

  // The first `count` lanes, if there are less than 8; zeros behind them.
  template <bool kIsBF16>
  static __m256 Load(const void* from, std::int64_t count) {
    return LoadElements(from, kIsBF16, 0, count);
  }

  template <bool kIsBF16>
  static void Store(void* to, std::int64_t count, __m256 x) {
    StoreElements(to, kIsBF16, 0, count, x);
  }

  static void StoreTile(float* to, __m256 x) { _mm256_store_ps(to, x); }
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
