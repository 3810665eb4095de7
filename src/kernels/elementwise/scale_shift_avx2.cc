#include "kernels/elementwise/scale_shift.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/base/vectors_avx2.h"

// See cast_table.h for what may not appear in this file.
namespace amp::kernels {
namespace {

template <bool kXIsBF16, bool kYIsBF16>
void Row(const void* x, void* y, std::int64_t count, const float* scale, const float* shift, int step, float low,
         float high) {
  const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
  const __m256 first_scale = _mm256_set1_ps(scale[0]), first_shift = _mm256_set1_ps(shift[0]);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const __m256 a = step == 0 ? first_scale : LoadElements(scale, false, i, count);
    const __m256 b = step == 0 ? first_shift : LoadElements(shift, false, i, count);
    // max and min return their second operand where one is a NaN.
    const __m256 value = _mm256_fmadd_ps(LoadElements(x, kXIsBF16, i, count), a, b);
    StoreElements(y, kYIsBF16, i, count, _mm256_min_ps(highs, _mm256_max_ps(lows, value)));
  }
}

constexpr ScaleShiftTable kTable = {Isa::kAvx2,
                                    {{Row<false, false>, Row<false, true>}, {Row<true, false>, Row<true, true>}}};

}  // namespace

const ScaleShiftTable* ScaleShiftTable::Avx2() { return &kTable; }

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTable::Avx2() { return nullptr; }

}  // namespace amp::kernels

#endif
