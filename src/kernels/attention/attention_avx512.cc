#include "kernels/attention/attention.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/attention/attention_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// float32 products; bfloat16 operands are widened on the way.
struct SingleArithmetic {
  static constexpr std::int64_t kPerUnit = 1;

  static __m512 MultiplyAdd(__m512i a, __m512i b, __m512 c) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), c);
  }

  // Sixteen elements of a row of `size` from element i on.
  static __m512i Load(const char* row, bool is_bf16, std::int64_t i, std::int64_t size) {
    const __mmask16 lanes = Lanes(size - i);
    if (!is_bf16) return _mm512_maskz_loadu_epi32(lanes, row + 4 * i);
    return _mm512_castps_si512(WidenBF16(_mm256_maskz_loadu_epi16(lanes, row + 2 * i)));
  }

  static __m512i LoadColumns(const char* row, const char*, bool is_bf16, std::int64_t i, std::int64_t size) {
    return Load(row, is_bf16, i, size);
  }

  static void StoreWeights(std::int32_t* weights, std::int64_t key, __m512 values, bool rounds) {
    if (rounds) values = WidenBF16(RoundToBF16(_mm512_castps_si512(values)));
    _mm512_storeu_ps(weights + key, values);
  }
};

constexpr AttentionTable kTable = {Isa::kAvx512, false, ScratchBytesFor<SingleArithmetic>, RunPart<SingleArithmetic>};

}  // namespace

const AttentionTable* AttentionTableAvx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
