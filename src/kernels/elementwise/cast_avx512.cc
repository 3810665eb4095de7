#include "kernels/elementwise/cast_table.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)

#include "kernels/elementwise/cast_code.h"

namespace amp::kernels {

const CastTable* CastTableAvx512() {
  static constexpr CastTable kTable = CastTableOf(Isa::kAvx512);
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const CastTable* CastTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
