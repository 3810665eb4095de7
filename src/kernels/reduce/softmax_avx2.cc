#include "kernels/reduce/softmax.h"

#if defined(__AVX2__) && defined(__FMA__)

#include "kernels/reduce/softmax_code.h"

namespace amp::kernels {

const SoftmaxTable* SoftmaxTableAvx2() {
  static constexpr SoftmaxTable kTable = {Isa::kAvx2, SoftmaxCode<Isa::kAvx2, 8>::AnyBlock};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const SoftmaxTable* SoftmaxTableAvx2() { return nullptr; }

}  // namespace amp::kernels

#endif
