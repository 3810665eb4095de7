#include "kernels/elementwise/scale_shift.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include <immintrin.h>

#include "kernels/base/bf16_avx512.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

constexpr std::int64_t kLanes = 16;

template <bool kIsBF16>
__m512 Load(const void* data, std::int64_t i, __mmask16 lanes) {
  if constexpr (kIsBF16) return WidenBF16(_mm256_maskz_loadu_epi16(lanes, static_cast<const std::uint16_t*>(data) + i));
  return _mm512_maskz_loadu_ps(lanes, static_cast<const float*>(data) + i);
}

template <bool kIsBF16>
void Store(void* data, std::int64_t i, __mmask16 lanes, __m512 value) {
  if constexpr (kIsBF16) {
    _mm256_mask_storeu_epi16(static_cast<std::uint16_t*>(data) + i, lanes, RoundToBF16(_mm512_castps_si512(value)));
  } else {
    _mm512_mask_storeu_ps(static_cast<float*>(data) + i, lanes, value);
  }
}

template <bool kXIsBF16, bool kYIsBF16>
void Row(const void* x, void* y, std::int64_t count, const float* scale, const float* shift, int step, float low,
         float high) {
  const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
  const __m512 first_scale = _mm512_set1_ps(scale[0]), first_shift = _mm512_set1_ps(shift[0]);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto lanes = static_cast<__mmask16>(count - i >= kLanes ? 0xFFFF : (1u << (count - i)) - 1);
    const __m512 a = step == 0 ? first_scale : _mm512_maskz_loadu_ps(lanes, scale + i);
    const __m512 b = step == 0 ? first_shift : _mm512_maskz_loadu_ps(lanes, shift + i);
    // max and min return their second operand where one is a NaN.
    __m512 value = _mm512_fmadd_ps(Load<kXIsBF16>(x, i, lanes), a, b);
    value = _mm512_maskz_min_ps(0xFFFF, highs, _mm512_maskz_max_ps(0xFFFF, lows, value));
    Store<kYIsBF16>(y, i, lanes, value);
  }
}

constexpr ScaleShiftTable kTable = {Isa::kAvx512,
                                    {{Row<false, false>, Row<false, true>}, {Row<true, false>, Row<true, true>}}};

}  // namespace

const ScaleShiftTable* ScaleShiftTable::Avx512() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTable::Avx512() { return nullptr; }

}  // namespace amp::kernels

#endif
