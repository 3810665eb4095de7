#include "kernels/attention/attention_backward.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/attention/attention_backward_code.h"
#include "kernels/base/vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct Vectors {
  using Vector = __m256;
  static constexpr int kLanes = 8, kVectors = 2;  // 12 sums, two vectors of a panel and a factor fill the registers

  static __m256 All(float x) { return _mm256_set1_ps(x); }
  static __m256 Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
  static __m256 Add(__m256 a, __m256 b) { return _mm256_add_ps(a, b); }
  static __m256 Subtract(__m256 a, __m256 b) { return _mm256_sub_ps(a, b); }
  static __m256 Multiply(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
  static __m256 MultiplyAdd(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256 Exp2(__m256 x) { return amp::kernels::Exp2(x); }
  static __m256 Rounded(__m256 x) { return WidenBF16(Halves(RoundToBF16(_mm256_castps_si256(x)))); }

  // Elements from i on of `size`; zeros behind them.
  static __m256 LoadPart(const char* from, bool is_bf16, std::int64_t i, std::int64_t size) {
    return LoadElements(from, is_bf16, i, size);
  }
  static void StorePart(char* to, bool is_bf16, std::int64_t i, std::int64_t size, __m256 x) {
    StoreElements(to, is_bf16, i, size, x);
  }

  static __m256 Seen(const std::uint8_t* mask, std::int64_t count) { return SeenLanes(mask, count); }
  static __m256 Keep(__m256 lanes, __m256 x) { return _mm256_and_ps(lanes, x); }

  static void Transpose(__m256 (&rows)[8]) { amp::kernels::Transpose(rows); }
};

constexpr AttentionBackwardTable kTable = {Isa::kAvx2, BackwardScratchBytes<Vectors>, RunBackward<Vectors>};

}  // namespace

const AttentionBackwardTable* AttentionBackwardTableAvx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
