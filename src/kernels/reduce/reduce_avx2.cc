#include "kernels/reduce/reduce.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/reduce/reduce_code.h"

namespace amp::kernels {

const ReduceTable* ReduceTableAvx2() {
  static constexpr ReduceTable kTable = {Isa::kAvx2, ReduceCode<Isa::kAvx2, 4>::Loops};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const ReduceTable* ReduceTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
