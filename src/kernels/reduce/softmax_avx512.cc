#include "kernels/reduce/softmax.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__AVX512DQ__)

#include "kernels/reduce/softmax_code.h"

namespace amp::kernels {

const SoftmaxTable* SoftmaxTableAvx512() {
  static constexpr SoftmaxTable kTable = {Isa::kAvx512, SoftmaxCode<Isa::kAvx512, 16>::AnyBlock};
  return &kTable;
}

}  // namespace amp::kernels

#else

namespace amp::kernels {

const SoftmaxTable* SoftmaxTableAvx512() { return nullptr; }

}  // namespace amp::kernels

#endif
