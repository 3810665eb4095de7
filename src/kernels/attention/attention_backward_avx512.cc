#include "kernels/attention/attention_backward.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/attention/attention_backward_code.h"
#include "kernels/base/bf16_avx512.h"
#include "kernels/base/vectors_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

struct Vectors {
  using Vector = __m512;
  static constexpr int kLanes = 16, kVectors = 4;  // 24 sums, four vectors of a panel and a factor fill the registers

  static __m512 All(float x) { return _mm512_set1_ps(x); }
  static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, __m512 x) { _mm512_storeu_ps(to, x); }
  static __m512 Add(__m512 a, __m512 b) { return _mm512_add_ps(a, b); }
  static __m512 Subtract(__m512 a, __m512 b) { return _mm512_sub_ps(a, b); }
  static __m512 Multiply(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
  static __m512 MultiplyAdd(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512 Exp2(__m512 x) { return amp::kernels::Exp2(x); }
  static __m512 Rounded(__m512 x) { return WidenBF16(RoundToBF16(_mm512_castps_si512(x))); }

  // Elements from i on of `size`; zeros behind them.
  static __m512 LoadPart(const char* from, bool is_bf16, std::int64_t i, std::int64_t size) {
    const __mmask16 lanes = Lanes(size - i);
    if (is_bf16) return WidenBF16(_mm256_maskz_loadu_epi16(lanes, from + 2 * i));
    return _mm512_maskz_loadu_ps(lanes, from + 4 * i);
  }
  static void StorePart(char* to, bool is_bf16, std::int64_t i, std::int64_t size, __m512 x) {
    const __mmask16 lanes = Lanes(size - i);
    if (is_bf16) {
      _mm256_mask_storeu_epi16(to + 2 * i, lanes, RoundToBF16(_mm512_castps_si512(x)));
    } else {
      _mm512_mask_storeu_ps(to + 4 * i, lanes, x);
    }
  }

  // The first `count` lanes, or those of them whose byte is not 0.
  static __mmask16 Seen(const std::uint8_t* mask, std::int64_t count) {
    const __mmask16 lanes = Lanes(count);
    if (mask == nullptr) return lanes;
    const __m128i bytes = _mm_maskz_loadu_epi8(lanes, mask);
    return static_cast<__mmask16>(_mm_test_epi8_mask(bytes, bytes));
  }
  static __m512 Keep(__mmask16 lanes, __m512 x) { return _mm512_maskz_mov_ps(lanes, x); }

  static void Transpose(__m512 (&rows)[16]) {
    __m512i units[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) units[i] = _mm512_castps_si512(rows[i]);
    amp::kernels::Transpose(units);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) rows[i] = _mm512_castsi512_ps(units[i]);
  }
};

constexpr AttentionBackwardTable kTable = {Isa::kAvx512, BackwardScratchBytes<Vectors>, RunBackward<Vectors>};

}  // namespace

const AttentionBackwardTable* AttentionBackwardTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionBackwardTable* AttentionBackwardTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
