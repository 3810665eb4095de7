// The code of scale_shift.h, for the instruction set that the translation unit is compiled for. Of internal linkage, on
// purpose: see cast_table.h.
#pragma once

#include "kernels/base/element_vectors.h"
#include "kernels/elementwise/scale_shift.h"

namespace amp::kernels {
namespace {

template <bool kXIsBF16, bool kYIsBF16>
void ScaleShiftRow(const void* x, void* y, std::int64_t count, const float* scale, const float* shift, int step,
                   float low, float high) {
  using V = NativeVectors;
  using Floats = V::Floats;
  const char* in = static_cast<const char*>(x);
  char* out = static_cast<char*>(y);
  const Floats lows = V::All(low), highs = V::All(high);
  const Floats first_scale = V::All(scale[0]), first_shift = V::All(shift[0]);
  for (std::int64_t i = 0; i < count; i += V::kLanes) {
    const Floats a = step == 0 ? first_scale : V::Load<false>(scale + i, count - i);
    const Floats b = step == 0 ? first_shift : V::Load<false>(shift + i, count - i);
    const Floats value = V::MultiplyAdd(V::Load<kXIsBF16>(in + i * (kXIsBF16 ? 2 : 4), count - i), a, b);
    // A NaN stays one.
    V::Store<kYIsBF16>(out + i * (kYIsBF16 ? 2 : 4), count - i, V::Min(highs, V::Max(lows, value)));
  }
}

constexpr ScaleShiftTable ScaleShiftTableOf(Isa isa) {
  return {isa,
          {{ScaleShiftRow<false, false>, ScaleShiftRow<false, true>},
           {ScaleShiftRow<true, false>, ScaleShiftRow<true, true>}}};
}

}  // namespace
}  // namespace amp::kernels
