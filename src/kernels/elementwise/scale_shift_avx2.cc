#include "kernels/elementwise/scale_shift.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/elementwise/scale_shift_code.h"

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTableAvx2() {
  static constexpr ScaleShiftTable kTable = ScaleShiftTableOf(Isa::kAvx2);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ScaleShiftTable* ScaleShiftTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
