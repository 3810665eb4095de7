#include "kernels/elementwise/cast_table.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)

#include "kernels/elementwise/cast_code.h"

namespace amp::kernels {

const CastTable* CastTableAvx2() {
  static constexpr CastTable kTable = CastTableOf(Isa::kAvx2);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const CastTable* CastTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
