#include "kernels/attention/attention.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512BF16__)

#include "kernels/attention/attention_code.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

// Pairs of bfloat16 products, summed up in float32.
struct PairAttention : ElementVectors<Isa::kAvx512, 16> {
  using Unit = std::int32_t;
  using Units = Ints;
  static constexpr Int kPerUnit = 2;
  static constexpr int kVectors = 4;

  static Units LoadUnits(const Unit* from) { return reinterpret_cast<Units>(_mm512_loadu_si512(from)); }
  static void StoreUnits(Unit* to, Units x) { _mm512_storeu_si512(to, reinterpret_cast<__m512i>(x)); }
  static Units AllUnits(Unit x) { return x - Units{}; }
  static Floats AddProducts(Units a, Units b, Floats sum) { return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b); }

  // Sixteen pairs of a row of `size` elements from pair i on.
  static Units LoadRow(const char* row, bool, Int i, Int size) {
    const Int count = size - 2 * i;
    const __mmask32 lanes = count >= 32 ? 0xFFFFFFFFu : count <= 0 ? 0u : (1u << count) - 1;
    return reinterpret_cast<Units>(_mm512_maskz_loadu_epi16(lanes, row + 4 * i));
  }

  // Sixteen columns of two rows; no second row: zeros.
  static Units LoadColumns(const char* row, const char* next, bool, Int i, Int size) {
    const Units low = LoadWide(row, i, size);
    return next == nullptr ? low : low | LoadWide(next, i, size) << 16;
  }

  static void StoreWeights(Unit* weights, Int key, Floats values, bool) {
    // Weights lie between 0 and 1: what this turns into zero is no more than a denormal.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + key / 2), (__m256i)_mm512_cvtneps_pbh(values));
  }

 private:
  static Units LoadWide(const char* row, Int i, Int size) {
    const __m256i halves = _mm256_maskz_loadu_epi16(FirstLanes(size - i), row + 2 * i);
    return reinterpret_cast<Units>(_mm512_maskz_cvtepu16_epi32(0xFFFF, halves));
  }
};

constexpr AttentionTable kTable = AttentionTableOf<PairAttention>(Isa::kAvx512);

}  // namespace

const AttentionTable* AttentionTable::Avx512BF16() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const AttentionTable* AttentionTable::Avx512BF16() { return nullptr; }

}  // namespace amp::kernels

#endif
