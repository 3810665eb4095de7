#include "kernels/attention/attention.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512BF16__)

#include "kernels/attention/attention_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// Pairs of bfloat16 products, summed up in float32.
struct PairArithmetic {
  static constexpr std::int64_t kPerUnit = 2;

  static __m512 MultiplyAdd(__m512i a, __m512i b, __m512 c) { return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b); }

  // Sixteen pairs of a row of `size` elements from pair i on.
  static __m512i Load(const char* row, bool, std::int64_t i, std::int64_t size) {
    return _mm512_maskz_loadu_epi16(Halfwords(size - 2 * i), row + 4 * i);
  }

  // Sixteen columns of two rows; no second row: zeros.
  static __m512i LoadColumns(const char* row, const char* next, bool, std::int64_t i, std::int64_t size) {
    const __mmask16 lanes = Lanes(size - i);
    const __m512i low = Widened(_mm256_maskz_loadu_epi16(lanes, row + 2 * i));
    if (next == nullptr) return low;
    const __m512i high = Widened(_mm256_maskz_loadu_epi16(lanes, next + 2 * i));
    return _mm512_or_si512(low, _mm512_maskz_slli_epi32(0xFFFF, high, 16));
  }

  static void StoreWeights(std::int32_t* weights, std::int64_t key, __m512 values, bool) {
    // Weights lie between 0 and 1: what this turns into zero is no more than a denormal.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + key / 2), (__m256i)_mm512_cvtneps_pbh(values));
  }

 private:
  static __mmask32 Halfwords(std::int64_t count) {
    return count >= 32 ? 0xFFFFFFFFu : count <= 0 ? 0u : (1u << count) - 1;
  }
  static __m512i Widened(__m256i halves) { return _mm512_maskz_cvtepu16_epi32(0xFFFF, halves); }
};

constexpr AttentionTable kTable = {Isa::kAvx512, true, ScratchBytesFor<PairArithmetic>, RunPart<PairArithmetic>};

}  // namespace

const AttentionTable* AttentionTableAvx512BF16() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTableAvx512BF16() { return nullptr; }

}  // namespace amp::kernels

#endif
