#include "kernels/elementwise/scale_shift.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/elementwise/scale_shift_code.h"

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTableAvx512() {
  static constexpr ScaleShiftTable kTable = ScaleShiftTableOf(Isa::kAvx512);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
