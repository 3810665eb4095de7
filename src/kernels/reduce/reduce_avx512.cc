#include "kernels/reduce/reduce.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/reduce/reduce_code.h"

namespace amp::kernels {

const ReduceTable* ReduceTableAvx512() {
  static constexpr ReduceTable kTable = {Isa::kAvx512, ReduceCode<Isa::kAvx512, 8>::Loops};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ReduceTable* ReduceTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
